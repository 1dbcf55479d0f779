"""QA offers the URLs that readers missed for repair, until the collection has them."""

from __future__ import annotations

import pytest
from support.archive.browsed_collection import NAME, PAGE, Shelf

from admin.collections.reader_misses import MissCollector
from admin.models.database import Database
from admin.models.errors import IllegalState, InvalidInput
from admin.models.transaction import COMMAND_LINE
from admin.qa.reviewing import missed_urls
from admin.qa.reviewing.missed_urls import MissRepair
from archive.settings.load import Settings

LOST, DEEP = "http://example.org/lost.png", "http://example.org/deep/page"


@pytest.fixture
def collected(settings: Settings) -> Settings:
    shelf = Shelf(settings)
    shelf.page()
    shelf.close()
    view = settings.view.model_copy(update={"collect_misses": True})
    collector = MissCollector(settings.model_copy(update={"view": view}))
    for url, page, times in ((LOST, PAGE, 3), (DEEP, "", 2), (PAGE, "", 9)):
        for _ in range(times):
            collector.note(NAME, url, page)
    collector.flush()
    return settings


def test_misses_are_listed_in_parts_without_what_was_captured_since(
    sqlite_database: Database, collected: Settings
) -> None:
    with sqlite_database.reading(COMMAND_LINE) as reading:
        first = missed_urls.list_missed(reading, NAME, limit=1)
        rest = missed_urls.list_missed(reading, NAME, after=first.next, limit=1)
        with pytest.raises(InvalidInput):
            missed_urls.list_missed(reading, NAME, after="-1")
    assert [(miss.url, miss.page, miss.times) for miss in (*first.items, *rest.items)] == [
        (LOST, PAGE, 3),
        (DEEP, "", 2),
    ]
    assert rest.next is None


def test_a_repair_visits_the_page_that_asks_and_captures_other_urls_as_pages(
    sqlite_database: Database, collected: Settings
) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        made = missed_urls.repair_missed(transaction, NAME, MissRepair())
        assert [(part.url, part.resources) for part in made.parts] == [(PAGE, [LOST]), (DEEP, [])]
        one = missed_urls.repair_missed(transaction, NAME, MissRepair(urls=[DEEP]))
        assert [part.url for part in one.parts] == [DEEP]
        with pytest.raises(InvalidInput, match="no URL that readers"):
            missed_urls.repair_missed(transaction, NAME, MissRepair(urls=["http://example.org/made-up"]))


def test_without_misses_nothing_is_repaired(sqlite_database: Database, settings: Settings) -> None:
    shelf = Shelf(settings)
    shelf.page()
    shelf.close()
    with sqlite_database.transaction(COMMAND_LINE) as transaction, pytest.raises(IllegalState, match="missed nothing"):
        missed_urls.repair_missed(transaction, NAME, MissRepair())
