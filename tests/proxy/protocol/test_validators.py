"""A conditional request names validators, which tell about which earlier response a 304 is."""

from __future__ import annotations

import pytest

from proxy.protocol.http1 import ResponseHead, parse_request, parse_response
from proxy.protocol.validators import confirms, is_about

DATE = b"Sat, 21 Nov 2026 08:00:00 GMT"
BOTH = (b'ETag: "a"', b"Last-Modified: " + DATE)
ONE, SEVERAL, BY_DATE = b'If-None-Match: W/"a"', b'If-None-Match: "a", "b"', b"If-Modified-Since: " + DATE


def answer(*lines: bytes, status: bytes = b"200 OK") -> ResponseHead:
    return parse_response(b"\r\n".join((b"HTTP/1.1 " + status, *lines, b"", b"")))


@pytest.mark.parametrize(
    ("stored", "asked", "said", "expected"),
    [
        (BOTH, ONE, (b'ETag: "a"',), True),
        (BOTH, ONE, (), True),
        (BOTH, ONE, (b'ETag: "b"',), False),
        (BOTH, SEVERAL, (b'ETag: W/"a"',), True),
        (BOTH, SEVERAL, (b'ETag: "b"',), False),
        (BOTH, SEVERAL, (), False),
        (BOTH, BY_DATE, (), True),
        (BOTH, BY_DATE, (b'ETag: "b"',), False),
        (BOTH[1:], BY_DATE, (b'ETag: "b"',), True),
    ],
)
def test_a_304_is_about_the_response_whose_etag_it_does_not_contradict(
    stored: tuple[bytes, ...], asked: bytes, said: tuple[bytes, ...], expected: bool
) -> None:
    fields = parse_request(b"GET / HTTP/1.1\r\n%b\r\n\r\n" % asked).fields
    head = answer(*stored)

    assert confirms(head, fields)
    assert is_about(answer(*said, status=b"304 Not Modified"), head, fields) is expected
