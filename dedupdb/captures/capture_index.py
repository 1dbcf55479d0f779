"""The capture index says where each capture is. It is durable, in SQLite or PostgreSQL, and outlives every crawl. The
durable index, in SQLite or PostgreSQL: history that outlives every crawl.

Its rows come from the indexer and from nowhere else, and can all be had again from the disk. A query is read in
pages, so that neither a long answer nor a slow reader holds memory, a transaction or a connection.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import batched, chain, islice
from types import TracebackType
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, func, select, tuple_

from archive import url as urls
from archive.capture import Capture, RecordKind
from archive.dates import Micros
from dedupdb.captures.page_numbers import Pages
from dedupdb.captures.paging import IndexScan, closest_first, paged
from dedupdb.captures.query import KeyRange, Query
from dedupdb.captures.schema import (
    CAPTURES,
    POSITIONS,
    insert_for,
    insert_new,
    open_engine,
    reading,
    to_capture,
    to_row,
    writing,
)

SEARCH_SECONDS: Final = 30.0
_BATCH: Final = 1000
_FEW: Final = 100
_C: Final = CAPTURES.c
_PLACE: Final = ("collection", "filename", "offset")
"""What tells one capture from all others."""
_COMPLETE: Final = (_C.kind == "response", _C.truncated.is_(None), _C.status.is_not(None))


class SearchTimeout(Exception):
    """A query looked at captures for its whole time; the message says what to do."""


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A source was read up to this position. What `mark` means is the reader's business."""

    source: str
    mark: str


