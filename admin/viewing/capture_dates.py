"""This module finds the captures before and behind the one that a reader sees. Those of one second are one step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from admin.collections.browsing import search
from admin.collections.browsing.search import CaptureLine
from admin.models.transaction import Transaction
from admin.viewing.readable import CaptureLister, readable_captures
from archive.access_rules import AccessRules
from archive.dates import parse_date, timestamp14

_SECOND: Final = timedelta(seconds=1) // timedelta(microseconds=1)
_LAST: Final = parse_date("99991231235959")
"""The last second that a timestamp can name."""
_LOOKED_AT: Final = 50
"""Captures of a URL that are looked at on each side of the date: some are of another method, or of one second."""


@dataclass(frozen=True, slots=True)
class CaptureSteps:
    """Capture steps lead from a date to the nearest capture and to the captures before and behind it; None where there
    is none.
    """

    shown: CaptureLine | None
    earlier: CaptureLine | None = None
    later: CaptureLine | None = None


def capture_steps(transaction: Transaction, rules: AccessRules, name: str, url: str, timestamp: str) -> CaptureSteps:
    """Return the captures of a URL around a date, as far as readers may know of them.

    Raises InvalidInput, NotFound and IllegalState.
    """
    moment = parse_date(timestamp[:14])

    def until(row: str | None, limit: int) -> search.CapturePage:
        found = timestamp14(moment)
        return search.list_captures(
            transaction, name, url=url, match="exact", until=found, order="newest", after=row, limit=limit
        )

    def since(row: str | None, limit: int) -> search.CapturePage:
        found = timestamp14(min(moment + _SECOND, _LAST))
        return search.list_captures(transaction, name, url=url, match="exact", since=found, after=row, limit=limit)

    before, behind = _pages(rules, until), _pages(rules, since)
    shown = min((*before[:1], *behind[:1]), key=lambda each: abs(each.date - moment), default=None)
    if shown is None:
        return CaptureSteps(None)
    earlier = next((each for each in before if each.timestamp < shown.timestamp), None)
    later = next((each for each in behind if each.timestamp > shown.timestamp), None)
    return CaptureSteps(shown, earlier, later)


def _pages(rules: AccessRules, read: CaptureLister) -> list[CaptureLine]:
    """Return the captures of a list that a browser can show."""
    found = readable_captures(rules, read, least=_LOOKED_AT).items
    return [each for each in found if each.method == "GET" and each.kind != "metadata"]
