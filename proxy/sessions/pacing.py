"""Pauses between two requests to one host, whoever makes them: crawlers, browsers, people."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from archive import crawl_log
from archive.sections import LONGEST_DELAY_SECONDS
from dedupdb.claims import DedupUnavailable
from dedupdb.turns import Turns
from proxy.hostpatterns import ByHost
from proxy.refusal import Refused
from proxy.remembered import Remembered

log = logging.getLogger(__name__)

_THREADS: Final = 4
_HOSTS: Final = 65_536


class Pacing:
    """Asks the fleet for a host's next turn, off the event loop: hosts without a pause cost nothing.

    While Redis is silent, this process keeps the pauses among its own requests.
    """

    def __init__(
        self, table: Mapping[str, float], turns: Turns, loop: asyncio.AbstractEventLoop, *, longest_seconds: float
    ) -> None:
        """`table` has seconds by host, its keys as in `hostpatterns`; nobody waits more than `longest_seconds`."""
        self._table = ByHost(table)
        self._turns = turns
        self._loop = loop
        self._longest = longest_seconds
        self._next: Remembered[str, float] = Remembered(longest_seconds + LONGEST_DELAY_SECONDS, _HOSTS)
        """When a host may be asked next by us alone, by the loop's time."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pacing")
        self.waiting = 0
        """Requests that wait for their turn just now."""

    def pause(self, host: str, port: int, wish: float | None) -> float:
        """Seconds that are to pass behind a request to that host: as its session wishes, or as the table says."""
        return wish if wish is not None else self._table.find(host, port) or 0.0

    async def wait(self, host: str, pause: float) -> Refused | None:
        """Return when it is the request's turn; the refusal (503) when that would take too long."""
        wait = await self._take(host, pause)
        if wait > self._longest:
            return Refused(
                503,
                f"{host} gets one request in {pause:g} s, and its next free turn is {wait:.0f} s away"
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
        """Let the threads end."""
        self._threads.shutdown(wait=True)
        self._turns.close()

    async def _take(self, host: str, pause: float) -> float:
        try:
            return await self._loop.run_in_executor(self._threads, self._turns.take, host, pause)
        except DedupUnavailable as error:
            log.debug("the pauses of %s are kept by this process alone: %s", host, error)
        now = self._loop.time()
        wait = max(0.0, (self._next.get(host) or 0.0) - now)
        if wait <= self._longest:
            self._next.note(host, now + wait + pause)
        return wait
