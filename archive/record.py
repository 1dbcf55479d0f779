"""The bytes of WARC/1.1 records (ISO 28500:2017), built from what passed. Pure: opens nothing, writes nothing.

One exchange gives two records: `response` (or `revisit`) and `request`, tied both ways by WARC-Concurrent-To.
Besides the standard's fields these are written, all of them ignored by readers that don't know them:

* `WARC-Protocol`, `WARC-Cipher-Suite`: proposals 42 and 93 of the IIPC's WARC specification group.
* `WARC-Page-ID`: the visit of a page that caused the exchange, as browser-based crawlers write it.
* `WARC-Job-ID`: the job on whose behalf it was made; lets the index be rebuilt from the file alone.
* `WARC-TLS-Verification`: why the origin's certificate was not trusted; absent when it was.
* `WARC-Proxy-Host`: the proxy by which the origin was reached; WARC-IP-Address is then not known.
* `WARC-Payload-Length`: on revisits only, the length of the payload that WARC-Payload-Digest names.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import urandom
from typing import Final, Literal

from archive import url as urls
from archive.capture import (
    IDENTICAL_PAYLOAD,
    Body,
    Capture,
    Context,
    Digests,
    Exchange,
    Message,
    Micros,
    Origin,
    Original,
    Truncation,
    iso_date,
)
from archive.header import check_values, extra_fields, field, target_fields, whole_header
from archive.message import dechunk, media_type, parse_head
from archive.settings import Settings

FORMAT: Final = "WARC File Format 1.1"
CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
UNKNOWN_MIME: Final = "unk"
"""Media type in the index of a response that named none, as CDX files have it."""
RECORD_END: Final = b"\r\n\r\n"

_PACKED_TYPES: Final = ("image/", "video/", "audio/", "font/")
_UNPACKED: Final = frozenset({"image/svg+xml", "image/bmp", "image/x-ms-bmp", "audio/wav", "audio/x-wav", "font/ttf"})
_PACKED: Final = frozenset(
    {
        "application/epub+zip",
        "application/font-woff",
        "application/font-woff2",
        "application/gzip",
        "application/java-archive",
        "application/vnd.android.package-archive",
        "application/vnd.rar",
        "application/x-7z-compressed",
        "application/x-bzip2",
        "application/x-font-woff",
        "application/x-gzip",
        "application/x-rar-compressed",
        "application/x-shockwave-flash",
        "application/x-xz",
        "application/zip",
        "application/zstd",
    }
)
_PACKED_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "compress"})

type ResourceKind = Literal["resource", "metadata", "conversion", "response"]
"""`response` is for protocols other than HTTP: DNS answers, which the standard (section 6.4.4) would also have as
resource, but which Heritrix, and so nearly every archive there is, keeps as response."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record ready to be written: `header` goes up to the empty line inclusive, then the block, then RECORD_END.

    `warcinfo_id` names the file it belongs in. `packed` says that the block is compressed already. `line` is the
    index line with filename, offset and length still unset; None for the kinds that are not indexed.
    """

    kind: str
    record_id: str
    warcinfo_id: str
    header: bytes
    block: Message
    packed: bool = False
    line: Capture | None = None

    @property
    def block_length(self) -> int:
        """Bytes in the block: the record's Content-Length."""
        return self.block.length

    def chunks(self) -> Iterator[bytes]:
        """The block's bytes in order."""
        return self.block.chunks()


def exchange_records(exchange: Exchange, *, warcinfo_id: str, original: Original | None = None) -> tuple[Record, ...]:
    """Response, or revisit of `original`, then the request if there was one.

    Raises ValueError for an exchange without response or digests, for a truncated one that is to be a revisit,
    and for a value that would break the header.
    """
    response, digests = exchange.response, exchange.digests
    if response is None or digests is None:
        raise ValueError(f"exchange {exchange.id} of {exchange.url!r} has no response to keep")
    response_id, request_id = new_id(), new_id()
    shared = _shared_fields(exchange, warcinfo_id)
    tie = field("WARC-Concurrent-To", f"<urn:uuid:{request_id}>") if exchange.request else ""
    if original is None:
        first = _response(exchange, response, digests, warcinfo_id, response_id, shared + tie)
    else:
        first = _revisit(exchange, response, digests, warcinfo_id, response_id, shared + tie, original)
    if exchange.request is None:
        return (first,)
    shared += field("WARC-Concurrent-To", f"<urn:uuid:{response_id}>")
    return first, _request(exchange.request, exchange.request_digests, warcinfo_id, request_id, shared)


