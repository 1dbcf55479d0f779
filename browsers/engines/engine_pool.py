"""A pool lends one running engine to visits at the same time, and replaces the engine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from browsers.engines.interface import Engine
from browsers.stage_times import StageTimes


@dataclass(slots=True, eq=False)
class _Running:
    """A running engine has visits."""

    engine: Engine
    used: int = 0
    """Number of visits so far."""
    busy: int = 0
    """Number of present visits."""

    def is_spent(self, most: int) -> bool:
        """Return whether the next visit needs a new engine."""
        return self.engine.is_broken or self.used >= most


class EnginePool:
    """The pool has the current engine, and starts another when the current one is used up or broken.

    The pool is used on one event loop.
    """

    def __init__(self, start: Callable[[], Awaitable[Engine]], visits_per_engine: int) -> None:
        """`start` starts an engine."""
        self._start = start
        self._visits_per_engine = visits_per_engine
        self._current: _Running | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def lend(self, times: StageTimes | None = None) -> AsyncIterator[Engine]:
        """Lend an engine for one visit. The start of an engine is a stage of `times`."""
        async with self._lock:
            with (times or StageTimes()).measure("browser-start"):
                running = await self._ready()
            running.used += 1
            running.busy += 1
        try:
            yield running.engine
        finally:
            running.busy -= 1
            if not running.busy and running.is_spent(self._visits_per_engine):
                if running is self._current:
                    self._current = None
                await running.engine.stop()

    async def begin(self) -> None:
        """Start an engine for the first visit."""
        async with self._lock:
            await self._ready()

    async def close(self) -> None:
        """Stop the engine. Current visits fail."""
        running, self._current = self._current, None
        if running is not None:
            await running.engine.stop()

    async def break_off(self) -> None:
        """End the engine at once, also when a page of it hangs. Current visits fail."""
        running = self._current
        if running is not None and running.engine.pid and not running.engine.lost.is_set():
            with suppress(ProcessLookupError):
                os.kill(running.engine.pid, signal.SIGKILL)
        await self.close()

    async def _ready(self) -> _Running:
        current = self._current
        if current is not None and current.is_spent(self._visits_per_engine):
            self._current = None
            if not current.busy:  # the engine was lost after its last visit, so that no visit stops it
                await current.engine.stop()
        if self._current is None:
            self._current = _Running(await self._start())
        return self._current
