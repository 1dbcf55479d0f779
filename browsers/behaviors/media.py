"""These behaviours fetch other sources of images and media, and play films and sounds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess

_TICK_SECONDS: Final = 0.1
_QUIET_SECONDS: Final = 0.2
_MOST_ENDS: Final = 2
"""Films one after the other whose ends are waited for."""


@dataclass(slots=True)
class Autofetch:
    """The behaviour `autofetch` fetches lazy images and frames, and the sources for other windows and densities."""

    page: PageAccess
    steps: int = 0

    async def run(self) -> BehaviorEnd:
        """Fetch in all frames. The steps are the number of URLs and of lazy elements."""
        before = self.steps
        for name in ("makeEager", "autofetch"):
            self.steps += sum(int(str(count)) for _, count in await self.page.in_frames(name))
        if self.steps == before:
            return BehaviorEnd.DONE
        is_quiet = await self.page.window.traffic.settled(_QUIET_SECONDS, self.page.clock.left, from_now=True)
        return BehaviorEnd.DONE if is_quiet else BehaviorEnd.TIMEOUT


@dataclass(slots=True)
class Play:
    """The behaviour `play` starts films and sounds without noise, until each has begun and what follows a short one."""

    page: PageAccess
    steps: int = 0

    async def run(self) -> BehaviorEnd:
        """Start the films of all frames, and stop them at the end."""
        self.steps = sum(int(str(count)) for _, count in await self.page.in_frames("play"))
        if self.steps == 0:
            return BehaviorEnd.DONE
        await self.page.patience.settle(_QUIET_SECONDS, self.page.clock.left, 2.0)
        while not self.page.clock.is_up:
            if not any(is_loading for _, is_loading in await self.page.in_frames("isLoadingMedia")):
                break
            await asyncio.sleep(_TICK_SECONDS)
        await self._wait_for_ends()
        await self.page.in_frames("stopMedia")
        return BehaviorEnd.TIMEOUT if self.page.clock.is_up else BehaviorEnd.DONE

    async def _wait_for_ends(self) -> None:
        """Wait for the end of short films after which the page goes on, such as an advertisement before a story."""
        for _ in range(_MOST_ENDS):
            answers = await self.page.in_frames("secondsOfMedia")
            seconds = max([0.0, *(float(str(answer)) for _, answer in answers)])
            if not seconds or seconds > self.page.clock.left:
                return
            await asyncio.sleep(seconds + _TICK_SECONDS)
            await self.page.patience.settle(_QUIET_SECONDS, self.page.clock.left, 1.0)
