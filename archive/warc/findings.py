"""What is wrong with one WARC record, taken by itself: fields, HTTP head, lengths, digests. Reads the record once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from archive.capture import IDENTICAL_PAYLOAD, SERVER_NOT_MODIFIED
from archive.dates import parse_date
from archive.digest import Hasher, hasher, labelled, parse
from archive.message import Dechunker
from archive.reader import StoredRecord

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
_REQUEST_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP/\d(\.\d)?")
_LENGTH: Final = re.compile(r"[0-9]{1,19}")
"""A number that a length may be: of more digits it is nonsense, and the body ended with the connection."""
_FIELD_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00\r\n]*")


class Measured:
    """What reading the block gave: how many payload bytes, and how the chunked coding ended."""

    def __init__(self) -> None:
        self.payload_length = 0
        self.coding_error: str | None = None


def field_findings(record: StoredRecord) -> Iterator[str]:
    """What is wrong with the WARC header."""
    if record.version not in VERSIONS:
        yield f"version {record.version!r} is unknown"
    if record.kind not in KINDS:
        yield f"WARC-Type {record.kind!r} is unknown"
    if not _RECORD_ID.fullmatch(record.fields.get("WARC-Record-ID") or ""):
        yield f"WARC-Record-ID {record.fields.get('WARC-Record-ID')!r} is no URI in angle brackets"
    for name in ("WARC-Date", "WARC-Refers-To-Date"):
        if (said := record.fields.get(name)) is not None or name == "WARC-Date":
            yield from _date_findings(name, said or "")
    if record.kind in _NEEDS_TARGET and not record.url:
        yield "WARC-Target-URI is missing"
    if (reason := record.fields.get("WARC-Truncated")) is not None and reason.lower() not in TRUNCATIONS:
        yield f"WARC-Truncated {reason!r} is no reason of the standard"
    if record.kind == "revisit" and record.fields.get("WARC-Profile") not in PROFILES:
        yield f"WARC-Profile {record.fields.get('WARC-Profile')!r} is no profile of the standard"


def block_findings(record: StoredRecord, measured: Measured) -> Iterator[str]:
    """What is wrong with HTTP head and digests; fills `measured`. Raises WarcError for a block that can't be read."""
    said_block, said_payload = record.fields.get("WARC-Block-Digest"), record.fields.get("WARC-Payload-Digest")
    block, payload = _hasher(said_block), _hasher(said_payload)
    decoder = None
    if record.is_http:
        if block:
            block.update(record.http_head)
        yield from _head_findings(record)
        decoder = Dechunker() if record.http.is_chunked and record.kind != "revisit" else None
    for piece in record.block():
        if block:
            block.update(piece)
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
    if record.kind != "revisit":
        yield from _digest_findings("WARC-Payload-Digest", said_payload, payload)


def length_findings(record: StoredRecord, measured: Measured) -> Iterator[str]:
    """Whether a body that is shorter than announced says so (WARC/1.1 section 5.13). Not for answers to HEAD."""
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


def _head_findings(record: StoredRecord) -> Iterator[str]:
    """RFC 9112 sections 2.1 to 5: deviations are the origin's as a rule, and worth knowing for replay."""
    lines = record.http_head.split(b"\r\n")
    if lines[-2:] != [b"", b""]:
        yield "the HTTP head has no empty line at its end"
    start = _REQUEST_LINE if record.kind == "request" else _STATUS_LINE
    if not start.fullmatch(lines[0]):
        yield f"the HTTP head starts with {lines[0][:60]!r}"
    for line in lines[1:]:
        if line and not line.startswith((b" ", b"\t")) and not _FIELD_LINE.fullmatch(line):
            yield f"the HTTP head has the line {line[:60]!r}"
            return


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
