"""Responses whose bodies end, or are coded, as some origins really do it."""

from __future__ import annotations

import gzip
import zlib

import brotli
import zstandard

from support.origins.odd_response import (
    HTML,
    OK,
    Odd,
    behind,
    chunked,
    chunks,
    coded,
    no_body,
    one_chunk,
    packed,
    page,
    plain,
    with_head,
    with_length,
)
from support.origins.raw_origin import Close, HalfClose


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _packed_chunks(tag: bytes) -> tuple[bytes, bytes]:
    body = zlib.compress(page(tag, 5000))
    head = OK + HTML + b"Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + chunked(body[:20], body[20:]), body


def _packed_for_transfer(tag: bytes) -> tuple[bytes, bytes]:
    body = _gzip(page(tag))
    return OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked(body[:20], body[20:]), body


def _packed_to_the_end(tag: bytes) -> tuple[bytes, bytes]:
    body = _gzip(page(tag))
    return OK + b"Transfer-Encoding: gzip\r\n\r\n" + body, body


def _large(tag: bytes) -> tuple[bytes, bytes]:
    body = page(tag, 900_000)
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body, body


def _small_chunks(tag: bytes) -> tuple[bytes, bytes]:
    body = page(tag, 4000)
    one_by_one = chunked(*(body[at : at + 1] for at in range(len(body))))
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + one_by_one, body


def _lf_chunks(tag: bytes) -> tuple[bytes, bytes]:
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(page(tag)).replace(b"\r\n", b"\n"), page(tag)


