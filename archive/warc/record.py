"""The bytes of an exchange's WARC/1.1 records (ISO 28500:2017). Pure: opens nothing, writes nothing.

One exchange gives two records: `response` (or `revisit`) and `request`, tied both ways by WARC-Concurrent-To.
Besides the standard's fields these are written, all of them ignored by readers that don't know them:

* `WARC-Protocol`, `WARC-Cipher-Suite`: proposals 42 and 93 of the IIPC's WARC specification group.
* `WARC-Page-ID`: the visit of a page that caused the exchange, as browser-based crawlers write it.
* `WARC-Job-ID`: the job on whose behalf it was made; lets the index be rebuilt from the file alone.
* `WARC-TLS-Verification`: why the origin's certificate was not trusted; absent when it was.
* `WARC-Proxy-Host`: the proxy by which the origin was reached; WARC-IP-Address is then not known.
* `WARC-Dedup-Buckets`: the dedup buckets that a response fills, parted by spaces and percent-escaped; empty when it
  fills none, absent when it is the collection's own.
* `WARC-HTTP-Trailer`: a trailer of a response that came by HTTP/2 or became a revisit, as `name: value`; what is not
  printable ASCII, and the percent sign, percent-escaped. Those of other responses stand in their blocks alone; what
  has more than 2 KB of them becomes no revisit.
* `WARC-Payload-Length`: on revisits only, the length of the payload that WARC-Payload-Digest names.
* `WARC-Refers-To-Container`: on revisits of an original in another archive, the URI of that archive's index (as
  proposed and in use, iipc/warc-specifications#111).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, unquote

from archive import url as urls
from archive.capture import (
    IDENTICAL_PAYLOAD,
    OWN_BUCKET,
    SERVER_NOT_MODIFIED,
    Capture,
    Digests,
    Exchange,
    Message,
    Original,
)
from archive.dates import iso_date, iso_second
from archive.digest import NEW_HASHER, Algorithm, labelled
from archive.facts import fact
from archive.header import (
    check_values,
    extra_fields,
    field,
    job_fields,
    origin_fields,
    target_fields,
    trailer_fields,
    whole_header,
)
from archive.ids import new_id
from archive.message import dechunk, parse_head

UNKNOWN_MIME: Final = "unk"
"""Media type in the index of a response that named none, as CDX files have it."""
RECORD_END: Final = b"\r\n\r\n"


@fact(frozen=True, slots=True)
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
    """Response, or revisit of `original` or of what is `unchanged`, then the request if there was one.

    Raises ValueError for an exchange without response or digests, for a truncated one that is to be a revisit,
    and for a value that would break the header.
    """
    response, digests = exchange.response, exchange.digests
    if response is None or digests is None:
        raise ValueError(f"exchange {exchange.id} of {exchange.url!r} has no response to keep")
    response_id, request_id = new_id(), new_id()
    shared = _shared_fields(exchange, warcinfo_id)
    tie = field("WARC-Concurrent-To", f"<urn:uuid:{request_id}>") if exchange.request else ""
    if exchange.trailers and (original is not None or exchange.origin.protocols[0] == "h2"):
        tie += trailer_fields(exchange.trailers)
    if exchange.unchanged is not None:
        first = _not_modified(exchange, response, digests, warcinfo_id, response_id, shared + tie)
    elif original is None:
        first = _response(exchange, response, digests, warcinfo_id, response_id, shared + tie)
    else:
        first = _revisit(exchange, response, digests, warcinfo_id, response_id, shared + tie, original)
    if exchange.request is None:
        return (first,)
    shared += field("WARC-Concurrent-To", f"<urn:uuid:{response_id}>")
    return first, _request(
        exchange.request, exchange.request_digests, digests.algorithm, warcinfo_id, request_id, shared
    )


def digest_of(chunks: Iterable[bytes], algorithm: Algorithm) -> str:
    """The labelled digest of bytes that come one after the other."""
    taken = NEW_HASHER[algorithm]()
    for chunk in chunks:
        taken.update(chunk)
    return labelled(algorithm, taken.digest())


def bucket_list(names: Iterable[str]) -> str:
    """Names of dedup buckets as one field's value."""
    return " ".join(quote(name, safe="") for name in names)


def parse_buckets(value: str | None) -> tuple[str, ...]:
    """The names in a field that `bucket_list` wrote; the collection's own bucket when there is no such field."""
    return OWN_BUCKET if value is None else tuple(map(unquote, value.split()))


