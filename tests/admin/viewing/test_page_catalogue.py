"""admin/viewing/page_catalogue.py: titles, thumbnails and texts of pages, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import delete, insert, select, text
from support.archive.browsed_collection import DAY, NAME, SECOND, Shelf, add_rows, png
from support.archive.exchanges import DATE
from support.each_value import each_value

from admin.collections.browsing.index import index_if_any
from admin.viewing import page_catalogue
from admin.viewing.page_catalogue import END_MARK, START_MARK, PageCatalogue, VisitedPage
from archive.access_rules import Access
from archive.capture import Capture
from archive.settings.load import Settings
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CAPTURES, open_engine, writing
from dedupdb.index.sidecars import source_of

pytestmark = pytest.mark.both_databases

FERN = "http://example.org/fern"
OAK = "http://example.org/oak"
SHORT = "http://example.org/short"


@pytest.fixture
def chosen(settings: Settings, database_url: str) -> Settings:
    """Settings whose capture index is on SQLite, or on PostgreSQL."""
    if database_url.startswith("sqlite"):
        return settings
    return settings.model_copy(update={"database": settings.database.model_copy(update={"url": database_url})})


@pytest.fixture
def catalogue(chosen: Settings) -> Iterator[PageCatalogue]:
    catalogue = PageCatalogue(chosen)
    yield catalogue
    catalogue.close()


def everything(page: VisitedPage) -> Access:
    return Access.ALLOW


def visit(shelf: Shelf, url: str, title: str, text: str, *, date: int = DATE, page_id: str = "") -> None:
    """Keep what a ghost keeps of a page."""
    place = {"url": url, "date": date, "page_id": page_id or f"{url}-{date}"}
    shelf.kept("urn:thumbnail:", png(), "image/png", **place)  # type: ignore[arg-type]
    shelf.kept("urn:text:", text.encode(), "text/plain; charset=utf-8", **place)  # type: ignore[arg-type]
    shelf.kept("urn:pageinfo:", json.dumps({"title": title}).encode(), "application/json", **place)  # type: ignore[arg-type]


def refresh(catalogue: PageCatalogue, settings: Settings, seconds: float = 60) -> bool:
    with index_if_any(settings) as index:
        assert index is not None
        return catalogue.refresh(index, seconds)


def fill(settings: Settings, name: str = NAME) -> None:
    shelf = Shelf(settings, name)
    shelf.page("/fern")
    visit(shelf, FERN, "The hill fern", "Ferns unroll in April. Un café près de l’étang, Größe 3.")
    visit(shelf, FERN, "The hill fern, later", "Nothing about plants.", date=DATE + DAY)
    visit(shelf, OAK, "An oak", "An old oak stands by the pond; ferns grow below.")
    shelf.close()


@pytest.fixture
def filled(catalogue: PageCatalogue, chosen: Settings) -> PageCatalogue:
    """The catalogue with three visits of two pages."""
    fill(chosen)
    refresh(catalogue, chosen)
    return catalogue


def urls(catalogue: PageCatalogue, words: str, only: str | None = None) -> list[str]:
    return [each.url for each in catalogue.search(words, everything, only).pages]


def test_pages_have_titles_and_pictures_of_their_newest_visit(catalogue: PageCatalogue, chosen: Settings) -> None:
    fill(chosen)
    assert refresh(catalogue, chosen)
    listed = catalogue.pages(NAME, everything)
    assert listed.next is None
    pages = listed.pages
    assert [(each.url, each.title) for each in pages] == [(FERN, "The hill fern, later"), (OAK, "An oak")]
    assert pages[0].date == DATE + DAY
    assert all(each.picture_file and each.picture_offset for each in pages)
    first = catalogue.pages(NAME, everything, limit=1)
    assert [each.url for each in first.pages] == [FERN]
    rest = catalogue.pages(NAME, everything, after=first.next, limit=1)
    assert ([each.url for each in rest.pages], rest.next) == ([OAK], None)
    assert catalogue.pages("none", everything).pages == []


@each_value(
    ("words", "found"),
    [
        ("ferns pond", {OAK}),
        ("fern", {FERN, OAK}),
        ("unro", {FERN}),
        ("FERN later", {FERN}),
        ('"old oak"', {OAK}),
        ('"oak old"', set()),
        ("größe", {FERN}),
        ("example oak", {OAK}),
        ("nowhere", set()),
        ("", set()),
        ("-", set()),
        ("a OR", set()),
        ("fern*)", {FERN, OAK}),
        ('NEAR("x', set()),
        ("title: oak", set()),
        ("\0 ' ; -- & | ! :* <->", set()),
        ("oak " * 500, {OAK}),
    ],
)
def test_words_find_pages(filled: PageCatalogue, words: str, found: set[str]) -> None:
    assert set(urls(filled, words)) == found


def test_a_result_shows_where_the_words_stand(catalogue: PageCatalogue, chosen: Settings) -> None:
    fill(chosen)
    refresh(catalogue, chosen)
    (found,) = catalogue.search("pond", everything).pages
    assert f"{START_MARK}pond{END_MARK}" in found.snippet
    assert urls(catalogue, "oak") == [OAK]


def test_later_records_are_read_and_earlier_ones_are_not_read_again(catalogue: PageCatalogue, chosen: Settings) -> None:
    fill(chosen)
    refresh(catalogue, chosen)
    shelf = Shelf(chosen)
    visit(shelf, "http://example.org/new", "New", "brandnew words")
    shelf.close()
    assert urls(catalogue, "brandnew") == []
    refresh(catalogue, chosen)
    assert urls(catalogue, "brandnew") == ["http://example.org/new"]
    again = PageCatalogue(chosen)
    try:
        for each in chosen.archive_dir(NAME).glob("*.warc.gz"):
            each.unlink()
        assert refresh(again, chosen)
        assert urls(again, "fern") == urls(catalogue, "fern")
        assert len(again.pages(NAME, everything).pages) == 3
    finally:
        again.close()


def test_rows_that_are_committed_behind_later_ones_are_read(
    catalogue: PageCatalogue, chosen: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_catalogue, "_SECOND_LOOK_SECONDS", 0)
    fill(chosen)
    shelf = Shelf(chosen)
    visit(shelf, "http://example.org/new", "New", "brandnew words")
    shelf.close()
    early = CAPTURES.c.url.like("%/oak")
    engine = open_engine(chosen.database_url)
    with writing(engine) as connection:
        rows = [dict(row._mapping) for row in connection.execute(select(CAPTURES).where(early))]
        connection.execute(delete(CAPTURES).where(early))
    assert refresh(catalogue, chosen)
    assert (urls(catalogue, "oak"), urls(catalogue, "brandnew")) == ([], ["http://example.org/new"])

    with writing(engine) as connection:
        connection.execute(insert(CAPTURES), rows)
    engine.dispose()

    assert refresh(catalogue, chosen)
    assert urls(catalogue, "oak") == [OAK]


def test_reading_stops_when_its_time_is_up_and_goes_on_later(catalogue: PageCatalogue, chosen: Settings) -> None:
    shelf = Shelf(chosen)
    for number in range(150):
        shelf.kept("urn:text:", b"many words", "text/plain", url=f"http://example.org/{number}", page_id=f"{number}")
    shelf.close()
    assert not refresh(catalogue, chosen, 0)
    assert len(catalogue.pages(NAME, everything, limit=500).pages) == 100
    assert refresh(catalogue, chosen, 60)
    assert len(catalogue.pages(NAME, everything, limit=500).pages) == 150


def note_of_redirect(shelf: Shelf) -> Capture:
    """Keep the note of a visit that a redirect led from SHORT to OAK."""
    notes = json.dumps({"title": "Short", "url": SHORT, "finalUrl": OAK}).encode()
    return shelf.kept("urn:pageinfo:", notes, "application/json", url=SHORT, page_id="short")


def final_urls(catalogue: PageCatalogue) -> dict[str, str | None]:
    return {each.url: each.final_url for each in catalogue.pages(NAME, everything, limit=500).pages}


def test_records_that_cant_be_read_at_the_moment_are_read_again(
    catalogue: PageCatalogue, chosen: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_catalogue, "_SECOND_LOOK_SECONDS", 0)
    shelf = Shelf(chosen)
    shelf.kept("urn:text:", b"An oak.", "text/plain", url=SHORT, page_id="short")
    note = note_of_redirect(shelf)
    shelf.close()
    path = chosen.archive_dir(NAME) / note.filename
    away = path.with_name("away")
    path.rename(away)
    path.symlink_to(path.name)  # opening a symbolic link to itself is an OSError
    assert refresh(catalogue, chosen)
    assert final_urls(catalogue) == {SHORT: None}
    away.replace(path)
    assert refresh(catalogue, chosen)
    assert final_urls(catalogue) == {SHORT: OAK}
    assert urls(catalogue, "oak") == [SHORT]


def test_a_damaged_note_is_read_once_and_the_end_of_its_visit_stays_unknown(
    catalogue: PageCatalogue, chosen: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(page_catalogue, "_SECOND_LOOK_SECONDS", 0)
    shelf = Shelf(chosen)
    visit(shelf, OAK, "An oak", "An old oak stands by the pond.")
    note = note_of_redirect(shelf)
    shelf.close()
    with (chosen.archive_dir(NAME) / note.filename).open("r+b") as file:
        file.seek(note.offset + 200)
        file.write(b"x" * 10)
    for _ in range(3):
        assert refresh(catalogue, chosen)
    assert final_urls(catalogue) == {OAK: "", SHORT: None}
    assert caplog.text.count("the catalogue of pages lacks") == 1


def test_the_note_about_a_visit_is_read_before_its_other_records(catalogue: PageCatalogue, chosen: Settings) -> None:
    """A long reading commits between the text of the visit and the note, which is the last record."""
    shelf = Shelf(chosen)
    kept = [shelf.kept("urn:text:", b"An oak.", "text/plain", url=SHORT, page_id="short")]
    for number in range(150):
        url = f"http://example.org/{number}"
        kept.append(shelf.kept("urn:text:", b"many words", "text/plain", url=url, page_id=f"{number}"))
    kept.append(note_of_redirect(shelf))
    shelf.writer.close()
    add_rows(chosen, kept)
    assert not refresh(catalogue, chosen, 0)
    assert final_urls(catalogue)[SHORT] == OAK
    assert refresh(catalogue, chosen)
    assert len(final_urls(catalogue)) == 151


@pytest.mark.parametrize("earlier_column", ["", "final_url TEXT NOT NULL DEFAULT ''"])
def test_a_catalogue_of_an_earlier_release_is_made_again(chosen: Settings, earlier_column: str) -> None:
    fill(chosen)
    shelf = Shelf(chosen)
    note_of_redirect(shelf)
    shelf.close()
    earlier = PageCatalogue(chosen)
    refresh(earlier, chosen)
    with earlier._writing() as connection:
        connection.execute(text("ALTER TABLE viewer_pages DROP COLUMN final_url"))
        if earlier_column:
            connection.execute(text(f"ALTER TABLE viewer_pages ADD COLUMN {earlier_column}"))
    earlier.close()
    catalogue = PageCatalogue(chosen)
    try:
        assert refresh(catalogue, chosen)
        assert final_urls(catalogue) == {FERN: "", OAK: "", SHORT: OAK}
        assert urls(catalogue, "pond") == [OAK]
    finally:
        catalogue.close()


def test_a_collection_that_is_gone_leaves_no_page(catalogue: PageCatalogue, chosen: Settings) -> None:
    fill(chosen)
    fill(chosen, "other")
    refresh(catalogue, chosen)
    assert len(urls(catalogue, "oak")) == 2
    assert urls(catalogue, "oak", "other") == [OAK]
    with Captures(chosen.database_url) as index:
        index.drop(NAME, "no sources")
    refresh(catalogue, chosen)
    assert catalogue.pages(NAME, everything).pages == []
    assert [each.collection for each in catalogue.search("oak", everything).pages] == ["other"]


def test_a_removed_file_leaves_no_page(
    catalogue: PageCatalogue, chosen: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page with another record in a file that stays keeps what that one says."""
    monkeypatch.setattr(page_catalogue, "_SECOND_LOOK_SECONDS", 0)
    monkeypatch.setattr(page_catalogue, "_FILES_LOOKED_UP", 2)
    fill(chosen, "another")
    first, second, third = Shelf(chosen), Shelf(chosen), Shelf(chosen)
    visit(first, FERN, "The hill fern", "Ferns unroll in April.")
    removed = first.kept("urn:text:", b"Rushes stand in the pond.", "text/plain", url=OAK, page_id="shared")
    second.kept("urn:pageinfo:", b'{"title": "An oak"}', "application/json", url=OAK, page_id="shared")
    visit(third, "http://example.org/ash", "An ash", "Keys of ash.")
    for shelf in (first, second, third):
        shelf.close()
    assert refresh(catalogue, chosen)
    assert urls(catalogue, "oak rushes", NAME) == [OAK]

    with Captures(chosen.database_url) as index:
        index.drop_file(NAME, removed.filename, source_of(NAME, removed.filename))
    for _ in range(3):
        assert refresh(catalogue, chosen)

    assert [urls(catalogue, words, NAME) for words in ("fern", "rushes", "oak", "keys")] == [
        *([], [], [OAK], ["http://example.org/ash"])
    ]
    assert {each.title for each in catalogue.pages(NAME, everything).pages} == {"An ash", "An oak"}
    assert set(urls(catalogue, "fern", "another")) == {FERN, OAK}


