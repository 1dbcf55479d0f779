"""What a hostile client sends: requests with two readings, none, or too much of them. Bytes and the answer they get.

In each, AUTHORITY stands for an origin's host and port. What an origin must never be asked for is called `/smuggled`.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from dataclasses import dataclass

_GET = b"GET http://AUTHORITY/a HTTP/1.1\r\nHost: AUTHORITY\r\n"
_POST = b"POST http://AUTHORITY/a HTTP/1.1\r\nHost: AUTHORITY\r\n"
SMUGGLED = b"GET http://AUTHORITY/smuggled HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"
_TOO_DEEP = (400,) if sys.version_info < (3, 14) else (200, 400)  # newer Pythons can read it, if the stack is large
_DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000


@dataclass(frozen=True)
class Hostile:
    """`sent` goes over one plain connection. The first answer has one of the statuses; 0 is a close without any."""

    name: str
    sent: bytes
    statuses: tuple[int, ...] = (400,)


def _meta(value: object) -> bytes:
    return _GET + b"Warcprox-Meta: " + json.dumps(value).encode() + b"\r\n\r\n"


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


REQUEST_LINES = (
    Hostile("no version", b"GET http://AUTHORITY/smuggled\r\n\r\n"),
    Hostile("http/0.9 with headers", b"GET http://AUTHORITY/smuggled\r\nHost: AUTHORITY\r\n\r\n"),
    Hostile("http/2 in clear text", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Hostile("http/1.2", b"GET http://AUTHORITY/smuggled HTTP/1.2\r\n\r\n"),
    Hostile("lower-case version", b"GET http://AUTHORITY/smuggled http/1.1\r\n\r\n"),
    Hostile("two spaces", b"GET  http://AUTHORITY/smuggled HTTP/1.1\r\n\r\n"),
    Hostile("tab", b"GET\thttp://AUTHORITY/smuggled HTTP/1.1\r\n\r\n"),
    Hostile("space behind the version", b"GET http://AUTHORITY/smuggled HTTP/1.1 \r\n\r\n"),
    Hostile("space in the target", b"GET http://AUTHORITY/smuggled x HTTP/1.1\r\n\r\n"),
    Hostile("leading space", b" GET http://AUTHORITY/smuggled HTTP/1.1\r\n\r\n"),
    Hostile("NUL in the target", b"GET http://AUTHORITY/smuggled\x00 HTTP/1.1\r\n\r\n"),
    Hostile("CR in the target", b"GET http://AUTHORITY/smuggled\rX HTTP/1.1\r\n\r\n"),
    Hostile("DEL in the target", b"GET http://AUTHORITY/smuggled\x7f HTTP/1.1\r\n\r\n"),
    Hostile("bytes as a method", b"G\xc3\x84T http://AUTHORITY/smuggled HTTP/1.1\r\n\r\n"),
    Hostile("colon in the method", b"GET: http://AUTHORITY/smuggled HTTP/1.1\r\n\r\n"),
    Hostile("bare LF", b"GET http://AUTHORITY/smuggled HTTP/1.1\n\n"),
    Hostile("LF at the end of the head", _GET + b"\n" + SMUGGLED),
    Hostile("no host", b"GET http:///smuggled HTTP/1.1\r\n\r\n"),
    Hostile("no slashes", b"GET http:AUTHORITY/smuggled HTTP/1.1\r\n\r\n"),
    Hostile("userinfo", b"GET http://moss:fern@AUTHORITY/a HTTP/1.1\r\n\r\n", (200, 400)),
    Hostile("a host with a percent sign", b"GET http://127.0.0.1%00.moss.test/smuggled HTTP/1.1\r\n\r\n", (400, 502)),
    Hostile("a host with a backslash", b"GET http://AUTHORITY\\@moss.test/smuggled HTTP/1.1\r\n\r\n", (400, 502)),
    Hostile("half an IPv6 address", b"GET http://[::1/smuggled HTTP/1.1\r\n\r\n"),
    Hostile("an IPv6 address of words", b"GET http://[moss]/smuggled HTTP/1.1\r\n\r\n", (400, 502)),
    Hostile("a host of 300 letters", b"GET http://" + b"a" * 300 + b".test/ HTTP/1.1\r\n\r\n", (400, 502)),
    Hostile("a host of dots", b"GET http://....../ HTTP/1.1\r\n\r\n", (400, 502)),
    Hostile("asterisk", b"OPTIONS * HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n"),
    Hostile("a file", b"GET file:///etc/passwd HTTP/1.1\r\n\r\n"),
    Hostile("another protocol of ours", b"GET redis://127.0.0.1:6379/ HTTP/1.1\r\n\r\n"),
    Hostile("TLS on the plain port", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 99 + b"\r\n\r\n"),
    Hostile("SOCKS5", b"\x05\x01\x00\r\n\r\n"),
    Hostile("an endless request line", b"GET http://AUTHORITY/smuggled" + b"a" * 5_000_000, (431,)),
    Hostile("a giant URL", b"GET http://AUTHORITY/" + b"a" * 500_000 + b" HTTP/1.1\r\n\r\n", (200,)),
    Hostile("line ends without end", b"\r\n" * 300_000 + _GET + b"\r\n", (200,)),
    Hostile("paths upwards", b"GET /../../../etc/passwd HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n", (404,)),
    Hostile("an endpoint with a body", b"GET /status HTTP/1.1\r\nContent-Length: 99\r\n\r\n" + SMUGGLED),
)

HEADER_LINES = (
    Hostile("space before the colon", _POST + b"Content-Length : 5\r\n\r\n" + SMUGGLED),
    Hostile("space in a name", _POST + b"Content Length: 5\r\n\r\n" + SMUGGLED),
    Hostile("empty name", _GET + b": x\r\n\r\n"),
    Hostile("no colon", _GET + b"moss\r\n\r\n"),
    Hostile("folded line", _GET + b"X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n" + SMUGGLED),
    Hostile("folded first line", b"GET http://AUTHORITY/smuggled HTTP/1.1\r\n Host: AUTHORITY\r\n\r\n"),
    Hostile("LF within", _GET + b"X-A: 1\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED),
    Hostile("CR within", _GET + b"X-A: 1\rTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED),
    Hostile("NUL within", _GET + b"X-A: 1\x00\r\n\r\n"),
    Hostile("letters that look alike", _GET + "Transfer‑Encoding: chunked\r\n\r\n".encode() + SMUGGLED),
    Hostile("underscore for hyphen", _POST + b"Content_Length: 99\r\nContent-Length: 0\r\n\r\n", (200,)),
    Hostile("another host", b"GET http://AUTHORITY/a HTTP/1.1\r\nHost: moss.test\r\n\r\n", (200,)),
    Hostile("two hosts", _GET + b"Host: moss.test\r\n\r\n", (200,)),
    Hostile("no host line", b"GET http://AUTHORITY/a HTTP/1.1\r\n\r\n", (200,)),
    Hostile("host made hop-by-hop", _GET + b"Connection: host, content-length\r\n\r\n", (200,)),
    Hostile("ten thousand headers", _GET + b"".join(b"X-%d: m\r\n" % n for n in range(10_000)) + b"\r\n", (200,)),
    Hostile("an endless header", _GET + b"X-A: " + b"a" * 5_000_000, (431,)),
    Hostile("headers without end", _GET + b"X-A: moss\r\n" * 500_000, (431,)),
    Hostile("upgrade to another protocol", _GET + b"Connection: Upgrade\r\nUpgrade: moss\r\n\r\n", (200,)),
    Hostile("half a WebSocket", _GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + b"\x81\xff" * 99, (200,)),
    Hostile("expects the impossible", _POST + b"Expect: moss\r\nContent-Length: 1\r\n\r\na", (200,)),
)

FRAMING = (
    Hostile(
        "length and chunks", _POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED
    ),
    Hostile(
        "chunks and length", _POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED
    ),
    Hostile("chunked twice", _POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n" + SMUGGLED),
    *(
        Hostile(f"transfer coding {coding!r}", _POST + b"Transfer-Encoding:" + coding + b"\r\n\r\n0\r\n\r\n" + SMUGGLED)
        for coding in (
            *(b" xchunked", b" chunked, identity", b" identity", b" chunked;a=b", b' "chunked"', b" chunked\x0b"),
            *(b"\x0bchunked", b" \xe2\x84\xaahunked", b" gzip, chunked", b" chunked, chunked", b"", b" chunked,"),
        )
    ),
    *(
        Hostile(f"length {length!r}", _POST + b"Content-Length:" + length + b"\r\n\r\n" + SMUGGLED)
        for length in (
            *(b" +5", b" -5", b" 0x5", b" 5 5", b" 5,5", b" 5, 6", b" 5.0", b" ", b" a", b" 5\x0b", b" \xd9\xa5"),
            *(b" 99999999999999999999", b" 5\r\nContent-Length: 6", b" 5\r\nContent-Length: 5"),
        )
    ),
    *(
        Hostile(f"chunk size {size!r}", _CHUNKED + size + b"\r\nmossy\r\n0\r\n\r\n" + SMUGGLED)
        for size in (
            *(
                b"0x5",
                b"+5",
                b"-5",
                b" 5",
                b"5_0",
                b"",
                b"5 ",
                b"5;a\nb",
                b"5\r",
                b"fffffffffffffffff",
                b"5,5",
                b"\xef5",
            ),
            *(b"5;" + b"a" * 100_000,),
        )
    ),
    Hostile("chunks with bare LF", _CHUNKED + b"5\nmossy\n0\n\n" + SMUGGLED),
    Hostile("bytes behind a chunk", _CHUNKED + b"5\r\nmossyX\r\n0\r\n\r\n" + SMUGGLED),
    Hostile("a bare LF in the trailers", _CHUNKED + b"0\r\nX-A: 1\nX-B: 2\r\n\r\n" + SMUGGLED),
    Hostile("a body for CONNECT", b"CONNECT AUTHORITY HTTP/1.1\r\nContent-Length: 99\r\n\r\n" + SMUGGLED),
    Hostile("chunks for CONNECT", b"CONNECT AUTHORITY HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED),
    Hostile("CONNECT without a port", b"CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n"),
    Hostile("CONNECT to port 0", b"CONNECT 127.0.0.1:0 HTTP/1.1\r\n\r\n"),
    Hostile("CONNECT to a URL", b"CONNECT http://AUTHORITY/ HTTP/1.1\r\n\r\n"),
    Hostile("CONNECT to nowhere", b"CONNECT :80 HTTP/1.1\r\n\r\n"),
)

COMMANDS = (
    Hostile("no password of ours", _GET + b"Proxy-Authorization: Basic bW9zczpmZXJu\r\n\r\n", (407,)),
    Hostile("a password of bytes", _GET + b"Proxy-Authorization: Basic \xff\xfe\r\n\r\n", (407,)),
    Hostile("a giant password", _GET + b"Proxy-Authorization: Basic " + b"bW9z" * 200_000 + b"\r\n\r\n", (407,)),
    Hostile("another scheme", _GET + b'Proxy-Authorization: Digest username="moss"\r\n\r\n', (407,)),
    Hostile("meta: no JSON", _GET + b"Warcprox-Meta: moss\r\n\r\n"),
    Hostile("meta: a list", _meta([1])),
    Hostile("meta: too deep", _GET + b"Warcprox-Meta: " + _DEEP + b"\r\n\r\n", _TOO_DEEP),
    Hostile("meta: giant and unknown", _meta({"moss": "a" * 3_000_000}), (200,)),
    Hostile("meta: infinity", _GET + b'Warcprox-Meta: {"limits": {"a/total/urls": Infinity}}\r\n\r\n'),
    Hostile("meta: a prefix upwards", _meta({"warc-prefix": "../../moss"})),
    Hostile("meta: a prefix with NUL", _meta({"warc-prefix": "a\0b"})),
    Hostile("meta: limits of words", _meta({"limits": {"a/total/urls": "many"}})),
    Hostile("meta: limits as a list", _meta({"limits": [1]})),
    Hostile("meta: blocks that take for ever", _meta({"blocks": [{"regex": "(a+)+$"}] * 50}), (200, 400, 403)),
    Hostile("meta: a bomb", _meta({"compressed_blocks": _packed(b"[" + b" " * 20_000_000 + b"]")})),
    Hostile("meta: half a bomb", _meta({"compressed_blocks": _packed(b"[]" * 9999)[:-9]})),
    Hostile("meta: buckets of numbers", _meta({"dedup-buckets": {"a": 7}})),
    Hostile("a record of nothing", b"WARCPROX_WRITE_RECORD http://AUTHORITY/r HTTP/1.1\r\n\r\n"),
    Hostile("a record of an odd type", b"WARCPROX_WRITE_RECORD http://AUTHORITY/r HTTP/1.1\r\nWARC-Type: response\r\n"
        b"Content-Type: a/b\r\nContent-Length: 1\r\n\r\na"),
    Hostile("half a record", b"WARCPROX_WRITE_RECORD http://AUTHORITY/r HTTP/1.1\r\nWARC-Type: metadata\r\n"
        b"Content-Type: a/b\r\nContent-Length: 99\r\n\r\na", (0,)),
)  # fmt: skip

HOSTILE = (*REQUEST_LINES, *HEADER_LINES, *FRAMING, *COMMANDS)
