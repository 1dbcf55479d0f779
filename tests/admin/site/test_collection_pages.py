"""admin/web/pages/collections.py: collections as a browser sees them, with hostile records and a real crawl."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import httpx
import pytest
from support.archive.browsed_collection import HOSTILE, NAME, NOTES, PAGE, Shelf, fill, png
from support.archive.capture_rows import capture as row
from support.browsers.garden_crawl import COLLECTION, SEED, crawl
from support.each_value import each_value
from support.web.axe_pages import opened_tab, serious_in_tab
from support.web.site_server import RunningSite, running_site

from admin.demo.garden import GardenSite
from admin.models.database import Database
from admin.models.people_tables import Role
from archive.capture import Capture, Original
from archive.dates import iso_second
from archive.settings.load import Settings
from dedupdb.captures.capture_index import Captures

SCRIPT = "<script>alert"
LIMIT_REACHED = 4


@pytest.fixture
def site(sqlite_database: Database, settings: Settings) -> Iterator[RunningSite]:
    with running_site(sqlite_database, settings.home) as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.ADMINISTRATOR) as client:
        yield client


@pytest.fixture
def kept(settings: Settings) -> dict[str, Capture]:
    return fill(settings)


def at(each: Capture, page: str = "capture") -> str:
    """The address of a page about a capture."""
    return f"/collections/{NAME}/{page}?{urlencode({'file': each.filename, 'offset': each.offset})}"


def links(text: str, part: str) -> list[str]:
    """The addresses on a page that have this part."""
    return [html.unescape(each) for each in re.findall(r'(?:href|src)="([^"]+)"', text) if part in each]


def test_empty_pages_say_what_to_do_first(client: httpx.Client, settings: Settings) -> None:
    assert "There are no collections." in client.get("/collections").text
    Shelf(settings).writer.close()
    (settings.archive_dir(NAME)).mkdir(parents=True, exist_ok=True)
    listed = client.get("/collections").text
    assert "There is no capture index yet" in listed
    assert NAME in listed
    assert "There are no WARC files here." in client.get(f"/collections/{NAME}/files").text
    assert client.get(f"/collections/{NAME}").status_code == 200
    searched = client.get(f"/collections/{NAME}/captures?url=example.org")
    assert (searched.status_code, "no capture index yet" in searched.text) == (409, True)


def test_a_person_goes_from_the_list_to_the_picture_of_a_page(client: httpx.Client, kept: dict[str, Capture]) -> None:
    assert f"/collections/{NAME}" in links(client.get("/collections").text, "/collections/")
    assert "Statistics" in client.get(f"/collections/{NAME}").text
    found = client.get(f"/collections/{NAME}/captures", params={"url": PAGE, "kind": "response"}).text
    calendar = client.get(links(found, "/url?")[0]).text
    assert 'aria-label="2027-01-01: 1 capture"' in calendar
    day = client.get(links(calendar, "day=2027-01-01")[0]).text
    assert "Captures of 2027-01-01" in day
    shown = client.get(at(kept["page"])).text
    assert "What the browser showed" in shown
    assert f"open {NAME} http://example.org/page --datetime 20261121081500" in shown
    picture = client.get(links(shown, "/picture?")[0])
    assert picture.headers["Content-Type"] == "image/jpeg"
    assert picture.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert picture.headers["X-Content-Type-Options"] == "nosniff"
    assert picture.content.startswith(b"\xff\xd8\xff")


def test_a_capture_shows_how_the_visit_went_and_what_was_kept_before_and_after_behaviours(
    site: RunningSite, client: httpx.Client, settings: Settings
) -> None:
    shelf = Shelf(settings)
    page, har = shelf.page(), b'{"log": {"entries": []}}'
    kept = {
        prefix: shelf.kept(prefix, block, kind)
        for prefix, block, kind in (
            ("urn:fullPage:", png(), "image/png"),
            ("urn:fullPageFinal:", png(64, 96), "image/png"),
            ("urn:text:", b"before", "text/plain"),
            ("urn:textFinal:", b"after", "text/plain"),
            ("urn:har:", har, "application/json"),
            ("urn:imageMap:", b"<script>alert(1)</script>", "text/html"),
            ("urn:pageinfo:", json.dumps(NOTES).encode(), "application/json"),
        )
    }
    shelf.close()
    text = client.get(at(page)).text
    assert len(links(text, "/picture?")) == 4
    assert "Text of the page before behaviours" in text
    assert "Text of the page after behaviours" in text
    for words in ("does not show the login", "12, 1 URL failed", "3 requests", ">scroll<", ">timeout<", "#end"):
        assert words in text
    downloads = [path for path in links(text, "/kept-file?") if str(kept["urn:har:"].offset) in path]
    answer = client.get(downloads[0])
    assert (answer.content, answer.headers["Content-Type"]) == (har, "application/octet-stream")
    assert answer.headers["Content-Disposition"].endswith("har.har")
    hostile = client.get(at(kept["urn:imageMap:"], "kept-file"))
    assert hostile.headers["Content-Disposition"].startswith("attachment")
    assert hostile.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert client.get(at(page, "kept-file")).status_code == 404
    with site.client(Role.READER) as reader:
        assert links(reader.get(at(page)).text, "/kept-file?") == []
        assert reader.get(downloads[0]).status_code == 403
    notes = client.get(f"/api/v1{at(page)}").json()["notes"]
    assert [(each["id"], each["ended"], each["steps"]) for each in notes["behaviors"]] == [("scroll", "timeout", 7)]


def test_hostile_records_are_shown_as_texts(client: httpx.Client, kept: dict[str, Capture]) -> None:
    paths = [
        "/collections",
        f"/collections/{NAME}",
        f"/collections/{NAME}/files",
        f"/collections/{NAME}/captures",
        f"/collections/{NAME}/captures?{urlencode({'url': HOSTILE, 'mime': HOSTILE, 'job': HOSTILE})}",
        f"/collections/{NAME}/captures?{urlencode({'since': HOSTILE, 'status': HOSTILE, 'after': HOSTILE})}",
        f"/collections/{NAME}/url?{urlencode({'url': f'http://example.org/{HOSTILE}'})}",
        f"/collections/{NAME}/url?{urlencode({'url': PAGE, 'day': HOSTILE, 'year': HOSTILE})}",
        f"/collections/{quote(HOSTILE, safe='')}",
        *map(at, kept.values()),
        *(at(each, "picture") for each in kept.values()),
        f"/collections/{NAME}/capture?{urlencode({'file': HOSTILE, 'offset': HOSTILE})}",
    ]
    for path in paths:
        answer = client.get(path)
        assert answer.status_code in (200, 404, 409, 422), (path, answer.status_code)
        assert SCRIPT not in answer.text, path
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert html.escape(HOSTILE)[:20] in client.get(at(kept["page"])).text.replace("&#34;", "&quot;")
    assert client.get(at(kept["html"], "picture")).headers["Content-Type"].startswith("text/html")  # the error page


def test_a_damaged_or_missing_file_is_named_and_the_page_still_comes(
    client: httpx.Client, settings: Settings, kept: dict[str, Capture]
) -> None:
    page = kept["page"]
    path = settings.archive_dir(NAME) / page.filename
    path.write_bytes(path.read_bytes()[: page.offset + 30])
    for word in ("damaged", "missing"):
        answer = client.get(at(page))
        assert answer.status_code == 200
        assert word in answer.text
        assert page.filename in answer.text
        assert client.get(at(kept["view"], "picture")).status_code == 409
        path.unlink(missing_ok=True)
    assert client.get(f"/collections/{NAME}/captures").status_code == 200


@each_value(
    "file", ["../../control.token", "..%2f..%2fadmin.key", "/etc/passwd", "....//x.warc.gz", "\x00", "a" * 3000]
)
def test_no_download_leads_out_of_the_archive(
    client: httpx.Client, kept: dict[str, Capture], file: str, settings: Settings
) -> None:
    assert (settings.home / "admin.key").exists()
    answer = client.get(f"/collections/{NAME}/file", params={"file": file})
    assert answer.status_code in (404, 422)
    assert (settings.home / "admin.key").read_bytes() not in answer.content
    assert client.get(f"/collections/..%2f..%2f/file?file={quote(file)}").status_code == 404


def test_operators_download_warc_files_and_readers_do_not(
    site: RunningSite, client: httpx.Client, settings: Settings, kept: dict[str, Capture]
) -> None:
    name = kept["page"].filename
    data = (settings.archive_dir(NAME) / name).read_bytes()
    path = links(client.get(f"/collections/{NAME}/files").text, "/file?")[0]
    answer = client.get(path, headers={"Accept-Encoding": "identity"})
    assert answer.content == data
    assert answer.headers["Content-Disposition"].startswith(f"attachment; filename={name}")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    part = client.get(path, headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, data[10:20])
    with site.client(Role.READER) as reader:
        assert reader.get(path).status_code == 403
        assert links(reader.get(f"/collections/{NAME}/files").text, "/file?") == []
        assert reader.get(at(kept["view"], "picture")).status_code == 200


def test_a_search_keeps_what_was_typed_and_goes_on_behind_what_was_seen(
    client: httpx.Client, settings: Settings, kept: dict[str, Capture]
) -> None:
    with Captures(settings.database_url) as index:
        index.add(row(f"http://many.test/{number:03}", offset=10_000 + number) for number in range(120))
    wrong = client.get(f"/collections/{NAME}/captures", params={"url": "many.test/*", "since": "tomorrow"})
    assert wrong.status_code == 422
    assert 'value="many.test/*"' in wrong.text
    assert "is no date" in wrong.text
    seen: list[str] = []
    path = f"/collections/{NAME}/captures?{urlencode({'url': 'many.test/*', 'mime': 'text/html'})}"
    while path:
        text = client.get(path).text
        seen += re.findall(r">(http://many\.test/[^<]+)<", text)
        with Captures(settings.database_url) as index:  # new captures before, among and behind those of the next page
            index.add(row(f"http://many.test/{number}", offset=20_000 + len(seen) * 9 + number) for number in range(3))
        path = next(iter(re.findall(r'href="([^"]+)" rel="next"', text)), "").replace("&amp;", "&")
    assert [each for each in seen if len(each) == len("http://many.test/000")] == [
        f"http://many.test/{number:03}" for number in range(120)
    ]


def test_the_api_has_the_same(client: httpx.Client, kept: dict[str, Capture]) -> None:
    assert client.get("/api/v1/collections").json()["items"][0]["captures"] == len(kept)
    assert client.get(f"/api/v1/collections/{NAME}").json()["kinds"][0]["name"] == "response"
    found = client.get(f"/api/v1/collections/{NAME}/captures", params={"url": PAGE, "match": "prefix", "limit": 2})
    assert (len(found.json()["items"]), found.json()["next"] is None) == (2, False)
    behind = {"url": PAGE, "match": "prefix", "limit": 2, "after": found.json()["next"]}
    assert client.get(f"/api/v1/collections/{NAME}/captures", params=behind).json()["items"][0]["url"] == PAGE
    days = client.get(f"/api/v1/collections/{NAME}/calendar", params={"url": PAGE, "year": 2026}).json()["days"]
    assert days == [{"day": "2026-11-21", "captures": 1}, {"day": "2026-12-31", "captures": 1}]
    place = {"file": kept["page"].filename, "offset": kept["page"].offset}
    assert client.get(f"/api/v1/collections/{NAME}/capture", params=place).json()["title"].startswith("Title")
    assert client.get(f"/api/v1/collections/{NAME}/files").json()["items"][0]["captures"] == len(kept)
    wrong = client.get(f"/api/v1/collections/{NAME}/captures", params={"status": "x", "after": "x"})
    assert (wrong.status_code, {each["field"] for each in wrong.json()["problems"]}) == (422, {"status", "after"})
    assert client.get("/api/v1/collections/none/captures").status_code == 404


def test_the_last_year_that_a_date_can_have_is_shown(client: httpx.Client, settings: Settings) -> None:
    with Captures(settings.database_url) as index:
        index.add([row(date="99991231235959", offset=1), row(date="19700101000000", offset=2)])
    for path in (
        "/collections",
        f"/collections/{NAME}",
        f"/collections/{NAME}/captures",
        f"/collections/{NAME}/url?url=http://example.org/",
        f"/collections/{NAME}/url?url=http://example.org/&year=1970",
    ):
        assert client.get(path).status_code == 200, path


def test_a_page_of_captures_has_one_time_zone_and_says_it_once(client: httpx.Client, settings: Settings) -> None:
    original = row(date="20260630233000", offset=1)
    revisit = row(
        date="20260701010203",
        offset=2,
        kind="revisit",
        refers_to=Original(original.record_id, original.url, original.date),
    )
    with Captures(settings.database_url) as index:
        index.add([original, revisit])
    for path in ("captures?url=http://example.org/", "url?url=http://example.org/&year=2026"):
        shown = client.get(f"/collections/{NAME}/{path}").text
        assert "2026-07-01 01:02:03" in shown
        assert "of 2026-06-30 23:30" in shown, "not the time of Copenhagen, which is the person's zone"
        assert (shown.count("in UTC"), shown.count("Copenhagen")) == (1, 0)
    assert "times in UTC" in client.get(f"/collections/{NAME}").text
    assert "times in Europe/Copenhagen" in client.get("/collections").text


def test_the_calendar_of_a_url_has_shaded_days_and_steps_to_the_nearest_years(
    client: httpx.Client, settings: Settings
) -> None:
    days = {"20240229": 1, "20260105": 1, "20260106": 30, "20301231": 1}
    with Captures(settings.database_url) as index:
        index.add(
            row(date=f"{day}00{minute:02}00", offset=int(day) + minute)
            for day, count in days.items()
            for minute in range(count)
        )
    shown = client.get(f"/collections/{NAME}/url?url=http://example.org/&year=2026").text
    assert shown.count('<table class="month">') == 12
    assert "January <small>31 captures</small>" in shown
    assert re.findall(r'class="shade-(\d)"><a [^>]*aria-label="([^"]+)"[^>]*>(\d+)<small>(\d+)</small>', shown) == [
        ("1", "2026-01-05: 1 capture", "5", "1"),
        ("4", "2026-01-06: 30 captures", "6", "30"),
    ]
    assert re.findall(r'rel="(prev|next)" aria-label="([^"]+)"', shown) == [
        ("prev", "Back to 2024"),
        ("next", "On to 2030"),
    ]
    first_week = shown.partition("January <small>")[2].partition("<tbody>")[2].partition("</tr>")[0]
    assert first_week.count("<td></td>") == 3, "2026 begins with a Thursday"


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_axe_finds_nothing_serious(site: RunningSite, client: httpx.Client, kept: dict[str, Capture]) -> None:
    paths = [
        f"/collections/{NAME}",
        f"/collections/{NAME}/captures",
        f"/collections/{NAME}/url?{urlencode({'url': PAGE, 'day': iso_second(kept['page'].date)[:10]})}",
        at(kept["page"]),
    ]
    with opened_tab(site.address, client) as tab:
        found = serious_in_tab(tab, paths, refused=[f"/collections/{NAME}/captures?since=tomorrow"])
        tab.goto(at(kept["page"]))
        tab.locator("figure img").first.scroll_into_view_if_needed()
        tab.wait_for_function("document.querySelector('figure img').naturalWidth === 64")
    assert found == []


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(400)
def test_a_page_that_a_ghost_crawled_shows_its_picture_and_text(
    sqlite_database: Database, settings: Settings, garden: GardenSite
) -> None:
    done = crawl(garden, settings.home, "--visitor", "browser", "--limit-pages", "1", "--workers", "1")
    assert done.returncode == LIMIT_REACHED, done.stdout + done.stderr
    with running_site(sqlite_database, settings.home) as site, site.client(Role.READER) as client:
        found = client.get(f"/api/v1/collections/{COLLECTION}/captures", params={"url": SEED, "kind": "response"})
        first = found.json()["items"][0]
        place = urlencode({"file": first["file"], "offset": first["offset"]})
        shown = client.get(f"/collections/{COLLECTION}/capture?{place}").text
        assert "What the browser showed" in shown
        assert "Text of the page" in shown
        assert "from another visit" not in shown
        pictures = links(shown, "/picture?")
        kinds = {client.get(each).headers["Content-Type"] for each in pictures}
        assert kinds == {"image/jpeg"}
        assert len(set(pictures)) in (3, 4)  # the fourth is the page after behaviours, when it looked different then
        assert client.get(f"/collections/{COLLECTION}").status_code == 200
