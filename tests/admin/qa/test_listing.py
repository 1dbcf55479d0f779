"""The pages of a QA session are found in the capture index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.archive.capture_rows import capture

from admin.collections.browsing.index import OpenIndex
from admin.models.errors import InvalidInput
from admin.models.qa_tables import PageChoice
from admin.qa.judging.captured_page import read_captured_page
from admin.qa.listing import PageTarget, SampleSize, choose, list_pages, newest_record, sample_size
from archive.capture import Capture
from archive.settings.load import Settings
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.finder import Finder
from dedupdb.captures.schema import open_engine

NEWS = PageTarget("news")


@pytest.fixture
def index(settings: Settings) -> Iterator[tuple[Captures, OpenIndex]]:
    settings.home.mkdir(parents=True, exist_ok=True)
    engine = open_engine(settings.database_url)
    yield Captures(settings.database_url), OpenIndex(Finder(engine), engine)
    engine.dispose()


def rows() -> list[Capture]:
    """A page of a ghost with a frame, captured twice, a page of the plain crawler, and other things."""
    wanted = [
        {"url": "http://a.test/", "page_id": "one", "date": "20260101000000"},
        {"url": "http://a.test/frame", "page_id": "one"},
        {"url": "urn:pageinfo:http://a.test/", "page_id": "one", "kind": "resource", "date": "20260101000001"},
        {"url": "http://a.test/", "page_id": "two", "date": "20260201000000", "kind": "revisit"},
        {"url": "urn:pageinfo:http://a.test/", "page_id": "two", "kind": "resource", "date": "20260201000001"},
        {"url": "http://a.test/plain/deep/page?x=1", "page_id": "three", "job": "run", "payload_length": 900},
        {"url": "http://a.test/picture.png", "page_id": "three", "mime": "image/png"},
        {"url": "http://a.test/gone", "page_id": "four", "status": 404},
    ]
    return [capture(**each, offset=number * 1000) for number, each in enumerate(wanted)]  # type: ignore[arg-type]


def found(index: OpenIndex, target: PageTarget = NEWS, **more: bool) -> dict[str, str]:
    pages, _ = list_pages(index, target, 0, lambda: False, **more)
    return {page.url: page.page_id for page in pages}


def test_a_session_has_the_newest_capture_of_each_page(index: tuple[Captures, OpenIndex]) -> None:
    store, opened = index
    store.add(rows())
    assert found(opened) == {"http://a.test/": "two", "http://a.test/plain/deep/page?x=1": "three"}
    assert found(opened, PageTarget("news", job="run")) == {"http://a.test/plain/deep/page?x=1": "three"}
    assert found(opened, PageTarget("news", urls=frozenset(["http://a.test/"]))) == {"http://a.test/": "two"}
    assert found(opened, PageTarget("other")) == {}


def test_a_frame_is_no_page_when_only_the_documents_have_the_id_of_the_visit(index: tuple[Captures, OpenIndex]) -> None:
    store, opened = index
    wanted = [
        {"url": "http://a.test/", "page_id": "one"},
        {"url": "http://a.test/frame", "page_id": "one"},
        {"url": "urn:pageinfo:http://a.test/", "page_id": None, "kind": "resource"},
    ]
    store.add([capture(**each, offset=number * 1000) for number, each in enumerate(wanted)])  # type: ignore[arg-type]
    assert set(found(opened)) == {"http://a.test/"}


def test_a_visit_has_its_records_however_many_newer_captures_there_are(index: tuple[Captures, OpenIndex]) -> None:
    store, opened = index
    date = "20260101000000"
    visits = [capture("http://a.test/", date, page_id="old")]
    visits += [capture("http://a.test/", f"202602010000{at:02}", page_id=f"{at}", offset=at + 1) for at in range(60)]
    store.add(visits)
    found = newest_record(opened, "news", "http://a.test/", "old")
    assert found is not None
    assert found.date == visits[0].date
    newest = newest_record(opened, "news", "http://a.test/", "")
    assert newest is not None
    assert newest.page_id == "59"


@pytest.mark.parametrize("is_rendered", [True, False])
def test_a_page_of_a_ghost_without_its_page_information_is_named(
    index: tuple[Captures, OpenIndex], settings: Settings, is_rendered: bool
) -> None:
    store, opened = index
    store.add(rows())
    page = read_captured_page(settings, opened, "news", "http://a.test/", "two", 1, is_rendered=is_rendered)
    why = "the page information of the capture is missing or can't be read"
    assert (page.note, page.troubles) == ({}, (why,) if is_rendered else ())


def test_a_sample_that_is_stopped_weighs_no_further_page(index: tuple[Captures, OpenIndex], settings: Settings) -> None:
    store, opened = index
    store.add(rows())
    pages, _ = list_pages(opened, NEWS, 0, lambda: False)
    chosen = choose(settings, opened, NEWS, pages, SampleSize(pages=2), PageChoice.SUSPICION, lambda: True)
    assert (len(pages), chosen) == (2, [])


def test_a_growing_crawl_has_pages_of_ghosts_alone_and_goes_on_behind_the_mark(
    index: tuple[Captures, OpenIndex],
) -> None:
    store, opened = index
    store.add(rows()[:3])
    pages, mark = list_pages(opened, NEWS, 0, lambda: False, is_growing=True)
    assert [page.url for page in pages] == ["http://a.test/"]
    store.add(rows()[3:])
    pages, _ = list_pages(opened, NEWS, mark, lambda: False, is_growing=True)
    assert [page.page_id for page in pages] == ["two"]


def test_samples(settings: Settings, index: tuple[Captures, OpenIndex]) -> None:
    store, opened = index
    store.add(rows())
    pages, _ = list_pages(opened, NEWS, 0, lambda: False)

    def first(choice: PageChoice) -> str:
        return choose(settings, opened, NEWS, pages, SampleSize(pages=1), choice)[0].url

    assert first(PageChoice.SIZE) == "http://a.test/plain/deep/page?x=1"
    assert first(PageChoice.IMPORTANCE) == "http://a.test/"
    assert first(PageChoice.SUSPICION) == "http://a.test/", "its page information can't be read"
    assert first(PageChoice.SPREAD) == first(PageChoice.SPREAD)
    assert len(choose(settings, opened, NEWS, pages, None, PageChoice.SPREAD)) == 2


@pytest.mark.parametrize(
    ("text", "total", "pages"), [("5", 100, 5), ("5", 3, 3), ("10%", 100, 10), ("0.5", 3, 2), ("1 %", 5, 1)]
)
def test_sizes_of_samples(text: str, total: int, pages: int) -> None:
    size = sample_size(text)
    assert size is not None
    assert size.of(total) == pages


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-3", "many", "1e9", "\u0663"])
def test_what_is_no_sample_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="sample"):
        sample_size(text)
