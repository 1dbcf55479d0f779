"""Methods and bodies as queries: the keys are those that pywb makes, and no body costs more than a bounded work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.archive.exchanges import exchange, request

from archive import url as urls
from archive.settings.load import load
from archive.warc import cdxj
from archive.warc.records.record import exchange_records
from archive.warc.records.request_query import MAX_BODY, MAX_QUERY, asked_key, asked_query, asked_url
from archive.warc.writing.writer import WarcWriter

FORM = "application/x-www-form-urlencoded"
MULTIPART = (
    b'--XyZ\r\nContent-Disposition: form-data; name="a"\r\n\r\nvalue 1\r\n'
    b'--XyZ\r\nContent-Disposition: form-data; name="f"; filename="x.bin"\r\n'
    b"Content-Type: application/octet-stream\r\n\r\n\x00\xff\r\nzz\r\n--XyZ--\r\n"
)


@pytest.mark.parametrize(
    ("content_type", "body", "query", "in_key"),
    [
        (FORM, b"b=2&a=1&Name=J%C3%BCrgen+M", "b=2&a=1&Name=Jürgen M", "a=1&b=2&name=j%c3%bcrgen%20m"),
        (FORM, b"a=x%00y", "a=x%00y", "a=x%00y"),
        (FORM, b"\xff\xfe=1", "__wb_post_data=//49MQ==", "__wb_post_data=//49mq=="),
        ("application/json", b'{"q":"Moss","l":[1,2,{"q":null}],"t":true}', "q=Moss&l=1&l.2_=2&q.2_=null&t=true", None),
        ("application/json", b'{"n": 1.0, "f": 1.5}', "n=1&f=1.5", "f=1.5&n=1"),
        ("application/json", b"no JSON", None, None),
        ("application/json", b"[1, 2]", None, None),
        ("text/plain;charset=UTF-8", b'{"a":1}', "a=1", "a=1"),
        ("text/plain", b"hello", "__wb_post_data=aGVsbG8=", "__wb_post_data=agvsbg8="),
        ("application/octet-stream", b"\x00\x01", "__wb_post_data=AAE=", "__wb_post_data=aae="),
        ("multipart/form-data; boundary=XyZ", MULTIPART, "a=value+1&f=%00%FF%0D%0Azz", None),
        ("multipart/form-data", b"hello", "__wb_post_data=aGVsbG8=", None),
        (None, b"hello", "__wb_post_data=aGVsbG8=", None),
    ],
)
def test_a_body_becomes_the_query_that_pywb_makes(
    content_type: str | None, body: bytes, query: str | None, in_key: str | None
) -> None:
    """pywb 2.10 gives the same keys for all of these, and the same texts except for the escape of NUL."""
    assert asked_query("POST", content_type, [body]) == query
    if in_key is not None:
        parts = sorted([*in_key.split("&"), "__wb_method=post"], key=lambda part: part.split("=", 1))
        assert asked_key("http://example.org/a", "POST", query) == f"org,example)/a?{'&'.join(parts)}"


def test_a_get_stays_as_it_is_and_other_methods_have_no_body() -> None:
    url = "http://example.org/A?b=1&a=2"
    assert asked_url(url, "GET", None) == url
    assert asked_key(url, "GET", None) == urls.key(url) == "org,example)/A?b=1&a=2"
    assert asked_query("DELETE", FORM, [b"a=1"]) is None
    assert asked_key(url, "OPTIONS", None) == "org,example)/A?__wb_method=options&a=2&b=1"
    assert asked_query("POST", FORM, [b""]) is None


def test_a_key_is_found_by_the_url_that_other_players_ask_for() -> None:
    """pywb asks a CDX server for the URL with the query behind it, escaped or not."""
    key = asked_key("http://example.org/a?z=1", "POST", "q=a b&r=c/d")
    for asked in ("?z=1&__wb_method=POST&q=a b&r=c/d", "?z=1&__wb_method=POST&q=a%20b&r=c%2Fd"):
        assert urls.key(urls.canonical(f"http://example.org/a{asked}")) == key


@given(
    st.binary(max_size=300), st.sampled_from([FORM, "application/json", "text/plain", "multipart/x; boundary=a", ""])
)
def test_any_body_gives_one_bounded_key_without_spaces(body: bytes, content_type: str) -> None:
    query = asked_query("POST", content_type, [body])
    key = asked_key("http://example.org/", "POST", query)
    assert key.isascii()
    assert not set(key) & set(" \t\r\n\0")
    assert query is None or 0 < len(query) <= MAX_QUERY
    assert asked_query("POST", content_type, [body[:7], body[7:]]) == query


@pytest.mark.parametrize(
    ("content_type", "piece"),
    [
        ("application/json", b"[" * 65_536),
        ("application/json", b'{"a":' * 13_000),
        ("application/json", b"9" * 65_536),
        ("text/plain", b'{"%s":1}' % (b"n" * 65_000)),
        (FORM, b"%25" * 21_000),
        ("multipart/form-data; boundary=a", b"--a\r\n" * 13_000),
        ("multipart/form-data; boundary=a", b"--a\n\n--\n" * 8_000),
        ("", b"\0" * 65_536),
    ],
)
def test_the_worst_bodies_are_read_to_a_bound(content_type: str, piece: bytes) -> None:
    """A body without end: the reader takes no more than its bound, and the key stays short."""
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += len(piece)
            yield piece

    query = asked_query("POST", content_type, endless())
    assert taken < MAX_BODY + 2 * len(piece)
    assert query is None or len(query) <= MAX_QUERY
    assert len(asked_key("http://example.org/", "POST", query)) < 4 * MAX_QUERY


def test_the_line_written_at_once_is_the_one_read_from_the_warc(tmp_path: Path) -> None:
    settings = load({"home": str(tmp_path), "archive.min_free_bytes": 0}, environment={})
    writer = WarcWriter(settings, "news")
    json_type = "Content-Type: application/json"
    kept = []
    for method, body in (("POST", b'{"q": 1}'), ("POST", b'{"q": 2}'), ("PUT", b"x"), ("GET", b""), ("DELETE", b"")):
        asked = request("/api", method, body, json_type)
        made = exchange("/api", method=method, request=asked)
        kept += writer.append(exchange_records(made, warcinfo_id=writer.warcinfo_id))
    writer.sync()
    path = next(settings.archive_dir("news").glob("*"))

    read = list(cdxj.captures_of(path))

    assert read == kept
    assert [(each.method, each.request_body) for each in read] == [
        *(("POST", "q=1"), ("POST", "q=2"), ("PUT", None), ("GET", None), ("DELETE", None)),
    ]
    assert [each.key.partition("?")[2] for each in read] == [
        *("__wb_method=post&q=1", "__wb_method=post&q=2", "__wb_method=put", "", "__wb_method=delete"),
    ]
    said = json.loads(cdxj.line(read[0]).split(" ", 2)[2])
    assert (said["method"], said["requestBody"]) == ("POST", "q=1")
    assert [cdxj.parse(cdxj.line(each), "news") for each in read] == read
    writer.close()
