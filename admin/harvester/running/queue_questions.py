"""A harvester answers questions of operators about the queues of its job, within bounds of time and of URLs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from admin.jobs.control.queues import host_content
from admin.jobs.control.url_history import url_history
from frontier.queue import Frontier
from frontier.queues.entry import ENTRY_STATES, QueueEntry
from frontier.queues.url_search import SearchTimeOver, TimedSearch

MOST_URLS: Final = 200
SECONDS: Final = 10.0
"""A search ends after this time, since the harvester watches over the limits of domains meanwhile."""
_LOOKED_AT: Final = 20_000
"""Resting URLs of all hosts that are looked at for those of one host."""


@dataclass(frozen=True, slots=True)
class FoundUrls:
    """The answer has URLs of the frontier, and a sentence about them."""

    text: str
    answer: Mapping[str, Any] = field(default_factory=dict)


def urls_of_host(frontier: Frontier, host: str) -> FoundUrls:
    """Return the URLs of a host: those that are visited, those that wait in their order, and those that rest."""
    found = host_content(frontier, host, MOST_URLS, looked_at=_LOOKED_AT)
    entries = [*found.leased, *found.waiting, *found.resting]
    is_whole = len(found.waiting) >= found.queue.queued and len(entries) <= MOST_URLS
    text = f"{found.queue.queued} queued, {len(found.leased)} being visited, {len(found.resting)} resting"
    return FoundUrls(f"{host}: {text}", _answer(entries[:MOST_URLS], is_whole=is_whole))


def urls_found(frontier: Frontier, expression: str, state: str) -> FoundUrls:
    """Return the URLs in which an expression is found. Raises JobError for one that can't be used."""
    states = [each for each in ENTRY_STATES if state in ("", each)]
    found: list[QueueEntry] = []
    is_whole = True
    try:
        for entry in frontier.desk.entries(states, TimedSearch(expression, SECONDS).finds):
            if len(found) >= MOST_URLS:
                is_whole = False
                break
            found.append(entry)
    except SearchTimeOver:
        is_whole = False
    more = "" if is_whole else " or more"
    return FoundUrls(f"{len(found)}{more} URLs found", _answer(found, is_whole=is_whole))


def history_of_url(frontier: Frontier, database_url: str, url: str) -> FoundUrls:
    """Return the history of a canonical URL: its visits, its captures here, and when it is visited again."""
    found = url_history(frontier, database_url, url)
    if found is None:
        return FoundUrls(f"{url} is not known to the job")
    return FoundUrls(f"{url}: {found.reason}", {"history": found.model_dump()})


def _answer(entries: list[QueueEntry], *, is_whole: bool) -> dict[str, Any]:
    return {"urls": [entry.as_json() for entry in entries], "is_whole": is_whole}