def test_hostile_and_damaged_records_are_no_failure(catalogue: PageCatalogue, chosen: Settings) -> None:
    shelf = Shelf(chosen)
    shelf.kept("urn:text:", b"nul \0 and \xff bytes \x02mark\x03", "text/plain", page_id="a")
    shelf.kept("urn:pageinfo:", b'{"title": ["no text"]}', "application/json", page_id="a")
    shelf.kept("urn:pageinfo:", b"[" * 100_000, "application/json", page_id="b", date=DATE + 2 * SECOND)
    shelf.kept("urn:text:", b"w" * 3_000_000, "text/plain", page_id="c", date=DATE + 3 * SECOND)
    shelf.kept("urn:text:", b" ".join(b"%x" % n for n in range(300_000)), "text/plain", page_id="d", date=DATE)
    shelf.kept("urn:text:", b"", "text/plain", page_id="e", url="")
    shelf.close()
    assert refresh(catalogue, chosen)
    assert len(catalogue.search("bytes", everything).pages) == 1
    (path,) = chosen.archive_dir(NAME).glob("*.warc.gz")
    path.write_bytes(path.read_bytes()[:500])
    other = Shelf(chosen)
    visit(other, OAK, "An oak", "still")
    other.close()
    assert refresh(catalogue, chosen)
    assert urls(catalogue, "still") == [OAK]


