"""The intake adds captures to the index that clients name by lines of CDX files, as OutbackCDX takes them.

A line only says where a record is. The intake reads the record there itself, from the home or the storage, so that each
row of the index stands on a record. A capture first gets its line in the sidecar, durably, then its row. After a crash
between the two, the indexer adds the row. The same lines can be posted again: they add nothing.

Captures that came in this way become no originals for deduplication, as those of an import without `--dedup`.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import batched
from pathlib import Path
from typing import BinaryIO, Final

from archive import url as urls
from archive.capture import Capture
from archive.dates import timestamp14
from archive.file_lock import locked_folder
from archive.files import make_folder, replace_durably
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings
from archive.storage.record_store import RecordStore
from archive.storage.storage import StorageError
from archive.warc import cdxj
from archive.warc.reading.exchange_pairs import AskedRequest, ExchangePairs, asked_by
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.validation import acceptable
from dedupdb.cdx.posted_lines import MAX_LINE, LineReader, LineRefused, NamedRecord

logger = logging.getLogger(__name__)

MAX_LINES: Final = 100_000
"""Lines of a request that are looked at."""
MAX_SHOWN: Final = 1_000
"""Refused lines that the answer names; all are counted."""
SECONDS: Final = 120.0
"""Time in which records are read for one request."""
_AT_ONCE: Final = 5_000
_DRAFT: Final = ".posted.part"


class _OutOfTime(Exception):
    """The request has used its time."""


@dataclass(slots=True)
class IntakeResult:
    """The result says of one request how many captures are new or were known, and which lines were refused."""

    added: int = 0
    known: int = 0
    refused: int = 0
    reasons: list[tuple[int, str]] = field(default_factory=list)
    """Number and reason of the first refused lines."""

    def refuse(self, number: int, reason: str) -> None:
        """Count a refused line."""
        self.refused += 1
        if len(self.reasons) < MAX_SHOWN:
            self.reasons.append((number, reason))

    def __str__(self) -> str:
        """Return the answer; its first line is OutbackCDX's."""
        said = [f"Added {self.added} records"]
        if self.known:
            said.append(f"Known before: {self.known}")
        if self.refused:
            said.append(f"Refused lines: {self.refused}")
        said += [f"line {number}: {reason}" for number, reason in sorted(self.reasons)]
        if (more := self.refused - len(self.reasons)) > 0:
            said.append(f"and {more} more refused lines")
        return "\n".join(said) + "\n"


class Intake:
    """The intake takes the lines for all collections of one home. Threads may share it."""

    def __init__(self, settings: Settings, captures: Captures, *, seconds: float = SECONDS) -> None:
        self._settings = settings
        self._captures = captures
        self._records = RecordStore(settings)
        self._seconds = seconds

    def take(self, collection: str, body: BinaryIO) -> IntakeResult:
        """Take the lines of a request for a collection.

        Raises CapturesError when the index can't be written, and OSError when a sidecar can't be written. The captures
        of some lines may be in the index then; the same request can be sent again.
        """
        result, reader = IntakeResult(), LineReader()
        deadline = time.monotonic() + self._seconds
        for batch in batched(_named(body, reader, result), _AT_ONCE):
            self._take(collection, batch, result, deadline)
        logger.info(
            "collection %s: posted lines added %d captures; %d were known, %d lines were refused",
            *(collection, result.added, result.known, result.refused),
        )
        return result

    def _take(self, collection: str, batch: Sequence[NamedRecord], result: IntakeResult, deadline: float) -> None:
        by_file = defaultdict[str, list[NamedRecord]](list)
        for named in batch:
            by_file[named.filename].append(named)
        for filename, wanted in sorted(by_file.items()):
            place = WarcPaths(self._settings.collection(collection), filename)
            found = self._captures.at(collection, filename, {named.offset for named in wanted})
            fresh: dict[int, Capture] = {}
            requests = _Requests(self._records, place, deadline)
            for named in sorted(wanted, key=lambda each: each.offset):
                try:
                    capture = found.get(named.offset) or fresh.get(named.offset)
                    if capture is not None:
                        _compare(named, capture.url, capture.timestamp, capture.method)
                        result.known += 1
                    else:
                        fresh[named.offset] = self._read(place, named, requests, deadline)
                except LineRefused as error:
                    result.refuse(named.number, str(error))
            if fresh:
                result.added += self._captures.add(self._kept(place, fresh))

    def _read(self, place: WarcPaths, named: NamedRecord, requests: _Requests, deadline: float) -> Capture:
        """Return the capture of the record that the line names. Raises LineRefused."""

        def watch() -> None:
            if time.monotonic() > deadline:
                raise _OutOfTime

        collection = place.folder.name
        try:
            watch()
            if place.growing.exists() and not place.warc.exists():
                raise LineRefused(f"the file {place.name} is still being written; its writer has its lines indexed")
            with self._records.record(collection, place.name, named.offset, None) as record:
                capture = _capture(record, collection, place.name, named, watch)
                is_answer = record.kind in ("response", "revisit") and record.is_http
            capture = acceptable(requests.with_request(capture) if is_answer else capture)
        except FileNotFoundError:
            where = "in the home or the storage" if self._settings.storage.url else "in the home"
            raise LineRefused(f"collection {collection} has no file {place.name} {where}") from None
        except WarcError as error:
            raise LineRefused(f"no whole record of {place.name} is at {named.offset}: {error.reason}") from None
        except StorageError as error:
            raise LineRefused(f"the storage can't be read: {error}") from None
        except OSError as error:
            raise LineRefused(f"the file {place.name} can't be read: {error.strerror}") from None
        except _OutOfTime:
            raise LineRefused(f"the time of {self._seconds:.0f} s was used up; post the line again") from None
        except LineRefused:
            raise
        except ValueError as error:
            raise LineRefused(f"the record can't be indexed: {error}") from None
        _compare(named, capture.url, capture.timestamp, capture.method)
        return capture if capture.kind == "revisit" else replace(capture, buckets=())

    def _kept(self, place: WarcPaths, fresh: Mapping[int, Capture]) -> list[Capture]:
        """Add the captures to the sidecar of their file, and return them. A capture that it has is returned as it is
        there. The old sidecar stays until the new one is durable.
        """
        indexes = place.folder / "indexes"
        make_folder(place.sidecar.parent)
        known: dict[int, Capture] = {}

        def lines() -> Iterator[str]:
            for raw in _lines_of(place.sidecar):
                text, (offset, _) = raw.decode(errors="replace"), cdxj.place_in(raw, place.name) or (None, 0)
                if offset is not None and offset in fresh:
                    with suppress(ValueError):
                        known[offset] = acceptable(cdxj.parse(text, place.folder.name))
                if offset not in fresh or offset in known:
                    yield text
            yield from (cdxj.line(capture) for offset, capture in fresh.items() if offset not in known)

        with locked_folder(indexes):
            draft = indexes / _DRAFT
            cdxj.write_sorted(draft, lines())
            replace_durably(draft, place.sidecar)
        return [known.get(offset, capture) for offset, capture in fresh.items()]


