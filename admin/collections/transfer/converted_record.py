"""The WARC/1.1 record that takes the place of a record of a foreign file. It opens and writes nothing."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from admin.collections.transfer.foreign_block import ForeignBlock
from admin.collections.transfer.member_text import Unreadable
from archive.capture import Body, Message
from archive.dates import iso_date, iso_second, parse_date
from archive.digest import Algorithm, hasher, labelled, parse
from archive.http.chunked import PayloadReader
from archive.http.http_message import parse_head
from archive.warc.records.header import field
from archive.warc.records.record import Record
from archive.warc.upkeep.findings import KINDS, TRUNCATIONS

_ARC_FIELDS: Final = re.compile(r"(\S.*) (\S+) ([0-9]{8,17}) (\S+) ([0-9]{1,18})")
_VERSION_FIELDS: Final = 5
"""The fields that the version block of an ARC file of version 1 names."""
_RECORD_ID: Final = re.compile(r"<?([a-zA-Z][a-zA-Z0-9+.-]*:[^<>\s]+)>?")
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_STATUS_LINE: Final = re.compile(rb"(?s:.{0,4}?)(?i:HTTP|ICY)")
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_UNKNOWN: Final = "application/octet-stream"
_RESPONSE: Final = "application/http;msgtype=response"
_WITHOUT_TARGET: Final = frozenset({"warcinfo", "metadata"})
_WITHOUT_PAYLOAD: Final = frozenset({"warcinfo", "metadata"})
_NOT_COPIED: Final = frozenset(
    {
        "content-length", "content-type", "warc-block-digest", "warc-date", "warc-dedup-buckets", "warc-ip-address",
        "warc-payload-digest", "warc-record-id", "warc-target-uri", "warc-truncated", "warc-type", "warc-warcinfo-id",
    }
)  # fmt: skip
"""Fields that are made anew, whatever the record has."""


class UnsupportedFile(Exception):
    """The whole file can't be converted; the message says why."""


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """The facts are what the header of a foreign record says. Ids are URIs without angle brackets, "" if unknown."""

    kind: str
    url: str
    date: str
    content_type: str
    is_arc: bool
    headers: tuple[tuple[str, str], ...]
    mime: str = _UNKNOWN
    """The media type of a block that is no HTTP message."""
    before: bytes = b""
    """The lines of the header that belong to the block: the version of an ARC file."""
    record_id: str = ""
    warcinfo_id: str = ""

    @property
    def is_http(self) -> bool:
        """Return whether the block is said to be an HTTP message."""
        return self.content_type.lower().replace(" ", "").startswith("application/http")

    @property
    def tells_length(self) -> bool:
        """Return whether the HTTP message in the block may tell its own length."""
        return self.is_http and self.kind != "revisit"

    def get(self, name: str) -> str | None:
        """Return the value of a field; None without it."""
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)


def facts_of(header: bytes, record: Any) -> RecordFacts:
    """Return the facts of a record of warcio, whose header has these bytes. Raises Unreadable and UnsupportedFile."""
    if header[:5].upper() == b"WARC/":
        return _of_warc(record)
    return _of_arc(header, record)


