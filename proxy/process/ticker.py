"""One task of a recording process holds all deadlines and watches the disk, instead of timers."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Mapping
from threading import get_native_id
from time import monotonic_ns
from typing import Final

from archive.settings.load import Settings
from proxy.clients.connection import ClientConnection
from proxy.process.assembly import Assembly
from proxy.process.disk_watch import DiskWatch
from proxy.process.stalls import Stalls
from proxy.process.status import Rates

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 0.25
_PER_SECOND: Final = 4
_CLIENT_IDLE_SECONDS: Final = 300.0


class Ticker:
    """The ticker checks deadlines, stalled clients and the disk every 250 ms."""

    def __init__(
        self, settings: Settings, parts: Assembly, connections: Mapping[str, ClientConnection], rates: Rates
    ) -> None:
        self._keep_alive_seconds = settings.proxy.keep_alive_seconds
        self._request_seconds = settings.proxy.request_seconds
        self._parts = parts
        self._connections = connections
        self._rates = rates
        self._stalls = Stalls(parts.services)
        self._disk = DiskWatch(settings.home, settings.archive.min_free_bytes, settings.archive.min_free_inodes)
        self._task: asyncio.Task[None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check the disk at once, then tick."""
        self._check_disk()
        self._task = loop.create_task(self._run(loop))
        self._task.add_done_callback(_stopped)

    def stop(self) -> None:
        """Stop ticking."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        count, services, counts = 0, self._parts.services, self._parts.keeper.counts
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = loop.time()
            for fetch in list(services.active):
                fetch.tick(now)
            self._stalls.check(now)
            self._close_idle_clients(now)
            services.pool.close_idle(now - self._keep_alive_seconds)
            self._rates.sample(counts["exchanges"], counts["warc_bytes"])
            count += 1
            if count % _PER_SECOND == 0:
                self._check_disk()
                self._parts.core.tick(get_native_id(), self._parts.recorder.thread_id, monotonic_ns())

    def _close_idle_clients(self, now: float) -> None:
        for connection in list(self._connections.values()):
            if connection.awaits_client and (
                now - connection.last_heard > _CLIENT_IDLE_SECONDS
                or now - (connection.asking_since or now) > self._request_seconds
            ):
                connection.close()

    def _check_disk(self) -> None:
        gate, recorder = self._parts.gate, self._parts.recorder
        trouble = self._disk.trouble(recorder.last_failure) or recorder.trouble
        if not trouble and not recorder.is_alive:
            trouble = "the writer has stopped; restart this process"
        if trouble and trouble != gate.closed_because:
            log.error("this process accepts no new requests: %s", trouble)
        elif gate.closed_because and not trouble:
            log.warning("this process accepts new requests again")
            recorder.last_failure = ""
        gate.closed_because = trouble


def _stopped(ticker: asyncio.Task[None]) -> None:
    """End the process when its ticker has failed, since no deadline would be held and no disk watched.

    The supervisor starts another process.
    """
    if not ticker.cancelled() and (error := ticker.exception()) is not None:
        log.critical("the ticker has stopped, so this process ends: %r", error)
        os.kill(os.getpid(), signal.SIGTERM)