def resource_record(
    kind: ResourceKind,
    url: str,
    content_type: str,
    body: Body,
    *,
    date: Micros,
    context: Context,
    warcinfo_id: str,
    concurrent_to: str | None = None,
    origin: Origin | None = None,
    fields: Sequence[tuple[str, str]] = (),
    truncated: Truncation | None = None,
) -> Record:
    """A resource, metadata or conversion record made by us, such as a screenshot; `concurrent_to` is a bare UUID.

    `origin` is where its content came from, when it was not made here.
    Raises ValueError for a value that would break the header.
    """
    record_id = new_id()
    sha1, sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()
    for chunk in body.chunks():
        sha1.update(chunk)
        sha256.update(chunk)
    digest = base32(sha1.digest())
    check_values(url, content_type, context.page_id or "", context.job or "", concurrent_to or "")
    header = target_fields(url, date, warcinfo_id) + (_origin_fields(origin) if origin else "")
    header += _job_fields(context) + extra_fields(tuple(fields))
    if concurrent_to:
        header += field("WARC-Concurrent-To", f"<urn:uuid:{concurrent_to}>")
    if truncated:
        header += field("WARC-Truncated", truncated)
    if kind != "metadata":
        header += field("WARC-Payload-Digest", f"sha1:{digest}")
    mime = media_type(content_type) or UNKNOWN_MIME
    line = Capture(
        collection=context.collection, key=urls.key(url), date=date, url=url, mime=mime, status=None, digest=digest,
        kind=kind, filename="", offset=-1, length=0, record_id=record_id, job=context.job, page_id=context.page_id,
        payload_length=body.length, sha256=sha256.hexdigest(), truncated=truncated,
    )  # fmt: skip
    whole = whole_header(kind, record_id, header, digest, content_type, body.length)
    return Record(kind, record_id, warcinfo_id, whole, Message(b"", body), is_incompressible(mime, None), line)


def warcinfo_record(
    filename: str, settings: Settings, collection: str, *, record_id: str, date: Micros, hostname: str, software: str
) -> Record:
    """The record that opens a file and says who wrote it, with what, as part of which collection.

    Raises ValueError for a value that would break its lines.
    """
    said = {
        "software": software,
        "format": FORMAT,
        "conformsTo": CONFORMS_TO,
        "hostname": hostname,
        "operator": settings.archive.operator,
        "isPartOf": collection,
        "robots": settings.frontier.robots,
        "http-header-user-agent": settings.archive.user_agent,
    }
    check_values(filename, *said.values())
    block = "".join(field(name, value) for name, value in said.items() if value).encode()
    digest = base32(hashlib.sha1(block, usedforsecurity=False).digest())
    fields = field("WARC-Date", iso_date(date)) + field("WARC-Filename", filename)
    header = whole_header("warcinfo", record_id, fields, digest, "application/warc-fields", len(block))
    return Record("warcinfo", record_id, record_id, header, Message(block))


def is_incompressible(mime: str | None, content_encoding: str | None) -> bool:
    """Whether a payload is compressed already, so that packing it again costs time and gains nothing."""
    if content_encoding and content_encoding.rpartition(",")[2].strip().lower() in _PACKED_CODINGS:
        return True
    return mime is not None and (mime in _PACKED or (mime.startswith(_PACKED_TYPES) and mime not in _UNPACKED))


def new_id() -> str:
    """A random UUID, version 4 (RFC 9562 section 5.4), without its urn: prefix."""
    text = urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"


def base32(digest: bytes) -> str:
    """A digest as WARC files write it."""
    return b32encode(digest).decode()


def _response(
    exchange: Exchange, block: Message, digests: Digests, warcinfo_id: str, record_id: str, fields: str
) -> Record:
    label = base32(digests.payload_sha1)
    if exchange.form != "metadata":
        fields += field("WARC-Payload-Digest", f"sha1:{label}")
    if exchange.truncated:
        fields += field("WARC-Truncated", exchange.truncated)
    content_type = "application/http;msgtype=response"
    if exchange.form != "response":
        content_type = exchange.mime or "application/octet-stream"
    header = whole_header(exchange.form, record_id, fields, base32(digests.block_sha1), content_type, block.length)
    line = _line(exchange, digests, record_id, label, None)
    return Record(exchange.form, record_id, warcinfo_id, header, block, exchange.incompressible, line)


