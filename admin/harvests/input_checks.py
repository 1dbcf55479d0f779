"""The functions here check the input of people, and divide lists into pages."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute

from admin.models.errors import InvalidInput, Problem
from admin.models.transaction import Transaction
from archive.names.characters import in_words

LONGEST_NAME: Final = 100
LONGEST_NOTE: Final = 20_000
MOST_PROBLEMS: Final = 100
"""One answer names so many problems at most."""
COUNTED: Final = 10_000
"""Lists of more rows than this are not counted."""
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of characters that nobody sees, among them the marks that turn the direction of writing."""


def name_problem(field: str, name: str, present: str | None = None) -> Problem | None:
    """Return what is wrong with the name that a person gives to a thing; None when nothing is.

    A name is part of addresses, so it has no slash, and no character that nobody sees. The `present` name of the thing
    stays possible, so that a thing that an earlier release named can be changed.
    """
    if name == present:
        return None
    if not name.strip():
        return Problem(field, "the name is empty; write a name such as weekly")
    if len(name) > LONGEST_NAME:
        return Problem(field, f"the name has {len(name):,} characters; use at most {LONGEST_NAME}")
    if name != name.strip():
        return Problem(field, f"the name {name!r} begins or ends with a space; leave the space out")
    if name in (".", ".."):
        return Problem(field, f"{name!r} can't be a name; use a letter or a digit")
    if name == "new":
        return Problem(field, f"{name!r} can't be a name, as pages that make things have this address; write another")
    wrong = next((char for char in name if char in "/\\" or unicodedata.category(char) in _UNSEEN), None)
    if wrong is not None:
        return Problem(field, f"the name {name!a} has {in_words(wrong)}; leave it out")
    return None


def note_problem(field: str, text: str, longest: int = LONGEST_NOTE) -> Problem | None:
    """Return what is wrong with a free text; None when nothing is."""
    if len(text) > longest:
        return Problem(field, f"the text has {len(text):,} characters; use at most {longest:,}")
    wrong = next((char for char in text if char == "\0" or unicodedata.category(char) == "Cs"), None)
    if wrong is not None:
        return Problem(field, f"the text has {in_words(wrong)}, which no database keeps; leave it out")
    return None


def refuse(problems: Iterable[Problem | None]) -> None:
    """Raise InvalidInput when there are problems; with many, the first `MOST_PROBLEMS` are named."""
    found = [problem for problem in problems if problem is not None]
    if len(found) > MOST_PROBLEMS:
        rest = len(found) - MOST_PROBLEMS
        found = [*found[:MOST_PROBLEMS], Problem("", f"there are {rest:,} more problems; correct these first")]
    if found:
        raise InvalidInput(*found)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the old and the new values of what differs; None when nothing does."""
    keys = [key for key in new if old.get(key) != new[key]]
    return ({key: old.get(key) for key in keys}, {key: new[key] for key in keys}) if keys else None


def checked_key(field: str, text: str | None) -> str | None:
    """Return the name after which a page begins, or for which a list is searched. Raises InvalidInput."""
    if text is not None:
        refuse([note_problem(field, text[: LONGEST_NOTE + 1])])
    return text


def contains(column: InstrumentedAttribute[str], text: str) -> ColumnElement[bool]:
    """Return the condition that the column's text has `text` in it, in capital or small letters.

    SQLite knows capital letters of ASCII alone.
    """
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return func.lower(column).like(func.lower(f"%{escaped}%"), escape="\\")


def count_up_to_limit(transaction: Transaction, query: Select[Any]) -> int | None:
    """Return how many rows there are; None when there are more than 10,000."""
    some = (
        query.with_only_columns(literal_column("1"), maintain_column_froms=True)
        .order_by(None)
        .limit(COUNTED + 1)
        .subquery()
    )
    found = transaction.session.scalar(select(func.count()).select_from(some)) or 0
    return None if found > COUNTED else found
