"""The behaviour `form` uses selects, sliders, numbers, search boxes and GET forms, but no forms that send something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import ToolFailed, call
from browsers.engines.interface import Frame

_MISSES: Final = 2
_MOST_DEPTH: Final = 2
_MOST_SUBMISSIONS: Final = 10
_LETTER: Final = "a"
"""A search box gets this letter, so that its suggestions are fetched."""


@dataclass(slots=True)
class Forms:
    """A user of the form controls of one page."""

    page: PageAccess
    steps: int = 0
    _hits: int = 0

    async def run(self) -> BehaviorEnd:
        """Choose the options of each control, and keep the addresses of GET forms as links."""
        for frame, urls in await self.page.in_frames("formAddresses"):
            self.page.add_links(urls if isinstance(urls, list) else (), "form/@action")
            try:
                is_whole = await self._use(frame)
            except ToolFailed:
                continue  # the frame went away
            if not is_whole:
                return BehaviorEnd.TIMEOUT
        return BehaviorEnd.DONE if self._hits or not self.steps else BehaviorEnd.NO_EFFECT

    async def _use(self, frame: Frame) -> bool:
        """Use the controls of a frame. Return False when the time was up before."""
        if not await self._use_controls(frame, 0):
            return False
        while not self.page.clock.is_up and await call(frame, "nextForm"):
            await self._submit(frame)
        return True

    async def _submit(self, frame: Frame) -> None:
        """Submit a form, and again while a script answers with something new, such as the next rows of a list."""
        for _ in range(_MOST_SUBMISSIONS):
            effect = await self.page.step(frame, lambda: call(frame, "submit"))
            self.steps += 1
            self._hits += effect.is_any
            if not (effect.urls and effect.added) or effect.moved or self.page.clock.is_up:
                return

    async def use_shown(self, frame: Frame) -> None:
        """Use the controls of a frame that are shown now and were not when `noteControls` was called.

        What shows them may hide them again, such as a tab. Raises ToolFailed.
        """
        await self._use_controls(frame, 0, are_shown_later=True)

    async def _use_controls(self, frame: Frame, depth: int, *, are_shown_later: bool = False) -> bool:
        """Use the controls that were not used before. Return False when the time was up before."""
        for control in await call(frame, "controls", are_shown_later):
            if self.page.clock.is_up:
                return False
            await self._use_control(frame, control, depth)
        return True

    async def _use_control(self, frame: Frame, control: dict[str, Any], depth: int) -> None:
        page, number, misses = self.page, control["number"], 0
        for turn in range(control["turns"]):
            if page.clock.is_up or misses >= _MISSES:
                break
            if control["isText"]:
                effect = await page.step(frame, lambda: self._type(frame, number))
            else:
                effect = await page.step(frame, partial(call, frame, "choose", number, turn))
            self.steps += 1
            if not effect.requests and (place := await call(frame, "buttonPlace", number)) and place["isOnTop"]:
                pressed = await page.step(frame, partial(page.click, frame, place))
                self.steps += 1
                effect = pressed if pressed.requests else effect
            self._hits += effect.is_any
            misses = 0 if effect.is_any else misses + 1
            if effect.changes and depth < _MOST_DEPTH and not control["isText"]:
                await self._use_controls(frame, depth + 1)  # a choice may give others their options
        await page.step(frame, lambda: call(frame, "restore", number))

    async def _type(self, frame: Frame, number: int) -> None:
        if await call(frame, "focus", number):
            await self.page.window.press(_LETTER)
