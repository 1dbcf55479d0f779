"""The frames of a window, in processes of their own or not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.chromium.devtools.network import RequestEvents
from browsers.engines.interface import EngineError, EngineLost, FrameGone, Point, ScriptFailed, World

WORLD_NAME: Final = "ghostfleet"
"""Name of our isolated JavaScript world."""
_GROUP: Final = "ghostfleet"
_ERRORS: Final = "ghostfleet-errors"
_NEVER_BEGAN: Final = "Cannot find context"
"""Beginning of the error message when a document had gone before a function was called there."""
_MAX_ERROR: Final = 500


class ChromiumFrame:
    """A frame has an id, which it keeps, and a session, which changes when its document gets another process."""

    def __init__(self, frame_id: str, parent: ChromiumFrame | None, session: DevToolsSession) -> None:
        self.id = frame_id
        self.parent = parent
        self.session = session
        self.url = ""
        self.loader = ""
        """The browser's id of the present document."""
        self.is_gone = False
        self._world: tuple[str, str, int] | None = None
        """DevToolsSession and document of our isolated world, and its execution context."""
        self._own_document: tuple[str, str, str] | None = None
        """DevToolsSession and document of the page's own world, and the object of that document."""

    @property
    def is_main(self) -> bool:
        """Return whether this is the outermost frame."""
        return self.parent is None

    async def offset(self) -> Point:
        """Return the position of the document's visible corner in the window. Raises FrameGone and EngineLost."""
        if self.parent is None:
            return Point(0, 0)
        outer = self.parent
        try:
            owner = await outer.session.send("DOM.getFrameOwner", frameId=self.id)
            box = await outer.session.send("DOM.getBoxModel", backendNodeId=owner["backendNodeId"])
        except EngineLost:
            raise
        except EngineError as error:
            raise FrameGone("the frame is not shown") from error
        while outer.parent is not None and outer.parent.session is outer.session:
            outer = outer.parent
        above = await outer.offset()  # boxes are counted from the outermost frame of the process
        x, y = box["model"]["content"][:2]
        return Point(above.x + x, above.y + y)

    async def evaluate(self, function: str, argument: Any = None, *, world: World = World.ISOLATED) -> Any:
        """Call a JavaScript function. Raises ScriptFailed, FrameGone and EngineLost."""
        try:
            return await self._evaluate(function, argument, world)
        except EngineLost as error:
            if self.session.kind == "iframe":  # its process ended, and those of the other frames need not
                raise FrameGone(str(error)) from error
            raise

    async def _evaluate(self, function: str, argument: Any, world: World) -> Any:
        if self.is_gone:
            raise FrameGone("the frame was removed")
        if world is World.PAGE:
            return await self._evaluate_in_page(function, argument)
        has_cached = self._cached_world() is not None
        try:
            return await self._call(function, argument, {"executionContextId": await self._isolated()})
        except FrameGone:
            self._world = None
            if not has_cached or self.is_gone:
                raise
        # The document of the remembered world had gone before the call.
        return await self._call(function, argument, {"executionContextId": await self._isolated()})

    async def _evaluate_in_page(self, function: str, argument: Any) -> Any:
        """Call a function in the page's own world."""
        known = self._own_document
        if known is not None and known[:2] == (self.session.id, self.loader):
            try:
                return await self._call(function, argument, {"objectId": known[2]})
            except FrameGone as error:
                self._own_document = None
                if self.is_gone or not str(error).startswith(_NEVER_BEGAN):
                    raise
                self._world = None
        session, loader = self.session, self.loader
        document = await self._document()
        self._own_document = (session.id, loader, document)
        return await self._call(function, argument, {"objectId": document})

    async def _call(self, function: str, argument: Any, place: Mapping[str, Any]) -> Any:
        try:
            answer = await self.session.send(
                "Runtime.callFunctionOn",
                functionDeclaration=function,
                arguments=[{"value": argument}],
                awaitPromise=True,
                returnByValue=True,
                objectGroup=_ERRORS,
                **place,
            )
        except (FrameGone, EngineLost):
            raise
        except EngineError as error:  # such as a result that refers to itself
            raise ScriptFailed(str(error)[:_MAX_ERROR]) from error
        if "exceptionDetails" in answer:
            self.session.send("Runtime.releaseObjectGroup", objectGroup=_ERRORS)
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "")
            raise ScriptFailed(str(text)[:_MAX_ERROR])
        result = answer["result"]
        if "unserializableValue" in result:
            raise ScriptFailed(f"{result['unserializableValue'][:_MAX_ERROR]} is no JSON")
        value = result.get("value")
        if isinstance(value, float) and not math.isfinite(value):
            raise ScriptFailed(f"{value} is no JSON")
        return value

    def _cached_world(self) -> int | None:
        if self._world is not None and self._world[:2] == (self.session.id, self.loader):
            return self._world[2]
        return None

    async def _isolated(self) -> int:
        """Return the execution context of our world in the present document."""
        cached = self._cached_world()
        if cached is not None:
            return cached
        session, loader = self.session, self.loader
        answer = await session.send("Page.createIsolatedWorld", frameId=self.id, worldName=WORLD_NAME)
        context = int(answer["executionContextId"])
        self._world = (session.id, loader, context)
        return context

    async def _document(self) -> str:
        """Return the page's own object of the present document.

        A DOM node that is found in our world and resolved without a world is an object of the page's world. This needs
        no `Runtime.enable`, which would send each console message of the page to us.
        """
        context = await self._isolated()
        ours = await self.session.send(
            "Runtime.evaluate", expression="document", contextId=context, objectGroup=_GROUP, returnByValue=False
        )
        node = await self.session.send("DOM.describeNode", objectId=ours["result"]["objectId"])
        theirs = await self.session.send(
            "DOM.resolveNode", backendNodeId=node["node"]["backendNodeId"], objectGroup=_GROUP
        )
        return str(theirs["object"]["objectId"])


