"""This module scans the capture index in the order of key and date, a page of rows at a time.

Each page begins after the last row of the page before ("keyset paging"). A scan of any length costs one descent into
the index for each page, holds no more than one page in memory, and keeps no transaction and no connection between
pages.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Engine, Row, Select, func, select, tuple_

from archive.dates import Micros
from dedupdb.captures.query import KeyRange
from dedupdb.captures.schema import CAPTURES, reading

_FIRST_PAGE: Final = 50
_LAST_PAGE: Final = 1000
_C: Final = CAPTURES.c


class PageMark(NamedTuple):
    """The mark is a position in a scan: after the row with this key, date and id."""

    key: str
    date: Micros
    id: int


@dataclass(frozen=True, slots=True)
class IndexScan:
    """A scan says which rows are read, and in which direction. `since` and `until` are included.

    Both count for a scan of one key only. Over many keys, the database might read all rows to find one with a fitting
    date.
    """

    collection: str
    keys: KeyRange
    since: Micros | None = None
    until: Micros | None = None
    conditions: tuple[ColumnElement[bool], ...] = ()
    backward: bool = False

    def page(self, after: PageMark | Row[Any] | None, size: int) -> Select[Any]:
        """Return the next rows after the mark `after`, or the first rows for None."""
        columns = (_C.date, _C.id) if self.keys.high is None else (_C.key, _C.date, _C.id)
        order = [column.desc() for column in columns] if self.backward else list(columns)
        query = select(CAPTURES).where(_C.collection == self.collection, *self.conditions)
        if self.keys.high is None:
            query = query.where(_C.key == self.keys.low)
        # Where the page begins replaces the walk's own bound: with both, SQLite might start from the wrong one.
        begins: list[ColumnElement[bool]] = self._first(backward=self.backward)
        if after is not None:
            edge = tuple_(*(getattr(after, column.name) for column in columns))
            begins = [tuple_(*columns) < edge if self.backward else tuple_(*columns) > edge]
        query = query.where(*begins, *self._first(backward=not self.backward))
        return query.order_by(*order).limit(size)

    def _first(self, *, backward: bool) -> list[ColumnElement[bool]]:
        """Return the bound at the end where the scan begins, in the columns of the scan's order."""
        if self.keys.high is not None:
            return [_C.key < self.keys.high] if backward else [_C.key >= self.keys.low]
        if backward:
            return [] if self.until is None else [_C.date <= self.until]
        return [] if self.since is None else [_C.date >= self.since]

    def rows(self, engine: Engine, after: PageMark | None = None) -> Iterator[Row[Any]]:
        """Return all rows of the scan in its order, or those after a mark."""
        return paged(engine, self.page, after)

    def mark(self, engine: Engine, after: PageMark | None, number: int) -> PageMark | None:
        """Return the position of a row, counted from 1, after `after`. Return None when there are fewer rows.

        Only the index is read.
        """
        query = self.page(after, 1).with_only_columns(_C.key, _C.date, _C.id).offset(number - 1)
        with reading(engine) as connection:
            row = connection.execute(query).first()
        return PageMark(*row) if row else None

    def count(self, engine: Engine, after: PageMark | None = None) -> int:
        """Return how many rows there are after `after`. Only the index is read."""
        rows = self.page(after, 1).with_only_columns(_C.id).order_by(None).limit(None)
        with reading(engine) as connection:
            return connection.scalar(select(func.count()).select_from(rows.subquery())) or 0


def paged(engine: Engine, page: Callable[[Any, int], Select[Any]], after: PageMark | None = None) -> Iterator[Row[Any]]:
    """Yield the rows of page after page, until a page is not full. A page begins after the last row before it."""
    last: PageMark | Row[Any] | None = after
    size = _FIRST_PAGE
    while True:
        with reading(engine) as connection:
            rows = connection.execute(page(last, size)).all()
        yield from rows
        if len(rows) < size:
            return
        last, size = rows[-1], min(size * 4, _LAST_PAGE)


def closest_first(engine: Engine, scan: IndexScan, date: Micros | None) -> Iterator[Row[Any]]:
    """Yield the rows of one key by their distance from the date. Of two equal distances, the earlier row is first.

    Without a date, the newest row is first.
    """
    if date is None:
        return replace(scan, backward=True).rows(engine)
    before = replace(scan, until=_least(scan.until, date), backward=True)
    after = replace(scan, since=max(scan.since or 0, date + 1))
    return heapq.merge(before.rows(engine), after.rows(engine), key=lambda row: abs(row.date - date))


def _least(until: Micros | None, date: Micros) -> Micros:
    return date if until is None else min(until, date)