LENGTHS = (
    Odd("plain", plain),
    Odd("large", _large),
    Odd("in-drops", plain, drips=True),
    Odd("close-delimited", with_head(lambda _: OK + HTML + b"\r\n"), end=Close()),
    Odd("close-delimited-half", with_head(lambda _: OK + HTML + b"\r\n"), end=HalfClose()),
    Odd("close-delimited-no-notify", with_head(lambda _: OK + HTML + b"\r\n"), end=Close(notify=False)),
    Odd("length-then-close-no-notify", plain, end=Close(notify=False)),
    Odd("length-then-half-close", plain, end=HalfClose()),
    Odd("empty-body", no_body(OK + HTML + b"X-Tag: @\r\nContent-Length: 0\r\n\r\n")),
    Odd("length-twice", with_length(b"Content-Length: @\r\nContent-Length: @\r\n")),
    Odd("length-list", with_length(b"Content-Length: @, @\r\n")),
    Odd("length-with-zeros", with_length(b"Content-Length: 000@\r\n")),
    Odd("lengths-that-differ", with_head(
        lambda n: OK + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (n, n + 7)
    ), end=Close()),
    Odd("negative-length", with_length(b"Content-Length: -5\r\n"), end=Close()),
    Odd("length-with-plus", with_length(b"Content-Length: +@\r\n"), end=Close()),
    Odd("length-in-hex", with_length(b"Content-Length: 0x@\r\n"), end=Close()),
    Odd("length-of-nothing", with_length(b"Content-Length: \r\n"), end=Close()),
    Odd("length-in-words", with_length(b"Content-Length: a lot\r\n"), end=Close()),
    Odd("length-beyond-64-bits", with_length(b"Content-Length: 99999999999999999999999\r\n"), end=Close()),
    Odd("no-content", no_body(b"HTTP/1.1 204 No Content\r\nX-Tag: @\r\n\r\n"), status=204),
    Odd("head", no_body(OK + HTML + b"X-Tag: @\r\nContent-Length: 4711\r\n\r\n"), method="HEAD"),
    Odd("head-chunked", no_body(OK + b"X-Tag: @\r\nTransfer-Encoding: chunked\r\n\r\n"), method="HEAD"),
    Odd("not-modified", no_body(b'HTTP/1.1 304 Not Modified\r\nETag: "@"\r\nContent-Length: 99\r\n\r\n'), status=304),
    Odd("no-content-with-body", no_body(b"HTTP/1.1 204 No Content\r\nX-Tag: @\r\n\r\nsurprise"), status=204, extra=8),
    Odd("no-content-with-length", no_body(
        b"HTTP/1.1 204 No Content\r\nX-Tag: @\r\nContent-Length: 8\r\n\r\nsurprise"
    ), status=204, extra=8),
    Odd("not-modified-with-body", no_body(b"HTTP/1.1 304 Not Modified\r\nX-Tag: @\r\n\r\nextra"), status=304, extra=5),
    Odd("head-with-body", no_body(OK + b"X-Tag: @\r\nContent-Length: 8\r\n\r\nsurprise"), method="HEAD", extra=8),
    Odd("bytes-behind", behind(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"), extra=41),
    Odd("line-ends-behind", behind(b"\r\n\r\n"), extra=4),
)  # fmt: skip

CHUNKS = (
    Odd("chunked", chunks()),
    Odd("chunked-in-drops", chunks(extension=b";a=b", trailers=b"X-Check: 1\r\n"), drips=True),
    Odd("one-byte-chunks", _small_chunks),
    Odd("empty-chunked", no_body(OK + b"X-Tag: @\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
    Odd("chunked-with-length", chunks(head=OK + b"Content-Length: 7\r\n")),
    Odd("http-1.0-close-delimited", with_head(lambda _: b"HTTP/1.0 200 OK\r\n\r\n"), end=Close()),
    Odd("http-1.0-chunked", chunks(head=b"HTTP/1.0 200 OK\r\n"), end=Close()),
    Odd("chunk-extensions", chunks(extension=b';sig="ab;cd";x')),
    Odd("chunk-extension-in-odd-quotes", chunks(extension=b';a="\\"\xe4;";b="')),
    Odd("huge-chunk-extension", chunks(extension=b";x=" + b"y" * 6000)),
    Odd("upper-case-chunk-sizes", one_chunk(upper=True)),
    Odd("chunk-size-with-zeros", one_chunk(before=b"00")),
    Odd("chunk-size-of-16-digits", one_chunk(before=b"0" * 13)),
    Odd("spaces-behind-the-chunk-size", one_chunk(after=b"  ")),
    Odd("many-zeros-at-the-end", lambda tag: (
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(page(tag))[:-5] + b"000;end\r\n\r\n", page(tag)
    )),
    Odd("chunks-with-bare-lf", _lf_chunks),
    Odd("trailers", chunks(trailers=b"X-Check: 1\r\nServer-Timing: db;dur=2\r\n")),
    Odd("odd-trailers", chunks(trailers=b"X Odd : 1\r\nno colon\r\n: 2\r\nX-B\xe4r: \x01\r\n folded\r\n")),
    Odd("trailers-that-frame", chunks(trailers=b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")),
    Odd("many-trailers", chunks(trailers=b"".join(b"X-%d: m\r\n" % number for number in range(2000)))),
    Odd("bytes-behind-the-chunks", lambda tag: (chunks()(tag)[0] + plain(b"bad")[0], page(tag)),
        extra=len(plain(b"bad")[0])),
)  # fmt: skip

CODINGS = (
    Odd("gzip", packed(b"gzip", _gzip)),
    Odd("deflate-chunked", _packed_chunks),
    Odd("brotli", packed(b"br", brotli.compress)),
    Odd("zstandard", packed(b"zstd", zstandard.compress)),
    Odd("gzip-twice", packed(b"gzip, gzip", lambda data: _gzip(_gzip(data)))),
    Odd("gzip-cut-short", packed(b"gzip", lambda data: _gzip(data)[:-9])),
    Odd("gzip-of-nothing", no_body(OK + b"X-Tag: @\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n")),
    Odd("gzip-that-is-none", packed(b"gzip", lambda data: data)),
    Odd("unknown-content-coding", packed(b"moss", lambda data: data)),
    Odd("unknown-coding", with_head(lambda _: OK + b"Transfer-Encoding: moss\r\n\r\n"), end=Close()),
    Odd("quoted-coding", with_head(lambda _: OK + b'Transfer-Encoding: "chunked"\r\n\r\n'), end=Close()),
    Odd("identity-coding", with_length(b"Transfer-Encoding: identity\r\nContent-Length: @\r\n"), end=Close()),
    Odd("coding-of-nothing", with_length(b"Transfer-Encoding: \r\nContent-Length: @\r\n"), end=Close()),
    Odd("gzip-for-transfer", _packed_for_transfer),
    Odd("gzip-for-transfer-to-the-end", _packed_to_the_end, end=Close()),
    Odd("chunked-lines-twice", coded(b"chunked", b"chunked")),
    Odd("chunked-listed-twice", coded(b"chunked, chunked")),
    Odd("identity-and-chunked", coded(b"identity, chunked")),
    Odd("chunked-and-identity", coded(b"chunked, identity")),
    Odd("chunked-in-odd-case", coded(b" cHuNkEd \t")),
    Odd("chunked-in-a-folded-line", coded(b"\r\n chunked"), end=Close()),
)

BODIES = (*LENGTHS, *CHUNKS, *CODINGS)
