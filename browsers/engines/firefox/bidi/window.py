"""A window of Firefox is a user context with one browsing context, which is controlled over WebDriver BiDi."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from browsers.engines.firefox.bidi import actions
from browsers.engines.firefox.bidi.bindings import ChannelBindings
from browsers.engines.firefox.bidi.connection import BidiChannel
from browsers.engines.firefox.bidi.cookies import cookie_of
from browsers.engines.firefox.bidi.errors import reason_of
from browsers.engines.firefox.bidi.frames import SANDBOX, FirefoxFrame, FirefoxFrameTree
from browsers.engines.firefox.bidi.http_login import BidiHttpLogin
from browsers.engines.firefox.bidi.network import BidiRequests
from browsers.engines.interface import (
    MAX_DIALOGS,
    MAX_POPUPS,
    Area,
    BrowserCookie,
    DialogAnswer,
    DialogSeen,
    EngineError,
    EngineLost,
    FrameGone,
    InitScript,
    NavigationFailed,
    Point,
    WindowOptions,
    World,
)
from browsers.engines.pictures import of_size
from browsers.engines.traffic import Traffic
from browsers.engines.waits import Chores, next_of

_MAX_MESSAGE: Final = 1000
_CLOSE_SECONDS: Final = 10.0
_POPUP_DEPTH: Final = 3
"""A window that a page opened may open another one, and so on, up to this depth.

A deeper window is closed when Firefox tells of it. By then it may have loaded, and opened the next one.
"""
_LOADING_POPUPS: Final = 10
"""The number of windows opened by a page that may load at the same time. Others are closed at once."""
_HIDE_CONTROL: Final = """
() => {
  const get = (() => false).bind();
  Object.defineProperty(get, 'name', {value: 'get webdriver'});
  Object.defineProperty(Navigator.prototype, 'webdriver', {get, enumerable: true, configurable: true});
}
"""
"""Firefox has no preference for this. A bound function has the text of a built-in one."""
_KEEP_OPEN: Final = """
() => {
  if (window !== window.top) return;
  const close = (() => {}).bind();
  Object.defineProperty(close, 'name', {value: 'close'});
  Object.defineProperty(window, 'close', {value: close, writable: true, enumerable: true, configurable: true});
}
"""
"""Firefox lets a page close its window while the window has shown no other page, and Chromium does not."""
_CRASHED: Final = "about:tabcrashed"
"""Firefox shows this page when the process of a page has ended. A page can't go there."""
_OUTSIDE: Final = "move target out of bounds"
_BORDER, _BARS = 100, 300
"""The bars of the browser's own window take fewer CSS pixels than these."""
_A4: Final = {"width": 21.0, "height": 29.7}
"""Centimetres."""


class FirefoxHost(Protocol):
    """A window belongs to this browser."""

    is_broken: bool
    hides_control: bool
    """True if pages do not see that a program controls the browser."""

    @property
    def root(self) -> BidiChannel:
        """Return the channel of the browser itself."""
        ...

    def ended_for_memory(self) -> bool:
        """Return whether a process ended for its use of memory."""
        ...

    def closed(self, window: FirefoxWindow) -> None:
        """Forget a window that was closed."""
        ...


