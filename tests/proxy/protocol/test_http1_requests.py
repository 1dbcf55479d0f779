"""Requests are read strictly: one meaning, or none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.protocol.http1 import (
    BadMessage,
    Framing,
    find_head_end,
    parse_request,
    request_framing,
)

GET = b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n"


class TestHeadEnd:
    @pytest.mark.parametrize(
        ("buffer", "end"),
        [
            (b"a\r\n\r\nbody", 5),
            (b"a\n\nbody", 3),
            (b"a\r\n\nbody", 4),
            (b"a\n\r\nbody", 4),
            (b"a\r\nb\r\n", -1),
            (b"", -1),
        ],
    )
    def test_is_just_behind_the_empty_line(self, buffer: bytes, end: int) -> None:
        assert find_head_end(buffer) == end

    @pytest.mark.parametrize("start", range(9))
    def test_is_found_when_only_its_last_bytes_are_new(self, start: int) -> None:
        assert find_head_end(b"a: bb\r\n\r\n", start) == 9


class TestRequest:
    def test_gives_the_facts_and_keeps_the_lines(self) -> None:
        head = parse_request(b"POST /a?b HTTP/1.0\r\nHost:  example.org \r\nX-A:1\r\nx-a: 2\r\n\r\n")

        assert (head.method, head.target, head.minor) == ("POST", "/a?b", 0)
        assert head.get(b"host") == b"example.org"
        assert head.get(b"x-a") == b"1"
        assert head.get(b"cookie") is None
        assert [line for _, _, line in head.fields] == [b"Host:  example.org \r\n", b"X-A:1\r\n", b"x-a: 2\r\n"]

    @pytest.mark.parametrize(
        ("lines", "minor", "keeps"),
        [
            (b"", 1, True),
            (b"", 0, False),
            (b"Connection: Keep-Alive\r\n", 0, True),
            (b"Connection: x, CLOSE\r\n", 1, False),
            (b"Proxy-Connection: close\r\n", 1, False),
        ],
    )
    def test_says_whether_the_connection_stays(self, lines: bytes, minor: int, keeps: bool) -> None:
        assert parse_request(b"GET / HTTP/1.%d\r\n%b\r\n" % (minor, lines)).keep_alive is keeps

    @pytest.mark.parametrize(
        "raw",
        [
            pytest.param(b"GET  / HTTP/1.1\r\n\r\n", id="two spaces"),
            pytest.param(b"GET / HTTP/1.1 \r\n\r\n", id="space behind the version"),
            pytest.param(b"GET / HTTP/2.0\r\n\r\n", id="another version"),
            pytest.param(b"GET /\r\n\r\n", id="no version"),
            pytest.param(b"G(T / HTTP/1.1\r\n\r\n", id="no token as method"),
            pytest.param(b"GET /\x00 HTTP/1.1\r\n\r\n", id="NUL in the target"),
            pytest.param(b"GET / HTTP/1.1\n\r\n", id="bare LF behind the request line"),
            pytest.param(b"GET / HTTP/1.1\r\nA: b\n\r\n", id="bare LF behind a field"),
            pytest.param(b"GET / HTTP/1.1\r\nA: b\r\n\n", id="bare LF as the empty line"),
            pytest.param(b"GET / HTTP/1.1\r\nA: b\r\r\n\r\n", id="two CRs"),
            pytest.param(b"GET / HTTP/1.1\r\nA: b\rContent-Length: 5\r\n\r\n", id="CR in a value"),
            pytest.param(b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n", id="NUL in a value"),
            pytest.param(b"GET / HTTP/1.1\r\nA : b\r\n\r\n", id="space before the colon"),
            pytest.param(b"GET / HTTP/1.1\r\n A: b\r\n\r\n", id="space before the name"),
            pytest.param(b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", id="folded line"),
            pytest.param(b"GET / HTTP/1.1\r\nno colon\r\n\r\n", id="no colon"),
            pytest.param(b"GET / HTTP/1.1\r\n: b\r\n\r\n", id="no name"),
            pytest.param("GET / HTTP/1.1\r\nÄ: b\r\n\r\n".encode(), id="name not ASCII"),
        ],
    )
    def test_that_can_be_read_in_two_ways_is_refused(self, raw: bytes) -> None:
        with pytest.raises(BadMessage):
            parse_request(raw)

    @given(st.binary(max_size=80), st.sampled_from([b"\r\n\r\n", b"\n\n", b"\r\n\n", b"\n\r\n"]))
    def test_is_refused_or_split_exactly_at_its_line_ends(self, lines: bytes, end: bytes) -> None:
        """What we took for lines, joined again, is what came: no reader at all can see others in it."""
        raw = GET + lines + end
        raw = raw[: find_head_end(raw)]
        try:
            head = parse_request(raw)
        except BadMessage:
            return
        joined = b"GET http://example.org/ HTTP/1.1\r\n" + b"".join(line for _, _, line in head.fields) + b"\r\n"
        assert joined == raw
        for name, value, line in head.fields:
            assert re.fullmatch(rb"[^\x00\r\n]+\r\n", line)
            assert line.lower().startswith(name + b":")
            assert value == line.partition(b":")[2].strip()

    @pytest.mark.parametrize(
        ("lines", "framing"),
        [
            (b"", (Framing.NONE, 0)),
            (b"Content-Length: 0\r\n", (Framing.NONE, 0)),
            (b"Content-Length: 0017\r\n", (Framing.LENGTH, 17)),
            (b"content-length:\t5 \r\n", (Framing.LENGTH, 5)),
            (b"Transfer-Encoding: Chunked\r\n", (Framing.CHUNKED, 0)),
        ],
    )
    def test_body_has_one_end(self, lines: bytes, framing: tuple[Framing, int]) -> None:
        assert request_framing(parse_request(GET + lines + b"\r\n")) == framing

    @pytest.mark.parametrize(
        "lines",
        [
            b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            b"Transfer-Encoding: gzip, chunked\r\n",
            b"Transfer-Encoding: chunked, identity\r\n",
            b"Transfer-Encoding: xchunked\r\n",
            b"Transfer-Encoding: \x0bchunked\r\n",
            b"Transfer-Encoding:\r\n",
            b"Content-Length: 5\r\nContent-Length: 5\r\n",
            b"Content-Length: 5\r\nContent-Length: 6\r\n",
            b"Content-Length: 5, 5\r\n",
            b"Content-Length: +5\r\n",
            b"Content-Length: -5\r\n",
            b"Content-Length: 5 5\r\n",
            b"Content-Length: 0x5\r\n",
            b"Content-Length: 1_0\r\n",
            b"Content-Length: \xb2\r\n",
            b"Content-Length:\r\n",
            b"Content-Length: 99999999999999999999\r\n",
        ],
    )
    def test_body_with_two_ends_is_refused(self, lines: bytes) -> None:
        head = parse_request(GET + lines + b"\r\n")
        with pytest.raises(BadMessage):
            request_framing(head)

    def test_of_http_1_0_has_no_chunks(self) -> None:
        with pytest.raises(BadMessage):
            request_framing(parse_request(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"))
