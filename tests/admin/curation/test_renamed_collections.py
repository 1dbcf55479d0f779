"""admin/collections: what curators hid stays hidden after a renaming, and a new collection of the name begins anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.archive.browsed_collection import NAME, Shelf
from support.archive.exchanges import DATE

from admin.collections.delete import delete
from admin.collections.rename import rename
from admin.curation.descriptions.describe import DescriptionChange, describe_collection, show_description
from admin.curation.descriptions.exclusions import ExclusionCreation, create_exclusion, list_exclusions
from admin.models.database import Database
from admin.models.transaction import COMMAND_LINE
from archive.access_rules import Access, AccessControl
from archive.settings.load import Settings

URL = "http://example.org/page"


@pytest.fixture
def own(settings: Settings) -> Iterator[Database]:
    """The database of the home itself, which has the capture index too."""
    shelf = Shelf(settings)
    shelf.page()
    shelf.close()
    database = Database(settings.database_url, settings=settings)
    database.upgrade()
    yield database
    database.close()


def test_what_is_hidden_stays_hidden_when_the_collection_is_renamed(own: Database, settings: Settings) -> None:
    with own.transaction(COMMAND_LINE) as transaction:
        create_exclusion(transaction, NAME, ExclusionCreation(url=URL, reason="private"))
        describe_collection(transaction, NAME, DescriptionChange(tags=("press",)))
    rename(settings, NAME, "renamed")
    with own.transaction(COMMAND_LINE) as transaction:
        changed = describe_collection(transaction, "renamed", DescriptionChange(tags=("press", "web")))
        assert changed.edition > 1, "the description went with the collection"
    rules = AccessControl(settings.home / "collections").rules("renamed")
    assert rules.decide(URL, DATE) is Access.EXCLUDE
    delete(settings, "renamed")
    settings.archive_dir("renamed").mkdir(parents=True)
    with own.reading(COMMAND_LINE) as transaction:
        assert show_description(transaction, "renamed").tags == []
        assert list_exclusions(transaction, "renamed").items == []