def _response(
    exchange: Exchange, block: Message, digests: Digests, warcinfo_id: str, record_id: str, fields: str
) -> Record:
    payload = labelled(digests.algorithm, digests.payload)
    if exchange.form != "metadata":
        fields += field("WARC-Payload-Digest", payload)
    if exchange.truncated:
        fields += field("WARC-Truncated", exchange.truncated)
    if (buckets := exchange.context.filled_buckets) is not OWN_BUCKET and exchange.form == "response":
        fields += field("WARC-Dedup-Buckets", bucket_list(buckets))
    content_type = "application/http;msgtype=response"
    if exchange.form != "response":
        content_type = exchange.mime or "application/octet-stream"
    digest = labelled(digests.algorithm, digests.block)
    header = whole_header(exchange.form, record_id, fields, digest, content_type, block.length)
    line = _line(exchange, digests, record_id, payload, None)
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
    payload, block = labelled(digests.algorithm, digests.payload), Message(response.head)
    fields += _reference(IDENTICAL_PAYLOAD, original)
    fields += (
        f"WARC-Payload-Digest: {payload}\r\nWARC-Payload-Length: {digests.payload_length}\r\nWARC-Truncated: length\r\n"
    )
    digest = digest_of((response.head,), digests.algorithm)
    header = whole_header("revisit", record_id, fields, digest, "application/http;msgtype=response", block.length)
    return Record(
        "revisit", record_id, warcinfo_id, header, block, False, _line(exchange, digests, record_id, payload, original)
    )


def _not_modified(
    exchange: Exchange, block: Message, digests: Digests, warcinfo_id: str, record_id: str, fields: str
) -> Record:
    """WARC/1.1 section 6.7.3: the 304 as it came, whole, and the capture whose validators the request named.

    The payload is that capture's and was not seen this time: so no digest of it is given.
    """
    original = exchange.unchanged
    assert original is not None
    fields += _reference(SERVER_NOT_MODIFIED, original)
    digest = labelled(digests.algorithm, digests.block)
    header = whole_header("revisit", record_id, fields, digest, "application/http;msgtype=response", block.length)
    line = _line(exchange, digests, record_id, None, original)
    return Record("revisit", record_id, warcinfo_id, header, block, False, line)


def _reference(profile: str, original: Original) -> str:
    check_values(original.url, original.record_id)
    if not original.record_id:
        return _reference_elsewhere(profile, original)
    return (
        f"WARC-Profile: {profile}\r\n"
        f"WARC-Refers-To: <urn:uuid:{original.record_id}>\r\n"
        f"WARC-Refers-To-Target-URI: {original.url}\r\n"
        f"WARC-Refers-To-Date: {iso_date(original.date)}\r\n"
    )


def _reference_elsewhere(profile: str, original: Original) -> str:
    """URL and date alone name an original whose id is not known, as WARC/1.1 section 6.7.2 has it."""
    check_values(original.archive)
    date = iso_date(original.date) if original.date % 1_000_000 else iso_second(original.date)
    text = f"WARC-Profile: {profile}\r\nWARC-Refers-To-Target-URI: {original.url}\r\nWARC-Refers-To-Date: {date}\r\n"
    return text + (field("WARC-Refers-To-Container", original.archive) if original.archive else "")


def _request(
    request: Message, taken: Digests | None, algorithm: Algorithm, warcinfo_id: str, record_id: str, fields: str
) -> Record:
    block, payload = _request_digests(request, taken, algorithm)
    if payload:
        fields += field("WARC-Payload-Digest", payload)
    header = whole_header("request", record_id, fields, block, "application/http;msgtype=request", request.length)
    return Record("request", record_id, warcinfo_id, header, request)


def _request_digests(request: Message, taken: Digests | None, algorithm: Algorithm) -> tuple[str, str]:
    """Labelled digests of the block and of the payload, "" for none: as taken while it passed, else from its bytes."""
    has_body = request.body.length > 0
    if taken is not None:
        return labelled(taken.algorithm, taken.block), labelled(taken.algorithm, taken.payload) if has_body else ""
    if not has_body:
        return digest_of((request.head,), algorithm), ""
    block, chunks = digest_of(request.chunks(), algorithm), request.body.chunks()
    return block, digest_of(dechunk(chunks) if parse_head(request.head).is_chunked else chunks, algorithm)


def _line(
    exchange: Exchange, digests: Digests, record_id: str, payload: str | None, original: Original | None
) -> Capture:
    context = exchange.context
    return Capture(
        collection=context.collection, key=urls.key(exchange.url), date=exchange.started, url=exchange.url,
        mime=exchange.mime or UNKNOWN_MIME, status=exchange.outcome if exchange.form == "response" else None,
        digest=payload and payload.removeprefix("sha1:"), kind=exchange.form if original is None else "revisit",
        filename="", offset=-1, length=0, record_id=record_id, method=exchange.method, job=context.job,
        page_id=context.page_id, refers_to=original,
        payload_length=digests.payload_length, sha256=None if original else digests.payload_sha256.hex(),
        truncated=exchange.truncated,
        buckets=context.filled_buckets if original is None and exchange.form == "response" else OWN_BUCKET,
    )  # fmt: skip


def _shared_fields(exchange: Exchange, warcinfo_id: str) -> str:
    """What response and request say alike."""
    origin, context = exchange.origin, exchange.context
    check_values(exchange.url, context.page_id or "", context.job or "")
    text = target_fields(exchange.url, exchange.started, warcinfo_id) + origin_fields(origin) + job_fields(context)
    return text + (extra_fields(exchange.fields) if exchange.fields else "")
