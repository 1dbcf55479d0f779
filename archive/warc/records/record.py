"""This module makes the bytes of an exchange's WARC/1.1 records (ISO 28500:2017). It opens and writes nothing.

One exchange gives two records: `response` (or `revisit`) and `request`. Each names the other in WARC-Concurrent-To.
Besides the fields of the standard, these fields are written. Readers that do not know them ignore them.

* `WARC-Protocol`, `WARC-Cipher-Suite`: proposals 42 and 93 of the IIPC's WARC specification group.
* `WARC-Page-ID`: the visit of a page that caused the exchange, as browser-based crawlers write it.
* `WARC-Job-ID`: the job that caused the exchange. The index can be rebuilt from the file alone.
* `WARC-TLS-Verification`: the reason why the origin's certificate was not trusted. The field is absent when the
  certificate was trusted.
* `WARC-Proxy-Host`: the further proxy through which the origin was reached. WARC-IP-Address is then not known.
* `WARC-Dedup-Buckets`: the dedup buckets to which a response belongs, percent-escaped, with spaces between them. The
  field is empty when there are none, and absent when the bucket is the collection's own.
* `WARC-HTTP-Trailer`: a trailer of a response that came by HTTP/2 or became a revisit, as `name: value`. The percent
  sign and all bytes that are not printable ASCII are percent-escaped. The trailers of other responses are in their
  blocks. A response with more than 2 KB of trailers never becomes a revisit.
* `WARC-Payload-Length`: on revisits only, the length of the payload that WARC-Payload-Digest names.
* `WARC-Updated-By`: on a revisit that a 304 response caused and that is written as `identical-payload-digest`, the
  record of the 304 as it came. The head of the revisit is the head of the earlier capture, updated by the fields of
  the 304. The origin never sent this head as a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
    Unchanged,
)
from archive.dates import iso_date, iso_second
from archive.digest import NEW_HASHER, Algorithm, labelled
from archive.fast_frozen import fast_frozen
from archive.http.chunked import dechunk
from archive.http.http_message import parse_head
from archive.names.ids import new_id
from archive.warc.records.header import (
    check_values,
    extra_fields,
    field,
    job_fields,
    origin_fields,
    target_fields,
    trailer_fields,
    whole_header,
)
from archive.warc.records.request_query import asked_key, query_of

UNKNOWN_MIME: Final = "unk"
"""Media type in the index of a response that named none, as CDX files have it."""
RECORD_END: Final = b"\r\n\r\n"
NOT_MODIFIED_URL: Final = "urn:not-modified:"
"""How the URL of the record of a 304 begins; the URL that it is about follows."""


@fast_frozen(frozen=True, slots=True)
class Record:
    """A record is ready to be written: `header` ends with the empty line, then come the block and RECORD_END.

    `warcinfo_id` names the file to which the record belongs. `packed` says that the block is compressed already. `line`
    is the index line, whose filename, offset and length are not known yet. Kinds that are not indexed have None.
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
        """Return the number of bytes in the block, which is the record's Content-Length."""
        return self.block.length

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the block in order."""
        return self.block.chunks()


def exchange_records(exchange: Exchange, *, warcinfo_id: str, original: Original | None = None) -> tuple[Record, ...]:
    """Return the records of an exchange: the response or the revisit first, then the request if there is one.

    The exchange becomes a revisit when there is an `original`, or when a 304 response said that it is `unchanged`. When
    a 304 updated the head of the revisit, the record of this 304 follows the revisit.

    Raises ValueError for an exchange without response or digests, for a truncated exchange that would be a revisit, and
    for a value that would break the header.
    """
    response, digests = exchange.response, exchange.digests
    if response is None or digests is None:
        raise ValueError(f"exchange {exchange.id} of {exchange.url!r} has no response to keep")
    response_id, request_id = new_id(), new_id()
    shared = _shared_fields(exchange, warcinfo_id)
    tie = field("WARC-Concurrent-To", f"<urn:uuid:{request_id}>") if exchange.request else ""
    if exchange.trailers and original is not None:
        tie += trailer_fields(exchange.trailers)
    said: tuple[Record, ...] = ()
    if exchange.unchanged is not None and exchange.unchanged.head is not None:
        said_id = new_id()
        said = (_as_said(exchange, response, digests, warcinfo_id, said_id, response_id),)
        tie += f"WARC-Concurrent-To: <urn:uuid:{said_id}>\r\nWARC-Updated-By: <urn:uuid:{said_id}>\r\n"
        first = _confirmed(exchange, digests, warcinfo_id, response_id, shared + tie)
    elif exchange.unchanged is not None:
        first = _not_modified(exchange, response, digests, warcinfo_id, response_id, shared + tie)
    elif original is None:
        first = _response(exchange, response, digests, warcinfo_id, response_id, shared + tie)
    else:
        first = _revisit(exchange, response, digests, warcinfo_id, response_id, shared + tie, original)
    if exchange.request is None:
        return first, *said
    shared += field("WARC-Concurrent-To", f"<urn:uuid:{response_id}>")
    asked = _request(exchange.request, exchange.request_digests, digests.algorithm, warcinfo_id, request_id, shared)
    return first, *said, asked


def digest_of(chunks: Iterable[bytes], algorithm: Algorithm) -> str:
    """Return the labelled digest of a sequence of byte strings."""
    taken = NEW_HASHER[algorithm]()
    for chunk in chunks:
        taken.update(chunk)
    return labelled(algorithm, taken.digest())


def bucket_list(names: Iterable[str]) -> str:
    """Return the names of dedup buckets as the value of one field."""
    return " ".join(quote(name, safe="") for name in names)


def parse_buckets(value: str | None) -> tuple[str, ...]:
    """Return the names in a field that `bucket_list` wrote. Without the field, return the collection's own bucket."""
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
    """Return a revisit: the new head and a reference to the record with the same payload (WARC/1.1 section 6.7.2)."""
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
    """Return a revisit with the whole 304 response, which refers to the validated capture (WARC/1.1 section 6.7.3).

    The digest is the digest of the capture's payload. The payload was read and verified before the origin was asked.
    """
    unchanged = exchange.unchanged
    assert unchanged is not None
    fields += _reference(SERVER_NOT_MODIFIED, unchanged.original) + _payload_fields(unchanged)
    digest = labelled(digests.algorithm, digests.block)
    header = whole_header("revisit", record_id, fields, digest, "application/http;msgtype=response", block.length)
    line = replace(
        _line(exchange, digests, record_id, unchanged.digest, unchanged.original),
        payload_length=unchanged.payload_length,
    )
    return Record("revisit", record_id, warcinfo_id, header, block, False, line)