def test_an_excluded_visit_gives_way_to_the_one_before(catalogue: PageCatalogue, chosen: Settings) -> None:
    fill(chosen)
    refresh(catalogue, chosen)

    def older(page: VisitedPage) -> Access:
        return Access.EXCLUDE if page.date > DATE + SECOND else Access.ALLOW

    pages = catalogue.pages(NAME, older).pages
    assert [(each.url, each.title) for each in pages] == [(FERN, "The hill fern"), (OAK, "An oak")]
    assert catalogue.search("nothing about", older).pages == []
    assert [each.title for each in catalogue.search("hill", older).pages] == ["The hill fern"]


def test_a_blocked_page_is_listed_by_its_address_and_not_found_by_words(
    catalogue: PageCatalogue, chosen: Settings
) -> None:
    fill(chosen)
    refresh(catalogue, chosen)

    def closed(page: VisitedPage) -> Access:
        return Access.BLOCK if page.url == OAK else Access.ALLOW_IGNORE_EMBARGO

    fern, oak = catalogue.pages(NAME, closed).pages
    assert (fern.title, oak.url, oak.title) == ("The hill fern, later", OAK, "")
    assert oak.picture_file is oak.picture_offset is None
    assert [each.url for each in catalogue.search("ferns", closed).pages] == [FERN]


