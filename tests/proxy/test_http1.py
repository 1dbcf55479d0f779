"""HTTP/1 bytes and what they mean: lenient with origins, strict with clients, the same however they are cut."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.message import dechunk
from proxy.http1 import (
    BadMessage,
    BodyReader,
    Framing,
    find_head_end,
    parse_request,
    parse_response,
    request_framing,
    response_framing,
)

GET = b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n"


def read(framing: Framing, length: int, pieces: list[bytes], *, strict: bool = False) -> tuple[bytes, bytes, bool, str]:
    """The payload, what came behind the message, whether it is done, what broke it: after the pieces one by one."""
    payload, rest = bytearray(), bytearray()
    reader = BodyReader(framing, length, payload.__iadd__, strict=strict)
    for piece in pieces:
        taken = reader.feed(piece)
        assert reader.done or taken == len(piece)
        rest += piece[taken:]
    reader.finish()
    return bytes(payload), bytes(rest), reader.done, reader.broken


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The bytes in pieces, none of them empty."""
    bounds = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:stop] for start, stop in pairwise(bounds)]


cuts = st.lists(st.integers(0, 1 << 16), max_size=8)


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


class TestResponse:
    @pytest.mark.parametrize(
        ("line", "status", "minor", "reason"),
        [
            (b"HTTP/1.1 200 OK\r\n", 200, 1, b"OK"),
            (b"HTTP/1.0 404 Not Found\r\n", 404, 0, b"Not Found"),
            (b"HTTP/1.1 200\r\n", 200, 1, b""),
            (b"HTTP/1.1 200 \r\n", 200, 1, b""),
            (b"http/1.1 200 ok\n", 200, 1, b"ok"),
            (b"HTTP/2 200\r\n", 200, 1, b""),
            (b"HTTP/1 200 OK\r\n", 200, 0, b"OK"),
            (b"ICY 200 OK\r\n", 200, 0, b"OK"),
            (b"HTTP/1.1 999 \xe4\xc3\r\n", 999, 1, b"\xe4\xc3"),
            (b"HTTP/1.1\t302   Found\r\n", 302, 1, b"Found"),
        ],
    )
    def test_status_lines_of_the_wild(self, line: bytes, status: int, minor: int, reason: bytes) -> None:
        head = parse_response(line + b"\r\n")

        assert (head.status, head.minor, head.reason) == (status, minor, reason)
        assert head.raw == line + b"\r\n"

    @pytest.mark.parametrize(
        "raw",
        [b"<html>", b"HTTP/1.1 OK\r\n\r\n", b"HTTP/1.1 20 OK\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.%d 200" % 10**20],
    )
    def test_what_is_no_response_is_refused(self, raw: bytes) -> None:
        with pytest.raises(BadMessage):
            parse_response(raw)

    def test_odd_lines_are_kept_and_remembered(self) -> None:
        raw = (
            b"\r\nHTTP/1.1 200 OK\nA: 1\n folded\r\nno colon here\r\nContent-Length : 5\r\nSpace Name: x\r\n"
            b"Content-Type: Text/HTML ; charset=x\r\n\r\n"
        )

        head = parse_response(raw)

        assert head.raw == raw
        assert head.get(b"a") == b"1 folded"
        assert head.get(b"content-length") == b"5"
        assert head.get(b"space name") == b"x"
        assert head.mime == "text/html"
        assert head.doubtful == "leading line end, odd header line, odd header line, odd header line"
        assert raw.endswith(b"".join(line for _, _, line in head.fields) + b"\r\n")

    @pytest.mark.parametrize(
        ("content_type", "mime"), [(b"", None), (b";x", None), (b"A/B", "a/b"), (b"a/b;c=d", "a/b"), (b" x ;", "x")]
    )
    def test_media_type(self, content_type: bytes, mime: str | None) -> None:
        assert parse_response(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n\r\n" % content_type).mime == mime

    @pytest.mark.parametrize(
        ("lines", "keeps"),
        [(b"HTTP/1.1 200\r\n", True), (b"HTTP/1.0 200\r\n", False), (b"HTTP/1.1 200\r\nConnection: close\r\n", False),
         (b"HTTP/1.0 200\r\nConnection: keep-alive\r\n", True)],
    )  # fmt: skip
    def test_says_whether_the_origin_keeps_its_connection(self, lines: bytes, keeps: bool) -> None:
        assert parse_response(lines + b"\r\n").keep_alive is keeps

    @pytest.mark.parametrize(
        ("lines", "framing", "length", "doubt"),
        [
            (b"", Framing.CLOSE, 0, False),
            (b"Content-Length: 5\r\n", Framing.LENGTH, 5, False),
            (b"Content-Length: 5\r\nContent-Length: 5\r\n", Framing.LENGTH, 5, True),
            (b"Content-Length: 5, 5\r\n", Framing.LENGTH, 5, True),
            (b"Content-Length: 5\r\nContent-Length: 6\r\n", Framing.LENGTH, 5, True),
            (b"Content-Length: -5\r\n", Framing.CLOSE, 0, True),
            (b"Content-Length: x\r\n", Framing.CLOSE, 0, True),
            (b"Transfer-Encoding: chunked\r\n", Framing.CHUNKED, 0, False),
            (b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", Framing.LENGTH, 5, False),
            (b"Transfer-Encoding: gzip, CHUNKED\r\n", Framing.CHUNKED, 0, False),
            (b"Transfer-Encoding: chunked, chunked\r\n", Framing.CHUNKED, 0, True),
            (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Framing.CHUNKED, 0, True),
            (b"Transfer-Encoding: chunked, gzip\r\n", Framing.CLOSE, 0, True),
            (b"Transfer-Encoding: x\r\nContent-Length: 5\r\n", Framing.CLOSE, 0, True),
        ],
    )
    def test_framing(self, lines: bytes, framing: Framing, length: int, doubt: bool) -> None:
        found, size, why = response_framing(parse_response(b"HTTP/1.1 200 OK\r\n%b\r\n" % lines), "GET")

        assert (found, size, bool(why)) == (framing, length, doubt)

    def test_chunks_in_http_1_0_are_doubtful(self) -> None:
        head = parse_response(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

        assert response_framing(head, "GET") == (Framing.CHUNKED, 0, "Transfer-Encoding in HTTP/1.0")

    @pytest.mark.parametrize(
        ("status", "method"), [(204, "GET"), (304, "GET"), (103, "GET"), (200, "HEAD"), (404, "HEAD")]
    )
    def test_without_a_body_whatever_its_head_says(self, status: int, method: str) -> None:
        head = parse_response(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" % status)

        assert response_framing(head, method) == (Framing.NONE, 0, "")


class TestBody:
    def test_of_no_bytes_is_done_at_once(self) -> None:
        assert read(Framing.NONE, 0, [b"next"]) == (b"", b"next", True, "")
        assert read(Framing.LENGTH, 0, [b"next"]) == (b"", b"next", True, "")

    @given(st.binary(max_size=40), st.binary(max_size=10), cuts)
    def test_by_length_ends_there(self, body: bytes, behind: bytes, places: list[int]) -> None:
        found = read(Framing.LENGTH, len(body), cut(body + behind, places))

        assert found == (body, behind, True, "")

    @given(st.binary(max_size=40), cuts)
    def test_by_close_is_everything(self, body: bytes, places: list[int]) -> None:
        assert read(Framing.CLOSE, 0, cut(body, places)) == (body, b"", False, "")

    @given(
        st.lists(st.binary(min_size=1, max_size=30), max_size=4),
        st.sampled_from([b"", b";x=1", b' ; a="b"']),
        st.sampled_from([b"", b"X-Sum: 5\r\n", b"A: 1\r\nB: 2\r\n"]),
        st.binary(max_size=10),
        cuts,
    )
    def test_in_chunks_ends_behind_its_trailers_however_it_is_cut(
        self, pieces: list[bytes], extension: bytes, trailers: bytes, behind: bytes, places: list[int]
    ) -> None:
        body = b"".join(b"%X%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces)
        body += b"0%b\r\n%b\r\n" % (extension, trailers)

        for strict in (False, True):
            found = read(Framing.CHUNKED, 0, cut(body + behind, places), strict=strict)
            assert found == (b"".join(pieces), behind, True, "")

    @given(st.binary(max_size=60) | st.text("0123aF;\r\n x", max_size=60).map(str.encode), cuts)
    def test_in_chunks_or_not_has_the_payload_that_a_reader_of_the_archive_finds(
        self, body: bytes, places: list[int]
    ) -> None:
        payload, rest, done, broken = read(Framing.CHUNKED, 0, cut(body, places))

        assert (payload, rest, done, bool(broken)) == (*read(Framing.CHUNKED, 0, [body])[:3], bool(broken))
        taken = body[: len(body) - len(rest)]
        assert payload == b"".join(dechunk(cut(taken, places)))

    @given(st.text("0123aF;\r\n x", max_size=40).map(str.encode), cuts)
    def test_of_a_request_is_read_the_same_however_it_is_cut(self, body: bytes, places: list[int]) -> None:
        """And what strict reading takes for whole, lenient reading sees exactly so."""
        whole = read(Framing.CHUNKED, 0, [body], strict=True)
        in_pieces = read(Framing.CHUNKED, 0, cut(body, places), strict=True)

        assert (in_pieces[0], bool(in_pieces[3])) == (whole[0], bool(whole[3]))
        if whole[2]:
            assert in_pieces == whole == read(Framing.CHUNKED, 0, [body])

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"0x5\r\nhello\r\n0\r\n\r\n", id="0x"),
            pytest.param(b"+5\r\nhello\r\n0\r\n\r\n", id="plus"),
            pytest.param(b"-5\r\nhello\r\n0\r\n\r\n", id="minus"),
            pytest.param(b"5_0\r\nhello\r\n0\r\n\r\n", id="underscore"),
            pytest.param(b" 5\r\nhello\r\n0\r\n\r\n", id="space before the size"),
            pytest.param(b"5 \r\nhello\r\n0\r\n\r\n", id="space behind the size"),
            pytest.param(b"5\nhello\r\n0\r\n\r\n", id="bare LF behind the size"),
            pytest.param(b"5\r\nhello\n0\r\n\r\n", id="bare LF behind the chunk"),
            pytest.param(b"5\r\nhello\r\r\n0\r\n\r\n", id="two CRs behind the chunk"),
            pytest.param(b"5\r\nhelloX\r\n0\r\n\r\n", id="a byte too many"),
            pytest.param(b"5\r\nhello\r\n0\r\n\n", id="bare LF as the end"),
            pytest.param(b"5\r\nhello\r\n0\r\nA: b\n\r\n", id="bare LF in the trailers"),
            pytest.param(b"5\r\nhello\r\n0\r\nA: b\x00\r\n\r\n", id="NUL in the trailers"),
            pytest.param(b"5;\x00\r\nhello\r\n0\r\n\r\n", id="NUL in the extension"),
            pytest.param(b"5;a\rb\r\nhello\r\n0\r\n\r\n", id="CR in the extension"),
            pytest.param(b"\r\n5\r\nhello\r\n0\r\n\r\n", id="an empty line first"),
            pytest.param(b"10000000000000005\r\nhello\r\n0\r\n\r\n", id="more than 64 bits"),
            pytest.param(b"5;" + b"x" * 70_000, id="an extension without end"),
        ],
    )
    def test_of_a_request_with_odd_chunks_is_broken(self, body: bytes) -> None:
        _, _, done, broken = read(Framing.CHUNKED, 0, [body], strict=True)

        assert broken
        assert not done

    @pytest.mark.parametrize(
        "body",
        [
            b" 5 ;x\nhello\n0\n\n",
            b"5\r\r\nhello\r\r\n0\r\n\r\n",
            b"00005\r\nhello\r\n000\r\n\r\n",
            b"5;" + b"x" * 60_000 + b"\r\nhello\r\n0\r\n\r\n",
        ],
    )
    def test_of_a_response_with_odd_chunks_is_read(self, body: bytes) -> None:
        assert read(Framing.CHUNKED, 0, [body]) == (b"hello", b"", True, "")

    def test_that_was_never_in_chunks_is_payload_as_it_stands(self) -> None:
        page = b"<html>\nno chunks at all\n</html>"

        payload, _, done, broken = read(Framing.CHUNKED, 0, [page])

        assert (payload, done) == (page, False)
        assert broken == "bad chunk size b'<html>\\n'"

    def test_payload_ends_where_the_chunks_break(self) -> None:
        payload, _, done, broken = read(Framing.CHUNKED, 0, [b"5\r\nhello\r\nmoss", b"\r\nmore"])

        assert (payload, done, broken) == (b"hello", False, "bad chunk size b'moss\\r\\n'")

    def test_payload_can_go_elsewhere_from_now_on(self) -> None:
        first, second = bytearray(), bytearray()
        reader = BodyReader(Framing.LENGTH, 10, first.__iadd__)

        reader.feed(b"hello")
        reader.payload_to(second.__iadd__)
        reader.feed(b"world")

        assert (bytes(first), bytes(second)) == (b"hello", b"world")
