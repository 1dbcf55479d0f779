"""A slow client may keep a connection busy that other requests wait for.

A client that takes its response slowly, or sends its request slowly, makes the origin wait. That is right while no
other request needs the connection. Once a request has waited `proxy.stall_seconds` for one, clients that took or sent
next to nothing in that time are cut off. Their fetches go on without them, as for any client that leaves.
"""

from __future__ import annotations

import logging
from typing import Final

from proxy.fetch.fetch import Fetch
from proxy.fetch.services import Services
from proxy.log_lines import about

log = logging.getLogger(__name__)

_LEAST_PROGRESS_BYTES: Final = 65_536
"""A client keeps up when at least so many bytes pass. Taking from a full buffer frees several times as many at once."""


class Stalls:
    """Stalls of clients are looked for while a request waits for a connection. Nothing is remembered while no
    request waits for a connection.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._seconds = services.settings.stall_seconds
        self._known: dict[Fetch, tuple[float, int]] = {}
        """Since when an exchange has waited for its client, and how many bytes had passed then."""

    def check(self, now: float) -> None:
        """Cut off the clients that have stalled. Call this several times a second; `now` is the event loop's time."""
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
            if passed - before >= _LEAST_PROGRESS_BYTES:
                since, before = now, passed
            self._known[fetch] = since, before
            if now - since >= seconds and fetch.order.destination in starved:
                why = "the client is cut off: it kept a connection busy that other requests wait for"
                log.info("%s: %s", fetch.order.shown_url, why, extra=about(fetch.id))
                fetch.let_client_go()
