"""Responses as origins really send them, odd ones too: what is sent, what a record holds, what a client gets.

Each is built around a tag, so that no two are alike and none becomes a revisit of another. What browsers accept we
must keep; the clauses named are of RFC 9112 unless another is named.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass

OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"


@dataclass(frozen=True)
class Odd:
    """`sent` is all that goes over the wire; `block` what the record holds; `payload` what a client ends up with.

    `close` says that the origin then ends the connection. `interim` is how many bytes of `sent` come before the
    final response, `extra` how many come after its end: neither is part of it.
    """

    name: str
    build: Callable[[bytes], tuple[bytes, bytes]]
    """From the tag to what is sent and the payload."""
    status: int = 200
    method: str = "GET"
    close: bool = False
    interim: int = 0
    extra: int = 0

    def sent(self, tag: bytes) -> bytes:
        """Every byte the origin sends."""
        return self.build(tag)[0]

    def block(self, tag: bytes) -> bytes:
        """The final response, to the byte."""
        sent = self.sent(tag)
        return sent[self.interim : len(sent) - self.extra]

    def payload(self, tag: bytes) -> bytes:
        """The body with the transfer coding removed."""
        return self.build(tag)[1]


def chunked(*pieces: bytes, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    """A chunked body."""
    chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces)
    return chunks + b"0\r\n" + trailers + b"\r\n"


def page(tag: bytes, size: int = 300) -> bytes:
    """A body with the tag in it."""
    return b"<html><body>%b " % tag + b"moss " * (size // 5) + b"</body></html>\n"


def _plain(tag: bytes) -> tuple[bytes, bytes]:
    return OK + HTML + b"Content-Length: %d\r\n\r\n" % len(page(tag)) + page(tag), page(tag)


def _with_head(head: Callable[[int], bytes]) -> Callable[[bytes], tuple[bytes, bytes]]:
    """A response whose head is given for the length of its body."""
    return lambda tag: (head(len(page(tag))) + page(tag), page(tag))


def _chunks(
    head: bytes = OK + HTML, extension: bytes = b"", trailers: bytes = b""
) -> Callable[[bytes], tuple[bytes, bytes]]:
    def build(tag: bytes) -> tuple[bytes, bytes]:
        body = chunked(page(tag)[:50], page(tag)[50:51], page(tag)[51:], extension=extension, trailers=trailers)
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + body, page(tag)

    return build


def _packed(tag: bytes) -> tuple[bytes, bytes]:
    body = gzip.compress(page(tag, 5000), mtime=0)
    return OK + HTML + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body, body


def _packed_chunks(tag: bytes) -> tuple[bytes, bytes]:
    body = zlib.compress(page(tag, 5000))
    head = OK + HTML + b"Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + chunked(body[:20], body[20:]), body


def _before(interim: bytes) -> Callable[[bytes], tuple[bytes, bytes]]:
    return lambda tag: (interim + _plain(tag)[0], page(tag))


def _behind(extra: bytes) -> Callable[[bytes], tuple[bytes, bytes]]:
    return lambda tag: (_plain(tag)[0] + extra, page(tag))


def _no_body(head: bytes) -> Callable[[bytes], tuple[bytes, bytes]]:
    return lambda tag: (head.replace(b"@", tag), b"")


def _large(tag: bytes) -> tuple[bytes, bytes]:
    body = page(tag, 900_000)
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body, body


_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n"
_MANY = b"".join(b"X-Moss-%d: %b\r\n" % (number, b"m" * 280) for number in range(1000))

RESPONSES = (
    Odd("plain", _plain),
    Odd("large", _large),
    Odd("chunked", _chunks()),
    Odd("gzip", _packed),
    Odd("deflate-chunked", _packed_chunks),
    Odd("close-delimited", _with_head(lambda _: OK + HTML + b"\r\n"), close=True),
    Odd("no-content", _no_body(b"HTTP/1.1 204 No Content\r\nX-Tag: @\r\n\r\n"), status=204),
    Odd("head", _no_body(OK + HTML + b"X-Tag: @\r\nContent-Length: 4711\r\n\r\n"), method="HEAD"),
    Odd("head-chunked", _no_body(OK + b"X-Tag: @\r\nTransfer-Encoding: chunked\r\n\r\n"), method="HEAD"),
    Odd("redirect", _no_body(b"HTTP/1.1 302 Found\r\nLocation: /@\r\nContent-Length: 0\r\n\r\n"), status=302),
    Odd("not-modified", _no_body(b'HTTP/1.1 304 Not Modified\r\nETag: "@"\r\nContent-Length: 99\r\n\r\n'), status=304),
    Odd("continue-first", _before(_CONTINUE), interim=len(_CONTINUE)),
    Odd("early-hints-first", _before(_HINTS + _HINTS), interim=2 * len(_HINTS)),
    Odd("chunk-extensions", _chunks(extension=b';sig="ab;cd";x')),
    Odd("huge-chunk-extension", _chunks(extension=b";x=" + b"y" * 6000)),
    Odd("trailers", _chunks(trailers=b"X-Check: 1\r\nServer-Timing: db;dur=2\r\n")),
    Odd("upper-case-chunk-sizes", lambda tag: (
        OK + b"Transfer-Encoding: Chunked\r\n\r\n00FF\r\n" + page(tag)[:255] + b"\r\n"
        + b"%X \r\n" % len(page(tag)[255:]) + page(tag)[255:] + b"\r\n000\r\n\r\n", page(tag)
    )),
    Odd("obs-fold", _with_head(lambda n: OK + b"X-Long: one\r\n two\r\n\tthree\r\nContent-Length: %d\r\n\r\n" % n)),
    Odd("case-order-duplicates", _with_head(
        lambda n: OK + b"x-B: 2\r\nX-a:1\r\nSET-COOKIE: a\r\ncontent-LENGTH: %d \r\nSet-Cookie: b\r\nx-B: 1\r\n\r\n" % n
    )),
    Odd("bare-lf", _with_head(lambda n: b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: %d\n\n" % n)),
    Odd("mixed-line-ends", _with_head(lambda n: b"HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: %d\r\n\n" % n)),
    Odd("no-reason", _with_head(lambda n: b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n" % n)),
    Odd("empty-reason", _with_head(lambda n: b"HTTP/1.1 200 \r\nContent-Length: %d\r\n\r\n" % n)),
    Odd("odd-status", _with_head(lambda n: b"HTTP/1.1 999 Who knows\r\nContent-Length: %d\r\n\r\n" % n), status=999),
    Odd("lower-case-protocol", _with_head(lambda n: b"http/1.1 200 ok\r\nContent-Length: %d\r\n\r\n" % n)),
    Odd("non-ascii-header", _with_head(
        lambda n: OK + b"X-Name: B\xe4r\r\nX-Utf: \xc3\xa4\xe2\x82\xac\r\nContent-Length: %d\r\n\r\n" % n
    )),
    Odd("header-name-with-space", _with_head(
        lambda n: OK + b"X Odd: 1\r\nX-Late : 2\r\nContent-Length: %d\r\n\r\n" % n
    )),
    Odd("line-without-colon", _with_head(lambda n: OK + b"what is this\r\nContent-Length: %d\r\n\r\n" % n)),
    Odd("empty-body", _no_body(OK + HTML + b"X-Tag: @\r\nContent-Length: 0\r\n\r\n")),
    Odd("empty-chunked", _no_body(OK + b"X-Tag: @\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
    Odd("head-of-300-kb", _with_head(lambda n: OK + _MANY + b"Content-Length: %d\r\n\r\n" % n)),
    Odd("chunked-with-length", _chunks(head=OK + b"Content-Length: 7\r\n")),
    Odd("length-twice", _with_head(lambda n: OK + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (n, n))),
    Odd("length-list", _with_head(lambda n: OK + b"Content-Length: %d, %d\r\n\r\n" % (n, n))),
    Odd("http-1.0", _with_head(lambda n: b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % n), close=True),
    Odd("http-1.0-close-delimited", _with_head(lambda _: b"HTTP/1.0 200 OK\r\n\r\n"), close=True),
    Odd("http-1.0-chunked", _chunks(head=b"HTTP/1.0 200 OK\r\n"), close=True),
    Odd("leading-line-ends", _with_head(lambda n: b"\r\n\r\n" + OK + b"Content-Length: %d\r\n\r\n" % n)),
    Odd("no-headers", _with_head(lambda _: b"HTTP/1.1 200 OK\r\n\r\n"), close=True),
    Odd("unknown-coding", _with_head(lambda _: OK + b"Transfer-Encoding: moss\r\n\r\n"), close=True),
    Odd("connection-close", _with_head(
        lambda n: OK + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % n
    ), close=True),
    Odd("nul-in-a-value", _with_head(lambda n: OK + b"X-Nul: a\x00b\r\nContent-Length: %d\r\n\r\n" % n)),
    Odd("five-thousand-headers", _with_head(
        lambda n: OK + b"".join(b"X-%d: m\r\n" % number for number in range(5000)) + b"Content-Length: %d\r\n\r\n" % n
    )),
    Odd("icy", _with_head(lambda n: b"ICY 200 OK\r\nContent-Length: %d\r\n\r\n" % n), close=True),
    Odd("http-2-in-the-status-line", _with_head(lambda n: b"HTTP/2 200\r\nContent-Length: %d\r\n\r\n" % n)),
    Odd("negative-length", _with_head(lambda _: OK + b"Content-Length: -5\r\n\r\n"), close=True),
    Odd("lengths-that-differ", _with_head(
        lambda n: OK + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (n, n + 7)
    ), close=True),
    Odd("no-content-with-body", _no_body(b"HTTP/1.1 204 No Content\r\nX-Tag: @\r\n\r\nsurprise"), status=204, extra=8),
    Odd("not-modified-with-body", _no_body(b"HTTP/1.1 304 Not Modified\r\nX-Tag: @\r\n\r\nextra"), status=304, extra=5),
    Odd("head-with-body", _no_body(OK + b"X-Tag: @\r\nContent-Length: 8\r\n\r\nsurprise"), method="HEAD", extra=8),
    Odd("bytes-behind", _behind(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"), extra=41),
)  # fmt: skip

HEALTHY = tuple(
    odd
    for odd in RESPONSES
    if odd.name
    in ("plain", "large", "chunked", "gzip", "deflate-chunked", "no-content", "redirect", "empty-body", "trailers")
)
"""Those that every reader and validator must find right."""
