"""The finder reads the capture index for people: lists in pages, the days of a URL, one capture by its place.

Each call looks at a bounded number of rows. A list is in the order of key and date; a page begins behind a row, which
is named by its number, so that new captures neither repeat rows nor hide them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Engine, Row, Select, and_, func, select

from archive import url as urls
from archive.capture import Capture, RecordKind
from archive.dates import Micros
from dedupdb.captures.paging import IndexScan, PageMark
from dedupdb.captures.query import KeyRange
from dedupdb.captures.schema import CAPTURES, POSITIONS, reading, to_capture

WINDOW: Final = 10_000
MOST_LOOKED_AT: Final = 100_000
"""Rows that one call of `find` looks at when conditions leave most of them out."""
MOST_OF_A_YEAR: Final = 100_000
MOST_COUNTED: Final = 10_000
MOST_YEARS: Final = 200
DAY: Final = 86_400_000_000
EVERYTHING: Final = (KeyRange("", chr(0x10FFFF)),)
_EPOCH: Final = datetime(1970, 1, 1)
_SECONDS: Final = 5.0
_NEAR: Final = 20
_C: Final = CAPTURES.c
_VISIBLE: Final[tuple[RecordKind, ...]] = ("response", "revisit", "resource", "conversion")
"""The records that count as captures of a URL; metadata records are notes about one."""


@dataclass(frozen=True, slots=True)
class CaptureConditions:
    """The captures of a list fulfil all these conditions; None stands for any value."""

    since: Micros | None = None
    until: Micros | None = None
    mime: str | None = None
    """A media type, or its beginning with a `*` behind it, such as `image/*`."""
    status: tuple[int, int] | None = None
    """The least and the largest status."""
    kind: str | None = None
    job: str | None = None
    captures_only: bool = False
    """Metadata records are left out."""

    def clauses(self, columns: Any, *, has_dates: bool) -> list[ColumnElement[bool]]:
        """Return the conditions for the database; without dates when the walk itself keeps to them."""
        found: list[ColumnElement[bool]] = []
        if has_dates and self.since is not None:
            found.append(columns.date >= self.since)
        if has_dates and self.until is not None:
            found.append(columns.date <= self.until)
        if self.mime is not None and self.mime.endswith("*"):
            start = self.mime[:-1]
            found.append(func.substr(columns.mime, 1, len(start)) == start)
        elif self.mime is not None:
            found.append(columns.mime == self.mime)
        if self.status is not None:
            found.append(columns.status.between(*self.status))
        if self.kind is not None:
            found.append(columns.kind == self.kind)
        if self.job is not None:
            found.append(columns.job == self.job)
        if self.captures_only:
            found.append(columns.kind.in_(_VISIBLE))
        return found


@dataclass(frozen=True, slots=True)
class Found:
    """One page of a list. `next` is the number of the row behind which the next page begins; None at the end."""

    captures: list[Capture]
    next: int | None
    looked_at: int
    """How many rows were looked at; 0 when nothing was left out."""


@dataclass(frozen=True, slots=True)
class CountedYear:
    """The captures of a URL in one year. `captures` is one more than MOST_COUNTED when there are more."""

    year: int
    captures: int


class UnknownRow(Exception):
    """A page can't begin behind this row: the row is not in the index any more, or not in this list."""