class _Requests:
    """The requests of captures in one file are found by their ids.

    The next record is the request in files of most programs. For any other file, all records are read once.
    """

    def __init__(self, records: RecordStore, place: WarcPaths, deadline: float) -> None:
        self._records = records
        self._place = place
        self._deadline = deadline
        self._of_file: dict[int, AskedRequest] | None = None

    def with_request(self, capture: Capture) -> Capture:
        """Return the capture with the method and body of its request. Raises _OutOfTime, OSError, StorageError."""
        try:
            end = capture.offset + capture.length
            with self._records.record(capture.collection, capture.filename, end, None) as follower:
                if follower.kind == "request" and capture.record_id in follower.concurrent_to:
                    return asked_by(follower).of(capture)
        except WarcError:  # the end of the file, or damage behind the record
            pass
        if self._of_file is None:
            self._of_file = self._read()
        request = self._of_file.get(capture.offset)
        return capture if request is None else request.of(capture)

    def _read(self) -> dict[int, AskedRequest]:
        """Return the requests with another method than GET, by the offsets of their answers."""
        pairs: ExchangePairs[int] = ExchangePairs()
        found: dict[int, AskedRequest] = {}
        with suppress(WarcError):  # what lies before the damage counts
            for record in self._records.records(self._place.folder.name, self._place.name):
                if time.monotonic() > self._deadline:
                    raise _OutOfTime
                if record.kind == "request":
                    pairs.add_request(asked_by(record))
                elif record.kind in cdxj.KINDS:
                    pairs.add_answer(record.offset, record)
                    found |= _not_by_get(pairs.settled())
        return found | _not_by_get(pairs.settled(is_end=True))


def _not_by_get(settled: Iterable[tuple[int, AskedRequest | None]]) -> dict[int, AskedRequest]:
    return {offset: request for offset, request in settled if request is not None and request.method != "GET"}


def _capture(
    record: StoredRecord, collection: str, filename: str, named: NamedRecord, watch: Callable[[], None]
) -> Capture:
    """Return the capture of a record, after a look at its header alone. Raises LineRefused and WarcError."""
    if record.offset != named.offset:
        raise LineRefused(f"no record of {filename} begins at {named.offset}")
    if record.kind not in cdxj.KINDS:
        raise LineRefused(
            f"the record at {named.offset} is a {record.kind[:40] or 'record without type'}, not a capture"
        )
    _compare(named, record.url, timestamp14(record.date), named.method)
    return cdxj.capture_of(record, collection, filename, watch)


def _compare(named: NamedRecord, url: str, timestamp: str, method: str) -> None:
    """Raise LineRefused when the line disagrees with the record."""
    if urls.key(url) != urls.key(named.url):
        raise LineRefused(f"the record at {named.offset} of {named.filename} has the URL {url[:200]!r}")
    if timestamp != named.timestamp:
        raise LineRefused(f"the record at {named.offset} of {named.filename} has the date {timestamp}")
    if named.method not in ("GET", method):  # a line that names no method counts as GET
        raise LineRefused(
            f"the record at {named.offset} of {named.filename} is of a {method[:20]} request, as the file tells,"
            f" not of a {named.method[:20]}"
        )


def _named(body: BinaryIO, reader: LineReader, result: IntakeResult) -> Iterator[NamedRecord]:
    """Yield the records that the lines name, and count the refused lines."""
    while raw := body.readline(MAX_LINE + 2):
        while not raw.endswith(b"\n") and (rest := body.readline(MAX_LINE)):
            raw = raw[: MAX_LINE + 1] + rest[-1:]
        if reader.number >= MAX_LINES:
            result.refuse(reader.number + 1, f"a request may have {MAX_LINES} lines; post the others from here on")
            return
        try:
            named = reader.record(raw.removesuffix(b"\n"))
        except LineRefused as error:
            result.refuse(reader.number, str(error))
            continue
        if named is not None:
            yield named


def _lines_of(sidecar: Path) -> Iterator[bytes]:
    """Yield the lines of a sidecar that are whole; none without a sidecar."""
    try:
        with sidecar.open("rb") as file:
            yield from (raw.removesuffix(b"\n") for raw in file if raw.endswith(b"\n"))
    except FileNotFoundError:
        return
