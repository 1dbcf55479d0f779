"""The capture index says where each capture is. It is durable, in SQLite or PostgreSQL, and outlives every crawl.

Its rows come from the indexer alone, and can be rebuilt from the disk. A query is read in pages, so neither a long
answer nor a slow reader keeps memory, a transaction or a connection.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import batched, chain, islice
from types import TracebackType
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, func, or_, select, tuple_

from archive import digest as digests
from archive import url as urls
from archive.capture import Capture, RecordKind
from archive.dates import Micros
from archive.warc.records.request_query import asked_key
from dedupdb.captures.page_numbers import Pages
from dedupdb.captures.paging import IndexScan, PageMark, closest_first, paged
from dedupdb.captures.query import KeyRange, Query, ResumeMark, beginning_with
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
"""The columns that tell one capture from all others."""
_WITH_PAYLOAD: Final = ("response", "resource", "conversion")
_COMPLETE: Final = (_C.kind == "response", _C.truncated.is_(None), _C.status.is_not(None))


class SearchTimeout(Exception):
    """A query used all of its time. The message says what to do."""


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A source was read up to this position. The reader of the source defines the meaning of `mark`."""

    source: str
    mark: str


class Captures:
    """The index has the captures of all collections. Threads may share it; processes share the database by its URL."""

    def __init__(self, database_url: str) -> None:
        """Open the database, and make missing tables. Raises CapturesError."""
        self._engine = open_engine(database_url)
        self._pages = Pages(self._engine)
        self._insert = insert_for(self._engine)

    def add(self, captures: Iterable[Capture], *, position: SourcePosition | None = None) -> int:
        """Add captures and the position of their source in one transaction. Return how many captures were new.

        A capture with a known (collection, filename, offset) is not changed. Raises ValueError for a capture whose
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
        """Return the marks of the sources whose names begin with the prefix."""
        query = select(POSITIONS).where(*_begins(prefix))
        with reading(self._engine) as connection:
            return {row.source: row.mark for row in connection.execute(query)}

    def places(self, collection: str, filename: str, among: Collection[int]) -> set[tuple[int, int]]:
        """Return offset and length of the captures of a file that the index has at the given offsets."""
        mine = and_(_C.collection == collection, _C.filename == filename)
        with reading(self._engine) as connection:
            found = (select(_C.offset, _C.length).where(mine, _C.offset.in_(batch)) for batch in batched(among, _BATCH))
            return {(row.offset, row.length) for query in found for row in connection.execute(query)}

    def at(self, collection: str, filename: str, offsets: Collection[int]) -> dict[int, Capture]:
        """Return the captures of a file at the given offsets, by offset."""
        mine = and_(_C.collection == collection, _C.filename == filename)
        with reading(self._engine) as connection:
            found = (select(CAPTURES).where(mine, _C.offset.in_(batch)) for batch in batched(offsets, _BATCH))
            return {row.offset: to_capture(row) for query in found for row in connection.execute(query)}

    def prune(self, collection: str, filename: str, offsets: Collection[int]) -> int:
        """Remove the captures of a file that are not at the given offsets. Return how many were removed."""
        mine = and_(_C.collection == collection, _C.filename == filename)
        with writing(self._engine) as connection:
            known = connection.scalars(select(_C.offset).where(mine)).all()
            strays = set(known) - set(offsets)
            _delete_at(connection, mine, strays)
        return len(strays)

    def remove(self, collection: str, filename: str, offsets: Collection[int]) -> None:
        """Remove the captures of a file that are at the given offsets."""
        with writing(self._engine) as connection:
            _delete_at(connection, and_(_C.collection == collection, _C.filename == filename), offsets)

    def filenames(self, collection: str) -> list[str]:
        """Return the sorted names of the files in which the collection has captures.

        Each name costs one step along the index.
        """
        mine = _C.collection == collection
        names = select(func.min(_C.filename).label("filename")).where(mine).cte("names", recursive=True)
        later = select(func.min(_C.filename)).where(mine, _C.filename > names.c.filename).scalar_subquery()
        names = names.union_all(select(later).where(names.c.filename.is_not(None)))
        with reading(self._engine) as connection:
            return [name for name in connection.scalars(select(names.c.filename)) if name is not None]

    def drop_file(self, collection: str, filename: str, position: str) -> int:
        """Remove the captures of one file and the position of its source. Return how many captures were removed."""
        mine = and_(_C.collection == collection, _C.filename == filename)
        with writing(self._engine) as connection:
            connection.execute(delete(POSITIONS).where(POSITIONS.c.source == position))
            return connection.execute(delete(CAPTURES).where(mine)).rowcount

    def drop(self, collection: str, sources: str) -> int:
        """Remove a collection's captures and the positions of its sources. Return how many captures were removed.

        The positions are removed with each batch of captures. After an interruption, everything is read again.
        """
        dropped = 0
        some = select(_C.id).where(_C.collection == collection).limit(_BATCH)
        while True:
            with writing(self._engine) as connection:
                connection.execute(delete(POSITIONS).where(*_begins(sources)))
                count = connection.execute(delete(CAPTURES).where(_C.id.in_(some))).rowcount
            dropped += count
            if count < _BATCH:
                return dropped

    def search(self, query: Query, *, seconds: float = SEARCH_SECONDS) -> Iterator[Capture]:
        """Yield the captures for the query, in its order, and read them from the index as they are used.

        Raises SearchTimeout when the search took longer than `seconds`. The time of the caller does not count.
        """
        return limited((capture for capture, is_wanted in self.looked_at(query, seconds=seconds) if is_wanted), query)

    def looked_at(self, query: Query, *, seconds: float = SEARCH_SECONDS) -> Iterator[tuple[Capture, bool]]:
        """Yield every capture that a query reads, and whether it passes. The limit is not used; see `search`.

        A capture of which readers may not know is never yielded.
        """
        spent, since = 0.0, time.monotonic()
        for row in self._rows(query):
            capture = to_capture(row)
            spent, since = spent + time.monotonic() - since, time.monotonic()
            if spent > seconds:
                raise SearchTimeout(f"looked for {seconds:.0f} s; ask for fewer URLs or a shorter time, or filter less")
            if not query.allows(capture):
                continue
            is_wanted = query.accepts(capture)
            if is_wanted or query.counts_skips:
                yield capture, is_wanted
                since = time.monotonic()

    def mark_of(self, capture: Capture) -> ResumeMark | None:
        """Return the mark of a capture, behind which another search can begin; None when the index has it no more."""
        mine = and_(_C.collection == capture.collection, _C.filename == capture.filename, _C.offset == capture.offset)
        with reading(self._engine) as connection:
            row = connection.execute(select(_C.key, _C.date, _C.id).where(mine)).first()
        return ResumeMark(row.key, row.date, row.id) if row else None

    def size(self, query: Query) -> int:
        """Return how many index rows a query has, before the dates of many URLs and the filters are applied.

        The last row that counts is that of a capture of which readers may know. Raises SearchTimeout.
        """
        whole = replace(query, sort="default", limit=None, page=None, after=None, counts_skips=True)
        scans = self._walks(whole)
        if not query.allowed:
            return self._pages.count(scans)
        last = next(self.looked_at(replace(whole, sort="reverse")), None)
        mark = self.mark_of(last[0]) if last else None
        if mark is None:
            return 0
        behind = sum(scan.count(self._engine, after) for scan, after in _behind(scans, mark))
        return self._pages.count(scans) - behind

    def by_records(self, collection: str, record_ids: Iterable[str]) -> dict[str, Capture]:
        """Return the captures of some records, by record id."""
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
        body: str | None = None,
        limit: int = 20,
    ) -> list[Capture]:
        """Return the captures of requests to this URL by one of the methods, the best first.

        Those of exactly this URL and this body come before the others with the same key. Both groups are ordered by
        their distance from the date. Without a date, the newest capture is the nearest. An empty list of methods means
        any method, whatever the body. Lines of older releases have the method beside the key: they are found, too.
        """
        wanted = (_C.kind.in_(kinds), *([_C.method.in_(methods)] if methods else []))
        plain = urls.key(url)
        keys = [asked_key(url, method, body) for method in methods]
        if "GET" in methods or not methods:
            keys.insert(0, plain)
        found: list[Capture] = []
        for key in dict.fromkeys((*keys, plain)):
            if len(found) < limit:
                scan = IndexScan(collection, KeyRange(key), conditions=wanted)
                found += self._nearest(scan, url, date, limit - len(found))
        return found if body is None else sorted(found, key=lambda capture: capture.request_body != body)

    def with_prefix(
        self, collection: str, prefix: str, *, methods: Sequence[str], limit: int, is_whole: bool = False
    ) -> list[Capture]:
        """Return at most `limit` captures by the methods whose keys begin with the prefix, in the order of the keys.

        With `is_whole`, the key is the prefix. The limit counts rows of other methods, too.
        """
        scan = IndexScan(collection, KeyRange(prefix) if is_whole else beginning_with(prefix))
        with reading(self._engine) as connection:
            rows = connection.execute(scan.page(None, limit)).all()
        return [to_capture(row) for row in rows if row.method in methods]

    def _nearest(self, scan: IndexScan, url: str, date: Micros | None, limit: int) -> list[Capture]:
        """Return the captures of one key, the best first."""
        with reading(self._engine) as connection:
            rows = connection.execute(replace(scan, backward=True).page(None, _FEW)).all()
        if len(rows) < _FEW:
            # Nearly always: then sorting them here takes one query instead of four.
            return [to_capture(row) for row in _by_nearness(rows, url, date)[:limit]]
        found: list[Row[Any]] = []
        for same_url in (_C.url == url, _C.url != url):
            nearest = closest_first(self._engine, replace(scan, conditions=(*scan.conditions, same_url)), date)
            found += islice(nearest, limit - len(found))
        return [to_capture(row) for row in found]

    def by_record(self, collection: str, record_id: str) -> Capture | None:
        """Return the capture of the record, or None when the index has none."""
        query = select(CAPTURES).where(_C.collection == collection, _C.record_id == record_id).limit(1)
        with reading(self._engine) as connection:
            row = connection.execute(query).first()
        return to_capture(row) if row else None

    def with_digest(self, collection: str, digest: str, limit: int) -> list[Capture]:
        """Return at most `limit` complete captures whose records have the payload with that digest.

        `digest` has the form of index lines. A SHA-256 also finds records that name the payload by another digest.
        """
        algorithm, value = digests.parse(digest)
        known = _C.digest == digest
        if algorithm == "sha256" and value is not None:
            known = or_(known, _C.sha256 == value)
        whole = (_C.kind.in_(_WITH_PAYLOAD), _C.truncated.is_(None), _C.method != "HEAD")
        query = select(CAPTURES).where(_C.collection == collection, known, *whole).limit(limit)
        with reading(self._engine) as connection:
            return [to_capture(row) for row in connection.execute(query)]

    def complete(self, collection: str) -> Iterator[Capture]:
        """Yield all complete responses with a known payload, ordered by SHA-256, length and date."""
        order = (_C.sha256, _C.payload_length, _C.date, _C.id)

        def page(after: Row[Any] | None, size: int) -> Select[Any]:
            begin: ColumnElement[bool] = _C.sha256.is_not(None)
            if after is not None:
                begin = tuple_(*order) > tuple_(*(getattr(after, column.name) for column in order))
            query = select(CAPTURES).where(_C.collection == collection, begin, *_COMPLETE)
            return query.order_by(*order).limit(size)

        return map(to_capture, paged(self._engine, page))

    def with_payloads(self, collection: str, payloads: Iterable[bytes]) -> Iterator[Capture]:
        """Yield the complete responses with any of the payloads, given as raw SHA-256, the earliest first."""
        for batch in batched(payloads, _FEW):
            query = select(CAPTURES).where(_C.collection == collection, _C.sha256.in_(batch), *_COMPLETE)
            with reading(self._engine) as connection:
                rows = connection.execute(query.order_by(_C.date, _C.id)).all()
            yield from map(to_capture, rows)

    def collections(self) -> list[str]:
        """Return the sorted names of the collections that have captures."""
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
        """Return how many captures the collection has. All of them are read."""
        with reading(self._engine) as connection:
            return connection.scalar(select(func.count()).where(_C.collection == collection)) or 0

    def close(self) -> None:
        """Close all connections. A later call opens new ones."""
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
        if query.after is not None:
            return chain.from_iterable(scan.rows(self._engine, after) for scan, after in _behind(scans, query.after))
        return chain.from_iterable(scan.rows(self._engine) for scan in scans)

    def _walks(self, query: Query) -> tuple[IndexScan, ...]:
        scans = tuple(IndexScan(query.collection, keys, query.since, query.until) for keys in query.ranges)
        if query.goes_backward:
            return tuple(replace(scan, backward=True) for scan in reversed(scans))
        return scans


def limited[T](found: Iterator[T], query: Query) -> Iterator[T]:
    """Yield at most as many captures as the query asks for.

    For the last captures, the index is read backwards, and the captures are put in order again.
    """
    if query.limit is None:
        return found
    if query.limit >= 0:
        return islice(found, query.limit)
    return reversed(list(islice(found, -query.limit)))


def _behind(scans: Sequence[IndexScan], mark: ResumeMark) -> Iterator[tuple[IndexScan, PageMark | None]]:
    """Yield the forward scans that have rows behind the mark, and after which of its rows each of them begins."""
    for scan in scans:
        low, high = scan.keys.low, scan.keys.high
        if mark.key < low:
            yield scan, None
        elif mark.key == low or (high is not None and mark.key < high):
            yield scan, PageMark(mark.key, mark.date, mark.id)


def _begins(prefix: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the condition that a text begins with `prefix`. LIKE ignores case in SQLite, so it can't be used."""
    return POSITIONS.c.source >= prefix, POSITIONS.c.source < prefix + chr(0x10FFFF)


def _delete_at(connection: Connection, of_file: ColumnElement[bool], offsets: Collection[int]) -> None:
    for batch in batched(offsets, _BATCH):
        connection.execute(delete(CAPTURES).where(of_file, _C.offset.in_(batch)))


def _by_nearness(newest_first: Sequence[Row[Any]], url: str, date: Micros | None) -> list[Row[Any]]:
    def distance(row: Row[Any]) -> tuple[bool, int]:
        return row.url != url, 0 if date is None else abs(row.date - date)

    return sorted(newest_first if date is None else reversed(newest_first), key=distance)
