"""Archived responses made ready to be sent: the right capture, its head for this client, its payload in pieces."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Final, Protocol

from archive.capture import Capture, RecordKind
from archive.dates import Micros, iso_second, timestamp14
from archive.settings.load import Settings
from archive.storage.record_store import RecordStore
from archive.warc.member_reader import WarcError
from archive.warc.reader import StoredRecord
from proxy.log_lines import about
from proxy.protocol.byte_range import ByteRange, parse_content_range
from proxy.protocol.http1 import BadMessage, ResponseHead, parse_response

log = logging.getLogger(__name__)

_CANDIDATES: Final = 40
_DROPPED: Final = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"transfer-encoding",
        b"content-length",
        b"content-range",
        b"trailer",
        b"upgrade",
        b"",
    )
)
_NO_BODY: Final = frozenset((204, 304))


class Index(Protocol):
    """Replay needs this part of `dedupdb.captures.capture_index.Captures`."""

    def nearest(
        self,
        collection: str,
        url: str,
        date: Micros | None,
        *,
        kinds: Sequence[RecordKind] = ("response", "revisit"),
        methods: Sequence[str],
        body: str | None = None,
        limit: int,
    ) -> list[Capture]:
        """Return at most `limit` captures of these kinds of that URL by one of the methods, best first."""

    def by_record(self, collection: str, record_id: str) -> Capture | None:
        """Return one capture by its record's id."""


@dataclass(frozen=True, slots=True)
class WantedCapture:
    """A client asks the archive for this."""

    collection: str
    url: str
    method: str
    date: Micros | None
    range: ByteRange | None
    is_conditional: bool
    exchange: str = ""
    """Its id in log lines."""
    body: str | None = None
    """The request's body as `archive.warc.request_query` writes it; None without a body."""


@dataclass(frozen=True, slots=True)
class Memento:
    """A memento is an archived response, ready to be sent: its head for this client, and the payload's pieces."""

    head: bytes
    length: int
    """Bytes in all the pieces."""
    pieces: Iterator[bytes]
    close: Callable[[], None]


class PayloadElsewhere(Exception):
    """The capture is here and its payload in another archive: the message says what it is there, and where."""


class Archive:
    """Finds and opens mementos. Blocks on disk and database: called from threads."""

    def __init__(self, settings: Settings, index: Index) -> None:
        self._holdings = RecordStore(settings)
        self._index = index

    def find(self, wanted: WantedCapture) -> Memento | None:
        """Return the nearest capture that can answer; None when there is none.

        Raises StorageError when its record is in the storage, and that can't be asked: another capture would be
        another answer. Raises PayloadElsewhere when none can whose payload is here.
        """
        elsewhere: PayloadElsewhere | None = None
        methods = ("GET", "HEAD") if wanted.method == "HEAD" else (wanted.method,)
        for capture in self._index.nearest(
            wanted.collection, wanted.url, wanted.date, methods=methods, body=wanted.body, limit=_CANDIDATES
        ):
            shown = self._shown(capture, wanted)
            if shown is None:
                continue
            try:
                memento = self._open(shown, wanted)
            except PayloadElsewhere as error:
                elsewhere = elsewhere or error
                continue
            except (OSError, WarcError, BadMessage) as error:
                reason = "%s of %s can't be replayed: %s"
                log.warning(reason, capture.record_id, capture.url, error, extra=about(wanted.exchange))
                continue
            if memento is not None:
                return memento
        written = self._written(wanted)
        if written is None and elsewhere is not None:
            raise elsewhere
        return written

    def _written(self, wanted: WantedCapture) -> Memento | None:
        """Return the nearest record that a client wrote at the URL, for what no response can answer."""
        if wanted.method not in ("GET", "HEAD"):
            return None
        kinds: tuple[RecordKind, ...] = ("resource",)
        for capture in self._index.nearest(
            wanted.collection, wanted.url, wanted.date, kinds=kinds, methods=("GET",), limit=_CANDIDATES
        ):
            try:
                record = self.record(capture)
            except (OSError, WarcError) as error:
                reason = "%s of %s can't be replayed: %s"
                log.warning(reason, capture.record_id, capture.url, error, extra=about(wanted.exchange))
                continue
            is_of_a_page = record.kind == "resource" and record.fields.get("WARC-Resource-Type") is None
            memento = None
            if is_of_a_page:
                memento = _memento(_head_of(record), capture, record.block_length, record, wanted)
            if memento is not None:
                return memento
            record.close()
        return None

    def _shown(self, capture: Capture, wanted: WantedCapture) -> Capture | None:
        """Return what answers in the capture's place: itself, for a 304 what it is about, or None."""
        if capture.status is None or capture.status < 200:
            return None
        if capture.status != 304 or wanted.is_conditional:
            return capture
        return self.original(capture) if capture.kind == "revisit" else None

    def _open(self, capture: Capture, wanted: WantedCapture) -> Memento | None:
        record = self.record(capture)
        try:
            head = parse_response(record.http_head)
            body = capture
            if capture.kind == "revisit":
                original = self.original(capture)
                if original is None:
                    _check_is_ours(record, capture)
                    raise WarcError(record.path, record.offset, "the revisit's original is not in the index")
                record.close()
                record, body = self.record(original), original
            memento = _memento(head, capture, body.payload_length, record, wanted)
        except BaseException:
            record.close()
            raise
        if memento is None:
            record.close()
        return memento

    def earlier(self, collection: str, url: str, limit: int) -> list[Capture]:
        """Return at most that many captures by GET of that URL, or of one with its key, the newest first."""
        return self._index.nearest(collection, url, None, methods=("GET",), limit=limit)

    def record(self, capture: Capture) -> StoredRecord:
        """Return the capture's record, to be closed. Raises OSError or WarcError."""
        return self._holdings.record(capture.collection, capture.filename, capture.offset, capture.length)

    def original(self, capture: Capture) -> Capture | None:
        """Return the capture that has a revisit's payload; None when the index doesn't know it."""
        named = capture.refers_to
        if named is None:
            return None
        if named.record_id:
            return self._index.by_record(capture.collection, named.record_id)
        # Named by URL and date alone: in another archive, unless that one's files were added to ours.
        near = self._index.nearest(capture.collection, named.url, named.date, methods=("GET",), limit=_CANDIDATES)
        same = (found for found in near if (found.kind, found.url) == ("response", named.url))
        return next((found for found in same if _is_named(found, capture.digest, named.date)), None)


