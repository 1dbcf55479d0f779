"""A window is a browser context of Playwright with one page."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, Protocol

from playwright.async_api import BrowserContext, Dialog, Error, Page, Request, Response

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
    Frame,
    NavigationFailed,
    Point,
    WindowOptions,
)
from browsers.engines.playwright.cookies import cookie_of, parameter_of
from browsers.engines.playwright.errors import is_of_page, navigation_reason
from browsers.engines.playwright.frames import PlaywrightBindings, PlaywrightFrame
from browsers.engines.playwright.network import PlaywrightRequests
from browsers.engines.traffic import Traffic
from browsers.engines.waits import Chores, first_of

_CLOSE_SECONDS: Final = 10.0
_TOO_DEEP: Final = POPUP_DEPTH + 1


class PlaywrightHost(Protocol):
    """A window belongs to this browser."""

    is_broken: bool

    @property
    def was_ended_by_a_page(self) -> bool:
        """Return whether the browser ended just after the process of a page of it had ended."""
        ...

    def ended_for_memory(self) -> bool:
        """Return whether a process ended for its use of memory."""
        ...

    def page_crashed(self) -> None:
        """Note that the process of a page has ended unexpectedly."""
        ...

    def closed(self, window: PlaywrightWindow) -> None:
        """Forget a window that was closed."""
        ...


class PlaywrightWindow:
    """A window has a page, its frames, and the windows that the page opened."""

    def __init__(self, host: PlaywrightHost, context: BrowserContext, options: WindowOptions) -> None:
        self.traffic = Traffic()
        self.lost = asyncio.Event()
        self.dialogs: list[DialogSeen] = []
        self.popups: list[str] = []
        self.http_scheme = ""
        """The scheme by which the site of the HTTP login asked for credentials."""
        self._host = host
        self._context = context
        self._options = options
        self._requests = PlaywrightRequests(self.traffic)
        self._own_page: Page | None = None
        self._loaded = asyncio.Event()
        """Set when the present document had its load event."""
        self._has_crashed = False
        self._loading_popups = 0
        self._depths: dict[Page, int] = {}
        """Number of windows that led to a window that the page opened."""
        self._chores = Chores()

    async def prepare(self) -> None:
        """Open the empty page. Raises EngineError."""
        context, options = self._context, self._options
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfinished", self._requests.finished)
        context.on("requestfailed", self._requests.failed)
        context.on("dialog", lambda dialog: self._chores.begin(self._answer(dialog)))
        context.on("page", self._on_page)
        try:
            if options.cookies:
                await context.add_cookies([parameter_of(cookie) for cookie in options.cookies])
            await self._add_scripts()
            page = self._own_page = await context.new_page()
            page.on("crash", lambda _: self._on_crash())
            page.on("close", lambda _: self.lose())
            page.on("load", lambda _: self._loaded.set())
            page.on("framenavigated", self._on_navigated)
            page.on("framedetached", lambda _: self._requests.abandon())
            await self._prepare_page(page)
        except Error as error:
            raise EngineError(error.message) from error

    async def _add_scripts(self) -> None:
        """Give each new document of the context the scripts and functions of the options."""
        bindings = PlaywrightBindings(self._options.bindings, self._frame_of)
        for name, function in bindings.functions():
            await self._context.expose_binding(name, function)
        for script in self._options.init_scripts:
            await self._context.add_init_script(script.source)

    async def _prepare_page(self, page: Page) -> None:
        """Prepare the page further, before its first document."""

    def lose(self) -> None:
        """Note that the page's process or the browser has ended."""
        self.lost.set()

    def _on_crash(self) -> None:
        self._has_crashed = True
        self._host.page_crashed()
        self.lose()

    def _on_request(self, request: Request) -> None:
        self._requests.sent(request, is_main_page=self._is_of_page(request))

    def _is_of_page(self, request: Request) -> bool:
        try:
            return self._own_page is not None and request.frame.page == self._own_page
        except Error:  # a request of a service worker, or the first one of a page that the page opens
            return False

    def _on_response(self, response: Response) -> None:
        self._requests.answered(response)
        self._note_scheme(response.url, response.status, response.headers)

    def _note_scheme(self, url: str, status: int, headers: Mapping[str, str]) -> None:
        login = self._options.http_login
        asks = [value for name, value in headers.items() if name.lower() == "www-authenticate"]
        if login is not None and status == _UNAUTHORIZED and asks and login.is_of(url):
            self.http_scheme = asks[0].partition(" ")[0].lower()

    def _on_navigated(self, frame: Any) -> None:
        if frame.parent_frame is None:
            self._loaded.clear()

    def _on_page(self, page: Page) -> None:
        if self._own_page is None or page == self._own_page:
            return
        if len(self.popups) < MAX_POPUPS:
            self.popups.append(page.url)
        self._chores.begin(self._serve_popup(page))

    async def _serve_popup(self, page: Page) -> None:
        """Let a window that the page opened load for its time, and close it. Such a window may open others."""
        name = f"popup {id(page)}"
        self.traffic.hold(name)
        try:
            depth = self._depths[page] = await self._depth_of(page)
            is_near = depth <= POPUP_DEPTH and len(self._depths) <= MAX_POPUPS
            if is_near and self._options.popup_seconds and self._loading_popups < LOADING_POPUPS:
                self._loading_popups += 1
                try:
                    await page.wait_for_load_state("load", timeout=self._options.popup_seconds * 1000)
                finally:
                    self._loading_popups -= 1
        except Error:
            pass  # its time is over, or the window has closed itself
        finally:
            self._chores.begin(self._close_popup(page, name))

    async def _close_popup(self, page: Page, name: str) -> None:
        try:
            await page.close()
        except Error as error:
            raise EngineError(error.message) from error
        finally:
            self._requests.abandon()
            self.traffic.release(name)

    async def _depth_of(self, page: Page) -> int:
        """Return the number of windows that led to a window; too many when its opener has gone."""
        opener = await page.opener()
        if opener is None:
            return _TOO_DEEP
        return 1 if opener == self._own_page else self._depths.get(opener, POPUP_DEPTH) + 1

    async def _answer(self, dialog: Dialog) -> None:
        if len(self.dialogs) < MAX_DIALOGS:
            self.dialogs.append(DialogSeen(dialog.type, dialog.message[:MAX_MESSAGE]))
        try:
            if self._options.dialogs is DialogAnswer.ACCEPT:
                await dialog.accept(dialog.default_value)
            else:
                await dialog.dismiss()
        except Error as error:
            raise EngineError(error.message) from error

    # The visitor's side

    @property
    def main_frame(self) -> Frame:
        """Return the outermost frame."""
        return self._frame_of(self._page.main_frame)

    @property
    def frames(self) -> Sequence[Frame]:
        """Return the present frames, the main frame first."""
        return [self._frame_of(frame) for frame in self._page.frames]

    @property
    def fell_with_another(self) -> bool:
        """Return whether the browser ended because of another page."""
        return self._host.was_ended_by_a_page and not self._has_crashed

    def ended_for_memory(self) -> bool:
        """Return whether a process of the browser has just ended for its use of memory."""
        return self._host.ended_for_memory()

    async def navigate(self, url: str) -> None:
        """Go to the URL, and return when its document begins. Raises NavigationFailed and EngineLost."""
        try:
            await self._unless_lost(self._page.goto(url, wait_until="commit", timeout=0))
        except Error as error:
            if is_of_page(error.message):
                raise EngineLost(error.message) from error
            raise NavigationFailed(navigation_reason(error.message)) from error

    async def loaded(self) -> None:
        """Wait for the load event of the main frame, or until its document broke off. Raises EngineLost."""
        await first_of(self.lost, self._loaded, self.traffic.main_failed)

    async def go_back(self) -> bool:
        """Go to the previous entry of the history, and return whether there was one. Raises EngineLost."""
        before = self._page.url
        answer = await self._do(self._page.go_back(wait_until="commit", timeout=0))
        return answer is not None or self._page.url != before

    async def resize(self, width: int, height: int, scale: float) -> None:
        """Give the page another size. The number of device pixels stays as it is. Raises EngineError."""
        await self._do(self._page.set_viewport_size({"width": width, "height": height}))

    async def screenshot(self, area: Area | None = None) -> bytes:
        """Return a PNG picture of the visible part of the page, or of an area of the whole page."""
        clip: Any = None
        if area is not None:
            clip = {"x": area.x, "y": area.y, "width": area.width, "height": area.height}
        taken = self._page.screenshot(
            type="png",
            scale="css",
            clip=clip,
            full_page=area is not None,
            animations="allow",
            caret="initial",
            timeout=0,
        )
        return bytes(await self._do(taken))

    async def pdf(self) -> bytes:
        """Raise EngineError: only Chromium makes PDF documents for Playwright."""
        raise EngineError("this browser makes no PDF documents; use Chromium")

    async def move_mouse(self, to: Point) -> None:
        """Move the mouse. Raises EngineLost."""
        await self._do(self._page.mouse.move(to.x, to.y))

    async def click(self, at: Point) -> None:
        """Move the mouse, press its left button and release it. Raises EngineLost."""
        await self._do(self._page.mouse.click(at.x, at.y))

    async def press(self, key: str) -> None:
        """Send a key to the focus. Raises ValueError for an unknown name, and EngineLost."""
        try:
            await self._unless_lost(self._page.keyboard.press(key))
        except Error as error:
            if "Unknown key" not in error.message:
                raise EngineLost(error.message) from error
            if len(key) != 1:
                raise ValueError(f"{key!r} is no key") from error
            await self.insert_text(key)

    async def insert_text(self, text: str) -> None:
        """Insert text where the focus is. Raises EngineLost."""
        await self._do(self._page.keyboard.insert_text(text))

    async def cookies(self) -> Sequence[BrowserCookie]:
        """Return all cookies of the context."""
        found = await self._do(self._context.cookies())
        return [cookie_of(each) for each in found]

    async def leave(self) -> None:
        """Close the window. Its cache can't be kept: Playwright closes pages, but not the workers of a context."""
        await self.close()

    async def close(self) -> None:
        """Close the window and forget its cookies, storage and cache.

        A browser that can't do this in time is not used again.
        """
        await self._chores.end()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._context.close()
        except (Error, TimeoutError):
            self._host.is_broken = True
        self.lose()
        self._host.closed(self)

    def _frame_of(self, frame: Any) -> PlaywrightFrame:
        return PlaywrightFrame(frame, self.lost.is_set)

    async def _do[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a call of Playwright. Raises EngineError and EngineLost."""
        try:
            return await self._unless_lost(work)
        except Error as error:
            lost = self.lost.is_set() or is_of_page(error.message)
            raise (EngineLost if lost else EngineError)(error.message) from error

    async def _unless_lost[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result, or raise EngineLost as soon as the page has ended. Raises Error of Playwright, too."""
        task, lost = asyncio.ensure_future(work), asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait((task, lost), return_when="FIRST_COMPLETED")
            if not task.done():
                raise EngineLost("the page's process has ended")
            return task.result()
        finally:
            lost.cancel()
            task.cancel()

    @property
    def _page(self) -> Page:
        if self._own_page is None:
            raise EngineLost("the window has no page yet")
        return self._own_page


_UNAUTHORIZED: Final = 401
