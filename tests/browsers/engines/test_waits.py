"""Windows wait for events of their browser, and end their work."""

from __future__ import annotations

import asyncio

import pytest

from browsers.engines.interface import EngineLost
from browsers.engines.waits import Chores, next_of


async def test_an_event_of_before_does_not_count() -> None:
    lost, event = asyncio.Event(), asyncio.Event()
    event.set()
    waiting = asyncio.ensure_future(next_of(lost, event))
    await asyncio.sleep(0)

    assert not event.is_set()
    event.set()
    await waiting


async def test_a_lost_browser_ends_the_wait() -> None:
    lost = asyncio.Event()
    lost.set()
    with pytest.raises(EngineLost):
        await next_of(lost, asyncio.Event())


async def test_work_whose_target_goes_away_is_quiet_and_the_rest_is_cancelled_at_the_end() -> None:
    chores, ended = Chores(), asyncio.Event()

    async def gone() -> None:
        ended.set()
        raise EngineLost("the page has ended")

    is_cancelled = False

    async def endless() -> None:
        nonlocal is_cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            is_cancelled = True
            raise

    chores.begin(gone())
    chores.begin(endless())
    await ended.wait()
    await chores.end()
    assert is_cancelled
