"""When an origin is asked whether something changed, and what the client gets when it says no."""

from __future__ import annotations

from typing import Any

import pytest

from archive.capture import Context, Message, Original
from archive.settings import DedupSettings
from archive.warc.reading.reader import MAX_HTTP_HEAD
from proxy.delivery.earlier import Earlier
from proxy.delivery.not_modified import freshened, unchanged
from proxy.protocol.heads import client_head
from proxy.protocol.http1 import MOST_LINES, Framing, RequestHead, ResponseHead, parse_request, parse_response
from proxy.replay import history
from proxy.replay.history import History, may_be_asked

DATE = b"Sat, 21 Nov 2026 08:00:00 GMT"


def asking(*lines: bytes, method: bytes = b"GET") -> RequestHead:
    return parse_request(b"\r\n".join((method + b" http://x.test/ HTTP/1.1", b"Host: x.test", *lines, b"", b"")))


def answer(*lines: bytes, status: bytes = b"200 OK") -> ResponseHead:
    return parse_response(b"\r\n".join((b"HTTP/1.1 " + status, *lines, b"", b"")))


def earlier(head: ResponseHead) -> Earlier:
    place = Original("11112222-3333-4444-5555-666677778888", "http://x.test/", 1)
    return Earlier(place, head, Message(b""), b"x", lambda: None)


@pytest.mark.parametrize(
    ("head", "questions"),
    [
        ((b'ETag: "a"',), b'If-None-Match: "a"\r\n'),
        ((b'ETag: W/"a"', b"Vary: Accept"), b'If-None-Match: W/"a"\r\n'),
        ((b"Last-Modified: " + DATE,), b"If-Modified-Since: " + DATE + b"\r\n"),
        ((b'ETag: "a"', b"Last-Modified: yesterday"), b'If-None-Match: "a"\r\n'),
        ((b"Last-Modified: yesterday",), None),
        ((b"Last-Modified: Mon, 01 Jan 99999999999 00:00:00 GMT",), None),
        ((b"Last-Modified: " + DATE, b"Vary: Cookie"), None),
        ((b'ETag: "a"', b"Vary: *"), None),
        ((b"ETag: *", b"Last-Modified: " + DATE), None),
        ((b'ETag: "a"', b"Content-Encoding: br"), None),
        ((b'ETag: "a"', b"Content-Encoding: gzip"), b'If-None-Match: "a"\r\n'),
        ((), None),
    ],
)
def test_a_capture_is_asked_about_by_its_validators(head: tuple[bytes, ...], questions: bytes | None) -> None:
    assert history._questions(answer(*head), asking(b"Accept-Encoding: deflate, gzip;q=0.8")) == questions


@pytest.mark.parametrize(
    ("own", "is_about"),
    [
        (b'If-None-Match: "a"', True),
        (b'If-None-Match: "b", W/"a"', True),
        (b'If-None-Match: "b"', False),
        (b"If-None-Match: *", False),
        (b"If-Modified-Since: " + DATE, True),
        (b"If-Modified-Since: Sun, 22 Nov 2026 08:00:00 GMT", False),
    ],
)
def test_a_clients_own_question_is_about_a_capture_with_those_validators(own: bytes, is_about: bool) -> None:
    found = history._questions(answer(b'ETag: W/"a"', b"Last-Modified: " + DATE), asking(own))

    assert found == (b"" if is_about else None)


@pytest.mark.parametrize(
    ("request_head", "may"),
    [
        (asking(), True),
        (asking(b'If-None-Match: "a"'), True),
        (asking(b"Range: bytes=0-"), False),
        (asking(b'If-Match: "a"'), False),
        (asking(b"If-Unmodified-Since: " + DATE), False),
        (asking(method=b"HEAD"), False),
        (asking(method=b"POST"), False),
    ],
)
def test_only_a_get_for_the_whole_is_sent_with_a_question(request_head: RequestHead, may: bool) -> None:
    assert may_be_asked(request_head) is may


