"""Clients that hold up what others wait for: the connections to an origin that already has all that it may get.

A client that takes its response slowly, or sends its request slowly, makes the origin wait, and that is right while
nobody else needs the connection. Once somebody has waited `proxy.stall_seconds` for one, those who took or sent next to
nothing in that time are cut off. What they asked for is fetched on without them, as for any client that leaves.
"""

from __future__ import annotations

import logging
from typing import Final

from proxy.fetch import Fetch
from proxy.loglines import about
from proxy.services import Services

log = logging.getLogger(__name__)

_LEAST: Final = 65_536
"""Bytes that pass while a client keeps up; who takes them from a full buffer frees several times as many at once."""


class Stalls:
    """Of one process. While nobody waits for a connection it remembers nothing."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._seconds = services.settings.stall_seconds
        self._known: dict[Fetch, tuple[float, int]] = {}
        """Since when an exchange has waited for its client, and how many bytes had passed then."""

    def look(self, now: float) -> None:
        """Cut off who must be; asked every now and then. Time is the event loop's."""
        known, self._known = self._known, {}
        pool, seconds = self._services.pool, self._seconds
        wanted = pool.wanted_since(now) if seconds else set()
        if not wanted:
            return
        starved = pool.wanted_since(now - seconds)
        held = (fetch for fetch in list(self._services.active) if isinstance(fetch, Fetch))
        for fetch in held:
            passed = fetch.held_up_at
            if passed is None or fetch.order.destination not in wanted:
                continue
            since, before = known.get(fetch, (now, passed))
            if passed - before >= _LEAST:
                since, before = now, passed
            self._known[fetch] = since, before
            if now - since >= seconds and fetch.order.destination in starved:
                why = "the client held a connection up that others wait for, and is cut off"
                log.info("%s: %s", fetch.order.shown_url, why, extra=about(fetch.id))
                fetch.let_client_go()
