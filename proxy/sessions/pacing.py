"""Requests to one host wait, so that a pause lies between any two of them, whichever client makes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from archive import crawl_log
from archive.settings import LONGEST_DELAY_SECONDS
from dedupdb.fleet.host_turns import HostTurns
from dedupdb.redis_io.link import DedupUnavailable
from proxy.host_table import HostTable
from proxy.refusal import Refused
from proxy.ttl_cache import TtlCache

log = logging.getLogger(__name__)

_THREADS: Final = 4
_HOSTS: Final = 65_536


class Pacing:
    """Asks Redis for a host's next turn, on threads, off the event loop. Hosts without a pause cost nothing.

    While Redis does not answer, this process keeps the pauses among its own requests.
    """

    def __init__(
        self, table: Mapping[str, float], turns: HostTurns, loop: asyncio.AbstractEventLoop, *, longest_seconds: float
    ) -> None:
        """`table` has seconds by host, with keys as in `proxy.host_table`; `longest_seconds` bounds a wait."""
        self._table = HostTable(table)
        self._turns = turns
        self._loop = loop
        self._longest = longest_seconds
        self._next: TtlCache[str, float] = TtlCache(longest_seconds + LONGEST_DELAY_SECONDS, _HOSTS)
        """When a host may be asked next by us alone, by the loop's time."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pacing")
        self.waiting = 0
        """Requests that wait for their turn just now."""

    def pause(self, host: str, port: int, wish: float | None) -> float:
        """Return the seconds of pause after a request to that host: `wish` of the session, or the table's value."""
        return wish if wish is not None else self._table.find(host, port) or 0.0

    async def wait(self, host: str, pause: float) -> Refused | None:
        """Wait for the request's turn. Return the refusal (503) when the wait would take too long."""
        wait = await self._take(host, pause)
        if wait > self._longest:
            return Refused(
                503,
                f"{host} gets one request every {pause:g} s, and its next free turn is in {wait:.0f} s"
                f" (settings proxy.host_delay, proxy.host_delay_wait_seconds = {self._longest:g})",
                "crowded",
                code=crawl_log.RUNTIME,
            )
        self.waiting += 1
        try:
            await asyncio.sleep(wait)
        finally:
            self.waiting -= 1
        return None

    def stop(self) -> None:
        """Wait for the threads to end, and close the link to Redis."""
        self._threads.shutdown(wait=True)
        self._turns.close()

    async def _take(self, host: str, pause: float) -> float:
        try:
            return await self._loop.run_in_executor(self._threads, self._turns.take, host, pause)
        except DedupUnavailable as error:
            log.debug("only this process observes the pause of %s: %s", host, error)
        now = self._loop.time()
        wait = max(0.0, (self._next.get(host) or 0.0) - now)
        if wait <= self._longest:
            self._next.note(host, now + wait + pause)
        return wait