def _is_named(found: Capture, digest: str | None, date: Micros) -> bool:
    """Return whether it is of that second, and has that payload."""
    return found.timestamp == timestamp14(date) and digest in (None, found.digest)


def _check_is_ours(record: StoredRecord, capture: Capture) -> None:
    """Raise PayloadElsewhere for a revisit that says that its original is in another archive."""
    archive, named = record.fields.get("WARC-Refers-To-Container"), capture.refers_to
    if archive and named is not None:
        raise PayloadElsewhere(
            f"the capture of {capture.url} of {iso_second(capture.date)} is here, its payload is not: it is that of "
            f"{named.url} of {iso_second(named.date)} in the archive of {archive}"
        )


def _memento(
    head: ResponseHead, capture: Capture, length: int, record: StoredRecord, wanted: WantedCapture
) -> Memento | None:
    """Return none when a partial response doesn't hold the bytes asked for."""
    stored = parse_content_range(head.get(b"content-range")) if head.status == 206 else None
    first, total = (stored.first, stored.total) if stored else (0, length)
    status, start, stop, extra = head.status, 0, length, b""
    if wanted.range is not None and head.status in (200, 206):
        asked = wanted.range.within(total)
        if asked is None or asked[0] < first or asked[0] >= first + length:
            return None
        start, stop = asked[0] - first, min(asked[1] - first, length)
        status, extra = 206, b"Content-Range: bytes %d-%d/%d\r\n" % (first + start, first + stop - 1, total)
    elif head.status == 206:
        if first != 0 or length != total:
            return None
        status = 200
    has_body = wanted.method != "HEAD" and status not in _NO_BODY
    fields = b"".join(line if line.endswith(b"\r\n") else line.rstrip(b"\n") + b"\r\n" for line in _kept_lines(head))
    date = formatdate(capture.date / 1_000_000, usegmt=True)
    answer = (
        b"HTTP/1.1 %d %s\r\n" % (status, head.reason if status == head.status else _phrase(status))
        + fields
        + extra
        + _length_line(head, capture, status, stop - start)
        + f"Memento-Datetime: {date}\r\n\r\n".encode()
    )
    payload = record.payload() if record.kind != "resource" else record.block()
    pieces = _slice(payload, start, stop) if has_body else iter(())
    return Memento(answer, stop - start if has_body else 0, pieces, record.close)


def _head_of(record: StoredRecord) -> ResponseHead:
    """Return the head for a record that has none: that its block is there, and what type it has."""
    given = record.fields.get("Content-Type") or ""
    media_type = given.encode() if given and given.isprintable() else b"application/octet-stream"
    return parse_response(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n\r\n" % media_type)


def _length_line(head: ResponseHead, capture: Capture, status: int, length: int) -> bytes:
    """Return what was captured by HEAD has the length that the origin told, if it did."""
    if status in _NO_BODY:
        return b""
    if capture.method != "HEAD":
        return b"Content-Length: %d\r\n" % length
    told = head.get(b"content-length")
    return b"Content-Length: %s\r\n" % told if told is not None and told.isdigit() else b""


def _kept_lines(head: ResponseHead) -> Iterator[bytes]:
    return (line for name, _, line in head.fields if name not in _DROPPED)


def _phrase(status: int) -> bytes:
    return HTTPStatus(status).phrase.encode()


def _slice(pieces: Iterator[bytes], start: int, stop: int) -> Iterator[bytes]:
    position = 0
    for piece in pieces:
        end = position + len(piece)
        if end > start:
            yield piece[max(0, start - position) : stop - position]
        position = end
        if position >= stop:
            return
