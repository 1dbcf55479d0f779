"""Archived responses are made ready to be sent here: the head for this client, and the payload in pieces."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from http import HTTPStatus
from itertools import pairwise
from typing import Final

from archive.capture import Capture
from archive.warc.reading.reader import StoredRecord
from proxy.protocol import heads
from proxy.protocol.byte_range import parse_content_range
from proxy.protocol.http1 import ResponseHead, parse_response
from proxy.replay.content_coding import TooLong, Undecodable, decoded
from proxy.replay.edits import MAX_EDITED, Edit
from proxy.replay.matching.wanted import WantedCapture
from proxy.replay.multipart_bodies import are_asked_for, body_parts, boundary_of, part_with

_DROPPED: Final = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authentication-info",
        b"te",
        b"transfer-encoding",
        b"content-length",
        b"content-range",
        b"trailer",
        b"upgrade",
        b"http2-settings",
        b"alt-svc",
        b"alternate-protocol",
        b"strict-transport-security",
        b"public-key-pins",
        b"expect-ct",
        b"nel",
        b"ghostfleet-replay",
        b"ghostfleet-record",
        b"ghostfleet-error",
        b"",
    )
)
"""Header fields about the recorded connection, and fields that change how the browser reaches the site from then on."""
_NEVER_NAMED: Final = frozenset((b"content-type", b"content-encoding", b"set-cookie", b"location", b"vary"))
"""Connection can't make these fields ones of the connection: the content or the page would be another one."""
_NO_BODY: Final = frozenset((204, 304))
_OF_THE_RECORDED: Final = frozenset(
    (b"content-encoding", b"etag", b"last-modified", b"accept-ranges", b"content-md5", b"digest", b"content-digest")
) | {b"repr-digest"}
"""Header fields that are true of the recorded payload alone."""
OF_THE_CODED: Final = _OF_THE_RECORDED - {b"last-modified", b"accept-ranges"}
"""Header fields that are true of the content with its codings alone."""
_TYPE: Final = frozenset((b"content-type",))
_PLAIN: Final = re.compile(r"[!-~]{1,500}")


@dataclass(frozen=True, slots=True)
class Memento:
    """A memento is an archived response, ready to be sent: its head for this client, and the payload's pieces."""

    head: bytes
    length: int
    """Bytes in all the pieces."""
    pieces: Iterator[bytes]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the payload is sent, with its status."""

    status: int
    spans: tuple[tuple[int, int], ...]
    """Start and stop in the stored payload, in ascending order."""
    line: bytes = b""
    frames: tuple[bytes, ...] = ()
    """The text before each span and behind the last one, for several ranges."""

    @property
    def length(self) -> int:
        return sum(stop - start for start, stop in self.spans) + sum(map(len, self.frames))


def memento_of(
    head: ResponseHead,
    capture: Capture,
    length: int,
    record: StoredRecord,
    payload: Iterator[bytes],
    wanted: WantedCapture,
    note: str = "",
) -> Memento | None:
    """Return the answer, or None when a partial response doesn't hold the bytes asked for.

    `head` and `capture` are those of the response; `payload` has `length` bytes and comes from `record`. `note` says
    what about the answer is not as it was recorded.
    """
    boundary = boundary_of(head.get(b"content-type")) if head.status == 206 else None
    if boundary is not None:
        return _of_several(head, capture, length, record, payload, wanted, boundary, note)
    part = _part(head, length, wanted)
    if part is None:
        return None
    has_body = wanted.method != "HEAD" and part.status not in _NO_BODY
    dropped = _DROPPED | (_TYPE if part.frames else frozenset())
    fields = _kept(head, dropped)
    reason = head.reason if part.status == head.status else HTTPStatus(part.status).phrase.encode()
    answer = (
        b"HTTP/1.1 %d %s\r\n" % (part.status, reason)
        + fields
        + part.line
        + _length_line(head, capture, part)
        + archived_lines(capture, wanted.url, note)
        + b"\r\n"
    )
    pieces = _framed(payload, part) if has_body else iter(())
    return Memento(answer, part.length if has_body else 0, pieces, record.close)


def payload_of(record: StoredRecord) -> Iterator[bytes]:
    """Return the pieces of a record's payload."""
    return record.payload() if record.kind != "resource" else record.block()


def without_lines(head: ResponseHead, dropped: frozenset[bytes]) -> ResponseHead:
    """Return a head without some header fields."""
    return replace(head, fields=tuple(each for each in head.fields if each[0] not in dropped))


