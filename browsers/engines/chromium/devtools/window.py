"""A window of Chromium is a browser context with one page, which is controlled over the DevTools protocol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from browsers.engines.chromium.devtools.bindings import Bindings
from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.chromium.devtools.cookies import cookie_of
from browsers.engines.chromium.devtools.frames import WORLD_NAME, ChromiumFrame, FrameTree
from browsers.engines.chromium.devtools.fresh_document import FreshDocument
from browsers.engines.chromium.devtools.http_login import HttpLoginAnswers
from browsers.engines.chromium.devtools.kept_context import ChromiumContext
from browsers.engines.chromium.devtools.network import RequestEvents
from browsers.engines.chromium.devtools.page_commands import back_in, press, size_of
from browsers.engines.chromium.devtools.pictures import PagePictures, pdf_of
from browsers.engines.interface import (
    LOADING_POPUPS,
    MAX_DIALOGS,
    MAX_MESSAGE,
    MAX_POPUPS,
    POPUP_DEPTH,
    Area,
    BrowserCookie,
    DialogAnswer,
    DialogSeen,
    EngineError,
    EngineLost,
    NavigationFailed,
    Point,
    WindowOptions,
    World,
)
from browsers.engines.traffic import DOCUMENTS, MAX_BODY, Traffic
from browsers.engines.waits import Chores, next_of

_NET_ERROR: Final = re.compile(r"net::(ERR_[A-Z0-9_]+)")
_CLOSE_SECONDS: Final = 10.0
_MOST_ORIGINS: Final = 200
"""A context with data of more origins is not kept."""
_NO_BODIES: Final = {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": MAX_BODY}
"""The proxy keeps the bodies of answers, so that the browser need not."""


class WindowHost(Protocol):
    """A window belongs to this browser."""

    lost: asyncio.Event
    is_broken: bool

    @property
    def root(self) -> DevToolsSession:
        """Return the session of the browser itself."""
        ...

    @property
    def user_agent(self) -> Mapping[str, Any]:
        """Return the parameters of `Emulation.setUserAgentOverride` for a window that names no User-Agent."""
        ...

    @property
    def was_ended_by_a_page(self) -> bool:
        """Return whether the browser ended just after the process of a page of it had ended."""
        ...

    def ended_for_memory(self) -> bool:
        """Return whether a process ended for its use of memory."""
        ...

    def taking_picture(self) -> AbstractContextManager[None]:
        """Return a context in which no process of a page is ended by us, as far as this can wait."""
        ...

    def page_crashed(self) -> None:
        """Note that the process of a page has ended unexpectedly."""
        ...

    def adopt(self, session_id: str, kind: str) -> DevToolsSession:
        """Return a session that a session of the window announced."""
        ...

    def forget(self, session_id: str) -> DevToolsSession | None:
        """End a session that has gone, and return it."""
        ...

    def keep(self, context_id: str, origins: frozenset[str]) -> ChromiumContext:
        """Return the context of a window that is being left. New targets go to the context from now on."""
        ...

    async def dispose(self, context_id: str) -> None:
        """Close a context and forget its window. A browser that can't do this in time is not used again."""
        ...


