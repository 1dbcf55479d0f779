"""This module finds where each page of a long answer begins in the index, by the page's number.

A page is a number of index rows, counted before filters, as the blocks of pywb and Wayback are. The ends of pages are
remembered, so a client that asks for one page after the other costs one descent into the index for each. The beginning
of another page is found by counting index entries from the nearest remembered page before it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Engine, Row

from dedupdb.captures.paging import IndexScan, PageMark
from dedupdb.captures.query import NumberedPage

_REMEMBERED: Final = 2_000
_NEAR: Final = 20

type _Place = tuple[int, PageMark | None]
"""Which of the walks, and behind which of its rows."""


class Pages:
    """An index remembers here where its pages begin. Threads may share it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: OrderedDict[tuple[tuple[IndexScan, ...], int], _Place] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, scans: tuple[IndexScan, ...], page: NumberedPage) -> Iterator[Row[Any]]:
        """Yield the rows of the page. A page behind the end has none."""
        first = page.number * page.size
        place = self._place(scans, first, page.size)
        if place is None:
            return
        self._remember(scans, first, place)
        left, (at, after) = page.size, place
        while left and at < len(scans):
            for row in scans[at].rows(self._engine, after):
                yield row
                left -= 1
                after = PageMark(row.key, row.date, row.id)
                if not left:
                    break
            else:
                at, after = at + 1, None
        if not left:
            self._remember(scans, first + page.size, (at, after))

    def count(self, scans: tuple[IndexScan, ...]) -> int:
        """Return how many rows the scans have."""
        return sum(scan.count(self._engine) for scan in scans)

    def _place(self, scans: tuple[IndexScan, ...], first: int, size: int) -> _Place | None:
        at, after, left = 0, None, first
        for back in range(_NEAR):
            with self._lock:
                known = self._known.get((scans, first - back * size))
            if known is not None:
                (at, after), left = known, back * size
                break
        while left and at < len(scans):
            if (mark := scans[at].mark(self._engine, after, left)) is not None:
                return at, mark
            left -= scans[at].count(self._engine, after)
            at, after = at + 1, None
        return (at, after) if at < len(scans) else None

    def _remember(self, scans: tuple[IndexScan, ...], first: int, place: _Place) -> None:
        with self._lock:
            self._known[scans, first] = place
            self._known.move_to_end((scans, first))
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
