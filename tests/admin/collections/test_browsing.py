"""admin/collections/browsing: what people and programs see of collections, from real WARC files and their index."""

from __future__ import annotations

import io
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.archive.browsed_collection import DAY, HOSTILE, NAME, PAGE, SECOND, Shelf, add_rows, fill, png
from support.archive.capture_rows import capture as row
from support.archive.exchanges import DATE
from support.each_value import each_value

from admin.collections.browsing import calendar, capture, files, listing, pictures, search
from admin.collections.browsing.replay import replay_hint
from admin.models.database import Database
from admin.models.errors import (
    DatabaseRefused,
    Forbidden,
    IllegalState,
    InvalidInput,
    NotFound,
    UseCaseError,
)
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE, Actor, Door, Transaction
from archive.capture import Capture
from archive.settings.load import Settings, load
from dedupdb.captures.capture_index import Captures


@pytest.fixture
def transaction(sqlite_database: Database) -> Iterator[Transaction]:
    with sqlite_database.reading(COMMAND_LINE) as opened:
        yield opened


@pytest.fixture
def kept(settings: Settings) -> dict[str, Capture]:
    return fill(settings)


def urls(transaction: Transaction, **given: Any) -> list[str]:
    """The URLs that a search finds."""
    return [each.url for each in search.list_captures(transaction, NAME, **given).items]


def shown(transaction: Transaction, each: Capture) -> capture.CaptureView:
    return capture.show_capture(transaction, NAME, each.filename, each.offset)


def test_a_home_without_an_index_lists_its_collections_and_says_what_is_missing(
    transaction: Transaction, settings: Settings
) -> None:
    assert listing.list_collections(transaction).items == []
    shelf = Shelf(settings)
    shelf.page()
    shelf.writer.close()
    found = listing.list_collections(transaction)
    assert [(each.name, each.files, each.captures) for each in found.items] == [(NAME, 1, None)]
    assert "there is no capture index yet" in found.warnings[0]
    assert "reindex" in listing.show_collection(transaction, NAME).warnings[0]
    with pytest.raises(IllegalState, match="no capture index yet"):
        search.list_captures(transaction, NAME)
    assert not (settings.home / "ghostfleet.db").exists()


def test_a_collection_has_its_statistics_harvests_and_jobs(sqlite_database: Database, kept: dict[str, Capture]) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as opened:
        add_domain(opened, "example.org")
        job = add_job(opened, add_harvest(opened, add_channel(opened), HOSTILE))
        found = listing.show_collection(opened, NAME)
        assert [(each.id, each.harvest_name) for each in found.jobs] == [(job.id, HOSTILE)]
        assert [each.name for each in found.harvests] == [HOSTILE]
    assert (found.files, found.open_files, found.captures, found.is_counted) == (1, 0, len(kept), True)
    assert (found.first, found.last) == (DATE, DATE + 41 * DAY)
    assert found.warnings == []
    assert [(each.name, each.captures) for each in found.months] == [("2026-11", 9), ("2026-12", 1), ("2027-01", 1)]
    assert {each.name: each.captures for each in found.statuses} == {"-": 5, "200": 5, "404": 1}
    assert {each.name: each.captures for each in found.kinds} == {
        "response": 5,
        "resource": 4,
        "metadata": 1,
        "revisit": 1,
    }
    assert f"text/{HOSTILE}".lower() in [each.name for each in found.types]


def test_an_index_that_is_behind_is_said_first(transaction: Transaction, settings: Settings) -> None:
    fill(settings)
    shelf = Shelf(settings)
    new = [shelf.page("/new"), shelf.page("/newer")]
    shelf.writer.close()
    assert "the index is behind" in listing.show_collection(transaction, NAME).warnings[0]
    add_rows(settings, new[:1])
    assert "the index is behind" in listing.show_collection(transaction, NAME).warnings[0]
    other = replace(new[1], offset=new[1].offset + 1)  # as before the file was written anew
    add_rows(settings, [other])
    assert "the index is behind" in listing.show_collection(transaction, NAME).warnings[0]
    add_rows(settings, new[1:])  # announced captures: the indexer has not read the file yet
    assert listing.show_collection(transaction, NAME).warnings == []


def test_a_damaged_index_is_told_and_is_no_failure(transaction: Transaction, settings: Settings) -> None:
    fill(settings)
    for each in settings.home.glob("ghostfleet.db*"):
        each.write_bytes(b"no database at all " * 500)
    with pytest.raises(DatabaseRefused, match=r"ghostfleet\.db"):
        search.list_captures(transaction, NAME)


