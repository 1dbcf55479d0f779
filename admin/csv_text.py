"""Spreadsheets show this CSV as it is: no cell is taken for a formula. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Spreadsheets take a text that begins with one of these for a formula, or drop the character and look again."""


def csv_bytes(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return the rows as CSV (RFC 4180) in UTF-8; a text that looks like a formula gets an apostrophe in front."""
    return csv_lines([head]) + csv_lines(rows)


def csv_lines(rows: Iterable[Sequence[object]]) -> bytes:
    """Return rows as `csv_bytes` does, without a head: a part of a long list."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows([_safe(cell) for cell in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _safe(cell: object) -> object:
    if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA):
        return f"'{cell}"
    return cell
