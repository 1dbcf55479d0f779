"""Responses are read as leniently as browsers do, and what made them odd is remembered."""

from __future__ import annotations

import pytest

from proxy.protocol.http1 import (
    BadMessage,
    Framing,
    parse_response,
    response_framing,
)

ANNOUNCED = "a body announced with 204"


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
            (b"HTTP/1.1 200OK\r\n", 200, 1, b"OK"),
            (b"HTTP/1.1 200.5 OK\r\n", 200, 1, b".5 OK"),
            (b"HTTP 200 OK\r\n", 200, 0, b"OK"),
            (b"HTTPS/1.1 200 OK\r\n", 200, 0, b"OK"),
            (b"HTTP/01.1 200 OK\r\n", 200, 1, b"OK"),
            (b"HTTP/0.9 200 OK\r\n", 200, 0, b"OK"),
            (b"junkHTTP/1.1 200 OK\r\n", 200, 1, b"OK"),
            (b"\x00\nHTTP/1.1 200 OK\r\n", 200, 1, b"OK"),
        ],
    )
    def test_status_lines_of_the_wild(self, line: bytes, status: int, minor: int, reason: bytes) -> None:
        head = parse_response(line + b"\r\n")

        assert (head.status, head.minor, head.reason) == (status, minor, reason)
        assert head.raw == line + b"\r\n"

    @pytest.mark.parametrize(
        "raw",
        [
            b"<html>",
            b"HTTP/1.1 OK\r\n\r\n",
            b"HTTP/1.1 20 OK\r\n\r\n",
            b"SSH-2.0-x\r\n\r\n",
            b"HTTP/1.%d 200" % 10**40,
            b"HTTP/1.1 1000 OK\r\n\r\n",
            b"HTTP/1.1 2000 OK\r\n\r\n",
            b"abcdeHTTP/1.1 200 OK\r\n\r\n",
        ],
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
        assert head.doubtful == "leading line end, odd header line"
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
            (b"Transfer-Encoding: chunked, gzip\r\n", Framing.CHUNKED, 0, True),
            (b"Transfer-Encoding: chunked, identity\r\n", Framing.CHUNKED, 0, True),
            (b"Transfer-Encoding: xchunked\r\n", Framing.CLOSE, 0, True),
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
        ("status", "method"), [(304, "GET"), (103, "GET"), (204, "HEAD"), (200, "HEAD"), (404, "HEAD")]
    )
    def test_without_a_body_whatever_its_head_says(self, status: int, method: str) -> None:
        head = parse_response(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" % status)

        assert response_framing(head, method) == (Framing.NONE, 0, "")

    @pytest.mark.parametrize(
        ("line", "doubt"),
        [
            ("Content-Length: 0", ""),
            ("X: y", ""),
            ("Content-Length: 5", ANNOUNCED),
            ("Transfer-Encoding: x", ANNOUNCED),
        ],
    )
    def test_a_body_announced_where_there_is_none_makes_the_next_message_uncertain(self, line: str, doubt: str) -> None:
        head = parse_response(f"HTTP/1.1 204 No Content\r\n{line}\r\n\r\n".encode())

        assert response_framing(head, "GET") == (Framing.NONE, 0, doubt)


def test_a_response_of_very_many_lines_is_none() -> None:
    with pytest.raises(BadMessage, match="more than 16384 lines"):
        parse_response(b"HTTP/1.1 200 OK\r\n" + b"X: m\r\n" * 20_000 + b"\r\n")


def test_folded_lines_belong_to_the_field_before_them_in_its_value_and_in_its_line() -> None:
    head = parse_response(b"HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\n\t3\nB: 4\r\n\r\n")

    assert head.fields == ((b"a", b"1 2 3", b"A: 1\r\n 2\r\n\t3\n"), (b"b", b"4", b"B: 4\r\n"))
