"""A window of Chromium is controlled by Playwright."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

import playwright.async_api
from playwright.async_api import BrowserContext, Dialog, FloatRect, Page, Request, Response
from playwright.async_api import Error as PlaywrightError

from browsers.engine import (
    MAX_DIALOGS,
    MAX_POPUPS,
    Area,
    DialogAnswer,
    DialogSeen,
    EngineError,
    EngineLost,
    FrameGone,
    NavigationFailed,
    Point,
    ScriptFailed,
    WindowOptions,
    World,
)
from browsers.traffic import MAX_BODY, BrowserRequest, Traffic

_CLOSED: Final = re.compile(r"has been closed|crashed|browser has disconnected")
_DETACHED: Final = re.compile(r"Frame was detached|context was destroyed|Execution context")
_NET_ERROR: Final = re.compile(r"net::(ERR_[A-Z0-9_]+)")
_MAX_MESSAGE: Final = 1000
_CLOSE_SECONDS: Final = 10.0


class PlaywrightFrame:
    """A frame shows a document of a window."""

    def __init__(self, frame: playwright.async_api.Frame, is_main: bool) -> None:
        self._frame = frame
        self._is_main = is_main

    @property
    def url(self) -> str:
        """Return the URL of the present document."""
        return self._frame.url

    @property
    def is_main(self) -> bool:
        """Return whether this is the outermost frame."""
        return self._is_main

    async def offset(self) -> Point:
        """Return the position of the document's visible corner in the window."""
        if self._is_main:
            return Point(0, 0)
        element = await _told(self._frame.frame_element())
        box = await _told(element.bounding_box())
        if box is None:
            raise FrameGone("the frame is not shown")
        return Point(box["x"], box["y"])

    async def evaluate(self, function: str, argument: Any = None, *, world: World = World.ISOLATED) -> Any:
        """Call a JavaScript function. Playwright has no isolated world for callers, so that all run in the page's."""
        return await _told(self._frame.evaluate(function, argument))


class WindowHost(Protocol):
    """A window belongs to this browser."""

    lost: asyncio.Event
    is_broken: bool

    def ended_for_memory(self) -> bool:
        """Return whether a process ended for its use of memory."""
        ...

    def closed(self) -> None:
        """Count a window that was closed."""
        ...