def _confirmed(exchange: Exchange, digests: Digests, warcinfo_id: str, record_id: str, fields: str) -> Record:
    """Return a revisit for a payload that a 304 response confirmed, with the updated head (WARC/1.1 section 6.7.2).

    Readers take the status and the fields of a capture from this head. With the head of the 304 they would show an
    empty page.
    """
    unchanged = exchange.unchanged
    assert unchanged is not None
    assert unchanged.head is not None
    fields += _reference(IDENTICAL_PAYLOAD, unchanged.original) + _payload_fields(unchanged)
    fields += "WARC-Truncated: length\r\n"
    head, digest = parse_head(unchanged.head), digest_of((unchanged.head,), digests.algorithm)
    block = Message(unchanged.head)
    header = whole_header("revisit", record_id, fields, digest, "application/http;msgtype=response", block.length)
    line = replace(
        _line(exchange, digests, record_id, unchanged.digest, unchanged.original),
        status=head.status,
        mime=head.mime or UNKNOWN_MIME,
        payload_length=unchanged.payload_length,
    )
    return Record("revisit", record_id, warcinfo_id, header, block, False, line)


def _as_said(
    exchange: Exchange, block: Message, digests: Digests, warcinfo_id: str, record_id: str, revisit_id: str
) -> Record:
    """Return the 304 response byte for byte, under a URL of its own, so that no reader takes it for the page."""
    named = replace(exchange, url=f"{NOT_MODIFIED_URL}{exchange.url}", form="metadata")
    fields = _shared_fields(named, warcinfo_id) + field("WARC-Concurrent-To", f"<urn:uuid:{revisit_id}>")
    block_digest, payload = (labelled(digests.algorithm, each) for each in (digests.block, digests.payload))
    header = whole_header(
        "metadata", record_id, fields, block_digest, "application/http;msgtype=response", block.length
    )
    line = replace(_line(replace(named, method="GET"), digests, record_id, payload, None), status=exchange.outcome)
    return Record("metadata", record_id, warcinfo_id, header, block, False, line)