class FirefoxWindow:
    """A window has the frames of its page, and the windows that the page opened."""

    def __init__(self, host: FirefoxHost, user_context: str, channel: BidiChannel, options: WindowOptions) -> None:
        self.user_context = user_context
        self.channel = channel
        self.traffic = Traffic()
        self.lost = asyncio.Event()
        self.dialogs: list[DialogSeen] = []
        self.popups: list[str] = []
        self._http_login = BidiHttpLogin(options.http_login)
        self._host = host
        self._options = options
        self._bindings = ChannelBindings(options.bindings, user_context)
        self._frames: FirefoxFrameTree | None = None
        self._requests = BidiRequests(self.traffic, "")
        self._commits = 0
        """Number of documents that the main frame has had."""
        self._navigation: str | None = None
        """The navigation of the main frame's present document."""
        self._loaded_navigation: str | None = None
        self._loaded = asyncio.Event()
        self._committed = asyncio.Event()
        self._popup_loads: dict[str, asyncio.Event] = {}
        """The windows that the page opened and that load, with the events of their loads."""
        self._popup_depths: dict[str, int] = {}
        """The depths of the windows that the page opened."""
        self._inside_popups: dict[str, str] = {}
        """Frames in opened windows, with their windows."""
        self._loading_popups = 0
        self._scripts: list[str] = []
        self._chores = Chores()

    # The browser's side

    async def prepare(self) -> None:
        """Open the empty page, and prepare it. Raises EngineError."""
        answer = await self.channel.send("browsingContext.create", type="window", userContext=self.user_context)
        main = self._begin_page(answer["context"])
        await self._enlarge(main.id, self._options.device.width, self._options.device.height)
        scripts = [*self._bindings.scripts(), *map(_preload_script, self._options.init_scripts)]
        scripts.insert(0, {"functionDeclaration": _KEEP_OPEN})
        if self._host.hides_control:
            scripts.insert(0, {"functionDeclaration": _HIDE_CONTROL})
        waits = [self.channel.send("script.addPreloadScript", contexts=[main.id], **script) for script in scripts]
        for wait in waits:
            self._scripts.append((await wait)["script"])
        await self._http_login.prepare(self.channel, main.id)

    async def _enlarge(self, context: str, width: int, height: int) -> None:
        """Make the browser's own window so large that no part of the page is outside, where no input would arrive."""
        tree = await self.channel.send("browsingContext.getTree", root=context, maxDepth=0)
        size = {"width": width + _BORDER, "height": height + _BARS}
        window = tree["contexts"][0]["clientWindow"]
        await self.channel.send("browser.setClientWindowState", clientWindow=window, state="normal", **size)

    def lose(self) -> None:
        """Note that the page's process or the browser has ended."""
        self.lost.set()
        self.channel.end("the page's process has ended")

    def on_event(self, method: str, params: Mapping[str, Any]) -> None:
        """Take an event of one of the window's browsing contexts."""
        if method == "network.authRequired":
            self._host.root.send(
                "network.continueWithAuth", request=params["request"]["request"], **self._http_login.answer(params)
            )
            return
        if method.startswith("network."):
            is_popup = params["context"] in self._popup_loads or params["context"] in self._inside_popups
            self._requests.handle(method, params, is_popup=is_popup)
            if params.get("isBlocked") and method == "network.beforeRequestSent":
                self._http_login.go_on(self._host.root, params)
            return
        context = params.get("context") or ""
        match method:
            case "browsingContext.contextCreated":
                self._attach(params)
            case "browsingContext.contextDestroyed":
                self._detach(context)
            case "browsingContext.userPromptOpened":
                self._answer(context, params)
            case "script.message":
                frame = self._frames.get(params["source"]["context"]) if self._frames is not None else None
                if frame is not None:
                    self._chores.begin(self._bindings.call(self.channel, frame, params))
            case _:
                self._on_navigation(method, context, params)

    def _attach(self, told: Mapping[str, Any]) -> None:
        parent = told.get("parent")
        if parent is None and self._frames is None:
            self._begin_page(told["context"])
        elif parent is None and self._frames is not None and told["context"] != self._frames.main.id:
            self._attach_popup(told["context"], told.get("originalOpener") or "")
        elif parent in self._inside_popups or parent in self._popup_loads:
            self._inside_popups[told["context"]] = self._inside_popups.get(parent or "", parent or "")
        elif self._frames is not None:
            self._frames.attach(told, self.channel)

    def _begin_page(self, context: str) -> FirefoxFrame:
        if self._frames is None:
            self._frames = FirefoxFrameTree(FirefoxFrame(context, None, self.channel, "about:blank"))
            self._requests = BidiRequests(self.traffic, context)
        return self._frames.main

    def _detach(self, context: str) -> None:
        ended = [context]
        if context in self._popup_loads:
            self._popup_loads[context].set()
            ended += [frame for frame, popup in self._inside_popups.items() if popup == context]
            for frame in ended:
                self._inside_popups.pop(frame, None)
        elif self._frames is not None and context == self._frames.main.id:
            self.lose()
        elif self._frames is not None:
            ended = [frame.id for frame in self._frames.below(context)]
            self._frames.remove(context)
        self._requests.frames_ended(ended)

    def _on_navigation(self, method: str, context: str, params: Mapping[str, Any]) -> None:
        if context in self._popup_loads:
            if method == "browsingContext.load":
                self._popup_loads[context].set()
            elif method == "browsingContext.navigationStarted":
                self._note_popup(params["url"])
            return
        frame = self._frames.get(context) if self._frames is not None else None
        if frame is None:
            return
        match method:
            case "browsingContext.navigationCommitted":
                frame.url = params["url"]
                if frame.is_main and frame.url.startswith(_CRASHED):
                    self.lose()
                elif frame.is_main:
                    self._commits += 1
                    self._navigation = params["navigation"]
                    self._committed.set()
            case "browsingContext.fragmentNavigated" | "browsingContext.historyUpdated":
                frame.url = params["url"]
            case "browsingContext.domContentLoaded":
                frame.url = params["url"]
            case "browsingContext.load":
                frame.url = params["url"]
                if frame.is_main:
                    self._loaded_navigation = params["navigation"]
                    self._loaded.set()
                else:
                    self._requests.frame_loaded(frame.url)

    def _note_popup(self, url: str) -> None:
        if url != "about:blank" and len(self.popups) < MAX_POPUPS:
            self.popups.append(url)

    def _attach_popup(self, context: str, opener: str) -> None:
        """Let a window that the page opened load for a time, or close it if it is one too many.

        It is known at once, since the events of its load may come together with that of its beginning.
        """
        depth = self._popup_depths[context] = self._popup_depths.get(opener, 0) + 1
        loaded = self._popup_loads[context] = asyncio.Event()
        self.traffic.hold(f"popup {context}")
        is_near = depth <= _POPUP_DEPTH and len(self._popup_depths) <= MAX_POPUPS
        if is_near and self._loading_popups < _LOADING_POPUPS:
            self._loading_popups += 1
            self._chores.begin(self._serve_popup(context, loaded))
        else:
            self._close_popup(context)

    async def _serve_popup(self, context: str, loaded: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._options.popup_seconds):
                await loaded.wait()
        except TimeoutError:
            pass
        finally:
            self._loading_popups -= 1
            self._close_popup(context)

    def _close_popup(self, context: str) -> None:
        self._host.root.send("browsingContext.close", context=context)
        self.traffic.release(f"popup {context}")

    def _answer(self, context: str, told: Mapping[str, Any]) -> None:
        if len(self.dialogs) < MAX_DIALOGS:
            self.dialogs.append(DialogSeen(told["type"], told["message"][:_MAX_MESSAGE]))
        accepts = self._options.dialogs is DialogAnswer.ACCEPT
        text = {"userText": told.get("defaultValue") or ""} if told["type"] == "prompt" and accepts else {}
        self.channel.send("browsingContext.handleUserPrompt", context=context, accept=accepts, **text)

    # The visitor's side

    @property
    def main_frame(self) -> FirefoxFrame:
        """Return the outermost frame."""
        if self._frames is None:
            raise EngineLost("the window has no page yet")
        return self._frames.main

    @property
    def http_scheme(self) -> str:
        """Return the scheme by which the site of the HTTP login asked for credentials."""
        return self._http_login.scheme

    @property
    def frames(self) -> Sequence[FirefoxFrame]:
        """Return the present frames, the main frame first."""
        return list(self._frames or ())

    @property
    def fell_with_another(self) -> bool:
        """Return False: Firefox does not end with the process of a page."""
        return False

    def ended_for_memory(self) -> bool:
        """Return whether a process of the browser has just ended for its use of memory."""
        return self._host.ended_for_memory()

    async def navigate(self, url: str) -> None:
        """Go to the URL, and return when its document begins. Raises NavigationFailed and EngineLost."""
        before = self._commits
        try:
            await self._send("browsingContext.navigate", url=url, wait="none")
        except EngineLost:
            raise
        except EngineError as error:
            raise NavigationFailed(reason_of(str(error))) from error
        while self._commits == before:
            await next_of(self.lost, self._committed)

    async def loaded(self) -> None:
        """Wait for the load event of the main frame, or until its document broke off. Raises EngineLost."""
        while self._loaded_navigation != self._navigation and not self.traffic.main_failed.is_set():
            await next_of(self.lost, self._loaded, self.traffic.main_failed)

    async def go_back(self) -> bool:
        """Go to the previous entry of the history, and return whether there was one. Raises EngineLost."""
        try:
            await self._send("browsingContext.traverseHistory", delta=-1)
        except FrameGone:
            return False
        return True

    async def resize(self, width: int, height: int, scale: float) -> None:
        """Give the page another size. Raises EngineError."""
        screen = {"width": width, "height": height}
        mine = [self.main_frame.id]
        resized = self._send("browsingContext.setViewport", viewport=screen, devicePixelRatio=scale)
        await self.channel.send("emulation.setScreenSettingsOverride", screenArea=screen, contexts=mine)
        await resized
        await self._enlarge(mine[0], width, height)

    async def screenshot(self, area: Area | None = None) -> bytes:
        """Return a PNG picture of the visible part of the page, or of an area of the whole page."""
        device = self._options.device
        wanted: dict[str, Any] = {"origin": "viewport"}
        width, height = float(device.width), float(device.height)
        if area is not None:
            clip = {"type": "box", "x": area.x, "y": area.y, "width": area.width, "height": area.height}
            wanted, width, height = {"origin": "document", "clip": clip}, area.width, area.height
        answer = await self._send("browsingContext.captureScreenshot", **wanted)
        picture = base64.b64decode(answer["data"])
        return picture if device.scale == 1 else await asyncio.to_thread(of_size, picture, round(width), round(height))

    async def pdf(self) -> bytes:
        """Return the page as a PDF document of A4 pages with backgrounds. Raises EngineError."""
        answer = await self._send("browsingContext.print", background=True, page=_A4)
        return base64.b64decode(answer["data"])

    async def move_mouse(self, to: Point) -> None:
        """Move the mouse. Raises EngineLost."""
        await self._act(actions.mouse(to, clicks=False))

    async def click(self, at: Point) -> None:
        """Move the mouse, press its left button and release it. Raises EngineLost."""
        await self._act(actions.mouse(at, clicks=True))

    async def press(self, key: str) -> None:
        """Send a key to the focus. Raises ValueError for an unknown name, and EngineLost."""
        await self._act(actions.keys(actions.key_of(key)))

    async def insert_text(self, text: str) -> None:
        """Insert text where the focus is, character by character. Raises EngineLost."""
        await self._act(actions.keys(text))

    async def cookies(self) -> Sequence[BrowserCookie]:
        """Return all cookies of the user context."""
        partition = {"type": "storageKey", "userContext": self.user_context}
        answer = await self.channel.send("storage.getCookies", partition=partition)
        return [cookie_of(found) for found in answer["cookies"]]

    async def leave(self) -> None:
        """Close the window: all user contexts share one cache, which none of them could keep for itself."""
        await self.close()

    async def close(self) -> None:
        """Close the window and forget its cookies, storage and cache.

        A browser that can't do this in time is not used again.
        """
        await self._chores.end()
        self._host.closed(self)
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                self._http_login.forget(self._host.root)
                for script in self._scripts:
                    self._host.root.send("script.removePreloadScript", script=script)
                await self._host.root.send("browser.removeUserContext", userContext=self.user_context)
        except (EngineError, TimeoutError):
            self._host.is_broken = True

    def _send(self, method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        return self.channel.send(method, context=self.main_frame.id, **params)

    async def _act(self, sources: list[dict[str, Any]]) -> None:
        """Perform actions of the input. A point outside the window has nothing to point at."""
        try:
            await self._send("input.performActions", actions=sources)
        except EngineLost:
            raise
        except EngineError as error:
            if not str(error).startswith(_OUTSIDE):
                raise


def _preload_script(script: InitScript) -> dict[str, Any]:
    sandbox = {"sandbox": SANDBOX} if script.world is World.ISOLATED else {}
    return {"functionDeclaration": f"() => {{\n{script.source}\n}}", **sandbox}