def test_a_list_looks_at_a_bounded_number_of_visits_and_goes_on_behind_them(
    catalogue: PageCatalogue, chosen: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(chosen)
    for number in range(30):
        url = f"http://example.org/{number // 3:02}"
        shelf.kept("urn:text:", b"many words", "text/plain", url=url, page_id=f"{number}", date=DATE + number * SECOND)
    shelf.close()
    refresh(catalogue, chosen)
    monkeypatch.setattr(page_catalogue, "MOST_LOOKED_AT", 8)
    seen: list[str] = []

    def last_but_oldest(page: VisitedPage) -> Access:
        seen.append(page.url)
        is_oldest = (page.date - DATE) // SECOND % 3 == 0
        return Access.ALLOW if is_oldest and page.url >= "http://example.org/05" else Access.EXCLUDE

    found, after = [], None
    for _ in range(20):
        part = catalogue.pages(NAME, last_but_oldest, after=after, limit=2)
        assert len(seen) <= 8
        assert len(part.pages) <= 2
        seen.clear()
        found += [each.url for each in part.pages]
        after = part.next
        if after is None:
            break
    assert after is None
    assert found == [f"http://example.org/{number:02}" for number in range(5, 10)]


def listed(settings: Settings, *pages: dict[str, object], name: str = "imported.wacz-1.jsonl") -> None:
    """Keep a list of pages as the import of a package does."""
    folder = settings.collection(NAME) / "pages"
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"ts": "2026-11-21T08:15:00Z", "id": str(each["url"]), **each}) for each in pages]
    (folder / name).write_text("\n".join(["no page", *lines, ""]))