class PlaywrightWindow:
    """A window is a context with one page."""

    def __init__(self, context: BrowserContext, page: Page, options: WindowOptions, host: WindowHost) -> None:
        self.traffic = Traffic()
        self.lost = asyncio.Event()
        self.dialogs: list[DialogSeen] = []
        self.popups: list[str] = []
        self._context = context
        self._page = page
        self._options = options
        self._host = host
        self._requests: dict[Request, BrowserRequest] = {}
        self._chores: set[asyncio.Future[Any]] = set()
        self._start(host.lost.wait(), self.lost.set)
        page.on("crash", lambda _: self.lost.set())
        page.on("close", lambda _: self.lost.set())
        page.on("dialog", self._answer)
        context.on("page", self._on_popup)
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfinished", self._on_finished)
        context.on("requestfailed", self._on_failed)

    async def prepare(self) -> None:
        """Install the scripts and bindings of the options. Raises EngineError."""
        for binding in self._options.bindings:
            await _told(self._context.expose_binding(binding.name, self._bound(binding.function)))
        for script in self._options.init_scripts:
            await _told(self._context.add_init_script(script.source))

    @property
    def main_frame(self) -> PlaywrightFrame:
        """Return the outermost frame."""
        return PlaywrightFrame(self._page.main_frame, is_main=True)

    @property
    def frames(self) -> Sequence[PlaywrightFrame]:
        """Return the present frames, the main frame first."""
        return [PlaywrightFrame(frame, frame == self._page.main_frame) for frame in self._page.frames]

    def ended_for_memory(self) -> bool:
        """Return whether a process of the browser has just ended for its use of memory."""
        return self._host.ended_for_memory()

    async def navigate(self, url: str) -> None:
        """Go to the URL, and return when its document begins."""
        try:
            await self._page.goto(url, wait_until="commit", timeout=0)
        except PlaywrightError as error:
            if _CLOSED.search(error.message):
                raise EngineLost(error.message) from error
            match = _NET_ERROR.search(error.message)
            raise NavigationFailed(match[1] if match else "ERR_FAILED") from error

    async def loaded(self) -> None:
        """Wait for the load event of the main frame, or until its document broke off."""
        load = asyncio.ensure_future(self._page.wait_for_load_state("load", timeout=0))
        broken = asyncio.ensure_future(self.traffic.main_failed.wait())
        try:
            await asyncio.wait({load, broken}, return_when="FIRST_COMPLETED")
            if load.done():
                await _told(load)
        finally:
            load.cancel()
            broken.cancel()

    async def go_back(self) -> bool:
        """Go to the previous entry of the history."""
        return await _told(self._page.go_back(wait_until="commit", timeout=0)) is not None

    async def screenshot(self, area: Area | None = None) -> bytes:
        """Return a PNG picture."""
        if area is None:
            return await _told(self._page.screenshot(type="png", scale="css", timeout=0))
        clip = FloatRect(x=area.x, y=area.y, width=area.width, height=area.height)
        return await _told(self._page.screenshot(type="png", scale="css", full_page=True, clip=clip, timeout=0))

    async def pdf(self) -> bytes:
        """Return the page as PDF."""
        return await _told(self._page.pdf(format="A4", print_background=True))

    async def move_mouse(self, to: Point) -> None:
        """Move the mouse."""
        await _told(self._page.mouse.move(to.x, to.y))

    async def click(self, at: Point) -> None:
        """Click at the point."""
        await _told(self._page.mouse.click(at.x, at.y))

    async def wheel(self, at: Point, down: float) -> None:
        """Turn the mouse wheel."""
        await _told(self._page.mouse.move(at.x, at.y))
        await _told(self._page.mouse.wheel(0, down))

    async def press(self, key: str) -> None:
        """Send a key."""
        await _told(self._page.keyboard.press(key))

    async def insert_text(self, text: str) -> None:
        """Insert text where the focus is."""
        await _told(self._page.keyboard.insert_text(text))

    async def close(self) -> None:
        """Close the context. A browser that can't do this in time is not used again."""
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._context.close()
        except (PlaywrightError, TimeoutError):
            self._host.is_broken = True
        self._host.closed()

    def _bound(self, function: Callable[..., Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
        async def call(source: Any, argument: Any = None) -> Any:
            frame = source["frame"]
            return await function(PlaywrightFrame(frame, frame == self._page.main_frame), argument)

        return call

    def _start(self, work: Awaitable[Any], after: Callable[[], None] | None = None) -> None:
        chore = asyncio.ensure_future(work)
        self._chores.add(chore)

        def end(done: asyncio.Future[Any]) -> None:
            self._chores.discard(chore)
            if after is not None and not done.cancelled():
                after()

        chore.add_done_callback(end)

    def _answer(self, dialog: Dialog) -> None:
        if len(self.dialogs) < MAX_DIALOGS:
            self.dialogs.append(DialogSeen(dialog.type, dialog.message[:_MAX_MESSAGE]))
        accepts = self._options.dialogs is DialogAnswer.ACCEPT
        self._start(_ignoring(dialog.accept() if accepts else dialog.dismiss()))

    def _on_popup(self, popup: Page) -> None:
        if len(self.popups) < MAX_POPUPS:
            self.popups.append(popup.url)
        self._start(_ignoring(self._close_popup(popup)))

    async def _close_popup(self, popup: Page) -> None:
        key = f"popup {id(popup)}"
        self.traffic.hold(key)
        try:
            if self._options.popup_seconds:
                with contextlib.suppress(playwright.async_api.TimeoutError):
                    await popup.wait_for_load_state("load", timeout=self._options.popup_seconds * 1000)
            await popup.close()
        finally:
            self.traffic.release(key)

    def _on_request(self, request: Request) -> None:
        frame = _frame_of(request)
        noted = BrowserRequest(
            url=request.url,
            method=request.method,
            kind=request.resource_type,
            is_main=request.is_navigation_request() and frame == self._page.main_frame,
            is_awaited=frame is not None and frame.page == self._page,
            headers=request.headers,
            body=_body_of(request),
        )
        self._requests[request] = noted
        self.traffic.began(str(id(request)), noted)

    def _on_response(self, response: Response) -> None:
        if noted := self._requests.get(response.request):
            self.traffic.answered(noted, response.status, response.headers)

    def _on_finished(self, request: Request) -> None:
        if noted := self._requests.get(request):
            self.traffic.finished(str(id(request)), noted)

    def _on_failed(self, request: Request) -> None:
        if noted := self._requests.get(request):
            self.traffic.failed(str(id(request)), noted, request.failure or "failed")


def _body_of(request: Request) -> str | None:
    """Return the beginning of the request's body as text; None without one."""
    data = request.post_data_buffer
    return data[:MAX_BODY].decode("utf-8", "replace") if data else None


def _frame_of(request: Request) -> playwright.async_api.Frame | None:
    try:
        return request.frame
    except PlaywrightError:  # a request of a service worker, or of a window that is only being opened, has none
        return None


async def _ignoring(work: Awaitable[Any]) -> None:
    try:
        await work
    except PlaywrightError:
        return  # the page went away first


async def _told[T](work: Awaitable[T]) -> T:
    """Wait for Playwright's answer. Raises our errors for Playwright's."""
    try:
        return await work
    except playwright.async_api.TimeoutError as error:
        raise TimeoutError(error.message) from error
    except PlaywrightError as error:
        if _CLOSED.search(error.message):
            raise EngineLost(error.message) from error
        if _DETACHED.search(error.message):
            raise FrameGone(error.message) from error
        if "Error: " in error.message or "evaluate" in error.message:
            raise ScriptFailed(error.message) from error
        raise EngineError(error.message) from error
