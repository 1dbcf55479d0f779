"""A flow that was recorded in Chrome's DevTools (the panel Recorder, export as JSON) is played on a page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import ToolFailed, call
from browsers.behaviors.user_files.hosted import ScriptError
from browsers.engines.interface import Binding, Frame, InitScript

MOST_STEPS: Final = 500
_FIND_SECONDS: Final = 5.0
"""Longest wait for the element of a step, unless the step says otherwise."""
_POLL_SECONDS: Final = 0.1
_IGNORED: Final = frozenset(("setViewport", "emulateNetworkConditions", "close", "keyUp", "navigate"))
"""Types of steps that are not played: the visit has a window and a page already."""
_TYPES: Final = _IGNORED | {
    *("click", "doubleClick", "hover", "change", "keyDown", "scroll", "waitForElement", "waitForExpression"),
}


@dataclass(frozen=True, slots=True)
class FlowStep:
    """A step has the type and the other keys of the recording."""

    type: str
    values: Mapping[str, Any]

    @property
    def selectors(self) -> list[list[str]]:
        """Return the alternatives; each is a way through shadow roots."""
        found = self.values.get("selectors")
        if not isinstance(found, list):
            return []
        return [each if isinstance(each, list) else [str(each)] for each in found]

    @property
    def seconds(self) -> float:
        """Return the longest wait for the step's element."""
        timeout = self.values.get("timeout")
        return min(60.0, timeout / 1000) if isinstance(timeout, int | float) and timeout > 0 else _FIND_SECONDS


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow is for the pages to which its first step goes."""

    title: str
    url: str
    steps: tuple[FlowStep, ...]

    def matches(self, url: str) -> bool:
        """Return whether the flow is for the page: the same address, whatever its query and fragment."""
        ours, pages = urlsplit(self.url), urlsplit(url)
        return (ours.scheme, ours.netloc, ours.path or "/") == (pages.scheme, pages.netloc, pages.path or "/")


def read_flow(path: Path, text: str) -> Flow:
    """Return the flow of a file. Raises ScriptError."""
    try:
        values = json.loads(text)
        steps = tuple(FlowStep(str(step["type"]), step) for step in values["steps"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ScriptError(f"{path} is no recorded flow: {error!r}; export it as JSON in DevTools' Recorder") from error
    wrong = next((step.type for step in steps if step.type not in _TYPES), None)
    if wrong is not None:
        raise ScriptError(f"{path} has a step of the type {wrong[:50]!r}, which is not known; remove it")
    if len(steps) > MOST_STEPS:
        raise ScriptError(f"{path} has {len(steps)} steps; {MOST_STEPS} are the most")
    url = next((str(step.values.get("url", "")) for step in steps if step.type == "navigate"), "")
    if not url:
        raise ScriptError(f"{path} has no step of the type navigate; record the flow from the page's address on")
    return Flow(str(values.get("title") or path.stem)[:100], url, steps)


class FlowPlayer:
    """A player that runs a flow on one page."""

    def __init__(self, flow: Flow) -> None:
        self.id = f"flow:{flow.title}"
        self.steps = 0
        self.init_scripts: Sequence[InitScript] = ()
        self.bindings: Sequence[Binding] = ()
        self._flow = flow

    async def run(self, page: PageAccess) -> BehaviorEnd:
        """Run the steps in order. Raises ToolFailed at the first whose element is not found."""
        await page.guard(is_on=False)  # a recorded flow may go to other pages
        for step in self._flow.steps:
            if page.clock.is_up:
                return BehaviorEnd.TIMEOUT
            if step.type not in _IGNORED:
                await self._play(page, step)
                self.steps += 1
                await page.patience.settle(0.2, page.clock.left, 2.0)
        page.add_links([page.window.main_frame.url], "behavior/flow")
        return BehaviorEnd.DONE

    async def _play(self, page: PageAccess, step: FlowStep) -> None:
        if step.type == "keyDown":
            await page.window.press(str(step.values.get("key", "Escape")))
        elif step.type == "waitForExpression":
            await self._wait_for(page, step, "holds", str(step.values.get("expression", "true")))
        elif step.type == "scroll" and not step.selectors:
            x, y = step.values.get("x", 0), step.values.get("y", 0)
            await call(_frame(page, step), "scrollTo", x, y)
        else:
            place = await self._wait_for(page, step, "find", step.selectors)
            await self._touch(page, _frame(page, step), step, place)

    async def _touch(self, page: PageAccess, frame: Frame, step: FlowStep, place: dict[str, Any]) -> None:
        if step.type in ("click", "doubleClick"):
            await page.click(frame, place)
            if step.type == "doubleClick":
                await page.click(frame, place)
                await call(frame, "doubleClickFound")
        elif step.type == "hover":
            await page.window.move_mouse(await page.point(frame, place))
        elif step.type == "change":
            await call(frame, "changeFound", str(step.values.get("value", "")))
        elif step.type == "scroll":
            await call(frame, "scrollFound", step.values.get("x", 0), step.values.get("y", 0))

    async def _wait_for(self, page: PageAccess, step: FlowStep, tool: str, argument: object) -> Any:
        seconds = min(step.seconds, page.clock.left)
        try:
            async with asyncio.timeout(seconds):
                while True:
                    try:
                        if found := await call(_frame(page, step), tool, argument):
                            return found
                    except ToolFailed:
                        pass  # the page is being loaded
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError as error:
            raise ToolFailed(f"step {self.steps + 1} of the flow ({step.type}) found no element") from error


def _frame(page: PageAccess, step: FlowStep) -> Frame:
    """Return the frame of a step: the indexes of frames from the main frame on, as far as there are so many."""
    path = step.values.get("frame")
    frames = page.frames()
    if isinstance(path, list) and path and isinstance(path[0], int) and path[0] + 1 < len(frames):
        return frames[path[0] + 1]
    return page.window.main_frame
