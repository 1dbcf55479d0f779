"""Firefox calls each frame of a window a browsing context. Its id stays when the document changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from browsers.engines.firefox.bidi.connection import BidiChannel
from browsers.engines.interface import EngineError, EngineLost, FrameGone, Point, ScriptFailed, World
from browsers.engines.page_json import TO_JSON

SANDBOX: Final = "ghostfleet"
"""Name of our isolated JavaScript world."""
_MAX_ERROR: Final = 500
_CALL: Final = (
    """
async told => {
  const value = await (%s)(JSON.parse(told));
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(value + ' is no JSON');
  return value === undefined ? null : """
    + TO_JSON
    + """(value) ?? null;
}
"""
)
_BOX: Final = (
    """
frame => {
  const box = frame.getBoundingClientRect();
  const style = getComputedStyle(frame);
  if (!box.width || !box.height) return null;
  return """
    + TO_JSON
    + """([
    box.x + frame.clientLeft + parseFloat(style.paddingLeft), box.y + frame.clientTop + parseFloat(style.paddingTop),
  ]);
}
"""
)


class FirefoxFrame:
    """A frame has an id, which it keeps."""

    def __init__(self, frame_id: str, parent: FirefoxFrame | None, channel: BidiChannel, url: str = "") -> None:
        self.id = frame_id
        self.parent = parent
        self.url = url
        self.is_gone = False
        self._channel = channel

    @property
    def is_main(self) -> bool:
        """Return whether this is the outermost frame."""
        return self.parent is None

    async def offset(self) -> Point:
        """Return the position of the document's visible corner in the window. Raises FrameGone and EngineLost."""
        if self.parent is None:
            return Point(0, 0)
        above = await self.parent.offset()
        found = await self.parent.box_of(self.id)
        return Point(above.x + found.x, above.y + found.y)

    async def box_of(self, frame_id: str) -> Point:
        """Return the position of an inner frame's document in this frame. Raises FrameGone and EngineLost."""
        try:
            located = await self._channel.send(
                "browsingContext.locateNodes",
                context=self.id,
                locator={"type": "context", "value": {"context": frame_id}},
            )
            node = {"sharedId": located["nodes"][0]["sharedId"]}
            answer = await self._channel.send(
                "script.callFunction",
                functionDeclaration=_BOX,
                arguments=[node],
                target={"context": self.id, "sandbox": SANDBOX},
                awaitPromise=False,
            )
            x, y = json.loads(answer["result"]["value"])
        except EngineLost:
            raise
        except (EngineError, LookupError, TypeError, ValueError) as error:
            raise FrameGone("the frame is not shown") from error
        return Point(float(x), float(y))

    async def evaluate(self, function: str, argument: Any = None, *, world: World = World.ISOLATED) -> Any:
        """Call a JavaScript function. Raises ScriptFailed, FrameGone and EngineLost."""
        if self.is_gone:
            raise FrameGone("the frame was removed")
        target = {"context": self.id} | ({"sandbox": SANDBOX} if world is World.ISOLATED else {})
        try:
            answer = await self._channel.send(
                "script.callFunction",
                functionDeclaration=_CALL % function,
                arguments=[{"type": "string", "value": json.dumps(argument)}],
                target=target,
                awaitPromise=True,
                resultOwnership="none",
            )
        except (FrameGone, EngineLost):
            raise
        except EngineError as error:
            raise ScriptFailed(str(error)[:_MAX_ERROR]) from error
        if answer["type"] == "exception":
            raise ScriptFailed(str(answer["exceptionDetails"].get("text", ""))[:_MAX_ERROR])
        text = answer["result"].get("value")
        return None if text is None else json.loads(text)


class FirefoxFrameTree:
    """The tree has the frames of one window."""

    def __init__(self, main: FirefoxFrame) -> None:
        self.main = main
        self._frames: dict[str, FirefoxFrame] = {main.id: main}

    def __iter__(self) -> Iterator[FirefoxFrame]:
        """Yield the frames, an outer one before its inner ones."""
        return iter(tuple(self._frames.values()))

    def __contains__(self, frame_id: object) -> bool:
        """Return whether there is a frame of this id."""
        return frame_id in self._frames

    def get(self, frame_id: str) -> FirefoxFrame | None:
        """Return the frame of this id; None when there is none."""
        return self._frames.get(frame_id)

    def attach(self, told: Mapping[str, Any], channel: BidiChannel) -> None:
        """Add the frame that the event `contextCreated` names."""
        parent = self._frames.get(told.get("parent") or "")
        if parent is not None and told["context"] not in self._frames:
            self._frames[told["context"]] = FirefoxFrame(told["context"], parent, channel, told.get("url", ""))

    def below(self, frame_id: str) -> list[FirefoxFrame]:
        """Return a frame and all frames in it."""
        found = [each for each in (self._frames.get(frame_id),) if each is not None]
        for frame in self._frames.values():
            if frame.parent is not None and frame.parent in found:
                found.append(frame)
        return found

    def remove(self, frame_id: str) -> None:
        """Remove a frame and those in it."""
        frame = self._frames.pop(frame_id, None)
        if frame is not None:
            frame.is_gone = True
            for inner in [each for each in self._frames.values() if each.parent is frame]:
                self.remove(inner.id)
