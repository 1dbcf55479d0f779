"""A visit waits for a page while requests are in flight or timers are about to end, and no longer.

The observer in the page knows the pending timers. Timers beyond five seconds, and code that runs again and again, are
not waited for. A page without any is left at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from browsers.behaviors.page_tools import ask, in_all, may_answer
from browsers.engines.interface import BrowserWindow, Frame

MOST_FRAMES: Final = 50
"""Largest number of frames whose timers are looked at."""
_MARGIN_SECONDS: Final = 0.03
_INTERVAL_SECONDS: Final = 3.2
"""Intervals are waited for so long, and longer only while the page sends requests."""


class Patience:
    """A wait for one window."""

    def __init__(self, window: BrowserWindow) -> None:
        self._window = window
        self._silent: set[str] = set()
        """URLs of frames that did not answer."""

    def frames(self) -> list[Frame]:
        """Return the frames whose documents run scripts, the main frame first."""
        found = [frame for frame in self._window.frames if may_answer(frame) and frame.url not in self._silent]
        return found[:MOST_FRAMES]

    def drop(self, frame: Frame) -> None:
        """Leave a frame that does not answer alone from now on."""
        self._silent.add(frame.url)

    async def settle(
        self, quiet_seconds: float, most_seconds: float, timer_seconds: float, frames: Sequence[Frame] | None = None
    ) -> bool:
        """Wait until the page is quiet, with its timers; False when requests are still in flight at the end.

        The wait takes at most `most_seconds`. `timer_seconds` of it may be spent on timers, which are those of `frames`
        or of all frames. Raises EngineLost and TimeoutError, when the page does not answer.
        """
        end = time.monotonic() + most_seconds
        timers_left, requests = timer_seconds, self._window.traffic.requests
        is_quiet = await self._window.traffic.settled(quiet_seconds, most_seconds)
        while is_quiet and timers_left > 0:
            once, turn = await self._pending_seconds(frames)
            is_busy = self._window.traffic.requests != requests
            if is_busy or timer_seconds - timers_left < _INTERVAL_SECONDS:
                once = max(once, turn)
            wait = min(once, timers_left, end - time.monotonic())
            if wait <= 0:
                break
            await asyncio.sleep(wait + _MARGIN_SECONDS)
            timers_left -= wait + _MARGIN_SECONDS
            is_quiet = await self._window.traffic.settled(
                quiet_seconds, max(0.0, end - time.monotonic()), from_now=True
            )
        return is_quiet

    async def is_scripted(self) -> bool:
        """Return whether a script or an animation may act in any frame. Other pages do nothing after their load."""
        answers = await in_all(self.frames(), lambda frame: ask(frame, "isScripted"), self.drop)
        return any(answer for _, answer in answers) or len(answers) < len(self._window.frames)

    async def _pending_seconds(self, frames: Sequence[Frame] | None) -> tuple[float, float]:
        """Return the time until the last timer that is worth a wait, and until the last turn of an interval."""
        found = [pair for pair in await self._in_frames("pending", frames) if isinstance(pair, list)]
        return max([0.0, *(pair[0] for pair in found)]) / 1000, max([0.0, *(pair[1] for pair in found)]) / 1000

    async def rest(self) -> None:
        """Count the timers that run again and again as the page's background from now on."""
        await self._in_frames("rest")

    async def _in_frames(self, name: str, frames: Sequence[Frame] | None = None) -> list[Any]:
        answers = await in_all(self.frames() if frames is None else frames, lambda frame: ask(frame, name), self.drop)
        return [answer for _, answer in answers]
