"""The behaviour `consent` agrees to cookies, since many pages show or fetch their content only then.

It also answers windows that ask for the reader's age, and closes others that lie over the page, such as those of
newsletters, which stop a page from scrolling.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from browsers.behaviors.consent_platforms import agree_by_rules
from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import ToolFailed, call
from browsers.engines.interface import EngineLost, Frame
from browsers.page_quality.age_words import MAX_TEXT, NO_LABEL, YES_LABEL, asks_for_age

_MOST_WALLS: Final = 4
_RELOAD_SECONDS: Final = 10.0


@dataclass(slots=True)
class Consent:
    """Consent by the rules for known platforms, then by the button's label in all frames, then by an interface."""

    page: PageAccess
    steps: int = 0
    detail: str = ""

    async def run(self) -> BehaviorEnd:
        """Give consent to each wall, one behind the other. The page may load itself again meanwhile."""
        if answer := await agree_by_rules(self.page):
            self.steps, self.detail = 1, answer.platform
            await self._settle()
            if answer.is_done and answer.windows:
                # Further clicks could open the platform's settings again, and take the answer back.
                await self.page.in_frames("leaveAlone", answer.windows)
        for _ in range(_MOST_WALLS):
            if self.page.clock.is_up:
                return BehaviorEnd.TIMEOUT
            if not await self._agree():
                break
        else:
            return BehaviorEnd.TIMEOUT
        if self.steps == 0 and (name := await call(self.page.window.main_frame, "agreeByInterface")):
            self.steps, self.detail = 1, str(name)
            await self._settle()
        await self.answer_age()
        await self.close_windows()
        return BehaviorEnd.DONE

    async def answer_age(self, *, is_whole: bool = False) -> bool:
        """Answer a question for the reader's age in a window over the page. Return whether there was a button for that.

        With `is_whole`, the question may also be the whole page.
        """
        for frame, found in await self.page.in_frames("questionText", MAX_TEXT, YES_LABEL, NO_LABEL):
            text, is_over, _ = found if isinstance(found, list) else ("", False, False)
            if (is_over or is_whole) and asks_for_age(str(text)):
                place = await call(frame, "ageButton", YES_LABEL, NO_LABEL, is_whole)
                if await self._use(frame, place):
                    return True
        return False

    async def close_windows(self, *, are_known: bool = False) -> bool:
        """Close what lies over the page, and return whether there was something.

        With `are_known`, the buttons of earlier calls are pressed again.
        """
        count = 0
        while count < _MOST_WALLS and not self.page.clock.is_up and await self._press("closeButton", are_known):
            count += 1
        return count > 0

    async def _agree(self) -> bool:
        return await self._press("agreeButton")

    async def _press(self, tool: str, *values: object) -> bool:
        """Click the button that a tool finds in any frame, and return whether there is one."""
        for frame, place in await self.page.in_frames(tool, *values):
            if await self._use(frame, place):
                return True
        return False

    async def _use(self, frame: Frame, place: object) -> bool:
        """Click a button, and return whether there is one."""
        if not isinstance(place, dict):
            return False
        self.steps += 1
        self.detail = self.detail or "button"
        await self._click(frame, place)
        await self._settle()
        return True

    async def _click(self, frame: Frame, place: dict[str, Any]) -> None:
        if not place["isClicked"]:
            try:
                await self.page.click(frame, place)
            except ToolFailed:
                return  # the frame went away

    async def _settle(self) -> None:
        await asyncio.sleep(0.1)
        try:
            async with asyncio.timeout(min(_RELOAD_SECONDS, self.page.clock.left)):
                await self.page.window.loaded()
        except TimeoutError:
            return
        except EngineLost:
            raise
        await self.page.patience.settle(0.3, min(5.0, self.page.clock.left), 2.0)