@pytest.mark.parametrize(
    ("settings", "facts", "wish", "wanted"),
    [
        ({}, {}, None, False),
        ({}, {}, True, True),
        ({"conditional": True}, {}, None, True),
        ({"conditional": True}, {}, False, False),
        ({"conditional": True, "enabled": False}, {}, True, False),
        ({"conditional": True}, {"dedup": False}, None, False),
        ({"conditional": True}, {"archived": False}, None, False),
        ({"conditional": True, "only_with_bucket": True}, {}, None, False),
        ({"conditional": True, "only_with_bucket": True}, {"buckets": (("a", "ro"),)}, None, True),
    ],
)
def test_settings_session_and_request_decide_together(
    settings: dict[str, Any], facts: dict[str, Any], wish: bool | None, wanted: bool
) -> None:
    rules = History(None, None, DedupSettings(**settings))  # type: ignore[arg-type]

    assert rules.is_wanted(Context("news", **facts), wish) is wanted


def test_the_head_of_the_earlier_page_is_updated_as_caches_do() -> None:
    stored = answer(
        *(b"Content-Type: text/html", b"Content-Encoding: gzip", b"Transfer-Encoding: chunked", b'ETag: "a-gzip"'),
        *(b"Cache-Control: max-age=1", b"Set-Cookie: then=1", b"Age: 7", b"X-Kept: yes", b"Connection: close"),
    )
    said = answer(
        *(b'ETag: "a"', b"Content-Type: text/lies", b"Content-Length: 999", b"Cache-Control: no-store"),
        *(b"Set-Cookie: now=1", b"Set-Cookie: now=2", b"Connection: keep-alive"),
        status=b"304 Not Modified",
    )

    fresh = freshened(earlier(stored), said)

    assert (fresh.status, fresh.reason) == (200, b"OK")
    assert sorted((name, value) for name, value, _ in fresh.fields) == [
        (b"cache-control", b"no-store"),
        (b"content-encoding", b"gzip"),
        (b"content-length", b"0"),
        (b"content-type", b"text/html"),
        (b"etag", b'"a-gzip"'),
        (b"set-cookie", b"now=1"),
        (b"set-cookie", b"now=2"),
        (b"x-kept", b"yes"),
    ]


def test_a_page_without_an_etag_gets_the_one_of_the_304() -> None:
    fresh = freshened(earlier(answer(b"Last-Modified: " + DATE)), answer(b'ETag: "a"', status=b"304 Not Modified"))

    assert fresh.get(b"etag") == b'"a"'


def test_what_the_304_says_has_no_bare_carriage_return_for_the_client() -> None:
    """Chromium takes each for the end of a line, and would find another end of the body than the proxy."""
    said = answer(b"X-A: 1\rTransfer-Encoding: chunked", b"B\rC: 2", status=b"304 Not Modified")

    fresh = freshened(earlier(answer(b"A: b")), said)

    told = client_head(fresh, Framing.LENGTH, 0, close=False, old_client=False)
    assert told == b"HTTP/1.1 200 OK\r\nA: b\r\nX-A: 1 Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"


def test_an_updated_head_that_readers_would_refuse_is_not_recorded() -> None:
    """Each 304 can add fields of its own. Without a bound, the WARC's index could not be made again."""
    most = MAX_HTTP_HEAD - len(_updated_head(b""))

    assert len(_updated_head(b"x" * most)) == MAX_HTTP_HEAD
    assert not _updated_head(b"x" * (most + 1))


def test_an_updated_head_of_more_lines_than_replay_reads_is_not_recorded() -> None:
    lines = _updated_head(b"").count(b"\n")

    longest = _updated_head(b"", *[b"B: x"] * (MOST_LINES - lines))

    assert parse_response(longest).raw == longest
    assert not _updated_head(b"", *[b"B: x"] * (MOST_LINES - lines + 1))


def _updated_head(value: bytes, *lines: bytes) -> bytes:
    """Return the head that is recorded of a page when a 304 has that value of a new field, and these lines.

    The head is empty when none is recorded.
    """
    said = answer(b"A: " + value, *lines, status=b"304 Not Modified")
    return unchanged(earlier(answer(b'ETag: "a"', b"Old: x")), said).head or b""