def with_codings(
    head: ResponseHead, codings: tuple[bytes, ...], named: tuple[bytes, ...], *, is_chosen: bool = False
) -> ResponseHead:
    """Return a head that names the codings of the content that is sent, of those that the record names.

    With `is_chosen`, another client may get other codings.
    """
    if codings == tuple(each for each in named if each != b"identity"):
        return head
    fields = without_lines(head, OF_THE_CODED).fields
    if codings:
        value = b", ".join(codings)
        fields = (*fields, (b"content-encoding", value, b"Content-Encoding: %s\r\n" % value))
    if is_chosen:
        fields = (*fields, (b"vary", b"Accept-Encoding", b"Vary: Accept-Encoding\r\n"))
    return replace(head, fields=fields)


def _of_several(
    head: ResponseHead,
    capture: Capture,
    length: int,
    record: StoredRecord,
    payload: Iterator[bytes],
    wanted: WantedCapture,
    boundary: bytes,
    note: str,
) -> Memento | None:
    """Return the answer of a recorded 206 with several ranges: as it is for the same ranges, or one range from it.

    A longer body than MAX_EDITED, a compressed one, and ranges that are not in the body give None.
    """
    if (
        not wanted.ranges
        or not 0 < length <= MAX_EDITED
        or head.get(b"content-encoding")
        or not _is_current(head, wanted)
    ):
        return None
    body = b"".join(payload)
    parts = body_parts(body, boundary)
    if are_asked_for(parts, wanted.ranges):
        lines, dropped = b"", _DROPPED
    elif len(wanted.ranges) == 1 and (found := part_with(parts, wanted.ranges[0])) is not None:
        part, start, stop = found
        body, first = part.content[start:stop], part.range.first + start
        lines = b"Content-Range: bytes %d-%d/%d\r\n" % (first, first + len(body) - 1, part.range.total)
        lines += b"Content-Type: %s\r\n" % part.media_type if part.media_type else b""
        dropped = _DROPPED | _TYPE
    else:
        return None
    fields = _kept(head, dropped)
    answer = b"HTTP/1.1 206 %s\r\n%s%sContent-Length: %d\r\n" % (head.reason, fields, lines, len(body))
    answer += archived_lines(capture, wanted.url, note) + b"\r\n"
    has_body = wanted.method != "HEAD"
    return Memento(answer, len(body) if has_body else 0, iter((body,) if has_body else ()), record.close)


def edited_memento(
    head: ResponseHead,
    capture: Capture,
    record: StoredRecord,
    payload: Iterator[bytes],
    wanted: WantedCapture,
    edit: Edit,
    note: str,
    codings: tuple[bytes, ...],
) -> Memento | None:
    """Return the answer with a changed payload; None when nothing is to be changed, or the payload is too long.

    `codings` are those that the payload has. The record may be read then, so it has to be opened again. Raises
    WarcError.
    """
    try:
        content = edit(decoded(payload, b",".join(codings), MAX_EDITED))
    except (TooLong, Undecodable):
        return None
    if content is None:
        return None
    fields = _kept(head, _DROPPED | _OF_THE_RECORDED)
    length = b"Content-Length: %d\r\n" % len(content)
    answer = b"HTTP/1.1 %d %s\r\n" % (head.status, head.reason) + fields + length
    answer += archived_lines(capture, wanted.url, note) + b"\r\n"
    has_body = wanted.method != "HEAD"
    return Memento(answer, len(content) if has_body else 0, iter((content,) if has_body else ()), record.close)


