"""admin/viewing/pages.py and player_pages.py: what a reader sees of a collection, with hostile records."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import httpx
import pytest
from support.archive.browsed_collection import HOSTILE, PAGE, fill, png
from support.archive.exchanges import DATE
from support.browsers.running_viewer import CollectionShelf, RunningViewer, running_viewer
from support.each_value import each_value
from support.web.axe_pages import serious_on_pages

from admin.viewing.page import address_in
from archive.capture import Capture
from archive.dates import parse_date, timestamp14
from archive.settings.load import Settings

SCRIPT = "<script>alert"
DAY = 86_400_000_000


@pytest.fixture
def kept(settings: Settings) -> dict[str, Capture]:
    return fill(settings)


@pytest.fixture
def viewer(settings: Settings, kept: dict[str, Capture]) -> Iterator[RunningViewer]:
    shelf = CollectionShelf(settings)
    shelf.kept("urn:thumbnail:", png())
    shelf.close()
    plain = CollectionShelf(settings, "plain")
    plain.put("/document", b"<title>x</title>", date=DATE)
    plain.close()
    with running_viewer(settings) as running:
        yield running


@pytest.fixture
def client(viewer: RunningViewer) -> Iterator[httpx.Client]:
    viewer.read_all("news")
    with viewer.client() as client:
        yield client


def links(text: str, part: str) -> list[str]:
    """The addresses on a page that have this part."""
    return [html.unescape(each) for each in re.findall(r'(?:href|src|action)="([^"]+)"', text) if part in each]


def test_a_reader_goes_from_the_start_page_to_a_capture(client: httpx.Client) -> None:
    start = client.get("/").text
    assert "2026-11-21 to 2027-01-01" in start
    pages = client.get(links(start, "/c/news/")[0]).text
    assert html.escape(HOSTILE) in pages.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")
    picture = client.get(links(pages, "/picture?")[0])
    assert picture.headers["Content-Type"] == "image/jpeg"
    assert picture.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    newest = client.get(links(pages, "/url?")[0]).text
    assert 'aria-label="2027-01-01: 1 capture"' in newest
    older = client.get(links(newest, "year=2026")[0]).text
    day = client.get(links(older, "day=2026-11-21")[0]).text
    play = client.get(links(day, "/play?")[0])
    assert play.status_code == 200
    assert "--fetch-player" in play.text
    (raw,) = links(play.text, "/w/news/")
    assert client.get(raw).status_code == 200


def test_words_and_addresses_are_searched_in_one_field(client: httpx.Client) -> None:
    found = client.get("/", params={"q": "hello"}).text
    assert "<mark>Hello</mark>" in found
    assert links(found, f"/c/news/play?url={PAGE}")
    assert "No page has all of these words" in client.get("/c/plain/", params={"q": "hello"}).text
    assert client.get("/", params={"q": PAGE}).headers["Location"].startswith("/c/news/url?")
    assert client.get("/c/plain/", params={"q": "example.org"}).headers["Location"].startswith("/c/plain/url?")
    everywhere = client.get("/", params={"q": "example.org/*"}).text
    assert links(everywhere, "/c/news/url?")
    assert links(everywhere, "/c/plain/url?")
    assert "http://example.org/document" in client.get("/c/plain/url", params={"url": "http://example.org/*"}).text
    assert "No collection has" in client.get("/", params={"q": "nowhere.test"}).text


def test_without_ghosts_documents_are_listed(client: httpx.Client) -> None:
    assert links(client.get("/c/plain/").text, "/play?url=http://example.org/document")


def test_an_empty_home_says_so(settings: Settings) -> None:
    with running_viewer(settings) as running, running.client() as client:
        assert "There are no collections" in client.get("/").text
        assert client.get("/c/none/").status_code == 404
        assert "No page has" in client.get("/", params={"q": "word"}).text


def test_hostile_records_and_requests_are_shown_as_texts(client: httpx.Client, kept: dict[str, Capture]) -> None:
    place = urlencode({"file": kept["html"].filename, "offset": kept["html"].offset})
    paths = [
        *("/", f"/?{urlencode({'q': HOSTILE})}", "/c/news/", f"/c/news/?{urlencode({'q': HOSTILE, 'after': HOSTILE})}"),
        *(f"/c/{quote(HOSTILE, safe='')}/", "/c/none/", "/c/none/url?url=x.test", "/player/", "/player/../tickets.key"),
        f"/c/news/url?{urlencode({'url': f'http://example.org/{HOSTILE}'})}",
        f"/c/news/url?{urlencode({'url': HOSTILE, 'year': HOSTILE, 'day': HOSTILE, 'after': HOSTILE})}",
        f"/c/news/url?{urlencode({'url': 'http://example.org/*', 'after': HOSTILE})}",
        f"/c/news/play?{urlencode({'url': HOSTILE, 'ts': HOSTILE})}",
        f"/c/news/play?{urlencode({'url': f'http://example.org/{HOSTILE}', 'ts': HOSTILE})}",
        f"/c/news/play?{urlencode({'url': 'javascript:alert(1)'})}",
        *(f"/c/news/picture?{place}", "/c/news/picture?file=..%2fx&offset=1", "/c/news/picture?file=x&offset=-1"),
        *("/replay/", "/replay/sw.js", "/replay/ui.js", "/player/ui.js", "/player/LICENSE"),
    ]
    for path in paths:
        answer = client.get(path)
        assert answer.status_code in (200, 302, 404, 409, 422), (path, answer.status_code)
        assert SCRIPT not in answer.text, path
        assert "unsafe" not in answer.headers["Content-Security-Policy"], path


def test_the_player_is_served_as_it_is_and_keeps_its_requests_here(settings: Settings, tmp_path: Path) -> None:
    fill(settings)
    for name in ("ui.js", "sw.js", "LICENSE"):
        (tmp_path / name).write_text(f"the {name}")
    chosen = settings.model_copy(update={"view": settings.view.model_copy(update={"player": str(tmp_path)})})
    with running_viewer(chosen) as running, running.client() as client:
        here = {"Host": f"news.localhost:{running.port}"}
        for path in ("/player/ui.js", "/replay/ui.js", "/player/sw.js", "/player/LICENSE"):
            assert client.get(path, headers=here).text == f"the {path.rpartition('/')[2]}"
        worker = client.get("/replay/sw.js", headers=here)
        assert 'importScripts("../player/sw.js")' in worker.text
        assert "connect-src 'self'" in worker.headers["Content-Security-Policy"]
        asked = client.get(f"/c/news/play?{urlencode({'url': PAGE, 'ts': '2026'})}")
        bar = asked.headers["Location"]
        assert bar.startswith(f"http://view.news.localhost:{running.port}/c/news/play?")
        page = client.get(bar.partition(str(running.port))[2], headers={"Host": f"view.news.localhost:{running.port}"})
        (frame,) = links(page.text, "/c/news/player?")
        assert frame.startswith(f"http://news.localhost:{running.port}/")
        assert f"frame-src 'self' http://news.localhost:{running.port}" in page.headers["Content-Security-Policy"]
        player = client.get(frame.partition(str(running.port))[2], headers=here)
        assert f'source="proxy:http://news.localhost:{running.port}/w/news/"' in player.text
        policy = player.headers["Content-Security-Policy"]
        assert "connect-src 'self'" in policy
        assert f"frame-ancestors 'self' http://view.news.localhost:{running.port}" in policy
        assert player.headers["Connection-Allowlist"] == "(response-origin); redirects=allow"
        assert "AFFERO".lower() in client.get("/player/").text.lower()
        assert client.get("/replay/other.js", headers=here).status_code == 404


def test_a_page_tells_its_date_and_leads_to_the_dates_beside_it(settings: Settings) -> None:
    shelf = CollectionShelf(settings)
    for days in range(3):
        shelf.put("/steps", f"day {days}".encode(), date=DATE + days * DAY)
    shelf.close()
    with running_viewer(settings) as running, running.client() as client:
        asked = {"url": "http://example.org/steps", "ts": timestamp14(DATE + DAY)}
        page = client.get("/c/news/play", params=asked).text
        assert '<strong id="shown">2026-11-22 08:15:00</strong>' in page
        earlier, later = links(page, "/play?")
        assert earlier.endswith(f"ts={timestamp14(DATE)}")
        assert later.endswith(f"ts={timestamp14(DATE + 2 * DAY)}")
        first = client.get("/c/news/dates", params={**asked, "ts": "2020"}).json()
        assert first["shown"]["timestamp"] == timestamp14(DATE)
        assert first["earlier"] is None
        assert first["later"]["timestamp"] == timestamp14(DATE + DAY)
        both = client.get(links(page, "/compare?")[0]).text
        sides = set(links(both, "/play?"))
        assert sides == {f"/c/news/play?url=http://example.org/steps&ts={timestamp14(DATE + n * DAY)}" for n in (0, 1)}
        assert "2026-11-21 08:15:00" in both
        nothing = client.get("/c/news/compare", params={"url": "http://example.org/never"})
        assert "was not captured" in nothing.text
        assert client.get("/c/news/compare", params={**asked, "a": "20269999"}).status_code == 422


@each_value(
    ("path", "status"),
    [
        ("url?year=1970", 200),
        ("url?year=9999", 200),
        *((f"url?year={year}", 422) for year in ("0000", "0001", "1969")),
        *((f"url?day={day}", 200) for day in ("0001", "0001-01-01", "9999", "9999-12-31")),
        *((f"url?day={day}", 422) for day in ("0000", "0001-00-00")),
        *((f"compare?b={date}", 200) for date in ("0001", "00010101000000", "9999", "99991231235959")),
        ("compare?a=00010101000000&b=99991231235959", 200),
        ("compare?b=0000", 422),
        *((f"{page}?ts={date}", 200) for page in ("play", "dates") for date in ("0000", "0001", "99991231235959999")),
    ],
)
def test_the_first_and_the_last_dates_are_answered(client: httpx.Client, path: str, status: int) -> None:
    assert client.get(f"/c/news/{path}", params={**httpx.URL(path).params, "url": PAGE}).status_code == status


def test_a_capture_of_the_last_second_is_shown(settings: Settings) -> None:
    shelf = CollectionShelf(settings)
    shelf.put("/last", b"last", date=parse_date("99991231235959"))
    shelf.close()
    asked = {"url": "http://example.org/last"}
    with running_viewer(settings) as running, running.client() as client:
        assert 'aria-label="9999-12-31: 1 capture"' in client.get("/c/news/url", params=asked).text
        assert "9999-12-31 23:59:59" in client.get("/c/news/compare", params=asked).text
        dates = client.get("/c/news/dates", params={**asked, "ts": "99991231235959"}).json()
        assert (dates["shown"]["timestamp"], dates["later"]) == ("99991231235959", None)


def test_two_dates_stand_side_by_side_with_their_pictures(settings: Settings) -> None:
    shelf = CollectionShelf(settings)
    for days in range(2):
        shelf.put("/seen", b"seen", date=DATE + days * DAY)
        shelf.kept(
            "urn:thumbnail:", png(), url="http://example.org/seen", date=DATE + days * DAY, page_id=f"page-{days}"
        )
    shelf.close()
    with running_viewer(settings) as running, running.client() as client:
        running.read_all("news")
        both = client.get("/c/news/compare", params={"url": "http://example.org/seen"}).text
        pictures = links(both, "/picture?")
        assert len(set(pictures)) == 2
        assert {client.get(each).headers["Content-Type"] for each in pictures} == {"image/jpeg"}


def test_a_pdf_is_shown_by_the_browser_and_linked_for_download(settings: Settings) -> None:
    shelf = CollectionShelf(settings)
    shelf.put("/paper", b"%PDF-1.4", mime="application/pdf")
    shelf.put("/no-paper", b"<script>alert(1)</script>", "Content-Type: text/html", mime="application/pdf")
    shelf.close()
    with running_viewer(settings) as running, running.client() as client:
        page = client.get("/c/news/play", params={"url": "http://example.org/paper", "ts": "2026"}).text
        raw = links(page, "/w/news/")[0]
        assert re.search(rf'<a href="{re.escape(raw)}" download>', page)
        assert f'<iframe class="raw" src="{raw}"' in page
        shown = client.get(raw)
        assert shown.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
        assert shown.headers["X-Content-Type-Options"] == "nosniff"
        other = client.get("/w/news/2026id_/http://example.org/no-paper")
        assert other.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


def test_only_sites_of_a_setting_may_show_archived_pages_in_a_frame(settings: Settings) -> None:
    shelf = CollectionShelf(settings)
    shelf.put("/page", b"<title>x</title>")
    shelf.close()
    path = "/c/news/play?url=http://example.org/page&ts=2026"
    framed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    with running_viewer(settings) as running, running.client() as client:
        assert client.get(path, headers=framed).status_code == 403
        assert "frame-ancestors 'self'" in client.get(path).headers["Content-Security-Policy"]
    chosen = {"frame_ancestors": ("https://exhibition.example.org",)}
    embedding = settings.model_copy(update={"view": settings.view.model_copy(update=chosen)})
    with running_viewer(embedding) as running, running.client() as client:
        page = client.get(path, headers=framed)
        assert "frame-ancestors 'self' https://exhibition.example.org" in page.headers["Content-Security-Policy"]
        raw = client.get(links(page.text, "/w/news/")[0])
        assert "frame-ancestors 'self' https://exhibition.example.org" in raw.headers["Content-Security-Policy"]
        assert client.get("/c/news/", headers=framed).status_code == 403


def test_an_index_that_is_away_is_said(client: httpx.Client, settings: Settings) -> None:
    for each in settings.home.glob("ghostfleet.db*"):
        each.write_bytes(b"no database at all " * 500)
    answer = client.get("/c/news/")
    assert answer.status_code == 503
    assert str(settings.home) not in client.get("/w/news/2026id_/http://example.org/page").text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.org", "http://example.org"),
        ("https://example.org/a b", None),
        ("example.org/a?b=c", "http://example.org/a?b=c"),
        ("www.example.org:8080", "http://www.example.org:8080"),
        ("garden fern", None),
        ("fern", None),
        ("e.g.", None),
        ("http://[", None),
        ("a" * 10_000 + ".org", None),
        ("3.14", None),
    ],
)
def test_an_address_is_told_from_words(text: str, expected: str | None) -> None:
    assert address_in(text) == expected


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_axe_finds_nothing_serious(viewer: RunningViewer, client: httpx.Client) -> None:
    paths = [
        *("/", "/c/news/", "/?q=hello", "/player/"),
        *(f"/c/news/url?url={PAGE}", f"/c/news/play?url={PAGE}&ts=2026"),
    ]
    assert serious_on_pages(viewer.address, client, paths, refused=["/c/none/"]) == []