class ConvertedRecord:
    """A converted record is made from the facts and the block of a foreign one. `problems` are the differences."""

    def __init__(
        self, facts: RecordFacts, block: ForeignBlock, head: bytes, spool: BinaryIO, algorithm: Algorithm
    ) -> None:
        """`head` is the HTTP head at the beginning of the block, which lies in `spool`."""
        self.facts = facts
        self.problems = list(block.changes)
        self._kind, self._content_type, self._head = facts.kind, facts.content_type, head
        if not facts.is_http:
            self._head = b""
        elif facts.kind == "response" and not _STATUS_LINE.match(head.lstrip(b"\r\n")):
            self.problems.append("its block has no HTTP head; it was written as a resource")
            self._kind, self._content_type, self._head = "resource", facts.mime, b""
        elif facts.kind == "request" and not head:
            self.problems.append(f"its block has no HTTP head; its Content-Type was {facts.content_type}")
            self._content_type = _UNKNOWN
        self._body = Body(file=spool, length=block.length)
        self._algorithm: Algorithm = algorithm
        self._truncated = self._said_truncation()
        self._measure()

    def record(self, record_id: str, warcinfo_id: str) -> Record:
        """Return the record to write. Both ids are URIs."""
        facts, kind = self.facts, self._kind
        lines = field("WARC-Type", kind) + field("WARC-Record-ID", f"<{record_id}>") + field("WARC-Date", facts.date)
        if facts.url:
            lines += field("WARC-Target-URI", facts.url)
        if kind != "warcinfo":
            lines += field("WARC-Warcinfo-ID", f"<{warcinfo_id}>")
        lines += self._copied_fields() + self._ip_field()
        if self._truncated:
            lines += field("WARC-Truncated", self._truncated)
        if kind == "revisit" and (said := facts.get("WARC-Payload-Digest")) and parse(said)[1] is not None:
            lines += field("WARC-Payload-Digest", said)
        elif kind not in _WITHOUT_PAYLOAD and kind != "revisit" and (kind != "request" or self._payload_length):
            lines += field("WARC-Payload-Digest", self._payload_digest)
        if kind == "response":
            buckets = "" if self.problems else facts.get("WARC-Dedup-Buckets")
            lines += "" if buckets is None else field("WARC-Dedup-Buckets", buckets)
        lines += field("WARC-Block-Digest", self._block_digest) + field("Content-Type", self._content_type)
        header = f"WARC/1.1\r\n{lines}{field('Content-Length', str(self._body.length))}\r\n"
        return Record(kind, record_id, warcinfo_id, header.encode(), Message(b"", self._body))

    def _copied_fields(self) -> str:
        """Return the fields that are kept as they are."""
        kept = ""
        for name, value in self.facts.headers:
            if name.lower() in _NOT_COPIED:
                continue
            is_date = name.lower() == "warc-refers-to-date"
            if _NAME.fullmatch(name) and value.isprintable() and not (is_date and not _is_date(value)):
                kept += field(name, value)
            else:
                self.problems.append(f"its field {name[:40]!r} has the value {value[:60]!r}, and was left out")
        return kept

    def _ip_field(self) -> str:
        said = self.facts.get("WARC-IP-Address")
        if said is None or self._kind == "warcinfo" or said in ("-", "0.0.0.0"):
            return ""
        try:
            return field("WARC-IP-Address", str(ipaddress.ip_address(said)))
        except ValueError:
            self.problems.append(f"its WARC-IP-Address {said[:60]!r} is not an address, and was left out")
            return ""

    def _said_truncation(self) -> str:
        said = self.facts.get("WARC-Truncated")
        if said is None or said.lower() in TRUNCATIONS:
            return (said or "").lower()
        self.problems.append(f"its WARC-Truncated was {said[:60]!r}")
        return "unspecified"

    def _measure(self) -> None:
        """Read the block once: make its digests, and compare those that the record had."""
        said = {name: self.facts.get(name) for name in ("WARC-Block-Digest", "WARC-Payload-Digest")}
        if self._kind == "revisit":
            said["WARC-Payload-Digest"] = None
        made = {name: hasher(self._algorithm) for name in said}
        known = {name: hasher(parsed[0]) for name, value in said.items() if value and (parsed := parse(value))[1]}
        head = parse_head(self._head.lstrip(b"\r\n"))
        decoder = PayloadReader() if self._head and head.is_chunked and self._kind != "revisit" else None
        length, left = 0, len(self._head)

        def add(name: str, data: bytes) -> None:
            made[name].update(data)
            if name in known:
                known[name].update(data)

        for piece in self._body.chunks():
            add("WARC-Block-Digest", piece)
            body, left = piece[left:], max(0, left - len(piece))
            for part in decoder.feed(body) if decoder else (body,):
                length += len(part)
                add("WARC-Payload-Digest", part)
        if decoder:
            rest = decoder.finish()
            length += len(rest)
            add("WARC-Payload-Digest", rest)
        self._payload_length = length
        self._block_digest, self._payload_digest = (labelled(self._algorithm, each.digest()) for each in made.values())
        for name, value in said.items():
            if value and (name not in known or known[name].digest() != parse(value)[1]):
                self.problems.append(f"its {name} {value[:80]} is not the one of its bytes, and was replaced")
        if self._kind == "response" and self._head and not self._truncated:
            announced = "" if head.fields.get("Transfer-Encoding") else head.fields.get("Content-Length") or ""
            self._note_truncation(head.status, announced, decoder.error if decoder else None)

    def _note_truncation(self, status: int | None, announced: str, coding_error: str | None) -> None:
        """Note a body that is not whole. A WARC record without a body may be the answer to HEAD."""
        if coding_error:
            self.problems.append(f"its chunked body is not whole, and WARC-Truncated was added: {coding_error}")
        elif (
            _LENGTH.fullmatch(announced)
            and self._payload_length < int(announced)
            and status not in (204, 304)
            and (self.facts.is_arc or self._payload_length)
        ):
            self.problems.append(
                f"its body has {self._payload_length} of {announced} bytes, and WARC-Truncated was added"
            )
        else:
            return
        self._truncated = "unspecified"