def _revisit(
    exchange: Exchange,
    response: Message,
    digests: Digests,
    warcinfo_id: str,
    record_id: str,
    fields: str,
    original: Original,
) -> Record:
    """WARC/1.1 section 6.7.2: the head as it came this time, and where the same payload is kept."""
    if exchange.truncated:
        raise ValueError(f"exchange {exchange.id} of {exchange.url!r} was cut short: it can't be a revisit")
    check_values(original.url, original.record_id)
    label, block = base32(digests.payload_sha1), Message(response.head)
    fields += (
        f"WARC-Profile: {IDENTICAL_PAYLOAD}\r\n"
        f"WARC-Refers-To: <urn:uuid:{original.record_id}>\r\n"
        f"WARC-Refers-To-Target-URI: {original.url}\r\n"
        f"WARC-Refers-To-Date: {iso_date(original.date)}\r\n"
        f"WARC-Payload-Digest: sha1:{label}\r\n"
        f"WARC-Payload-Length: {digests.payload_length}\r\n"
        "WARC-Truncated: length\r\n"
    )
    digest = base32(hashlib.sha1(response.head, usedforsecurity=False).digest())
    header = whole_header("revisit", record_id, fields, digest, "application/http;msgtype=response", block.length)
    return Record(
        "revisit", record_id, warcinfo_id, header, block, False, _line(exchange, digests, record_id, label, original)
    )


def _request(request: Message, digests: Digests | None, warcinfo_id: str, record_id: str, fields: str) -> Record:
    if request.body.length:
        payload = base32(digests.payload_sha1) if digests else _payload_digest(request)
        fields += field("WARC-Payload-Digest", f"sha1:{payload}")
    block = digests.block_sha1 if digests else _sha1(request)
    header = whole_header(
        "request", record_id, fields, base32(block), "application/http;msgtype=request", request.length
    )
    return Record("request", record_id, warcinfo_id, header, request)


def _sha1(message: Message) -> bytes:
    sha1 = hashlib.sha1(usedforsecurity=False)
    for chunk in message.chunks():
        sha1.update(chunk)
    return sha1.digest()


def _payload_digest(message: Message) -> str:
    sha1 = hashlib.sha1(usedforsecurity=False)
    chunks = message.body.chunks()
    for chunk in dechunk(chunks) if parse_head(message.head).is_chunked else chunks:
        sha1.update(chunk)
    return base32(sha1.digest())


def _line(exchange: Exchange, digests: Digests, record_id: str, digest: str, original: Original | None) -> Capture:
    context = exchange.context
    return Capture(
        collection=context.collection, key=urls.key(exchange.url), date=exchange.started, url=exchange.url,
        mime=exchange.mime or UNKNOWN_MIME, status=exchange.outcome if exchange.form == "response" else None,
        digest=digest, kind=exchange.form if original is None else "revisit", filename="", offset=-1, length=0,
        record_id=record_id, method=exchange.method, job=context.job, page_id=context.page_id, refers_to=original,
        payload_length=digests.payload_length, sha256=None if original else digests.payload_sha256.hex(),
        truncated=exchange.truncated,
    )  # fmt: skip


def _shared_fields(exchange: Exchange, warcinfo_id: str) -> str:
    """What response and request say alike."""
    origin, context = exchange.origin, exchange.context
    check_values(exchange.url, context.page_id or "", context.job or "")
    text = target_fields(exchange.url, exchange.started, warcinfo_id) + _origin_fields(origin) + _job_fields(context)
    return text + (extra_fields(exchange.fields) if exchange.fields else "")


def _origin_fields(origin: Origin) -> str:
    check_values(origin.ip or "", origin.cipher_suite or "", origin.certificate_error or "", *origin.protocols)
    text = f"WARC-IP-Address: {origin.ip}\r\n" if origin.ip else ""
    for protocol in origin.protocols:
        text += f"WARC-Protocol: {protocol}\r\n"
    if origin.cipher_suite:
        text += f"WARC-Cipher-Suite: {origin.cipher_suite}\r\n"
    if origin.certificate_error:
        text += f"WARC-TLS-Verification: {origin.certificate_error}\r\n"
    return text


def _job_fields(context: Context) -> str:
    page = f"WARC-Page-ID: {context.page_id}\r\n" if context.page_id else ""
    return f"{page}WARC-Job-ID: {context.job}\r\n" if context.job else page
