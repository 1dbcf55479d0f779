"""Responses with heads as some origins really send them: status lines, header lines, interim responses."""

from __future__ import annotations

from support.origins.odd_response import HTML, OK, Odd, before, no_body, with_field, with_head, with_length, with_line
from support.origins.raw_origin import Close

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n"
_SEVERAL = b"HTTP/1.1 102 Processing\r\n\r\n" + _CONTINUE + _HINTS + b"HTTP/1.1 199 Moss\r\nContent-Length: 9\r\n\r\n"
_LF_HINTS = b"HTTP/1.1 103\nLink: </a.css>\n\n"
_MANY = b"".join(b"X-Moss-%d: %b\r\n" % (number, b"m" * 280) for number in range(1000))
_FIVE_THOUSAND = b"".join(b"X-%d: m\r\n" % number for number in range(5000))

INTERIM = (
    Odd("continue-first", before(_CONTINUE), interim=len(_CONTINUE)),
    Odd("early-hints-first", before(_HINTS + _HINTS), interim=2 * len(_HINTS)),
    Odd("several-interim", before(_SEVERAL), interim=len(_SEVERAL)),
    Odd("interim-in-drops", before(_SEVERAL), interim=len(_SEVERAL), drips=True),
    Odd("interim-with-bare-lf", before(_LF_HINTS), interim=len(_LF_HINTS)),
)

STATUS_LINES = (
    Odd("no-reason", with_line(b"HTTP/1.1 200\r\n")),
    Odd("empty-reason", with_line(b"HTTP/1.1 200 \r\n")),
    Odd("reason-of-latin-1", with_line(b"HTTP/1.1 200 Sch\xf6n\r\n")),
    Odd("reason-with-nul", with_line(b"HTTP/1.1 200 a\x00b\r\n")),
    Odd("long-reason", with_line(b"HTTP/1.1 200 " + b"moss " * 2000 + b"\r\n")),
    Odd("spaces-in-the-status-line", with_line(b"HTTP/1.1   200   OK  \r\n")),
    Odd("tabs-in-the-status-line", with_line(b"HTTP/1.1\t200\tOK\r\n")),
    Odd("status-line-twice", with_line(OK + OK)),
    Odd("odd-status", with_line(b"HTTP/1.1 999 Who knows\r\n"), status=999),
    Odd("status-600", with_line(b"HTTP/1.1 600 Moss\r\n"), status=600),
    Odd("status-099", with_line(b"HTTP/1.1 099 Moss\r\n"), status=99),
    Odd("status-without-space-behind", with_line(b"HTTP/1.1 200OK\r\n")),
    Odd("lower-case-protocol", with_line(b"http/1.1 200 ok\r\n")),
    Odd("http-1.0", with_line(b"HTTP/1.0 200 OK\r\n"), end=Close()),
    Odd("http-1.0-kept-alive", with_line(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n")),
    Odd("http-1.2", with_line(b"HTTP/1.2 200 OK\r\n")),
    Odd("http-2-in-the-status-line", with_line(b"HTTP/2 200\r\n")),
    Odd("http-2.0-in-the-status-line", with_line(b"HTTP/2.0 200 OK\r\n")),
    Odd("icy", with_line(b"ICY 200 OK\r\n"), end=Close()),
    Odd("leading-line-ends", with_line(b"\r\n\r\n" + OK)),
    Odd("leading-garbage", with_line(b"abc" + OK)),
    Odd("no-headers", with_head(lambda _: b"HTTP/1.1 200 OK\r\n\r\n"), end=Close()),
    Odd("unauthorized", with_line(b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="moss"\r\n'), status=401),
    Odd("asks-as-a-proxy", with_line(b'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="moss"\r\n'), status=407),
    Odd("part-of-it", with_line(b"HTTP/1.1 206 Some\r\nContent-Range: bytes 0-9/1000\r\n"), status=206),
    Odd("reset-content", with_line(b"HTTP/1.1 205 Reset Content\r\n"), status=205),
)

HEADER_LINES = (
    Odd("obs-fold", with_field(b"X-Long: one\r\n two\r\n\tthree\r\n")),
    Odd("folded-length", with_length(b"Content-Length:\r\n @\r\n")),
    Odd("folded-first-line", with_field(b" X-First: 1\r\n")),
    Odd("line-of-a-space", with_field(b"X-A: 1\r\n \r\nX-B: 2\r\n")),
    Odd("case-order-duplicates", with_length(
        b"x-B: 2\r\nX-a:1\r\nSET-COOKIE: a\r\ncontent-LENGTH: @ \r\nSet-Cookie: b\r\nx-B: 1\r\n"
    )),
    Odd("bare-lf", with_head(lambda n: b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: %d\n\n" % n)),
    Odd("bare-lf-in-drops", with_head(lambda n: b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % n), drips=True),
    Odd("mixed-line-ends", with_head(lambda n: b"HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: %d\r\n\n" % n)),
    Odd("non-ascii-header", with_field(b"X-Name: B\xe4r\r\nX-Utf: \xc3\xa4\xe2\x82\xac\r\n")),
    Odd("non-ascii-name", with_field(b"X-B\xe4r: 1\r\n")),
    Odd("header-name-with-space", with_field(b"X Odd: 1\r\nX-Late : 2\r\n")),
    Odd("length-with-space-before-the-colon", with_length(b"Content-Length : @\r\n"), end=Close()),
    Odd("line-without-colon", with_field(b"what is this\r\n")),
    Odd("empty-name", with_field(b": moss\r\n")),
    Odd("colon-alone", with_field(b":\r\n")),
    Odd("empty-values", with_field(b"X-A:\r\nX-B: \t \r\nX-C:;\r\n")),
    Odd("tabs-around-values", with_field(b"X-A:\t1\t\r\nX-B:2\r\n")),
    Odd("nul-in-a-value", with_field(b"X-Nul: a\x00b\r\n")),
    Odd("nul-in-a-name", with_field(b"X-\x00Nul: a\r\n")),
    Odd("lone-cr-in-a-value", with_field(b"X-A: one\rX-B: two\r\n")),
    Odd("control-bytes-in-a-value", with_field(b"X-A: \x01\x08\x1b[31m\x7f\r\n")),
    Odd("head-of-300-kb", with_field(_MANY)),
    Odd("line-of-300-kb", with_field(b"X-Moss: " + b"m" * 300_000 + b"\r\n")),
    Odd("five-thousand-headers", with_field(_FIVE_THOUSAND)),
    Odd("connection-close", with_field(b"Connection: close\r\n"), end=Close()),
    Odd("connection-close-and-stays", with_field(b"Connection: close\r\n")),
    Odd("connection-close-without-length", with_head(lambda _: OK + b"Connection: close\r\n\r\n"), end=Close()),
    Odd("proxy-headers", with_field(
        b"Proxy-Connection: close\r\nKeep-Alive: timeout=5\r\nVia: 1.1 moss\r\nGhostfleet-Error: 0 none\r\n"
    )),
    Odd("redirect", no_body(b"HTTP/1.1 302 Found\r\nLocation: /@\r\nContent-Length: 0\r\n\r\n"), status=302),
    Odd("redirect-nowhere", no_body(b"HTTP/1.1 301 Moved\r\n" + HTML + b"Content-Length: 0\r\n\r\n"), status=301),
)  # fmt: skip

HEADS = (*INTERIM, *STATUS_LINES, *HEADER_LINES)
