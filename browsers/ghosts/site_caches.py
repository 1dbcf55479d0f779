"""The next visit to a host takes the browser context of an earlier one, with its cache (`browsers.cache = site`).

A context belongs to the visits of one site, job, collection, login and look of the window (`SiteKey`). One visit has
it at a time. The number of contexts, their visits and their age are bounded. An answer of the cache must be in the
archive, so that a context is only kept after a visit whose answers are all there (`is_archived`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from archive.ended_exchange import ExchangeEnd
from browsers.engines.interface import KeptContext, WindowOptions
from browsers.engines.traffic import AskedExchange
from browsers.ghosts.page import PageSnapshot
from browsers.ghosts.page_outcome import troubles
from browsers.logins.browser_profile import BrowserProfile
from browsers.page_quality.flaws import PageFlaw
from browsers.proxying.control_client import Control, ProxySession, SessionCounts, SessionExchanges
from browsers.visit import GhostTrouble, VisitOrder

MOST_CONTEXTS: Final = 8
"""A worker keeps so many contexts. The one that was used longest ago is closed first."""
MOST_VISITS: Final = 50
"""A context serves so many visits."""
OLDEST_SECONDS: Final = 1800.0
"""A context is not used again when its first visit began longer ago."""
PORT_SECONDS: Final = 300.0
"""A context waits so long for its next visit. The proxy closes its port then."""
_UNFINISHED: Final = frozenset(
    (GhostTrouble.CRASH, GhostTrouble.OUT_OF_MEMORY, GhostTrouble.HANG, GhostTrouble.TIMEOUT)
)
_IN_ARCHIVE_OR_NO_ANSWER: Final = frozenset((ExchangeEnd.KEPT, ExchangeEnd.REVISIT, ExchangeEnd.FAILED))


@dataclass(frozen=True, slots=True)
class SiteKey:
    """Visits with the same key see the same site in the same way, and their captures are in one collection."""

    scheme: str
    """A site that asked for https (HSTS) is not asked by http again, so that the schemes have contexts of their own."""
    host: str
    collection: str
    job: str | None
    login: tuple[str, int] | None
    """Name and date of the browser profile."""
    look: tuple[object, ...]

    @classmethod
    def of(cls, order: VisitOrder, options: WindowOptions, profile: BrowserProfile | None) -> SiteKey:
        """Return the key of a visit with these options of the window."""
        return cls(
            order.url.partition(":")[0],
            order.host,
            order.collection,
            order.job,
            (profile.name, profile.created) if profile is not None else None,
            (options.device, tuple(options.headers.items()), options.passes_by_service_workers),
        )


@dataclass(frozen=True, slots=True)
class SiteCache:
    """The context of a site waits for the next visit, and the proxy keeps the port of the last session."""

    key: SiteKey
    context: KeptContext
    control: Control
    session: ProxySession
    """The last session, which is closed."""
    began: float
    """Time (monotonic seconds) of the first visit."""
    visits: int = 1
    left: float = 0.0
    """Time of the end of the last visit."""

    def is_old(self, now: float) -> bool:
        """Return whether the context must not have another visit."""
        is_used_up = self.visits >= MOST_VISITS or now - self.began > OLDEST_SECONDS
        return is_used_up or now - self.left > PORT_SECONDS


class SiteCaches:
    """The browser contexts that no visit has at present. It is safe to use from several threads."""

    def __init__(self, drop: Callable[[SiteCache], None]) -> None:
        """`drop` closes a context and gives up its port. It is called without a lock."""
        self._drop = drop
        self._waiting: list[SiteCache] = []
        """The least recently used first."""
        self._lock = threading.Lock()

    def take(self, key: SiteKey) -> SiteCache | None:
        """Return the newest context with this key, which belongs to the caller from now on; None without one."""
        with self._lock:
            dropped = self._old()
            found = next((each for each in reversed(self._waiting) if each.key == key), None)
            if found is not None:
                self._waiting.remove(found)
        self._drop_all(dropped)
        return found

    def keep(self, cache: SiteCache) -> None:
        """Let a context wait for its next visit."""
        with self._lock:
            self._waiting.append(cache)
            dropped = self._old()
            while len(self._waiting) > MOST_CONTEXTS:
                dropped.append(self._waiting.pop(0))
        self._drop_all(dropped)

    def clear(self) -> None:
        """Drop all contexts."""
        with self._lock:
            dropped, self._waiting = self._waiting, []
        self._drop_all(dropped)

    def __len__(self) -> int:
        """Return the number of contexts that wait."""
        return len(self._waiting)

    def _old(self) -> list[SiteCache]:
        """Remove and return the contexts that must not have another visit."""
        now = time.monotonic()
        old = [each for each in self._waiting if each.is_old(now)]
        self._waiting = [each for each in self._waiting if not each.is_old(now)]
        return old

    def _drop_all(self, caches: Sequence[SiteCache]) -> None:
        for each in caches:
            self._drop(each)


def is_finished(snapshot: PageSnapshot) -> bool:
    """Return whether the visit showed a page to its end."""
    return snapshot.is_page and _UNFINISHED.isdisjoint(troubles(snapshot))


def is_given_back(snapshot: PageSnapshot, flaws: Sequence[PageFlaw], retry_for: Sequence[str]) -> bool:
    """Return whether the worker may give the page back after this visit."""
    found = {trouble.value.partition(":")[2] for trouble in troubles(snapshot)} | {flaw.type.value for flaw in flaws}
    return not found.isdisjoint(retry_for)


def is_archived(
    key: SiteKey, asked: Sequence[AskedExchange], kept: SessionExchanges, report: SessionCounts | None
) -> bool:
    """Return whether the archive has all answers of a visit, so that a cache may give them to the next one.

    A site that wants https from now on must not be asked by http with the same context: its next page by http would
    never be fetched.
    """
    if report is None or not report.kept_port or report.not_kept or report.in_flight:
        return False
    if kept.unlisted or kept.in_flight:
        return False
    if any(each.end not in _IN_ARCHIVE_OR_NO_ANSWER or each.truncated for each in kept.exchanges):
        return False
    return key.scheme == "https" or not any("strict-transport-security" in each.headers for each in asked)