def archived_lines(capture: Capture, url: str, note: str = "") -> bytes:
    """Return the header lines that tell a memento from a live response (RFC 7089 section 2)."""
    date = formatdate(capture.date // 1_000_000, usegmt=True)
    lines = f'Memento-Datetime: {date}\r\nLink: <{url.replace(">", "%3E")}>; rel="original timegate"\r\n'
    lines += "Vary: Accept-Datetime\r\n"
    if _PLAIN.fullmatch(capture.record_id):  # other programs write what they like, also a line end
        lines += f"Ghostfleet-Record: {capture.record_id}\r\n"
    return (lines + (f"Ghostfleet-Replay: {note}\r\n" if note else "")).encode("ascii", "replace")


def own_memento(status: int, lines: bytes = b"") -> Memento:
    """Return an answer of replay's own, without a body."""
    head = b"HTTP/1.1 %d %s\r\n%sCache-Control: no-store\r\n\r\n" % (
        status,
        HTTPStatus(status).phrase.encode(),
        lines,
    )
    return Memento(head, 0, iter(()), lambda: None)


def own_head(record: StoredRecord) -> ResponseHead | None:
    """Return the HTTP head of a record; None for a revisit without one, and for one with a status line alone.

    Such a revisit has the head of its original (WARC/1.1 section 6.7.2). Raises BadMessage and WarcError.
    """
    if record.kind == "revisit" and not (record.is_http and record.block_length):
        return None
    if record.kind in ("resource", "conversion"):
        return None
    head = parse_response(record.http_head)
    return head if head.fields or record.kind != "revisit" else None


def head_without_response(record: StoredRecord) -> ResponseHead:
    """Return the head for a record that has none: that its block is there, and what type it has."""
    given = record.fields.get("Content-Type") or ""
    media_type = given.encode() if given and given.isprintable() else b"application/octet-stream"
    return parse_response(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n\r\n" % media_type)


def _part(head: ResponseHead, length: int, wanted: WantedCapture) -> _Part | None:
    stored = parse_content_range(head.get(b"content-range")) if head.status == 206 else None
    first, total = (stored.first, stored.total) if stored else (0, length)
    ranges = wanted.ranges if head.status in (200, 206) and _is_current(head, wanted) else ()
    if not ranges:
        if head.status != 206:
            return _Part(head.status, ((0, length),))
        return _Part(200, ((0, length),)) if first == 0 and length == total else None
    spans = [span for asked in ranges if (span := asked.within(total)) is not None]
    if not spans:
        return _Part(416, (), b"Content-Range: bytes */%d\r\n" % total) if head.status == 200 else None
    if len(spans) > 1 and any(behind[0] < before[1] for before, behind in pairwise(spans)):
        return _Part(200, ((0, length),)) if first == 0 and length == total else None
    if spans[0][0] < first or spans[0][0] >= first + length:
        return None
    if len(spans) > 1 and spans[-1][1] > first + length:
        return None
    held = tuple((start - first, min(stop - first, length)) for start, stop in spans)
    if len(held) == 1:
        start, stop = held[0]
        return _Part(206, held, b"Content-Range: bytes %d-%d/%d\r\n" % (first + start, first + stop - 1, total))
    return _several(head, held, first, total)


def _several(head: ResponseHead, spans: Sequence[tuple[int, int]], first: int, total: int) -> _Part:
    """Return several ranges in one body (RFC 9110 section 14.6)."""
    boundary, kind = uuid.uuid4().hex.encode(), head.get(b"content-type")
    type_line = b"Content-Type: %s\r\n" % kind if kind is not None else b""
    frames = [
        b"\r\n--%s\r\n%sContent-Range: bytes %d-%d/%d\r\n\r\n"
        % (boundary, type_line, first + start, first + stop - 1, total)
        for start, stop in spans
    ]
    frames.append(b"\r\n--%s--\r\n" % boundary)
    line = b"Content-Type: multipart/byteranges; boundary=%s\r\n" % boundary
    return _Part(206, tuple(spans), line, tuple(frames))


def _is_current(head: ResponseHead, wanted: WantedCapture) -> bool:
    """Return whether a condition on the range holds (If-Range, RFC 9110 section 13.1.5)."""
    value = next((value for name, value, _ in wanted.fields if name == b"if-range"), None)
    if value is None:
        return True
    etag = head.get(b"etag")
    return value in (etag, head.get(b"last-modified")) and not value.startswith(b"W/")


def _length_line(head: ResponseHead, capture: Capture, part: _Part) -> bytes:
    """Return the line with the length. What was captured by HEAD has the length that the origin told, if it did."""
    if part.status in _NO_BODY:
        return b""
    if capture.method != "HEAD":
        return b"Content-Length: %d\r\n" % part.length
    told = head.get(b"content-length")
    return b"Content-Length: %s\r\n" % told if told is not None and told.isdigit() else b""


def _kept(head: ResponseHead, dropped: frozenset[bytes]) -> bytes:
    """Return the lines of the header fields that are not dropped, each a whole one.

    Fields that Connection names are of the recorded connection alone (RFC 9110 section 7.6.1).
    """
    named = (word for name, value, _ in head.fields if name == b"connection" for word in value.lower().split(b","))
    dropped |= {word.strip() for word in named} - _NEVER_NAMED
    return b"".join(heads.whole_line(*field) for field in head.fields if field[0] not in dropped)


def _framed(payload: Iterator[bytes], part: _Part) -> Iterator[bytes]:
    """Yield the spans of a payload that can be read once, with the frames around them."""
    spans, frames = iter(part.spans), iter(part.frames)
    span, position = next(spans, None), 0
    if span is not None and part.frames:
        yield next(frames)
    for piece in payload if span is not None else ():
        end = position + len(piece)
        while span is not None and end > span[0]:
            start, stop = span
            if cut := piece[max(0, start - position) : stop - position]:
                yield cut
            if end < stop:
                break
            span = next(spans, None)
            yield from [next(frames)] if part.frames else []
        position = end
        if span is None:
            return
