"""Frames as Playwright has them, for browsers without a world of our own.

Scripts for the isolated world run in the page's world: Playwright has no other one for scripts of its users.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from playwright.async_api import Error, Frame

from browsers.engines.binding_calls import MAX_CALLS, MAX_ERROR
from browsers.engines.interface import Binding, EngineError, EngineLost, FrameGone, Point, ScriptFailed, World
from browsers.engines.page_json import TO_JSON
from browsers.engines.playwright.errors import is_of_frame, is_of_page

_CALL: Final = (
    """async argument => {
  const value = await (%s)(JSON.parse(argument));
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(value + ' is no JSON');
  return """
    + TO_JSON
    + """(value);
}"""
)


class PlaywrightFrame:
    """A frame of a page."""

    def __init__(self, frame: Frame, lost: Callable[[], bool]) -> None:
        self._frame = frame
        self._is_lost = lost

    @property
    def url(self) -> str:
        """Return the URL of the present document; empty before the first one."""
        return self._frame.url

    @property
    def is_main(self) -> bool:
        """Return whether this is the outermost frame."""
        return self._frame.parent_frame is None

    async def offset(self) -> Point:
        """Return the position of the document's visible corner in the window. Raises FrameGone and EngineLost."""
        if self._frame.parent_frame is None:
            return Point(0, 0)
        try:
            owner = await self._frame.frame_element()
            box = await owner.bounding_box()
            edges = await owner.evaluate(
                "e => { const s = getComputedStyle(e), n = name => parseFloat(s[name]) || 0;"
                " return [n('borderLeftWidth') + n('paddingLeft'), n('borderTopWidth') + n('paddingTop')] }"
            )
            await owner.dispose()
        except Error as error:
            raise self._error(error, FrameGone("the frame is not shown")) from error
        if box is None:
            raise FrameGone("the frame is not shown")
        return Point(box["x"] + edges[0], box["y"] + edges[1])

    async def evaluate(self, function: str, argument: Any = None, *, world: World = World.ISOLATED) -> Any:
        """Call a JavaScript function. Raises ScriptFailed, FrameGone and EngineLost."""
        try:
            text = await self._frame.evaluate(_CALL % function, json.dumps(argument))
        except Error as error:
            raise self._error(error, ScriptFailed(error.message[:MAX_ERROR])) from error
        return None if text is None else json.loads(text)

    def _error(self, error: Error, otherwise: EngineError) -> EngineError:
        if self._is_lost() or is_of_page(error.message):
            return EngineLost(error.message)
        if self._frame.is_detached() or is_of_frame(error.message):
            return FrameGone(error.message)
        return otherwise


class PlaywrightBindings:
    """The bindings of one window."""

    def __init__(self, bindings: Sequence[Binding], frame_of: Callable[[Frame], PlaywrightFrame]) -> None:
        self._bindings = bindings
        self._frame_of = frame_of
        self._calls: Counter[Frame] = Counter()
        """Present calls by frame."""

    def functions(self) -> list[tuple[str, Callable[..., Any]]]:
        """Return the functions that `BrowserContext.expose_binding` takes, by their names."""
        return [(binding.name, self._function(binding)) for binding in self._bindings]

    def _function(self, binding: Binding) -> Callable[..., Any]:
        async def call(source: Any, argument: Any = None) -> Any:
            frame = source["frame"]
            self._calls[frame] += 1
            try:
                if self._calls[frame] > MAX_CALLS:
                    raise ValueError("too many calls at one time")
                return await binding.function(self._frame_of(frame), argument)
            finally:
                self._calls[frame] -= 1

        return call