def test_the_pages_of_imported_packages_have_their_titles_and_texts(
    catalogue: PageCatalogue, chosen: Settings, database_url: str
) -> None:
    fill(chosen)
    ash = "http://example.org/ash"
    same_visit = {"url": OAK, "id": f"{OAK}-{DATE}", "title": "Another title", "text": "words of the list"}
    listed(chosen, {"url": ash, "title": "An ash\0", "text": "keys of ash"}, same_visit)
    assert refresh(catalogue, chosen)
    titles = {each.url: each.title for each in catalogue.pages(NAME, everything).pages}
    assert titles == {ash: "An ash ", FERN: "The hill fern, later", OAK: "An oak"}
    assert (urls(catalogue, "keys"), urls(catalogue, "words"), urls(catalogue, "pond")) == ([ash], [], [OAK])
    assert catalogue.count(NAME) == 4
    listed(chosen, {"url": f"{ash}/2", "title": "A second ash"}, name="later.wacz-2.jsonl")
    again = PageCatalogue(chosen)
    try:
        assert refresh(again, chosen)
        assert again.count(NAME) == 5
    finally:
        again.close()


def test_a_long_list_is_read_in_parts_that_take_a_short_time(catalogue: PageCatalogue, chosen: Settings) -> None:
    fill(chosen)
    assert refresh(catalogue, chosen)
    listed(chosen, *({"url": f"http://example.org/{number}"} for number in range(450)))
    rounds = 0
    while not refresh(catalogue, chosen, 0):
        rounds += 1
    assert rounds >= 4
    assert catalogue.count(NAME) == 453


def test_a_search_goes_on_behind_its_first_pages(catalogue: PageCatalogue, chosen: Settings) -> None:
    shelf = Shelf(chosen)
    for number in range(7):
        visit(shelf, f"http://example.org/{number}", f"Lichen {number}", "Lichens grow on stones.")
    shelf.close()
    assert refresh(catalogue, chosen)
    seen: list[str] = []
    place: int | None = 0
    while place is not None:
        found = catalogue.search("lichen", everything, start=place, limit=3)
        seen += [each.url for each in found.pages]
        assert all("Lichens" in each.snippet for each in found.pages)
        place = found.next
    assert sorted(seen) == [f"http://example.org/{number}" for number in range(7)]
    assert catalogue.search("lichen", everything, start=7, limit=3).pages == []