class FrameTree:
    """The tree has the frames of one window. It tells the account of requests of new documents and removed frames."""

    def __init__(self, requests: RequestEvents) -> None:
        self._requests = requests
        self._frames: dict[str, ChromiumFrame] = {}
        self.main: ChromiumFrame | None = None

    def __iter__(self) -> Iterator[ChromiumFrame]:
        """Yield the frames, an outer one before its inner ones."""
        return iter(tuple(self._frames.values()))

    @property
    def outermost(self) -> ChromiumFrame:
        """Return the main frame. Raises EngineLost before there is one."""
        if self.main is None:
            raise EngineLost("the window has no page yet")
        return self.main

    def handle(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> None:
        """Follow the events of a session about its frames, and ignore all others."""
        match method:
            case "Page.frameAttached":
                self.attach(params["frameId"], params["parentFrameId"], session)
            case "Page.frameNavigated":
                self.navigated(params["frame"], session)
            case "Page.navigatedWithinDocument":
                if within := self.get(params["frameId"]):
                    within.url = params["url"]
            case "Page.frameDetached":
                if params.get("reason") != "swap":
                    self.remove(params["frameId"])

    def get(self, frame_id: str) -> ChromiumFrame | None:
        """Return the frame of this id; None when there is none."""
        return self._frames.get(frame_id)

    def attach(self, frame_id: str, parent_id: str, session: DevToolsSession) -> ChromiumFrame:
        """Add a frame, or give a known one another session."""
        frame = self._frames.get(frame_id)
        if frame is None:
            frame = ChromiumFrame(frame_id, self._frames.get(parent_id), session)
            self._frames[frame_id] = frame
            if frame.parent is None and self.main is None:
                self.main = frame
        frame.session = session
        return frame

    def navigated(self, told: Mapping[str, Any], session: DevToolsSession) -> ChromiumFrame:
        """Note the new document of a frame. `told` is the protocol's description of the frame."""
        frame = self.attach(told["id"], told.get("parentId", ""), session)
        for inner in self.inside(frame):
            self.remove(inner.id)
        frame.url = told["url"] + told.get("urlFragment", "")
        frame.loader = told.get("loaderId", "")
        self._requests.document_began(frame.id, frame.loader)
        return frame

    def remove(self, frame_id: str) -> None:
        """Remove a frame and those in it."""
        self._requests.frame_gone(frame_id)
        frame = self._frames.pop(frame_id, None)
        if frame is not None:
            frame.is_gone = True
            for inner in self.inside(frame):
                self.remove(inner.id)

    def remove_all_of(self, session: DevToolsSession) -> None:
        """Remove the frames of a process that crashed."""
        for frame in self:
            if frame.session is session:
                self.remove(frame.id)

    def inside(self, frame: ChromiumFrame) -> list[ChromiumFrame]:
        """Return the frames directly in a frame."""
        return [inner for inner in self._frames.values() if inner.parent is frame]

    def add_tree(self, told: Mapping[str, Any], session: DevToolsSession) -> None:
        """Add the frames of the protocol's tree that are not known yet."""
        to_do = [told]
        while to_do:
            one = to_do.pop()
            frame = one["frame"]
            if frame["id"] not in self._frames or not self._frames[frame["id"]].loader:
                self.navigated(frame, session)
            to_do += reversed(one.get("childFrames", ()))
