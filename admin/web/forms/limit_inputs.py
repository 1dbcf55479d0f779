"""Limits are read from what a person writes, such as 500 MB or nothing for no limit, and shown so in forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from admin.models.base import NO_LIMIT
from admin.models.errors import Problem

_SIZE: Final = re.compile(r"((?:\d{1,19}|[1-9]\d{0,2}(?:,\d{3}){1,6})(?:\.\d{1,6})?)\s*([kKMGT]?)[Bb]?")
_UNITS: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SHOWN_UNITS: Final = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}


def parse_limit(text: str) -> int:
    """Return the limit that a person wrote: a number, or a size such as 500 MB; empty is none. Raises ValueError.

    Commas may separate thousands. A decimal comma is refused: without it, 1,5 GB would become 15 GB.
    """
    bare = text.strip().replace("\u202f", "")
    if bare in ("", str(NO_LIMIT)):
        return NO_LIMIT
    found = _SIZE.fullmatch(bare)
    if found is None or not bare.isascii():
        remedy = "write a number, a size such as 500 MB or 1.5 GB, or nothing for no limit"
        raise ValueError(f"{text[:50]!r} is no limit; {remedy}")
    return int(Decimal(found[1].replace(",", "")) * _UNITS[found[2]])


def given_limits(texts: Mapping[str, str]) -> tuple[dict[str, int], list[Problem]]:
    """Return the limits of a form by field, and what is wrong with them."""
    limits, problems = dict[str, int](), list[Problem]()
    for name, text in texts.items():
        try:
            limits[name] = parse_limit(text)
        except ValueError as error:
            problems.append(Problem(name, str(error)))
    return limits, problems


def limit_input(limit: int) -> str:
    """Return a limit as a form shows it; empty for none."""
    return "" if limit == NO_LIMIT else str(limit)


def size_input(limit: int) -> str:
    """Return a limit of bytes as a form shows it, such as `500 MB`; empty for none. `parse_limit` reads it back."""
    unit, size = next(((name, size) for name, size in _SHOWN_UNITS.items() if limit > 0 and limit % size == 0), ("", 1))
    return f"{limit // size} {unit}" if unit else limit_input(limit)
