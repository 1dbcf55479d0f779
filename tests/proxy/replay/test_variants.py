"""Which of several representations answers: as `Vary` says, from the requests in real WARC files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.archive.exchanges import DATE, exchange, message, response
from support.archive.exchanges import keep as keep_one

from archive.capture import Capture
from archive.settings.load import Settings
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from proxy.protocol.http1 import FieldLines, parse_request
from proxy.replay.matching.variants import LIKE, SAME, likeness
from proxy.replay.matching.visits import PageLoad
from proxy.replay.matching.wanted import WantedCapture
from proxy.replay.memento import Archive


class Shelf:
    """A collection "news" with captures of one URL, each by a request of its own."""

    def __init__(self, settings: Settings) -> None:
        self.captures = Captures(settings.database_url)
        self.writer = WarcWriter(settings, "news")
        self.archive = Archive(settings, self.captures)
        self._kept = 0

    def keep(self, body: bytes, vary: str, *lines: str, path: str = "/page") -> Capture:
        self._kept += 1
        answer = response(body, *([f"Vary: {vary}"] if vary else []))
        asked = message(f"GET {path} HTTP/1.1", "Host: example.org", *lines)
        made = exchange(path, answer, request=asked, started=DATE + self._kept * 1_000_000)
        kept = keep_one(self.writer, made)
        self.writer.sync()
        self.captures.add([kept])
        return kept

    def body(self, *lines: str, path: str = "/page", **more: object) -> bytes | None:
        wanted = WantedCapture("news", f"http://example.org{path}", "GET", None, (), False, fields=fields(*lines))
        found = self.archive.find(replace(wanted, **more))  # type: ignore[arg-type]
        if found is None:
            return None
        body = b"".join(found.pieces)
        found.close()
        return body


def fields(*lines: str) -> FieldLines:
    return parse_request("\r\n".join(("GET / HTTP/1.1", *lines, "", "")).encode()).fields


@pytest.fixture
def shelf(settings: Settings) -> Iterator[Shelf]:
    made = Shelf(settings)
    yield made
    made.captures.close()


def test_the_recorded_request_decides(shelf: Shelf) -> None:
    shelf.keep(b"Guten Tag", "Accept-Language", "Accept-Language: de-DE, en;q=0.5")
    shelf.keep(b"Good day", "accept-language", "Accept-Language: en-GB")

    assert shelf.body("Accept-Language: de-DE,en;q=0.5") == b"Guten Tag"
    assert shelf.body("Accept-Language: de-AT") == b"Guten Tag", "at least the language is the same"
    assert shelf.body("Accept-Language: en-GB") == b"Good day"
    assert shelf.body("Accept-Language: fr") == b"Good day", "the newest, when none fits"
    assert shelf.body() == b"Good day"


def test_every_name_counts(shelf: Shelf) -> None:
    for device in ("Mobile", "Desktop"):
        for user in ("ann", "bob"):
            lines = (f"User-Agent: Browser ({device})", f"Cookie: user={user}; a=1")
            shelf.keep(f"{device} {user}".encode(), "User-Agent, Cookie", *lines)

    assert shelf.body("User-Agent: Other (Mobile)", "Cookie: user=ann; a=1") == b"Mobile ann"
    assert shelf.body("User-Agent: Browser (Desktop)", "Cookie: b=2; a=1; user=ann") == b"Desktop ann"


def test_headers_choose_nothing_that_vary_does_not_name(shelf: Shelf) -> None:
    shelf.keep(b"old", "", "Accept-Language: de")
    shelf.keep(b"new", "Accept-Encoding", "Accept-Language: en", "Accept-Encoding: br")

    assert shelf.body("Accept-Language: de", "Accept-Encoding: gzip") == b"new"


def test_one_capture_answers_whoever_asks(shelf: Shelf) -> None:
    shelf.keep(b"Guten Tag", "*, Accept-Language", "Accept-Language: de")
    assert shelf.body("Accept-Language: en") == b"Guten Tag"


def test_many_names_and_many_captures_are_bounded(shelf: Shelf) -> None:
    names = ", ".join(f"X-{number}" for number in range(2_000))
    for number in range(60):
        shelf.keep(b"%d" % number, names, f"X-0: {number}")

    assert shelf.body("X-0: 58") == b"58"
    assert shelf.body("X-0: 0") == b"59", "too far away to be looked at"


def test_a_document_before_a_login_is_not_the_one_behind_it(shelf: Shelf) -> None:
    """Replay sends the recorded Set-Cookie, so a browser has the cookies of the recording again."""
    before = shelf.keep(b"log in", "")
    behind = shelf.keep(b"hello", "", "Cookie: id=1")

    def document(*lines: str) -> tuple[bytes | None, int | None]:
        page = PageLoad("http://example.org/page")
        return shelf.body(*lines, page=page), page.date

    assert document() == (b"log in", before.date)
    assert document("Cookie: id=1") == (b"hello", behind.date)
    assert document("Cookie: id=2") == (b"hello", behind.date), "the newest, when none fits"
    assert shelf.body() == b"hello", "for whoever loads no page the date alone counts"


def test_cookies_choose_among_the_documents_of_one_sitting_alone(shelf: Shelf) -> None:
    old = shelf.keep(b"old", "", "Cookie: id=1")
    new = shelf.keep(b"new", "")
    shelf.captures.prune("news", new.filename, {old.offset})
    shelf.captures.add([replace(new, date=old.date + 90_000_000_000)])

    assert shelf.body("Cookie: id=1", page=PageLoad("http://example.org/page")) == b"new"


@pytest.mark.parametrize(
    ("name", "asked", "recorded", "expected"),
    [
        ("accept-language", "EN-gb", "en-GB", SAME),
        ("accept-language", "en", "en-US,en;q=0.9", LIKE),
        ("accept-language", None, "en", 0),
        ("accept", "application/json, */*", "application/json", LIKE),
        ("accept", "text/html", "application/json", 0),
        ("cookie", "a=1; b=2", "b=2", LIKE),
        ("cookie", "a=1", "a=2", LIKE),
        ("cookie", "a=1", "b=1", 0),
        ("cookie", "a=1", None, 0),
        ("x-requested-with", "a", "b", 0),
        ("origin", None, None, SAME),
    ],
)
def test_values_are_alike_to_a_degree(name: str, asked: str | None, recorded: str | None, expected: int) -> None:
    assert likeness(name, asked, recorded) == expected