def _payload_fields(unchanged: Unchanged) -> str:
    check_values(unchanged.digest)
    return f"WARC-Payload-Digest: {unchanged.digest}\r\nWARC-Payload-Length: {unchanged.payload_length}\r\n"


def _reference(profile: str, original: Original) -> str:
    check_values(original.url)
    record_id = original.record_id
    if not record_id or not record_id.isprintable():
        return _reference_by_url(profile, original)
    uri = record_id if ":" in record_id else f"urn:uuid:{record_id}"  # other programs have ids that are no UUIDs
    return (
        f"WARC-Profile: {profile}\r\n"
        f"WARC-Refers-To: <{uri}>\r\n"
        f"WARC-Refers-To-Target-URI: {original.url}\r\n"
        f"WARC-Refers-To-Date: {iso_date(original.date)}\r\n"
    )


def _reference_by_url(profile: str, original: Original) -> str:
    """Return the fields for an original whose record id can't be named. URL and date do it (WARC/1.1 section 6.7.2)."""
    date = iso_date(original.date) if original.date % 1_000_000 else iso_second(original.date)
    return f"WARC-Profile: {profile}\r\nWARC-Refers-To-Target-URI: {original.url}\r\nWARC-Refers-To-Date: {date}\r\n"


def _request(
    request: Message, taken: Digests | None, algorithm: Algorithm, warcinfo_id: str, record_id: str, fields: str
) -> Record:
    block, payload = _request_digests(request, taken, algorithm)
    if payload:
        fields += field("WARC-Payload-Digest", payload)
    header = whole_header("request", record_id, fields, block, "application/http;msgtype=request", request.length)
    return Record("request", record_id, warcinfo_id, header, request)


def _request_digests(request: Message, taken: Digests | None, algorithm: Algorithm) -> tuple[str, str]:
    """Return the labelled digests of the block and of the payload, "" for no payload.

    The digests are those taken while the request passed, or else computed from its bytes.
    """
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
    context, body = exchange.context, None
    if exchange.method == "GET":
        key = urls.key(exchange.url)
    else:
        body = query_of(exchange.request)
        key = asked_key(exchange.url, exchange.method, body)
    return Capture(
        collection=context.collection, key=key, date=exchange.started, url=exchange.url,
        mime=exchange.mime or UNKNOWN_MIME, status=exchange.outcome if exchange.form == "response" else None,
        digest=payload and payload.removeprefix("sha1:"), kind=exchange.form if original is None else "revisit",
        filename="", offset=-1, length=0, record_id=record_id, method=exchange.method, job=context.job,
        page_id=context.page_id, refers_to=original,
        payload_length=digests.payload_length, sha256=None if original else digests.payload_sha256.hex(),
        truncated=exchange.truncated,
        buckets=context.filled_buckets if original is None and exchange.form == "response" else OWN_BUCKET,
        request_body=body,
    )  # fmt: skip


def _shared_fields(exchange: Exchange, warcinfo_id: str) -> str:
    """Return the fields that response and request have in common."""
    origin, context = exchange.origin, exchange.context
    check_values(exchange.url, context.page_id or "", context.job or "")
    text = target_fields(exchange.url, exchange.started, warcinfo_id) + origin_fields(origin) + job_fields(context)
    return text + (extra_fields(exchange.fields) if exchange.fields else "")
