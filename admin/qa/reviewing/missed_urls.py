"""People see by these use cases which URLs readers of the viewer missed, and let a repair capture them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice
from typing import Final

from pydantic import Field

from admin.collections.browsing.index import OpenIndex, index_of
from admin.collections.reader_misses import ReaderMiss, read_misses
from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.operation import InputModel, OutputModel, Page, checked_limit, number_after
from admin.models.qa_tables import QaRepair, RepairPart
from admin.models.transaction import Right, Transaction
from admin.qa.judging.captured_page import is_archived
from admin.qa.reviewing import repairs
from admin.qa.reviewing.repairs import RepairDetails

_MOST_LISTED: Final = 1_000
_MOST_REPAIRED: Final = 1_000


class MissedUrl(OutputModel):
    """Readers asked for a URL that the collection lacks."""

    url: str
    page: str
    """The archived page that asks for the URL; empty when the URL is a page itself."""
    times: int
    last_day: str
    """The newest day on which a reader asked, such as 2026-11-27."""


class MissRepair(InputModel):
    """The URLs that a repair captures; empty for those that readers missed most often, at most 1,000."""

    urls: list[str] = Field(default_factory=list, max_length=_MOST_REPAIRED)


def list_missed(
    transaction: Transaction, collection: str, *, after: str | None = None, limit: int = 50
) -> Page[MissedUrl]:
    """Return the URLs that readers missed and that the collection still lacks, the most frequent first.

    Raises NotFound and InvalidInput.
    """
    transaction.require(Right.READ)
    limit = checked_limit(limit, _MOST_LISTED)
    start = 0 if after is None else number_after(after)
    with index_of(transaction.settings, collection) as index:
        found = list(islice(_missing(transaction, index, collection, start), limit + 1))
    items = [MissedUrl.model_validate(miss) for _, miss in found[:limit]]
    return Page(items=items, next=str(found[limit][0]) if len(found) > limit else None)


def repair_missed(transaction: Transaction, collection: str, given: MissRepair) -> RepairDetails:
    """Make a repair of URLs that readers missed. Raises NotFound, InvalidInput and IllegalState.

    A URL that an archived page asks for is captured by a visit of that page, which asks the live web for what is
    missing. Any other URL is captured as a page of its own.
    """
    transaction.require(Right.OPERATE)
    with index_of(transaction.settings, collection) as index:
        wanted = set(given.urls)
        chosen = [miss for _, miss in islice(_missing(transaction, index, collection, 0, wanted), _MOST_REPAIRED)]
        archived = {miss.page: is_archived(index, collection, miss.page) for miss in chosen if miss.page}
    if unknown := wanted - {miss.url for miss in chosen}:
        raise InvalidInput(Problem("urls", f"{min(unknown)[:200]} is no URL that readers of {collection} missed"))
    if not chosen:
        raise IllegalState(f"readers of {collection} missed nothing that the collection lacks")
    by_page: dict[str, list[str]] = {}
    for miss in chosen:
        if archived.get(miss.page):
            by_page.setdefault(miss.page, []).append(miss.url)
        else:
            by_page.setdefault(miss.url, [])
    repair = QaRepair(collection=collection, created=transaction.now, created_by=transaction.actor.name)
    for url, resources in by_page.items():
        repair.parts.append(RepairPart(url=url, captured=transaction.now, resources=resources))
    transaction.session.add(repair)
    transaction.session.flush()
    transaction.audit("qa.repair-missed", "repair", repair.id, collection, new={"urls": len(chosen)})
    return repairs.show(transaction, repair.id)


def _missing(
    transaction: Transaction, index: OpenIndex, collection: str, start: int, wanted: Set[str] = frozenset()
) -> Iterator[tuple[int, ReaderMiss]]:
    """Yield the misses from this place of the list on that are not captured in the meantime, with their places.

    With `wanted`, the misses of these URLs alone are looked at.
    """
    misses = read_misses(transaction.settings, collection)
    for place, miss in enumerate(misses[start:], start):
        if (not wanted or miss.url in wanted) and not is_archived(index, collection, miss.url):
            yield place, miss
