"""admin/viewing/readable.py: every page of the viewer keeps to the access rules of a collection, over a socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import urlencode

import httpx
import pytest
from support.archive.browsed_collection import DAY, SECOND, add_rows, png
from support.archive.exchanges import DATE
from support.browsers.running_viewer import CollectionShelf, running_viewer

from admin.viewing import readable
from archive.access_rules import Access, AccessRules, period_of, rule_for
from archive.capture import Capture
from archive.settings.load import Settings
from archive.url import key

OPEN = "http://example.org/open"
SECRET = "http://example.org/secret"
BLOCKED = "http://example.org/blocked"
SHORT = "http://short.example/x"
LATER = DATE + 40 * DAY  # 2026-12-31
OF_2026 = "20261121081500id_"


@pytest.fixture
def kept(settings: Settings) -> dict[str, Capture]:
    """A collection with three pages that a ghost visited, one of them on two days; and a second collection."""
    shelf = CollectionShelf(settings)
    found = {}
    for url in (OPEN, SECRET, BLOCKED):
        path = url.removeprefix("http://example.org")
        word = path.removeprefix("/")
        for date in (DATE, LATER) if url == OPEN else (DATE,):
            shelf.put(path, f"document {word}".encode(), date=date)
            place = {"url": url, "date": date + SECOND, "page_id": f"{word}-{date}"}
            picture = shelf.kept("urn:thumbnail:", png(), **place)  # type: ignore[arg-type]
            shelf.kept("urn:text:", f"common text {word}{date}".encode(), "text/plain; charset=utf-8", **place)  # type: ignore[arg-type]
            title = json.dumps({"title": f"Title {word}{date}"}).encode()
            shelf.kept("urn:pageinfo:", title, "application/json", **place)  # type: ignore[arg-type]
            found.setdefault(word, picture)
    shelf.close()
    other = CollectionShelf(settings, "other")
    other.put("/secret", b"the other secret", date=DATE + 10 * DAY)
    other.close()
    return found


def redirected_visit(settings: Settings, **more: object) -> tuple[Capture, Capture]:
    """Keep a visit that a redirect led from SHORT to SECRET; return its picture, and its note with `more` in it."""
    shelf = CollectionShelf(settings)
    place = {"url": SHORT, "date": DATE, "page_id": "redirected"}
    shelf.kept("urn:text:", b"private address", "text/plain; charset=utf-8", **place)  # type: ignore[arg-type]
    picture = shelf.kept("urn:thumbnail:", png(), **place)  # type: ignore[arg-type]
    notes = json.dumps({"title": "Anna", "url": SHORT, "finalUrl": SECRET, **more}).encode()
    note = shelf.kept("urn:pageinfo:", notes, "application/json", **place)  # type: ignore[arg-type]
    shelf.close()
    return picture, note


@pytest.fixture
def redirected(settings: Settings) -> Capture:
    """The picture of a visit that a redirect led from SHORT to SECRET."""
    return redirected_visit(settings)[0]


def with_long_note(settings: Settings) -> Capture:
    """Return the picture of a visit whose page asked for so many URLs that its note is not read."""
    return redirected_visit(settings, urls={f"http://example.org/{n}?{'x' * 1000}": {} for n in range(4100)})[0]


def with_damaged_note(settings: Settings) -> Capture:
    """Return the picture of a visit whose note is damaged in its WARC file."""
    picture, note = redirected_visit(settings)
    with (settings.archive_dir("news") / note.filename).open("r+b") as file:
        file.seek(note.offset + 200)
        file.write(b"x" * 10)
    return picture


@pytest.fixture
def client(settings: Settings, kept: dict[str, Capture]) -> Iterator[httpx.Client]:
    with running_viewer(settings) as running, running.client() as client:
        running.read_all("news")
        yield client


def write(settings: Settings, rules: AccessRules, name: str = "news") -> None:
    rules.save(settings.collection(name) / "access.aclj")


def damage(settings: Settings) -> None:
    (settings.collection("news") / "access.aclj").write_text('org,example) - {"access": "hide"}\n')


def picture_of(capture: Capture) -> str:
    return f"/c/news/picture?{urlencode({'file': capture.filename, 'offset': capture.offset})}"


def listings() -> list[str]:
    """The pages that list something of the collection."""
    return [
        *("/", "/c/news/", "/?q=common", "/c/news/?q=common", "/c/news/?q=title", "/?q=secret", "/c/news/?q=secret"),
        *(f"/c/news/url?{urlencode({'url': 'http://example.org/*'})}", f"/c/news/url?{urlencode({'url': OPEN})}"),
    ]


def test_without_rules_all_is_shown(client: httpx.Client, kept: dict[str, Capture]) -> None:
    assert "Title secret" in client.get("/c/news/").text
    assert SECRET in client.get("/?q=secret").text
    assert client.get(picture_of(kept["secret"])).status_code == 200
    assert client.get(f"/w/news/{OF_2026}/{SECRET}").content == b"document secret"


def test_an_excluded_page_is_absent_everywhere(
    client: httpx.Client, settings: Settings, kept: dict[str, Capture]
) -> None:
    before = client.get("/").text
    assert "2026-11-21 to 2026-12-31" in before
    write(settings, AccessRules([rule_for(SECRET, Access.EXCLUDE)]))
    for path in listings():
        text = client.get(path).text
        if "q=secret" not in path:
            assert "secret" not in text.lower(), path
        assert f"/c/news/play?url={SECRET}" not in text, path
    assert "Title open" in client.get("/c/news/").text
    assert "common" in client.get("/c/news/?q=common").text
    assert "No page has" in client.get("/c/news/?q=secret").text
    assert "2026-11-21 to 2026-12-31" not in client.get("/").text
    calendar = client.get("/c/news/url", params={"url": SECRET})
    assert "This address was not captured" in calendar.text
    assert client.get(picture_of(kept["secret"])).status_code == 404
    assert client.get(picture_of(kept["open"])).status_code == 200
    for prefix in ("", "urn:text:", "urn:thumbnail:", "urn:pageinfo:"):
        listed = client.get("/c/news/url", params={"url": f"{prefix}{SECRET}"}).text
        assert "2026-11-21" not in listed, prefix
    assert client.get("/", params={"q": SECRET}).headers["Location"].startswith("/c/other/url?")
    assert client.get(f"/w/news/{OF_2026}/{SECRET}").status_code == 404
    assert client.get(f"/w/{OF_2026}/{SECRET}").content == b"the other secret"


@pytest.mark.parametrize(
    ("access", "is_listed", "picture"),
    [(Access.ALLOW, True, 200), (Access.BLOCK, True, 451), (Access.EXCLUDE, False, 404)],
)
def test_the_url_at_the_end_of_a_visit_decides_too(
    settings: Settings, redirected: Capture, access: Access, is_listed: bool, picture: int
) -> None:
    write(settings, AccessRules([rule_for(SECRET, access)]))
    with running_viewer(settings) as running, running.client() as client:
        running.read_all("news")
        text = client.get("/c/news/").text
        assert (SHORT in text, "Anna" in text) == (is_listed, picture == 200)
        for path in ("/?q=private+address", "/c/news/?q=private+address"):
            assert ("<mark>private</mark>" in client.get(path).text) is (picture == 200), path
        assert client.get(picture_of(redirected)).status_code == picture
        assert ("/picture?" in text) is (picture == 200)


@pytest.mark.parametrize("keep", [with_long_note, with_damaged_note])
def test_a_visit_whose_note_cant_be_read_is_hidden_when_the_collection_has_rules(
    settings: Settings, keep: Callable[[Settings], Capture]
) -> None:
    picture = keep(settings)
    with running_viewer(settings) as running, running.client() as client:
        running.read_all("news")

        def seen() -> tuple[bool, bool, int]:
            found = client.get("/c/news/?q=private+address").text
            is_listed = SHORT in client.get("/c/news/").text
            return is_listed, "<mark>private</mark>" in found, client.get(picture_of(picture)).status_code

        assert seen() == (True, True, 200)
        write(settings, AccessRules([rule_for(SECRET, Access.EXCLUDE)]))
        assert seen() == (False, False, 404)


def test_a_long_url_at_the_end_of_a_visit_decides_as_a_whole(settings: Settings) -> None:
    long = f"{SECRET}?{'x' * 1000}"
    shelf = CollectionShelf(settings)
    notes = json.dumps({"title": "Anna", "url": f"{long}1", "finalUrl": f"{long}2"}).encode()
    shelf.kept("urn:pageinfo:", notes, "application/json", url=f"{long}1", date=DATE, page_id="long")
    shelf.close()
    write(settings, AccessRules([rule_for(f"{long}2", Access.EXCLUDE, is_exact=True)]))
    with running_viewer(settings) as running, running.client() as client:
        running.read_all("news")
        assert "Anna" not in client.get("/c/news/").text


def test_a_blocked_page_is_listed_and_its_content_is_answered_with_451(
    client: httpx.Client, settings: Settings, kept: dict[str, Capture]
) -> None:
    write(settings, AccessRules([rule_for(BLOCKED, Access.BLOCK)]))
    pages = client.get("/c/news/").text
    assert BLOCKED in pages
    assert "Title blocked" not in pages
    assert pages.count("/c/news/picture?") == 2
    assert "No page has" in client.get("/c/news/?q=blocked").text
    assert "blocked" not in client.get("/c/news/?q=common").text
    calendar = client.get("/c/news/url", params={"url": BLOCKED}).text
    assert 'aria-label="2026-11-21: 1 capture"' in calendar
    assert BLOCKED in client.get("/c/news/url", params={"url": "http://example.org/*"}).text
    assert client.get(picture_of(kept["blocked"])).status_code == 451
    refused = client.get(f"/w/news/{OF_2026}/{BLOCKED}")
    assert (refused.status_code, refused.headers["Ghostfleet-Replay"]) == (451, "blocked")
    assert b"document" not in refused.content
    person = client.get(f"/w/news/{OF_2026}/{BLOCKED}", headers={"Accept": "text/html"})
    assert (person.status_code, "Readers may not see" in person.text) == (451, True)
    assert client.head(f"/w/news/{OF_2026}/{BLOCKED}").status_code == 451
    assert client.get(f"/w/{OF_2026}/{BLOCKED}").status_code == 451


def test_a_rule_for_a_period_leaves_the_other_visit(client: httpx.Client, settings: Settings) -> None:
    recent = rule_for(OPEN, Access.EXCLUDE, period=period_of(after="20261201"))
    write(settings, AccessRules([recent]))
    pages = client.get("/c/news/").text
    assert f"Title open{DATE}" in pages
    assert f"Title open{LATER}" not in pages
    assert "2026-12-31" not in client.get("/c/news/?q=common").text
    calendar = client.get("/c/news/url", params={"url": OPEN}).text
    assert 'aria-label="2026-11-21: 1 capture"' in calendar
    assert "2026-12-31" not in calendar
    assert "2026 (1)" in calendar
    newest = client.get(f"/w/news/id_/{OPEN}")
    assert newest.headers["Memento-Datetime"] == "Sat, 21 Nov 2026 08:15:00 GMT"


def test_a_default_of_exclude_hides_all_but_what_a_rule_allows(client: httpx.Client, settings: Settings) -> None:
    write(settings, AccessRules([rule_for(OPEN, Access.ALLOW)], Access.EXCLUDE))
    text = client.get("/c/news/").text
    assert "Title open" in text
    assert "secret" not in text
    write(settings, AccessRules(default=Access.EXCLUDE))
    assert "No pages are listed here" in client.get("/c/news/").text
    assert "No collection has" in client.get("/", params={"q": OPEN}).text


def test_rules_that_cant_be_read_show_nothing(
    client: httpx.Client, settings: Settings, kept: dict[str, Capture]
) -> None:
    damage(settings)
    paths = [
        *("/c/news/", "/c/news/?q=common", f"/c/news/url?{urlencode({'url': OPEN})}", "/c/news/url?url=example.org/*"),
        *(picture_of(kept["open"]), f"/w/news/{OF_2026}/{OPEN}", f"/c/news/play?{urlencode({'url': OPEN})}"),
    ]
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 503, path
        assert str(settings.home) not in answer.text
        assert "document" not in answer.text
    start = client.get("/").text
    assert "The access rules of news can&#39;t be read" in start
    assert "2026-11-21 to 2026-12-31" not in start
    assert "2026-12-01" in start
    assert "No page has" in client.get("/?q=common").text
    assert client.get("/", params={"q": SECRET}).headers["Location"].startswith("/c/other/url?")
    assert client.get("/c/other/").status_code == 200
    write(settings, AccessRules())
    assert "Title open" in client.get("/c/news/").text


def test_a_ticket_for_one_collection_keeps_to_its_rules(settings: Settings, kept: dict[str, Capture]) -> None:
    write(settings, AccessRules([rule_for(SECRET, Access.EXCLUDE)]))
    with running_viewer(settings, only="news") as running, running.client() as client:
        assert client.get(f"/w/{OF_2026}/{SECRET}").status_code == 404
        assert "No collection has" in client.get("/", params={"q": SECRET}).text


def test_lists_of_many_excluded_captures_are_bounded_and_go_on(
    client: httpx.Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = CollectionShelf(settings, "many")
    sample = pattern.put("/many/0", b"x")
    pattern.close()
    rows = []
    for number in range(1, 700):
        url = f"http://example.org/many/{number:04}"
        rows.append(replace(sample, url=url, key=key(url), offset=number * 1000, record_id=f"<urn:x:{number}>"))
    days = (replace(sample, offset=10**6 + n, date=DATE + n * SECOND, record_id=f"<urn:d:{n}>") for n in range(600))
    add_rows(settings, [*rows, *days])
    write(settings, AccessRules([rule_for("http://example.org/many/069*", Access.ALLOW)], Access.EXCLUDE), "many")
    monkeypatch.setattr(readable, "_ROUNDS", 1)
    found, params, pages = "", {"url": "http://example.org/many/*"}, 0
    while True:
        text = client.get("/c/many/url", params=params).text
        found, pages = found + text, pages + 1
        if 'rel="next"' not in text:
            break
        params["after"] = text.partition("after=")[2].partition('"')[0]
    assert pages > 3
    for number in range(690, 700):
        assert f"/many/{number:04}" in found
    assert "/many/0689" not in found
    write(settings, AccessRules([rule_for("http://example.org/many/0001", Access.EXCLUDE)]), "many")
    monkeypatch.setattr(readable, "_COUNTED_AT_ONCE", 100)
    calendar = client.get("/c/many/url", params={"url": "http://example.org/many/0"}).text
    assert 'aria-label="2026-11-21: 601 captures"' in calendar
