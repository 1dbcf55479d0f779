"""This module looks for errors in one WARC record: fields, HTTP head, lengths, digests. It reads the record
once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from archive.capture import IDENTICAL_PAYLOAD, SERVER_NOT_MODIFIED
from archive.dates import parse_date
from archive.digest import Hasher, hasher, labelled, parse
from archive.http.chunked import PayloadReader
from archive.warc.reading.reader import StoredRecord

VERSIONS: Final = frozenset({"WARC/1.0", "WARC/1.1"})
KINDS: Final = frozenset(
    {"warcinfo", "response", "request", "revisit", "resource", "metadata", "conversion", "continuation"}
)
PROFILES: Final = frozenset(
    profile.replace("1.1", version)
    for profile in (IDENTICAL_PAYLOAD, SERVER_NOT_MODIFIED)
    for version in ("1.0", "1.1")
)
TRUNCATIONS: Final = frozenset({"length", "time", "disconnect", "unspecified"})
_NEEDS_TARGET: Final = frozenset({"response", "request", "revisit", "resource", "conversion", "continuation"})
_RECORD_ID: Final = re.compile(r"<[a-zA-Z][a-zA-Z0-9+.-]*:[^<>\s]+>")
_STATUS_LINE: Final = re.compile(rb"HTTP/\d(\.\d)? [1-9]\d\d( [^\r\n]*)?")
_STATUS_LINE_BEGINS: Final = re.compile(rb"(?s:.{0,4}?)(?i:HTTP|ICY)")
"""A status line may have a few other bytes before it, as for browsers and the proxy."""
_REQUEST_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP/\d(\.\d)?")
_LENGTH: Final = re.compile(r"[0-9]{1,19}")
"""A length. With more digits it is not a length, and the body ended with the connection."""
_FIELD_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00\r\n]*")


class Measured:
    """A pass over the block measured how many payload bytes there are, and how the chunked coding ended."""

    def __init__(self) -> None:
        self.payload_length = 0
        self.coding_error: str | None = None
        self.notes: list[str] = []
        """Deviations that leave no doubt about the bytes."""


def field_findings(record: StoredRecord) -> Iterator[str]:
    """Yield the errors of the WARC header."""
    if record.version not in VERSIONS:
        yield f"version {record.version!r} is unknown"
    if record.kind not in KINDS:
        yield f"WARC-Type {record.kind!r} is unknown"
    if not _RECORD_ID.fullmatch(record.fields.get("WARC-Record-ID") or ""):
        yield f"WARC-Record-ID {record.fields.get('WARC-Record-ID')!r} is not a URI in angle brackets"
    for name in ("WARC-Date", "WARC-Refers-To-Date"):
        if (said := record.fields.get(name)) is not None or name == "WARC-Date":
            yield from _date_findings(name, said or "")
    if record.kind in _NEEDS_TARGET and not record.url:
        yield "WARC-Target-URI is missing"
    if (reason := record.fields.get("WARC-Truncated")) is not None and reason.lower() not in TRUNCATIONS:
        yield f"WARC-Truncated {reason!r} is not a reason of the standard"
    if record.kind == "revisit" and record.fields.get("WARC-Profile") not in PROFILES:
        yield f"WARC-Profile {record.fields.get('WARC-Profile')!r} is not a profile of the standard"


def block_findings(record: StoredRecord, measured: Measured) -> Iterator[str]:
    """Yield the errors of HTTP head and digests, and fill `measured`. Raises WarcError for a damaged block."""
    said_block, said_payload = record.fields.get("WARC-Block-Digest"), record.fields.get("WARC-Payload-Digest")
    block, payload, chunks = _hasher(said_block), _hasher(said_payload), None
    decoder = None
    if record.is_http:
        if block:
            block.update(record.http_head)
        yield from _head_problems(record)
        if record.http.is_chunked and record.kind != "revisit":
            decoder, chunks = PayloadReader(), _hasher(said_payload)
    for piece in record.block():
        if block:
            block.update(piece)
        if chunks:
            chunks.update(piece)
        for part in decoder.feed(piece) if decoder else (piece,):
            measured.payload_length += len(part)
            if payload:
                payload.update(part)
    if decoder:
        rest = decoder.finish()
        measured.payload_length += len(rest)
        measured.coding_error = decoder.error
        if payload:
            payload.update(rest)
    yield from _digest_findings("WARC-Block-Digest", said_block, block)
    if payload and chunks and chunks.digest() == parse(said_payload or "")[1] != payload.digest():
        measured.notes.append("WARC-Payload-Digest is the digest of the body with its chunked coding")
    elif record.kind != "revisit":
        yield from _digest_findings("WARC-Payload-Digest", said_payload, payload)


def length_findings(record: StoredRecord, measured: Measured) -> Iterator[str]:
    """Yield an error for a body that is too short and lacks WARC-Truncated (section 5.13). Not for answers to HEAD."""
    if record.kind != "response" or not record.is_http or record.fields.get("WARC-Truncated"):
        return
    if measured.coding_error:
        yield f"the chunked body is not whole and there is no WARC-Truncated: {measured.coding_error}"
    announced = record.http.fields.get("Content-Length") or ""
    has_body = record.http.status not in (204, 304) and not record.http.fields.get("Transfer-Encoding")
    if has_body and _LENGTH.fullmatch(announced) and measured.payload_length < int(announced):
        yield f"the body has {measured.payload_length} of {announced} bytes and there is no WARC-Truncated"


def _date_findings(name: str, said: str) -> Iterator[str]:
    try:
        parse_date(said)
    except ValueError as error:
        yield f"{name} can't be read: {error}"


def head_notes(record: StoredRecord) -> Iterator[str]:
    """Yield where an HTTP head breaks RFC 9112 sections 2.1 to 5, in a record that may be faithful all the same.

    Such deviations are the origin's as a rule, and worth knowing for replay. Raises WarcError for a head that can't
    be read.
    """
    if not record.is_http:
        return
    lines = record.http_head.split(b"\r\n")
    if lines[-2:] != [b"", b""] and _has_end(record):
        yield "the HTTP head has no empty line of CR LF at its end"
    start = _REQUEST_LINE if record.kind == "request" else _STATUS_LINE
    if not start.fullmatch(lines[0]) and _is_start(record):
        yield f"the HTTP head starts with {lines[0][:60]!r}"
    for line in lines[1:]:
        if line and not line.startswith((b" ", b"\t")) and not _FIELD_LINE.fullmatch(line):
            yield f"the HTTP head has the line {line[:60]!r}"
            return


def _head_problems(record: StoredRecord) -> Iterator[str]:
    """Yield whether the block has no HTTP head at all, or one without an end: then the record is no faithful one."""
    if not _has_end(record):
        yield "the HTTP head has no empty line at its end"
    if not _is_start(record):
        yield f"the block starts with {record.http_head[:60]!r}, which is not an HTTP head"


def _has_end(record: StoredRecord) -> bool:
    """Return whether an empty line ends the head, be it of CR LF or of LF alone."""
    return record.http_head.replace(b"\r", b"").endswith(b"\n\n")


def _is_start(record: StoredRecord) -> bool:
    """Return whether the head begins as such a message does, however it goes on: readers look a few bytes far for
    HTTP.
    """
    head = record.http_head.lstrip(b"\r\n")
    return bool(head) if record.kind == "request" else _STATUS_LINE_BEGINS.match(head) is not None


def _digest_findings(name: str, said: str | None, taken: Hasher | None) -> Iterator[str]:
    if said is None:
        return
    algorithm, value = parse(said)
    if taken is None or value is None:
        yield f"{name} {said!r} can't be checked: its algorithm or form is unknown"
    elif taken.digest() != value:
        yield f"{name} is {said}, but the bytes give {labelled(algorithm, taken.digest())}"


def _hasher(said: str | None) -> Hasher | None:
    algorithm = parse(said)[0] if said else ""
    return hasher(algorithm) if algorithm else None
