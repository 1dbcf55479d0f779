"""The classes here describe what passed through the proxy (`Exchange`) and where it was kept (`Capture`). No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final, Literal, Self

from archive.dates import Micros, timestamp14
from archive.digest import DEFAULT_ALGORITHM, Algorithm
from archive.fast_frozen import fast_frozen

type Truncation = Literal["length", "time", "disconnect", "unspecified"]
type ResponseForm = Literal["response", "resource", "metadata"]
type Trailers = tuple[tuple[bytes, bytes], ...]
"""Names and values of the fields behind a body (RFC 9110 section 6.5)."""
type RecordKind = Literal["response", "revisit", "resource", "metadata", "conversion"]

IDENTICAL_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
"""Revisit profile of WARC/1.1 section 6.7.2."""
SERVER_NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
"""Revisit profile of WARC/1.1 section 6.7.3."""

OWN_BUCKET: Final = ("",)
"""The dedup buckets of what names none: the collection's own, which has no name."""
_READ_SIZE: Final = 1 << 18


@fast_frozen(frozen=True, slots=True)
class Body:
    """A body is the bytes that follow a head, exactly as on the wire. It lies in memory or in a spool file.

    `file` is an open, readable file that holds nothing but the body; whoever made the body closes it.
    """

    parts: tuple[bytes, ...] = ()
    file: BinaryIO | None = None
    length: int = 0

    def chunks(self) -> Iterator[bytes]:
        """Yield the body's bytes in order, in pieces of a bounded size."""
        yield from self.parts
        if self.file is not None:
            self.file.seek(0)
            while piece := self.file.read(_READ_SIZE):
                yield piece


NO_BODY: Final = Body()


@fast_frozen(frozen=True, slots=True)
class Message:
    """A message is one HTTP message as it crossed the wire: `head` ends with its empty line, transfer coding is
    kept.
    """

    head: bytes
    body: Body = NO_BODY

    @property
    def length(self) -> int:
        """Return bytes of head and body together: the Content-Length of the record's block."""
        return len(self.head) + self.body.length

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole block, head first."""
        if self.head:
            yield self.head
        yield from self.body.chunks()


@fast_frozen(frozen=True, slots=True)
class Digests:
    """These are the raw digests that were computed while the bytes passed.

    `block` covers the whole block; the payload digests cover the body with the transfer coding removed and the
    content coding kept (WARC/1.1 section 5.9). SHA-256 with the length decides dedup, whatever the records name; a
    request is no original, and its may be empty.
    """

    block: bytes
    payload: bytes
    payload_sha256: bytes
    payload_length: int
    algorithm: Algorithm = DEFAULT_ALGORITHM
    """Algorithm of the digests `block` and `payload`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin is where the bytes came from: the connected address, and what TLS agreed on."""

    ip: str | None = None
    protocols: tuple[str, ...] = ("http/1.1",)
    """Values of WARC-Protocol, for instance ("http/1.1", "tls/1.3")."""
    cipher_suite: str | None = None
    certificate_error: str | None = None
    """Why the origin's certificate was not trusted; None when it was, or when there was no TLS."""


@fast_frozen(frozen=True, slots=True)
class Context:
    """The context says for whom the exchange was made, as the session and the crawler described it."""

    collection: str
    job: str | None = None
    page_id: str | None = None
    page_url: str | None = None
    prefix: str | None = None
    """File name prefix of the WARC; None for the collection's own."""
    hop_path: str = ""
    via: str | None = None
    source: str | None = None
    """The seed this URL descends from (Heritrix's source tag)."""
    log_dir: str | None = None
    """Folder of the job whose crawl.log gets a line; None for none."""
    log_name: str = ""
    """Name of the log in that folder; empty for `crawl.log`."""
    dedup: bool = True
    buckets: tuple[tuple[str, str], ...] = ()
    """Dedup buckets: name, and "rw" (looked up and filled) or "ro" (looked up); empty for the collection's own."""
    archived: bool = True
    """False when the client wishes nothing of it to be written."""
    stats: tuple[str, ...] = ()
    """Named buckets that count this exchange."""
    attempt: int = 1
    """The number of the try of this URL."""

    @property
    def filled_buckets(self) -> tuple[str, ...]:
        """Return the dedup buckets in which it may become an original."""
        if not self.dedup:
            return ()
        return tuple(name for name, mode in self.buckets if mode == "rw") if self.buckets else OWN_BUCKET


