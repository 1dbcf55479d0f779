"""These functions check what people type into templates and schedules, and cut lists into pages."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute

from admin.models.errors import InvalidInput, Problem
from admin.models.transaction import Transaction

LONGEST_NAME: Final = 100
LONGEST_WORDS: Final = 20_000
MOST_ITEMS: Final = 500
MOST_PROBLEMS: Final = 100
"""One answer names so many problems at most."""
_COUNTED: Final = 10_000
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of characters that nobody sees, among them the marks that turn the direction of writing."""


def checked_name(field: str, name: str) -> Iterable[Problem]:
    """Yield what is wrong with a name. A name is a part of addresses, so it has no slash."""
    if not name.strip():
        yield Problem(field, "the name is empty; write a name such as weekly")
    elif len(name) > LONGEST_NAME:
        yield Problem(field, f"the name has {len(name):,} characters; use at most {LONGEST_NAME}")
    elif name != name.strip():
        yield Problem(field, f"the name {name!r} begins or ends with a space; leave the space out")
    elif name in (".", ".."):
        yield Problem(field, f"{name!r} can't be a name; use a letter or a digit")
    else:
        wrong = next((char for char in name if char in "/\\" or unicodedata.category(char) in _UNSEEN), None)
        if wrong is not None:
            yield Problem(field, f"the name {name!a} has the character U+{ord(wrong):04X}; leave it out")


def checked_words(field: str, text: str) -> Iterable[Problem]:
    """Yield what is wrong with a free text."""
    if len(text) > LONGEST_WORDS:
        yield Problem(field, f"the text has {len(text):,} characters; use at most {LONGEST_WORDS:,}")
    elif wrong := next((char for char in text if char == "\0" or unicodedata.category(char) == "Cs"), None):
        yield Problem(field, f"the text has the character U+{ord(wrong):04X}, which no database keeps; leave it out")


def refuse(problems: Iterable[Problem]) -> None:
    """Raise InvalidInput when there are problems."""
    found = list(problems)
    if len(found) > MOST_PROBLEMS:
        rest = len(found) - MOST_PROBLEMS
        found = [*found[:MOST_PROBLEMS], Problem("", f"there are {rest:,} more problems; correct these first")]
    if found:
        raise InvalidInput(*found)


def checked_limit(limit: int) -> int:
    """Return how many items a page has. Raises InvalidInput."""
    if not 1 <= limit <= MOST_ITEMS:
        raise InvalidInput(Problem("limit", f"{limit} is no number of items; use 1 to {MOST_ITEMS}"))
    return limit


def checked_number(field: str, text: str | None) -> int | None:
    """Return the number after which a page begins. Raises InvalidInput."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise InvalidInput(
            Problem(field, f"{text[:100]!r} is no place in this list; use the `next` of the page before")
        )
    return int(text)


def checked_key(field: str, text: str | None) -> str | None:
    """Return the name after which a page begins, or for which a list is searched. Raises InvalidInput."""
    if text is not None:
        refuse(checked_words(field, text[: LONGEST_WORDS + 1]))
    return text


def contains(column: InstrumentedAttribute[str], text: str) -> ColumnElement[bool]:
    """Return the condition that the column's text has `text` in it, in capital or small letters.

    SQLite knows capital letters of ASCII alone.
    """
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return func.lower(column).like(func.lower(f"%{escaped}%"), escape="\\")


def total(transaction: Transaction, query: Select[Any]) -> int | None:
    """Return how many rows there are; None when there are more than 10,000."""
    some = query.order_by(None).limit(_COUNTED + 1).subquery()
    found = transaction.session.scalar(select(func.count()).select_from(some)) or 0
    return None if found > _COUNTED else found