@each_value("name", ["..", "../news", "no-such", "a/b", "", "x" * 99, HOSTILE, "%2e%2e", "news\0"])
def test_a_name_that_no_collection_has_is_not_found(
    transaction: Transaction, kept: dict[str, Capture], name: str
) -> None:
    place = kept["page"]
    for ask in (
        lambda: listing.show_collection(transaction, name),
        lambda: files.list_files(transaction, name),
        lambda: files.file_for_download(transaction, name, place.filename),
        lambda: search.list_captures(transaction, name),
        lambda: calendar.show_calendar(transaction, name, PAGE),
        lambda: capture.show_capture(transaction, name, place.filename, place.offset),
    ):
        with pytest.raises(NotFound):
            ask()


def test_captures_are_found_by_url_date_type_and_status(transaction: Transaction, kept: dict[str, Capture]) -> None:
    assert urls(transaction, url=PAGE, match="exact") == [PAGE] * 4
    assert urls(transaction, url=PAGE, kind="response") == [PAGE] * 2
    assert urls(transaction, url="EXAMPLE.org:80/./page#top", kind="revisit") == [PAGE]
    assert urls(transaction, url="http://example.org/l*") == ["http://example.org/logo.png"]
    assert len(urls(transaction, url="*.org")) == len(urls(transaction, url="example.org", match="host")) == 7
    assert urls(transaction, url="example.org", match="exact") == []
    assert urls(transaction, mime="image/*", url="example.org/*") == ["http://example.org/logo.png"]
    assert urls(transaction, status="4xx") == urls(transaction, status="404") == ["http://example.org/gone"]
    assert len(urls(transaction, since="2026-12")) == 2
    assert len(urls(transaction, until="2026-11-21")) == 9
    assert urls(transaction, job="no-such") == []
    assert urls(transaction, url="urn:view:" + PAGE) == ["urn:view:" + PAGE]
    assert len(urls(transaction)) == len(kept)


def test_the_documents_of_jobs_come_after_the_captures_of_sites(
    transaction: Transaction, settings: Settings, kept: dict[str, Capture]
) -> None:
    note = "metadata://archive/crawl/setup/profile"
    with Captures(settings.database_url) as index:
        index.add([row(note, collection=NAME, filename="metadata.warc.gz")])

    newest_last, newest_first, after = urls(transaction), urls(transaction, order="newest"), None
    paged: list[str] = []
    while True:
        found = search.list_captures(transaction, NAME, after=after, limit=3)
        paged += [each.url for each in found.items]
        if (after := found.next) is None:
            break

    assert (len(newest_last), newest_last[-1], newest_first[-1]) == (len(kept) + 1, note, note)
    assert paged == newest_last


def test_a_list_is_read_page_by_page(transaction: Transaction, kept: dict[str, Capture]) -> None:
    seen, after = [], None
    while True:
        found = search.list_captures(transaction, NAME, after=after, limit=3)
        seen += [(each.file, each.offset) for each in found.items]
        if (after := found.next) is None:
            break
    assert len(seen) == len(set(seen)) == len(kept)


HOSTILE_SEARCHES = (
    {"url": "http://"},
    {"url": "javascript:alert(1)"},
    {"url": "a\0b"},
    {"url": "http://exa mple.org/"},
    {"url": "http://[::1"},
    {"url": "x" * 20_000},
    {"url": "\ud800"},
    {"match": "domain"},
    {"url": PAGE, "match": "regex"},
    {"since": "yesterday"},
    {"since": "2026-13"},
    {"since": "2026", "until": "2025"},
    {"until": "٢٠٢٦"},
    {"mime": "*/*/*"},
    {"status": "4x4"},
    {"status": "999999999999"},
    {"kind": "' OR 1=1"},
    {"order": "random"},
    {"limit": 0},
    {"limit": 10**9},
    {"after": "-1"},
    {"after": "1; DROP TABLE captures"},
    {"after": "9" * 18},
    {"after": "٣"},
)