@fast_frozen(frozen=True, slots=True)
class Exchange:
    """An exchange is one request and its response.

    `response` is None when nothing came: then `outcome` is Heritrix's negative code and nothing is kept but a
    crawl.log line. Otherwise `outcome` is the HTTP status.
    """

    id: str
    context: Context
    method: str
    url: str
    started: Micros
    duration_ms: int
    outcome: int
    request: Message | None = None
    response: Message | None = None
    digests: Digests | None = None
    request_digests: Digests | None = None
    """Of a request with a body, taken while it passed; without them its bytes are hashed when they are written."""
    mime: str | None = None
    """Media type in lower case without parameters, None when the response named none."""
    incompressible: bool = False
    """True when the payload is known to be compressed already, so that packing it again is wasted work."""
    origin: Origin = field(default_factory=Origin)
    truncated: Truncation | None = None
    annotations: tuple[str, ...] = ()
    form: ResponseForm = "response"
    """The record that holds what came: a `response`; a `resource` when it came without a head (HTTP/0.9); `metadata`
    when it can't be understood, so that no reader takes the bytes for a response."""
    unchanged: Unchanged | None = None
    """The capture that is still what the origin would send, as it said with this 304; None in all other cases."""
    fields: tuple[tuple[str, str], ...] = ()
    """Further named fields for the record header, such as ("WARC-Resource-Type", "websocket")."""
    trailers: Trailers = ()
    """Trailers of the response. They go into the record's header when the block can't hold them."""


@fast_frozen(frozen=True, slots=True)
class Original:
    """An original is the earlier capture that a revisit points to. `record_id` is the bare UUID.

    The file is for logs, and not always known: then `filename` is empty.
    """

    record_id: str
    url: str
    date: Micros
    filename: str = field(default="", compare=False)
    offset: int = field(default=0, compare=False)

    @classmethod
    def of(cls, capture: Capture) -> Self:
        """Return the capture as later revisits refer to it."""
        return cls(capture.record_id, capture.url, capture.date, capture.filename, capture.offset)


@fast_frozen(frozen=True, slots=True)
class Unchanged:
    """An origin confirmed an earlier capture with a 304. Its payload was verified before it was asked."""

    original: Original
    digest: str
    """The payload's digest as the original's record names it, with its label."""
    payload_length: int
    head: bytes | None = None
    """The earlier capture's head, updated by the 304's as RFC 9111 section 4.3.4 says, with the original's framing.

    With it the revisit has the profile `identical-payload-digest`, without it `server-not-modified`."""


@fast_frozen(frozen=True, slots=True)
class Capture:
    """A capture says where one record was kept. It is one line of the index.

    `offset` and `length` are of the compressed member in `filename` (its final name, without `.open`, as
    seen from the collection's archive folder: with `/` when it lies in a subfolder).
    `digest` is the payload's as in `WARC-Payload-Digest`, SHA-1 without its label. `kind` "revisit" has `refers_to`.
    """

    collection: str
    key: str
    date: Micros
    url: str
    mime: str
    status: int | None
    digest: str | None
    kind: RecordKind
    filename: str
    offset: int
    length: int
    record_id: str
    method: str = "GET"
    job: str | None = None
    page_id: str | None = None
    refers_to: Original | None = None
    payload_length: int = 0
    sha256: str | None = None
    """Hex SHA-256 of the payload; lets the dedup store be rebuilt from disk."""
    truncated: Truncation | None = None
    buckets: tuple[str, ...] = OWN_BUCKET
    """Dedup buckets that know this response as an original; none when it was not to be one."""
    request_body: str | None = None
    """The request's body as a query (`archive.warc.records.request_query`), for POST and PUT; None without a body."""

    def placed(self, filename: str, offset: int, length: int) -> Capture:
        """Return the same, kept there. In a fifth of the time that `dataclasses.replace` takes."""
        return Capture(
            self.collection, self.key, self.date, self.url, self.mime, self.status, self.digest, self.kind,
            filename, offset, length, self.record_id, self.method, self.job, self.page_id, self.refers_to,
            self.payload_length, self.sha256, self.truncated, self.buckets, self.request_body,
        )  # fmt: skip

    @property
    def timestamp(self) -> str:
        """Return the 14-digit date of CDX files."""
        return timestamp14(self.date)

    @property
    def cdx_mime(self) -> str:
        """The media type as CDX files give it: a revisit is `warc/revisit`."""
        return "warc/revisit" if self.kind == "revisit" else self.mime