class Captures:
    """The object is the index of all collections. Safe to share between threads, and between processes by URL."""

    def __init__(self, database_url: str) -> None:
        """Open the database, and make the tables where there are none. Raises CapturesError."""
        self._engine = open_engine(database_url)
        self._pages = Pages(self._engine)
        self._insert = insert_for(self._engine)

    def add(self, captures: Iterable[Capture], *, position: SourcePosition | None = None) -> int:
        """Take captures in, and note how far their source was read; all of it or nothing. How many were new.

        A capture whose (collection, filename, offset) is known is left as it is. Raises ValueError for one whose
        SHA-256 is not hexadecimal.
        """
        added = 0
        with writing(self._engine) as connection:
            for batch in batched(captures, _BATCH):
                added += insert_new(connection, CAPTURES, [to_row(capture) for capture in batch], _PLACE)
            if position is not None:
                self._note(connection, position)
        return added

    def positions(self, prefix: str) -> dict[str, str]:
        """Return marks of the sources whose name starts so."""
        query = select(POSITIONS).where(*_begins(prefix))
        with reading(self._engine) as connection:
            return {row.source: row.mark for row in connection.execute(query)}

    def offsets(self, collection: str, filename: str, among: Collection[int]) -> set[int]:
        """Return at which of those offsets of a file the index has a capture."""
        mine = and_(_C.collection == collection, _C.filename == filename)
        with reading(self._engine) as connection:
            found = (select(_C.offset).where(mine, _C.offset.in_(batch)) for batch in batched(among, _BATCH))
            return {offset for query in found for offset in connection.scalars(query)}

    def prune(self, collection: str, filename: str, offsets: Collection[int]) -> int:
        """Drop captures of a file other than those at the offsets. How many there were."""
        mine = and_(_C.collection == collection, _C.filename == filename)
        with writing(self._engine) as connection:
            known = connection.scalars(select(_C.offset).where(mine)).all()
            strays = set(known) - set(offsets)
            for batch in batched(strays, _BATCH):
                connection.execute(delete(CAPTURES).where(mine, _C.offset.in_(batch)))
        return len(strays)

    def filenames(self, collection: str) -> list[str]:
        """Return names of the files in which the collection has captures, sorted; one step along the index for each."""
        mine = _C.collection == collection
        names = select(func.min(_C.filename).label("filename")).where(mine).cte("names", recursive=True)
        later = select(func.min(_C.filename)).where(mine, _C.filename > names.c.filename).scalar_subquery()
        names = names.union_all(select(later).where(names.c.filename.is_not(None)))
        with reading(self._engine) as connection:
            return [name for name in connection.scalars(select(names.c.filename)) if name is not None]

    def drop_file(self, collection: str, filename: str, position: str) -> int:
        """Drop the captures of one file, and the position of the source named so. How many captures."""
        with writing(self._engine) as connection:
            connection.execute(delete(POSITIONS).where(POSITIONS.c.source == position))
        return self.prune(collection, filename, ())

    def drop(self, collection: str, sources: str) -> int:
        """Drop a collection's captures, and the positions of the sources whose name starts so. How many captures.

        Positions go first: whoever is stopped half way finds everything to be read again.
        """
        dropped = 0
        with writing(self._engine) as connection:
            connection.execute(delete(POSITIONS).where(*_begins(sources)))
        some = select(_C.id).where(_C.collection == collection).limit(_BATCH)
        while True:
            with writing(self._engine) as connection:
                count = connection.execute(delete(CAPTURES).where(_C.id.in_(some))).rowcount
            dropped += count
            if count < _BATCH:
                return dropped

    def search(self, query: Query, *, seconds: float = SEARCH_SECONDS) -> Iterator[Capture]:
        """Return the captures that the query asks for, in its order, read as they are taken.

        Raises SearchTimeout when looking for them, the caller's own time not counted, took longer than `seconds`.
        """
        return limited((capture for capture, is_wanted in self.looked_at(query, seconds=seconds) if is_wanted), query)

    def looked_at(self, query: Query, *, seconds: float = SEARCH_SECONDS) -> Iterator[tuple[Capture, bool]]:
        """Yield every capture that is looked at for a query, without its limit, and whether it passes; see `search`."""
        spent, since = 0.0, time.monotonic()
        for row in self._rows(query):
            capture = to_capture(row)
            spent, since = spent + time.monotonic() - since, time.monotonic()
            if spent > seconds:
                raise SearchTimeout(f"looked for {seconds:.0f} s; ask for fewer URLs or a shorter time, or filter less")
            is_wanted = query.accepts(capture)
            if is_wanted or query.counts_skips:
                yield capture, is_wanted
                since = time.monotonic()

    def size(self, query: Query) -> int:
        """Return how many rows the index has for the query, before dates of many URLs and filters are looked at."""
        return self._pages.count(self._walks(query))

    def by_records(self, collection: str, record_ids: Iterable[str]) -> dict[str, Capture]:
        """Return the captures kept in some records, by record id."""
        query = select(CAPTURES).where(_C.collection == collection, _C.record_id.in_(list(record_ids)))
        with reading(self._engine) as connection:
            return {row.record_id: to_capture(row) for row in connection.execute(query)}

    def nearest(
        self,
        collection: str,
        url: str,
        date: Micros | None,
        *,
        kinds: Sequence[RecordKind] = ("response", "revisit"),
        methods: Sequence[str] = ("GET",),
        limit: int = 20,
    ) -> list[Capture]:
        """Capture with the URL's key, best first: those of exactly this URL, then the others, each by distance.

        Without a date, the newest is nearest. No methods means any method.
        """
        wanted = (_C.kind.in_(kinds), *([_C.method.in_(methods)] if methods else []))
        scan = IndexScan(collection, KeyRange(urls.key(url)), conditions=wanted)
        with reading(self._engine) as connection:
            rows = connection.execute(replace(scan, backward=True).page(None, _FEW)).all()
        if len(rows) < _FEW:
            # Nearly always: then sorting them here takes one query instead of four.
            return [to_capture(row) for row in _by_nearness(rows, url, date)[:limit]]
        found: list[Row[Any]] = []
        for same_url in (_C.url == url, _C.url != url):
            nearest = closest_first(self._engine, replace(scan, conditions=(*wanted, same_url)), date)
            found += islice(nearest, limit - len(found))
        return [to_capture(row) for row in found]

    def by_record(self, collection: str, record_id: str) -> Capture | None:
        """Return the capture kept in the record, None when the index has none."""
        query = select(CAPTURES).where(_C.collection == collection, _C.record_id == record_id).limit(1)
        with reading(self._engine) as connection:
            row = connection.execute(query).first()
        return to_capture(row) if row else None

    def complete(self, collection: str) -> Iterator[Capture]:
        """Return all complete responses whose payload is known, ordered by SHA-256, length and date."""
        order = (_C.sha256, _C.payload_length, _C.date, _C.id)

        def page(after: Row[Any] | None, size: int) -> Select[Any]:
            begin: ColumnElement[bool] = _C.sha256.is_not(None)
            if after is not None:
                begin = tuple_(*order) > tuple_(*(getattr(after, column.name) for column in order))
            query = select(CAPTURES).where(_C.collection == collection, begin, *_COMPLETE)
            return query.order_by(*order).limit(size)

        return map(to_capture, paged(self._engine, page))

    def with_payloads(self, collection: str, payloads: Iterable[bytes]) -> Iterator[Capture]:
        """Yield the complete responses with any of those payloads, named by raw SHA-256, earliest first."""
        for batch in batched(payloads, _FEW):
            query = select(CAPTURES).where(_C.collection == collection, _C.sha256.in_(batch), *_COMPLETE)
            with reading(self._engine) as connection:
                rows = connection.execute(query.order_by(_C.date, _C.id)).all()
            yield from map(to_capture, rows)

    def collections(self) -> list[str]:
        """Return names of the collections that have captures, sorted."""
        names: list[str] = []
        with reading(self._engine) as connection:
            # One step along the index per name; DISTINCT would read all of it.
            while name := connection.scalar(
                select(func.min(_C.collection)).where(_C.collection > (names[-1] if names else ""))
            ):
                names.append(name)
        return names

    def has(self, collection: str) -> bool:
        """Return whether the collection has captures."""
        with reading(self._engine) as connection:
            return connection.scalar(select(_C.id).where(_C.collection == collection).limit(1)) is not None

    def count(self, collection: str) -> int:
        """Return how many captures the collection has; reads them all."""
        with reading(self._engine) as connection:
            return connection.scalar(select(func.count()).where(_C.collection == collection)) or 0

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self._engine.dispose()

    def __enter__(self) -> Captures:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note(self, connection: Connection, position: SourcePosition) -> None:
        fresh = self._insert(POSITIONS).values(source=position.source, mark=position.mark)
        connection.execute(fresh.on_conflict_do_update(index_elements=["source"], set_={"mark": position.mark}))

    def _rows(self, query: Query) -> Iterator[Row[Any]]:
        scans = self._walks(query)
        if query.sort == "closest":
            return closest_first(self._engine, scans[0], query.closest)
        if query.page is not None:
            return self._pages.rows(scans, query.page)
        return chain.from_iterable(scan.rows(self._engine) for scan in scans)

    def _walks(self, query: Query) -> tuple[IndexScan, ...]:
        scans = tuple(IndexScan(query.collection, keys, query.since, query.until) for keys in query.ranges)
        if query.goes_backward:
            return tuple(replace(scan, backward=True) for scan in reversed(scans))
        return scans


def limited[T](found: Iterator[T], query: Query) -> Iterator[T]:
    """Yield as many as the query asks for. The last ones come as the first ones of the walk, and are turned round
    again.
    """
    if query.limit is None:
        return found
    if query.limit >= 0:
        return islice(found, query.limit)
    return reversed(list(islice(found, -query.limit)))


def _begins(prefix: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the condition that a text begins with `prefix`. LIKE can't say so: in SQLite it ignores case."""
    return POSITIONS.c.source >= prefix, POSITIONS.c.source < prefix + chr(0x10FFFF)


def _by_nearness(newest_first: Sequence[Row[Any]], url: str, date: Micros | None) -> list[Row[Any]]:
    def distance(row: Row[Any]) -> tuple[bool, int]:
        return row.url != url, 0 if date is None else abs(row.date - date)

    return sorted(newest_first if date is None else reversed(newest_first), key=distance)