@each_value("given", HOSTILE_SEARCHES)
def test_a_search_that_can_not_be_made_names_its_field(
    transaction: Transaction, kept: dict[str, Capture], given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        search.list_captures(transaction, NAME, **given)
    assert {each.field for each in refused.value.problems} <= {*given, "url", "since"}
    assert all(len(str(each)) < 500 and each.message for each in refused.value.problems)


def test_international_names_and_escapes_find_the_capture_that_was_kept(
    transaction: Transaction, settings: Settings
) -> None:
    add_rows(
        settings,
        [
            row("http://xn--blbr-roah.dk/%C3%A6ble?q=%2F%7E", offset=1),
            row("http://xn--blbr-roah.dk/a%0Ab", offset=2),
            row("http://example.org/100%25", offset=3),
        ],
    )
    assert urls(transaction, url="http://BLÅBÆR.dk/æble?q=%2f~") == ["http://xn--blbr-roah.dk/%C3%A6ble?q=%2F%7E"]
    assert len(urls(transaction, url="*.blåbær.dk")) == 2
    assert urls(transaction, url="http://example.org/100%25") == ["http://example.org/100%25"]
    assert calendar.show_calendar(transaction, NAME, "http://blåbær.dk/a%0ab").years[0].captures == 1


def test_the_calendar_has_the_days_of_a_year(transaction: Transaction, kept: dict[str, Capture]) -> None:
    found = calendar.show_calendar(transaction, NAME, PAGE)
    assert [(each.year, each.captures) for each in found.years] == [(2026, 2), (2027, 1)]
    assert (found.year, [(str(each.day), each.captures) for each in found.days]) == (2027, [("2027-01-01", 1)])
    earlier = calendar.show_calendar(transaction, NAME, PAGE, year=2026)
    assert [str(each.day) for each in earlier.days] == ["2026-11-21", "2026-12-31"]
    assert calendar.show_calendar(transaction, NAME, "http://example.org/never").years == []
    for url, year in (("no url at all", None), (PAGE, 0), (PAGE, 10_000)):
        with pytest.raises(InvalidInput):
            calendar.show_calendar(transaction, NAME, url, year=year)


def test_a_capture_shows_its_headers_and_what_the_ghost_kept(
    transaction: Transaction, kept: dict[str, Capture]
) -> None:
    found = shown(transaction, kept["page"])
    assert found.trouble is None
    assert found.warc_header.startswith("WARC/1.1\nWARC-Type: response\n")
    assert found.http_header.startswith("HTTP/1.1 200 OK\nContent-Type: text/html\n")
    assert {each.kind: each.is_same_visit for each in found.kept} == {
        "view": True,
        "fullPage": True,
        "text": True,
        "pageinfo": True,
    }
    assert (found.text, found.text_is_whole) == (f"Hello {HOSTILE}", True)
    assert found.title == f"Title {HOSTILE}"
    revisit = shown(transaction, kept["revisit"])
    assert revisit.original is not None
    assert (revisit.original.file, revisit.original.offset) == (kept["later"].filename, kept["later"].offset)
    assert shown(transaction, kept["text"]).text == f"Hello {HOSTILE}"
    assert shown(transaction, kept["image"]).kept == []


def test_the_records_of_the_same_visit_come_before_nearer_ones(transaction: Transaction, settings: Settings) -> None:
    shelf = Shelf(settings)
    page = shelf.page()
    shelf.kept("urn:text:", b"another visit", "text/plain", date=DATE + SECOND, page_id="page-2")
    shelf.kept("urn:text:", b"this visit", "text/plain", date=DATE + 60 * SECOND)
    other = shelf.page("/alone")
    shelf.kept("urn:text:", b"later", "text/plain", url="http://example.org/alone", page_id="page-9")
    shelf.close()
    assert shown(transaction, page).text == "this visit"
    found = shown(transaction, other)
    assert (found.text, found.kept[0].is_same_visit) == ("later", False)


def test_long_texts_and_control_characters_are_bounded(transaction: Transaction, settings: Settings) -> None:
    shelf = Shelf(settings)
    page = shelf.page()
    shelf.kept("urn:text:", b"\x1b[31m\0\xff" + "\u202e".encode() + b"x" * 300_000, "text/plain")
    shelf.kept("urn:pageinfo:", b"[" * 50_000, "application/json")
    shelf.close()
    found = shown(transaction, page)
    assert found.text is not None
    assert found.text.startswith("\ufffd[31m\ufffd\ufffd\ufffdx")
    assert (len(found.text) <= capture.MOST_TEXT, found.text_is_whole, found.title) == (True, False, "")


def test_a_picture_is_drawn_anew(transaction: Transaction, settings: Settings, kept: dict[str, Capture]) -> None:
    view = kept["view"]
    found = capture.show_picture(transaction, NAME, view.filename, view.offset)
    with Image.open(io.BytesIO(found.data)) as picture:
        assert (picture.format, picture.size, found.media_type) == ("JPEG", (64, 48), "image/jpeg")


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b"<!doctype html><script>alert(1)</script>", "no PNG, JPEG or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "no PNG, JPEG or WebP"),
        (b"GIF89a" + b"\0" * 40, "no PNG, JPEG or WebP"),
        (b"", "no PNG, JPEG or WebP"),
        (b"\x89PNG\r\n\x1a\n<script>alert(1)</script>", "damaged"),
        (png()[:-40], "damaged"),
        (b"\xff\xd8\xff" + b"\xaa" * 500, "damaged"),
    ],
)
def test_a_record_that_is_no_picture_is_not_served(
    transaction: Transaction, settings: Settings, block: bytes, why: str
) -> None:
    shelf = Shelf(settings)
    kept = shelf.kept("urn:view:", block, "image/png")
    shelf.close()
    with pytest.raises(IllegalState, match=why):
        capture.show_picture(transaction, NAME, kept.filename, kept.offset)