def _of_arc(header: bytes, record: Any) -> RecordFacts:
    lines = _text(header).splitlines()
    found = _ARC_FIELDS.fullmatch(lines[0].rstrip()) if lines else None
    if found is None:
        raise Unreadable(f"its header {header[:60]!r} does not have the five fields of version 1 of ARC")
    said = record.rec_headers
    mime = found[4] if _is_media_type(found[4]) else _UNKNOWN
    kind, url, before = "response", said.get_header("WARC-Target-URI") or "", b""
    if record.rec_type == "warcinfo":
        kind, url, before = "warcinfo", "", header.partition(b"\n")[2]
        if len(lines) < 3 or lines[1].startswith("2") or len(lines[2].split()) != _VERSION_FIELDS:
            raise UnsupportedFile(
                f"its version block says {' '.join(lines[1:3])[:120]!r}; ARC files of version 1 alone can be converted"
            )
    is_http = kind == "response" and url.lower().startswith(("http:", "https:"))
    kept = tuple((name, value) for name, value in said.headers if name in ("WARC-Filename", "WARC-IP-Address"))
    return RecordFacts(
        kind, _url(kind, url), _date(found[3]), _RESPONSE if is_http else mime, True, kept, mime=mime, before=before
    )


def _of_warc(record: Any) -> RecordFacts:
    said = record.rec_headers
    kind = (record.rec_type or "").lower()
    if kind not in KINDS:
        raise Unreadable(f"its WARC-Type {kind[:60]!r} is unknown")
    content_type = said.get_header("Content-Type") or ""
    if not content_type.isprintable():
        raise Unreadable(f"its Content-Type {content_type[:60]!r} has control characters")
    return RecordFacts(
        kind,
        _url(kind, said.get_header("WARC-Target-URI") or ""),
        _date(said.get_header("WARC-Date") or ""),
        content_type or _UNKNOWN,
        False,
        tuple(said.headers),
        record_id=_bare(said.get_header("WARC-Record-ID")),
        warcinfo_id=_bare(said.get_header("WARC-Warcinfo-ID")),
    )


def _url(kind: str, url: str) -> str:
    if not url and kind not in _WITHOUT_TARGET:
        raise Unreadable("its URL is missing")
    if not url.isprintable():
        raise Unreadable(f"its URL {url[:60]!r} has control characters")
    return url


def _date(said: str) -> str:
    try:
        date = parse_date(said)
    except (ValueError, OverflowError) as error:
        raise Unreadable(f"its date can't be read: {error}") from error
    return iso_date(date) if date % 1_000_000 else iso_second(date)


def _is_date(said: str) -> bool:
    try:
        parse_date(said)
    except (ValueError, OverflowError):
        return False
    return True


def _bare(uri: str | None) -> str:
    found = _RECORD_ID.fullmatch((uri or "").strip())
    return found[1] if found else ""


def _is_media_type(said: str) -> bool:
    kind, slash, rest = said.partition("/")
    return bool(kind and slash and rest) and said.isprintable()


def _text(header: bytes) -> str:
    try:
        return header.decode()
    except UnicodeDecodeError:
        return header.decode("latin-1")