class Finder:
    """Reads the index of all collections. Every call may raise CapturesError."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(
        self,
        collection: str,
        ranges: tuple[KeyRange, ...],
        conditions: CaptureConditions,
        *,
        after: int | None = None,
        limit: int = 50,
        is_backward: bool = False,
    ) -> Found:
        """Return a page of captures whose keys lie in the ranges. Raises UnknownRow.

        The page has fewer captures than `limit`, and still a next page, when many rows were looked at in vain.
        """
        walks = tuple(
            IndexScan(collection, keys, conditions.since, conditions.until, backward=is_backward)
            for keys in (ranges[::-1] if is_backward else ranges)
        )
        at, mark = (0, None) if after is None else self._place(walks, after)
        rows: list[Row[Any]] = []
        looked_at, ends = 0, time.monotonic() + _SECONDS
        while at < len(walks):
            has_conditions = bool(conditions.clauses(_C, has_dates=walks[at].keys.high is not None))
            end = walks[at].mark(self._engine, mark, WINDOW) if has_conditions else None
            rows += self._rows(walks[at], mark, conditions, limit + 1 - len(rows))
            if len(rows) > limit:
                return Found([to_capture(row) for row in rows[:limit]], rows[limit - 1].id, looked_at)
            at, mark = (at, end) if end is not None else (at + 1, None)
            looked_at += WINDOW if has_conditions else 0
            if end is not None and (looked_at >= MOST_LOOKED_AT or time.monotonic() > ends):
                return Found([to_capture(row) for row in rows], end.id, looked_at)
        return Found([to_capture(row) for row in rows], None, looked_at)

    def page(self, walk: IndexScan, after: PageMark | None, conditions: CaptureConditions, size: int) -> Select[Any]:
        """Return the query for the next rows of a walk; with conditions, for those among the next WINDOW rows."""
        has_dates = walk.keys.high is not None
        if not conditions.clauses(_C, has_dates=has_dates):
            return walk.page(after, size)
        seen = walk.page(after, WINDOW).subquery("seen")
        order = [seen.c.key, seen.c.date, seen.c.id]
        wanted = select(seen).where(*conditions.clauses(seen.c, has_dates=has_dates))
        return wanted.order_by(*(column.desc() if walk.backward else column for column in order)).limit(size)

    def years(self, collection: str, key: str) -> list[CountedYear]:
        """Return the years in which a URL was captured, at most the first 200, with the number of its captures."""
        found: list[CountedYear] = []
        mine = and_(_C.collection == collection, _C.key == key)
        since: Micros = 0
        with reading(self._engine) as connection:
            while len(found) < MOST_YEARS:
                first = connection.scalar(
                    select(_C.date)
                    .where(mine, _C.date >= since, _C.kind.in_(_VISIBLE))
                    .order_by(_C.date, _C.id)
                    .limit(1)
                )
                if first is None:
                    break
                year = year_of(first)
                since = year_begins(year + 1)
                some = (
                    select(_C.id)
                    .where(mine, _C.date >= first, _C.date < since, _C.kind.in_(_VISIBLE))
                    .limit(MOST_COUNTED + 1)
                )
                count = connection.scalar(select(func.count()).select_from(some.subquery()))
                found.append(CountedYear(year, count or 0))
        return found

    def days(self, collection: str, key: str, year: int) -> dict[int, int]:
        """Return how many captures of a URL each day of the year has, by the number of days since 1970.

        Only the year's first 100,000 captures are counted.
        """
        some = (
            select((_C.date // DAY).label("day"))
            .where(
                _C.collection == collection,
                _C.key == key,
                _C.date >= year_begins(year),
                _C.date < year_begins(year + 1),
                _C.kind.in_(_VISIBLE),
            )
            .order_by(_C.date)
            .limit(MOST_OF_A_YEAR)
            .subquery()
        )
        with reading(self._engine) as connection:
            return {
                int(row[0]): row[1] for row in connection.execute(select(some.c.day, func.count()).group_by(some.c.day))
            }

    def at_place(self, collection: str, filename: str, offset: int) -> Capture | None:
        """Return the capture at this place of a file; None when the index has none there."""
        query = select(CAPTURES).where(_C.collection == collection, _C.filename == filename, _C.offset == offset)
        with reading(self._engine) as connection:
            row = connection.execute(query).first()
        return None if row is None else to_capture(row)

    def by_record(self, collection: str, record_id: str) -> Capture | None:
        """Return the capture kept in the record; None when the index has none."""
        query = select(CAPTURES).where(_C.collection == collection, _C.record_id == record_id).limit(1)
        with reading(self._engine) as connection:
            row = connection.execute(query).first()
        return None if row is None else to_capture(row)

    def written_near(self, collection: str, url: str, date: Micros) -> list[Capture]:
        """Return the resource records at a URL that are nearest to a date: at most 20 before it and 20 after it."""
        walk = IndexScan(collection, KeyRange(urls.key(url)), conditions=(_C.kind == "resource",))
        before = replace(walk, until=date, backward=True).page(None, _NEAR)
        behind = replace(walk, since=date + 1).page(None, _NEAR)
        with reading(self._engine) as connection:
            rows = [*connection.execute(before), *connection.execute(behind)]
        return sorted(map(to_capture, rows), key=lambda each: abs(each.date - date))

    def in_file(self, collection: str, filename: str) -> int:
        """Return how many captures of a file the index has; MOST_COUNTED + 1 when there are more."""
        some = select(_C.id).where(_C.collection == collection, _C.filename == filename).limit(MOST_COUNTED + 1)
        with reading(self._engine) as connection:
            return connection.scalar(select(func.count()).select_from(some.subquery())) or 0

    def has(self, collection: str) -> bool:
        """Return whether the index has captures of the collection."""
        with reading(self._engine) as connection:
            return connection.scalar(select(_C.id).where(_C.collection == collection).limit(1)) is not None

    def collections(self, after: str, limit: int) -> list[str]:
        """Return the next names of collections that have captures, sorted."""
        names: list[str] = []
        with reading(self._engine) as connection:
            # One step along the index for each name; DISTINCT would read all of it.
            while len(names) < limit and (
                name := connection.scalar(
                    select(func.min(_C.collection)).where(_C.collection > (names[-1] if names else after))
                )
            ):
                names.append(name)
        return names

    def marks(self, prefix: str) -> dict[str, str]:
        """Return how far each source was read whose name begins so."""
        source = POSITIONS.c.source
        query = select(source, POSITIONS.c.mark).where(source >= prefix, source < prefix + chr(0x10FFFF))
        with reading(self._engine) as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def _rows(
        self, walk: IndexScan, after: PageMark | None, conditions: CaptureConditions, size: int
    ) -> Sequence[Row[Any]]:
        with reading(self._engine) as connection:
            return connection.execute(self.page(walk, after, conditions, size)).all()

    def _place(self, walks: tuple[IndexScan, ...], row_id: int) -> tuple[int, PageMark]:
        """Return the walk that has the row, and the row's place in it."""
        query = select(_C.collection, _C.key, _C.date, _C.id).where(_C.id == row_id)
        with reading(self._engine) as connection:
            row = connection.execute(query).first()
        for at, walk in enumerate(walks):
            if row is not None and row.collection == walk.collection and _is_in(walk.keys, row.key):
                return at, PageMark(row.key, row.date, row.id)
        raise UnknownRow(str(row_id))


def year_of(date: Micros) -> int:
    """Return the year of a moment, in UTC."""
    return (_EPOCH + timedelta(microseconds=date)).year


def year_begins(year: int) -> Micros:
    """Return the first moment of a year, in UTC; years after 9999 begin where 9999 ends."""
    if year > MAXYEAR:
        return int((datetime(MAXYEAR, 12, 31) - _EPOCH).total_seconds()) * 1_000_000 + DAY
    return int((datetime(year, 1, 1) - _EPOCH).total_seconds()) * 1_000_000


def _is_in(keys: KeyRange, key: str) -> bool:
    return key == keys.low if keys.high is None else keys.low <= key < keys.high