def test_what_hides_behind_a_picture_does_not_leave_the_archive(transaction: Transaction, settings: Settings) -> None:
    shelf = Shelf(settings)
    kept = shelf.kept("urn:view:", png() + b"<script>alert(1)</script>", "text/html")
    shelf.close()
    found = capture.show_picture(transaction, NAME, kept.filename, kept.offset)
    assert found.media_type == "image/jpeg"
    assert b"script" not in found.data


def test_a_picture_of_too_many_pixels_or_bytes_is_not_drawn(
    transaction: Transaction, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, picture = Shelf(settings), io.BytesIO()
    Image.new("1", (9_000, 9_000)).save(picture, "PNG")
    large = shelf.kept("urn:view:", picture.getvalue())
    shelf.close()
    with pytest.raises(IllegalState, match="too many to show"):
        capture.show_picture(transaction, NAME, large.filename, large.offset)
    monkeypatch.setattr(pictures, "MOST_BYTES", 1_000)
    with pytest.raises(IllegalState, match="more than 1,000 bytes"):
        capture.show_picture(transaction, NAME, large.filename, large.offset)


def test_only_pictures_that_a_ghost_kept_are_served(transaction: Transaction, settings: Settings) -> None:
    shelf = Shelf(settings)
    others = [
        shelf.page("/logo.png", mime="image/png"),
        shelf.kept("", png()),
        shelf.kept("urn:dom:", png()),
        shelf.kept("urn:view:", png(), kind="metadata"),
    ]
    shelf.close()
    for each in others:
        with pytest.raises(NotFound):
            capture.show_picture(transaction, NAME, each.filename, each.offset)


def test_a_missing_or_damaged_file_is_named(
    transaction: Transaction, settings: Settings, kept: dict[str, Capture]
) -> None:
    page = kept["page"]
    path = settings.archive_dir(NAME) / page.filename
    whole = path.read_bytes()
    path.write_bytes(whole[: page.offset] + b"\0" * (len(whole) - page.offset))
    found = shown(transaction, page)
    assert found.trouble is not None
    assert page.filename in found.trouble
    assert "damaged" in found.trouble
    path.write_bytes(whole[: page.offset + 40])
    assert "damaged" in (shown(transaction, page).trouble or "")
    path.write_bytes(b"")
    assert page.filename in (shown(transaction, page).trouble or "")
    path.unlink()
    missing = shown(transaction, page)
    assert missing.trouble == f"the file of this capture is missing: {page.filename}"
    assert str(settings.home) not in missing.trouble
    with pytest.raises(IllegalState, match="missing"):
        capture.show_picture(transaction, NAME, kept["view"].filename, kept["view"].offset)


def test_a_record_that_is_another_one_than_the_index_names_is_not_shown(
    transaction: Transaction, settings: Settings, kept: dict[str, Capture]
) -> None:
    with closing(sqlite3.connect(settings.home / "ghostfleet.db")) as index, index:
        index.execute("UPDATE captures SET record_id = 'another' WHERE offset = ?", (kept["page"].offset,))
    index.close()
    found = shown(transaction, kept["page"])
    assert (found.warc_header, found.http_header) == ("", "")
    assert "not the one that the index names" in (found.trouble or "")


@each_value(
    "file",
    [
        *("../../control.token", "..", ".", "", "/etc/passwd", "a/../../x.warc.gz", ".hidden.warc.gz", "a\\..\\b"),
        *("sub/.x/y.warc.gz", "a\0.warc.gz", "x" * 5_000, "no-such.warc.gz", "run.json", "a//b.warc.gz", "C:x.warc.gz"),
    ],
)
def test_no_name_of_a_file_leads_out_of_the_archive(
    transaction: Transaction, kept: dict[str, Capture], file: str
) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        files.file_for_download(transaction, NAME, file)
    with pytest.raises((InvalidInput, NotFound)):
        capture.show_capture(transaction, NAME, file, 0)


def test_files_are_listed_in_pages_and_downloaded_by_operators(
    sqlite_database: Database, settings: Settings, kept: dict[str, Capture]
) -> None:
    name = kept["page"].filename
    open_one = Shelf(settings)
    growing = open_one.page("/growing").filename
    open_one.writer.sync()
    folder = settings.archive_dir(NAME)
    (folder / "2026").mkdir()
    (folder / "2026" / "part.warc.gz").write_bytes(b"x")
    (folder / "notes.txt").write_bytes(b"x")
    (folder / ".import-1.warc.gz").write_bytes(b"x")
    reader = Actor("anna", Role.READER, Door.WEB)
    with sqlite_database.reading(COMMAND_LINE) as opened, sqlite_database.reading(reader) as read:
        found = files.list_files(opened, NAME)
        assert {each.name: (each.is_open, each.captures) for each in found.items} == {
            "2026/part.warc.gz": (False, 0),
            name: (False, len(kept)),
            growing: (True, 0),
        }
        first = files.list_files(opened, NAME, limit=1)
        assert (first.next, first.total) == ("2026/part.warc.gz", 3)
        assert len(files.list_files(opened, NAME, after=first.next).items) == 2
        assert files.file_for_download(opened, NAME, name) == folder / name
        assert files.file_for_download(opened, NAME, "2026/part.warc.gz").read_bytes() == b"x"
        with pytest.raises(IllegalState, match="still being written"):
            files.file_for_download(opened, NAME, growing)
        with pytest.raises(Forbidden):
            files.file_for_download(read, NAME, name)
    open_one.writer.close()


def test_a_record_in_the_storage_is_read_from_there(
    sqlite_database: Database, settings: Settings, tmp_path: Path, kept: dict[str, Capture]
) -> None:
    place = settings.archive_dir(NAME) / kept["page"].filename
    far = tmp_path / "far" / NAME / "archive"
    far.mkdir(parents=True)
    place.rename(far / place.name)
    values = {"home": str(settings.home), "storage.url": f"file://{tmp_path / 'far'}"}
    with sqlite_database.reading(COMMAND_LINE) as opened:
        opened.settings = load(values, environment={})
        assert shown(opened, kept["page"]).http_header.startswith("HTTP/1.1 200 OK")
        place = far / place.name
        place.unlink()
        assert "missing" in (shown(opened, kept["page"]).trouble or "")


@pytest.mark.parametrize(
    "url", ["http://example.org/'; rm -rf ~ #", "http://example.org/$(id)`id`", "http://example.org/a b\n--datetime 1"]
)
def test_commands_for_a_shell_have_one_url(url: str) -> None:
    hint = replay_hint("news", url, "20261121081500")
    assert hint is not None
    words = shlex.split(hint.open_command)
    assert (words[1:3], words[4:]) == (["open", "news"], ["--datetime", "20261121081500"])
    assert "\n" not in hint.open_command


def test_what_is_not_of_the_web_is_not_replayed() -> None:
    assert replay_hint("news", "urn:view:http://example.org/", "20261121081500") is None
    assert replay_hint("news", "javascript:alert(1)", "20261121081500") is None


def test_many_collections_come_in_pages(transaction: Transaction, settings: Settings) -> None:
    add_rows(settings, (row(collection=f"c{number:03}", offset=number) for number in range(150)))
    (settings.home / "collections" / "c0000").mkdir(parents=True)
    (settings.home / "collections" / ".odd").mkdir()
    first = listing.list_collections(transaction, limit=100)
    rest = listing.list_collections(transaction, after=first.next, limit=100)
    names = [each.name for each in (*first.items, *rest.items)]
    assert names == sorted({*(f"c{number:03}" for number in range(150)), "c0000"})
    assert rest.next is None
    with pytest.raises(UseCaseError):
        listing.list_collections(transaction, after="../x")


def test_a_deleted_collection_is_not_listed_though_it_was_counted(transaction: Transaction, settings: Settings) -> None:
    add_rows(settings, [row(collection="gone", offset=1), row(offset=2)])
    assert len(listing.list_collections(transaction).items) == 2
    with closing(sqlite3.connect(settings.home / "ghostfleet.db")) as index, index:
        index.execute("DELETE FROM captures WHERE collection = 'gone'")
    index.close()
    assert [each.name for each in listing.list_collections(transaction).items] == [NAME]
    with pytest.raises(NotFound):
        listing.show_collection(transaction, "gone")
