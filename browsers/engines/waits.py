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


async def quietly(work: Coroutine[Any, Any, None]) -> None:
    """Do the work until the target of the work goes away."""
    try:
        await work
    except EngineError:
        return
