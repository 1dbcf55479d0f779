"""Names, texts and problems of people's input are checked here. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from admin.models.errors import InvalidInput, Problem

LONGEST_NAME: Final = 100
LONGEST_NOTE: Final = 20_000
MOST_PROBLEMS: Final = 100
"""Problems that one answer names; the last one says how many more there are."""
_NO_LETTERS: Final = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def name_problem(field: str, name: str) -> Problem | None:
    """Return what is wrong with the name that a person gives to a thing; None when nothing is.

    A name is part of addresses, so it has no slash, and no character that nobody sees.
    """
    if not name.strip():
        return Problem(field, "the name is empty; write a name such as weekly")
    if len(name) > LONGEST_NAME:
        return Problem(field, f"the name has {len(name)} characters; write at most {LONGEST_NAME}")
    if name != name.strip():
        return Problem(field, f"the name {name!r} begins or ends with a space; leave the space out")
    for char in name:
        if char in "/\\" or unicodedata.category(char) in _NO_LETTERS:
            return Problem(field, f"the name {name!a} has the character U+{ord(char):04X}; leave it out")
    return Problem(field, f"{name!r} can't be a name; write a letter or a digit") if name in (".", "..") else None


def note_problem(field: str, text: str, longest: int = LONGEST_NOTE) -> Problem | None:
    """Return what is wrong with a free text; None when nothing is."""
    if len(text) > longest:
        return Problem(field, f"the text has {len(text)} characters; write at most {longest}")
    if "\0" in text:
        return Problem(field, "the text has a NUL character, which no database keeps; leave it out")
    return None


def refuse(problems: Iterable[Problem | None]) -> None:
    """Raise InvalidInput when there are problems; with many, the first `MOST_PROBLEMS` are named."""
    found = [problem for problem in problems if problem is not None]
    if len(found) > MOST_PROBLEMS:
        more = Problem(found[-1].field, f"there are {len(found) - MOST_PROBLEMS} more problems; correct these first")
        found = [*found[:MOST_PROBLEMS], more]
    if found:
        raise InvalidInput(*found)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the old and the new values of what differs; None when nothing does."""
    keys = [key for key in new if old.get(key) != new[key]]
    return ({key: old.get(key) for key in keys}, {key: new[key] for key in keys}) if keys else None