class ChromiumWindow:
    """A window has the sessions of its page, of frames in other processes, of its workers, and of opened windows."""

    def __init__(self, host: WindowHost, context_id: str, options: WindowOptions) -> None:
        self.traffic = Traffic()
        self.lost = asyncio.Event()
        self.ready = asyncio.Event()
        """Set when the page is prepared."""
        self.dialogs: list[DialogSeen] = []
        self.popups: list[str] = []
        self._host = host
        self._context_id = context_id
        self._options = options
        self._bindings = Bindings(options.bindings)
        self._http_login = HttpLoginAnswers(options.http_login)
        self._pictures = PagePictures(options.device, host.taking_picture)
        self._requests = RequestEvents(self.traffic)
        self._frames = FrameTree(self._requests)
        self._page: DevToolsSession | None = None
        self._target = ""
        self._targets: dict[str, str] = {}
        """Target of each session."""
        self._loaded_loader = ""
        """The newest document that had its load event."""
        self._loaded = asyncio.Event()
        self._committed = asyncio.Event()
        self._mouse = Point(0, 0)
        self._has_crashed = False
        self._loading_popups = 0
        self._has_unseen_popups = False
        """True if the page opened a window whose requests were not reported."""
        self._fresh_document = FreshDocument(is_awaited=options.context is not None)
        self._popup_depths: dict[str, int] = {}
        """Number of windows that led to a window that the page opened, by target."""
        self._chores = Chores()

    # The browser's side

    def attach(self, session: DevToolsSession, target: Mapping[str, Any]) -> None:
        """Take a new target of the window, which waits for `Runtime.runIfWaitingForDebugger`."""
        self._targets[session.id] = target["targetId"]
        session.handler = lambda method, params: self._on_event(session, method, params)
        if target["type"] == "page" and self._page is None:
            self._page, self._target = session, target["targetId"]
            self._requests.main_frame = target["targetId"]
            self._frames.attach(target["targetId"], "", session)
            self._chores.begin(self._prepare_page(session))
        elif target["type"] == "page":
            depth = self._popup_depths.get(target.get("openerId", ""), 0) + 1
            self._popup_depths[target["targetId"]] = depth
            self._chores.begin(self._serve_popup(session, target["targetId"], depth))
        elif target["type"] == "iframe":
            self._frames.attach(target["targetId"], target.get("parentFrameId", ""), session)
            self._prepare_frame(session)
        else:
            self._prepare_worker(session)

    def detach(self, session: DevToolsSession) -> None:
        """Forget a target that has gone."""
        target = self._targets.pop(session.id, "")
        self._requests.session_ended(session)
        if session is self._page:
            self.lose()
        elif session.kind == "iframe":
            frame = self._frames.get(target)
            if frame is not None and frame.session is session:
                self._frames.remove(target)

    def lose(self) -> None:
        """Note that the page's process or the browser has ended."""
        self.lost.set()
        if self._page is not None:
            self._page.end("the page's process has ended")

    def _prepare_frame(self, session: DevToolsSession) -> asyncio.Future[dict[str, Any]]:
        """Send the commands that each page and frame needs before its first script. Return the last answer."""
        options = self._options
        session.send("Page.enable")
        tree = session.send("Page.getFrameTree")
        tree.add_done_callback(lambda answer: self._on_tree(session, answer))
        session.send("Page.setLifecycleEventsEnabled", enabled=True)
        session.send("Network.enable", **_NO_BODIES)
        session.send("Inspector.enable")
        session.send("DOM.enable")
        session.send(
            "Target.setAutoAttach",
            autoAttach=True,
            waitForDebuggerOnStart=True,
            flatten=True,
        )
        session.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self._emulate(session)
        if options.headers:
            session.send("Network.setExtraHTTPHeaders", headers=dict(options.headers))
        self._http_login.prepare(session)
        if options.passes_by_service_workers:
            session.send("Network.setBypassServiceWorker", bypass=True)
        self._bindings.enable(session)
        for script in (*self._bindings.scripts, *options.init_scripts):
            world = {"worldName": WORLD_NAME} if script.world is World.ISOLATED else {}
            session.send("Page.addScriptToEvaluateOnNewDocument", source=script.source, runImmediately=True, **world)
        return session.send("Runtime.runIfWaitingForDebugger")

    def _emulate(self, session: DevToolsSession) -> None:
        device = self._options.device
        session.send("Emulation.setUserAgentOverride", **self._user_agent())
        if session.kind == "page":
            self._take_size(session, device.width, device.height, device.scale)
        if device.has_touch:
            session.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        if device.timezone:
            session.send("Emulation.setTimezoneOverride", timezoneId=device.timezone)
        if device.lang:
            session.send("Emulation.setLocaleOverride", locale=device.lang.partition(",")[0])
        if device.dark:
            session.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def _take_size(
        self, session: DevToolsSession, width: int, height: int, scale: float
    ) -> asyncio.Future[dict[str, Any]]:
        size = size_of(width, height, scale, is_mobile=self._options.device.is_mobile)
        return session.send("Emulation.setDeviceMetricsOverride", **size)

    def _user_agent(self) -> dict[str, Any]:
        device = self._options.device
        agent = {"userAgent": device.user_agent} if device.user_agent else dict(self._host.user_agent)
        if device.lang:
            agent["acceptLanguage"] = device.lang
        return agent

    async def _prepare_page(self, session: DevToolsSession) -> None:
        await self._prepare_frame(session)
        self.ready.set()

    def _prepare_worker(self, session: DevToolsSession) -> None:
        session.send("Network.enable", **_NO_BODIES)
        session.send("Network.setUserAgentOverride", **self._user_agent())
        if self._options.headers:
            session.send("Network.setExtraHTTPHeaders", headers=dict(self._options.headers))
        self._http_login.prepare(session)
        session.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        session.send("Runtime.runIfWaitingForDebugger")

    async def _serve_popup(self, session: DevToolsSession, target: str, depth: int) -> None:
        """Let a window that the page opened load for its time, and close it. Such a window may open others."""
        is_near = depth <= POPUP_DEPTH and len(self._popup_depths) <= MAX_POPUPS
        may_load = is_near and self._loading_popups < LOADING_POPUPS
        seconds = self._options.popup_seconds if may_load else 0.0
        self._has_unseen_popups = self._has_unseen_popups or not seconds
        loaded = asyncio.Event()

        def take(method: str, params: Mapping[str, Any]) -> None:
            if method == "Page.loadEventFired":
                loaded.set()
            elif method.startswith(("Network.", "Fetch.")) or method in (
                "Page.javascriptDialogOpening",
                "Page.windowOpen",
            ):
                self._on_event(session, method, params)

        session.handler = take
        self.traffic.hold(f"popup {target}")
        self._loading_popups += 1
        try:
            if seconds:
                session.send("Page.enable")
                session.send("Network.enable", **_NO_BODIES)
                self._http_login.prepare(session)
                self._emulate(session)
            session.send("Runtime.runIfWaitingForDebugger")  # else the page that opened the window would wait, too
            if seconds:
                async with asyncio.timeout(seconds):
                    await loaded.wait()
        except TimeoutError:
            pass
        finally:
            self._loading_popups -= 1
            self._host.root.send("Target.closeTarget", targetId=target)
            self.traffic.release(f"popup {target}")

    def _on_event(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> None:
        if method.startswith("Network."):
            is_popup = session.kind == "page" and session is not self._page
            self._requests.handle(session, method, params, is_popup=is_popup)
            return
        if method.startswith("Fetch."):
            if self._fresh_document.is_awaited and session is self._page:
                self._fresh_document.handle(session, params)
            else:
                self._http_login.handle(session, method, params)
            return
        match method:
            case "Page.lifecycleEvent":
                if params["name"] == "load" and params["frameId"] == self._target:
                    self._loaded_loader = params["loaderId"]
                    self._loaded.set()
            case "Page.windowOpen":
                if len(self.popups) < MAX_POPUPS:
                    self.popups.append(params["url"])
            case "Page.frameNavigated":
                if self._frames.navigated(params["frame"], session).is_main:
                    self._committed.set()
            case "Page.javascriptDialogOpening":
                self._answer(session, params)
            case "Target.attachedToTarget":
                info = params["targetInfo"]
                self.attach(self._host.adopt(params["sessionId"], info["type"]), info)
            case "Target.detachedFromTarget":
                if ended := self._host.forget(params["sessionId"]):
                    self.detach(ended)
            case "Inspector.targetCrashed":
                if session is self._page:
                    self._has_crashed = True
                    self._host.page_crashed()
                    self.lose()
                else:
                    self._requests.session_ended(session)
                    self._frames.remove_all_of(session)
            case _:
                self._frames.handle(session, method, params)
                if answer := self._bindings.handle(session, method, params, self._frames):
                    self._chores.begin(answer)

    def _on_tree(self, session: DevToolsSession, answer: asyncio.Future[dict[str, Any]]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._frames.add_tree(answer.result()["frameTree"], session)

    def _answer(self, session: DevToolsSession, told: Mapping[str, Any]) -> None:
        if len(self.dialogs) < MAX_DIALOGS:
            self.dialogs.append(DialogSeen(told["type"], told["message"][:MAX_MESSAGE]))
        accepts = self._options.dialogs is DialogAnswer.ACCEPT
        session.send("Page.handleJavaScriptDialog", accept=accepts, promptText=told.get("defaultPrompt") or "")

    # The visitor's side

    @property
    def main_frame(self) -> ChromiumFrame:
        """Return the outermost frame."""
        return self._frames.outermost

    @property
    def frames(self) -> Sequence[ChromiumFrame]:
        """Return the present frames, the main frame first."""
        return list(self._frames)

    @property
    def http_scheme(self) -> str:
        """Return the scheme by which the site of the HTTP login asked for credentials; empty when it has not."""
        return self._http_login.scheme

    def ended_for_memory(self) -> bool:
        """Return whether a process of the browser has just ended for its use of memory."""
        return self._host.ended_for_memory()

    @property
    def fell_with_another(self) -> bool:
        """Return whether the browser ended because of another page."""
        return self._host.was_ended_by_a_page and not self._has_crashed

    async def navigate(self, url: str) -> None:
        """Go to the URL, and return when its document begins. Raises NavigationFailed and EngineLost."""
        before = self.main_frame.loader
        if self._fresh_document.is_awaited:
            self._fresh_document.prepare(self._main)
        try:
            answer = await self._main.send("Page.navigate", url=url)
        except EngineLost:
            raise
        except EngineError as error:
            match = _NET_ERROR.search(str(error))
            raise NavigationFailed(match[1] if match else "ERR_INVALID_URL") from error
        if text := answer.get("errorText"):
            match = _NET_ERROR.search(text)
            raise NavigationFailed(match[1] if match else "ERR_FAILED")
        while "loaderId" in answer and self.main_frame.loader == before:
            await next_of(self.lost, self._committed)

    async def loaded(self) -> None:
        """Wait for the load event of the main frame, or until its document broke off. Raises EngineLost."""
        while self._loaded_loader != self.main_frame.loader and not self.traffic.main_failed.is_set():
            await next_of(self.lost, self._loaded, self.traffic.main_failed)

    async def go_back(self) -> bool:
        """Go to the previous entry of the history, and return whether there was one. Raises EngineLost."""
        return await back_in(self._main)

    async def resize(self, width: int, height: int, scale: float) -> None:
        """Give the page another size. Raises EngineError."""
        await self._take_size(self._main, width, height, scale)

    async def screenshot(self, area: Area | None = None) -> bytes:
        """Return a PNG picture of the visible part of the page, or of an area of the whole page."""
        return await self._pictures.screenshot(self._main, area)

    async def pdf(self) -> bytes:
        """Return the page as a PDF document of A4 pages with backgrounds. Raises EngineError."""
        return await pdf_of(self._main)

    async def move_mouse(self, to: Point) -> None:
        """Move the mouse. Raises EngineLost."""
        self._mouse = to
        await self._main.send("Input.dispatchMouseEvent", type="mouseMoved", x=to.x, y=to.y)

    async def click(self, at: Point) -> None:
        """Move the mouse, press its left button and release it. Raises EngineLost."""
        await self.move_mouse(at)
        common = {"x": at.x, "y": at.y, "button": "left", "clickCount": 1}
        pressed = self._main.send("Input.dispatchMouseEvent", type="mousePressed", buttons=1, **common)
        released = self._main.send("Input.dispatchMouseEvent", type="mouseReleased", buttons=0, **common)
        await pressed
        await released

    async def press(self, key: str) -> None:
        """Send a key to the focus. Raises ValueError for an unknown name, and EngineLost."""
        await press(self._main, key)

    async def insert_text(self, text: str) -> None:
        """Insert text where the focus is. Raises EngineLost."""
        await self._main.send("Input.insertText", text=text)

    async def cookies(self) -> Sequence[BrowserCookie]:
        """Return all cookies of the context."""
        answer = await self._host.root.send("Storage.getCookies", browserContextId=self._context_id)
        return [cookie_of(found) for found in answer["cookies"]]

    async def leave(self) -> ChromiumContext | None:
        """Close all pages and workers, and return the context with its cache; None when it had to be closed."""
        origins = self._origins()
        if origins is None or self.lost.is_set():
            await self.close()
            return None
        await self._chores.end()
        kept = self._host.keep(self._context_id, origins)
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await kept.end_targets()
        except (EngineError, TimeoutError):
            await kept.close()
            return None
        return kept

    async def close(self) -> None:
        """Close the window and forget its cookies, storage and cache.

        A browser that can't do this in time is not used again.
        """
        await self._chores.end()
        await self._host.dispose(self._context_id)

    def _origins(self) -> frozenset[str] | None:
        """Return the origins of all documents, which may have left data; None when they are not all known."""
        exchanges = self.traffic.exchanges
        if self._has_unseen_popups or len(exchanges) < self.traffic.requests:
            return None
        found = frozenset(_origin(each.request.url) for each in exchanges if each.request.kind in DOCUMENTS)
        return found if len(found) <= _MOST_ORIGINS else None

    @property
    def page(self) -> DevToolsSession:
        """Return the session of the page. Raises EngineLost."""
        return self._main

    @property
    def _main(self) -> DevToolsSession:
        if self._page is None:
            raise EngineLost("the window has no page yet")
        return self._page


def _origin(url: str) -> str:
    """Return the origin of a URL of the browser."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
