"""Windows of all engines wait for events of their browser in these ways."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from browsers.engines.interface import EngineError, EngineLost


async def first_of(lost: asyncio.Event, *events: asyncio.Event) -> None:
    """Wait until one of the events is set. Raises EngineLost when `lost` is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in (*events, lost)]
    try:
        await asyncio.wait(waits, return_when="FIRST_COMPLETED")
    finally:
        for wait in waits:
            wait.cancel()
    if lost.is_set():
        raise EngineLost("the page's process has ended")


async def next_of(lost: asyncio.Event, *events: asyncio.Event) -> None:
    """Wait until one of the events happens from now on. Raises EngineLost."""
    for event in events:
        event.clear()
    await first_of(lost, *events)


async def quietly(work: Coroutine[Any, Any, None]) -> None:
    """Do the work until the target of the work goes away."""
    try:
        await work
    except EngineError:
        return


class Chores:
    """A window has work that nobody waits for. The work ends with its target, or with the window."""

    def __init__(self) -> None:
        self._present: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin the work."""
        chore = asyncio.ensure_future(quietly(work))
        self._present.add(chore)
        chore.add_done_callback(self._present.discard)

    async def end(self) -> None:
        """Cancel all work, and wait for its end."""
        present = tuple(self._present)
        for chore in present:
            chore.cancel()
        await asyncio.gather(*present, return_exceptions=True)
