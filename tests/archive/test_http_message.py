"""archive/http/http_message.py: heads read as browsers read them, chunks taken off however they come."""

from __future__ import annotations

import pytest

from archive.http.http_message import (
    Fields,
    end_of_head,
    is_chunked,
    media_type,
    parse_fields,
    parse_head,
)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", 200),
        (b"HTTP/1.0 404\r\n\r\n", 404),
        (b"HTTP/2 301 \r\n\r\n", 301),
        (b"HTTP/1.1  200 OK\n\n", 200),
        (b"HTTP/1.1 2000 OK\r\n\r\n", None),
        (b"http/1.1 200OK\r\n\r\n", 200),
        (b"abcHTTP/1.1 200 OK\r\n\r\n", 200),
        (b"abcdeHTTP/1.1 200 OK\r\n\r\n", None),
        (b"ICY 200 OK\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\n\r\n", None),
        (b"", None),
    ],
)
def test_status_is_read_from_the_start_line(head: bytes, status: int | None) -> None:
    assert parse_head(head).status == status


def test_fields_keep_order_case_and_repeats() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nX:1\r\nset-cookie:  b \r\n\r\n")
    assert head.fields == (("Set-Cookie", "a"), ("X", "1"), ("set-cookie", "b"))
    assert head.fields.all("SET-COOKIE") == ["a", "b"]
    assert head.fields.get("x") == "1"
    assert head.fields.get("y") is None


def test_folded_line_continues_the_one_before() -> None:
    assert parse_fields(["A: one", "\ttwo", " three", "no field", "B: 1"]) == (("A", "one two three"), ("B", "1"))


def test_many_folded_lines_are_joined_in_a_time_that_grows_with_their_number() -> None:
    assert parse_fields(["A:", *[" b"] * 2_000_000, " ", "B: 1"]) == (("A", "b " * 1_999_999 + "b"), ("B", "1"))


def test_bytes_that_are_no_utf8_are_latin1() -> None:
    assert parse_head("HTTP/1.1 200 OK\r\nA: ü\r\n\r\n".encode("latin-1")).fields.get("A") == "ü"
    assert parse_head("HTTP/1.1 200 OK\r\nA: ü\r\n\r\n".encode()).fields.get("A") == "ü"


def test_method_of_a_request() -> None:
    assert parse_head(b"POST /a HTTP/1.1\r\n\r\n").method == "POST"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text/html", "text/html"),
        ("Text/HTML; charset=utf-8", "text/html"),
        ("text/html,text/plain", "text/html"),
        ("text/html ;a=b", "text/html"),
        ("", None),
        ("; charset=utf-8", None),
        ("text html", None),
        ("text/html\x00", None),
        (None, None),
    ],
)
def test_media_type_is_the_bare_name(text: str | None, expected: str | None) -> None:
    assert media_type(text) == expected


@pytest.mark.parametrize(
    ("codings", "expected"),
    [
        (["chunked"], True),
        (["Chunked "], True),
        (["gzip, chunked"], True),
        (["gzip", "chunked"], True),
        (["chunked, gzip"], True),
        (["xchunked"], False),
        (["chunked\x0b"], False),
        (["identity"], False),
        ([], False),
        ([""], False),
    ],
)
def test_chunked_counts_wherever_it_is_as_in_browsers(codings: list[str], expected: bool) -> None:
    assert is_chunked(codings) is expected


@pytest.mark.parametrize(
    ("data", "end"),
    [(b"a\r\n\r\nb", 5), (b"a\n\nb", 3), (b"a\r\n\nb", 4), (b"a\r\nb", 0), (b"", 0), (b"\r\n\r\n", 4)],
)
def test_head_ends_at_the_first_empty_line(data: bytes, end: int) -> None:
    assert end_of_head(data) == end


def test_fields_are_a_plain_tuple() -> None:
    assert Fields([("a", "b")]) == (("a", "b"),)
