"""Chromium by Playwright has sessions of the DevTools protocol too, for functions that Playwright's API lacks.

They serve the isolated world, the frames, functions of ours in pages, pictures, keys, PDF documents, and the facts
about the browser's cache. A frame of another process gets its session a moment after the frame began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from playwright.async_api import BrowserContext, Error, Page
from playwright.async_api import Frame as PageFrame

from browsers.engines.chromium.devtools.bindings import Bindings
from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.chromium.devtools.cookies import cookie_of
from browsers.engines.chromium.devtools.frames import WORLD_NAME, ChromiumFrame, FrameTree
from browsers.engines.chromium.devtools.network import RequestEvents
from browsers.engines.chromium.devtools.page_commands import back_in, press, size_of
from browsers.engines.chromium.devtools.pictures import PagePictures, pdf_of
from browsers.engines.interface import Area, BrowserCookie, InitScript, WindowOptions, World
from browsers.engines.playwright.devtools import PlaywrightWire
from browsers.engines.playwright.window import PlaywrightHost, PlaywrightWindow
from browsers.engines.traffic import Traffic
from browsers.engines.waits import quietly


class ChromiumHost(PlaywrightHost, Protocol):
    """A window belongs to this browser."""

    @property
    def user_agent(self) -> Mapping[str, Any]:
        """Return the parameters of `Emulation.setUserAgentOverride` for a window that names no User-Agent."""
        ...

    def taking_picture(self) -> AbstractContextManager[None]:
        """Return a context in which no process of a page is ended by us, as far as this can wait."""
        ...


class ChromiumPlaywrightWindow(PlaywrightWindow):
    """A window has the sessions of its page and of frames in other processes."""

    def __init__(self, host: ChromiumHost, context: BrowserContext, options: WindowOptions) -> None:
        super().__init__(host, context, options)
        self._browser = host
        self._bindings = Bindings(options.bindings)
        self._pictures = PagePictures(options.device, host.taking_picture)
        self._tree = FrameTree(RequestEvents(Traffic()))
        self._wires: dict[PageFrame, PlaywrightWire] = {}
        """Sessions of the page and of frames in other processes."""
        self._looks: set[asyncio.Task[None]] = set()
        self._asked: dict[str, str] = {}
        """URLs of present requests, by the browser's ids."""

    async def _add_scripts(self) -> None:
        if not self._has_page_bindings:
            for script in self._options.init_scripts:
                if script.world is World.PAGE:
                    await self._context.add_init_script(script.source)

    @property
    def _has_page_bindings(self) -> bool:
        """Return whether scripts of the page's world may call functions of ours."""
        return bool(self._bindings.named(World.PAGE))

    async def _prepare_page(self, page: Page) -> None:
        wire = self._wires[page.main_frame] = PlaywrightWire(await self._context.new_cdp_session(page), "page")
        session = wire.session
        device = self._options.device
        agent = {"userAgent": device.user_agent} if device.user_agent else dict(self._browser.user_agent)
        if device.lang:  # Playwright sends the first language alone
            agent["acceptLanguage"] = device.lang
        session.send("Emulation.setUserAgentOverride", **agent)
        size = size_of(device.width, device.height, device.scale, is_mobile=device.is_mobile)
        session.send("Emulation.setDeviceMetricsOverride", **size)  # else pictures have another scale
        if self._options.passes_by_service_workers:
            session.send("Network.setBypassServiceWorker", bypass=True)
        await self._prepare_frame(session)
        page.on("framenavigated", self._begin_look)
        page.on("framedetached", self._forget)

    async def _prepare_frame(self, session: DevToolsSession) -> None:
        session.handler = lambda method, params: self._on_event(session, method, params)
        session.send("Page.enable")
        session.send("Network.enable", maxTotalBufferSize=0, maxResourceBufferSize=0)
        session.send("DOM.enable")
        self._bindings.enable(session)
        for script in self._scripts():
            world = {"worldName": WORLD_NAME} if script.world is World.ISOLATED else {}
            session.send("Page.addScriptToEvaluateOnNewDocument", source=script.source, runImmediately=True, **world)
        tree = (await session.send("Page.getFrameTree"))["frameTree"]
        self._tree.attach(tree["frame"]["id"], tree["frame"].get("parentId", ""), session)
        self._tree.add_tree(tree, session)

    def _scripts(self) -> Sequence[InitScript]:
        """Return the scripts that Playwright does not run in new documents."""
        scripts = (*self._bindings.scripts, *self._options.init_scripts)
        return [each for each in scripts if each.world is World.ISOLATED or self._has_page_bindings]

    def _begin_look(self, frame: PageFrame) -> None:
        look = asyncio.ensure_future(quietly(self._look_for_process(frame)))
        self._looks.add(look)
        look.add_done_callback(self._looks.discard)

    async def loaded(self) -> None:
        """Wait for the load event, and until the frames of other processes can be used. Raises EngineLost."""
        await super().loaded()
        if self._looks:
            await asyncio.wait(tuple(self._looks))

    async def _look_for_process(self, frame: PageFrame) -> None:
        """Open a session for a frame that has a process of its own."""
        known = self._wires.get(frame)
        if frame.parent_frame is None or (known is not None and not known.session.is_over):
            return
        try:
            cdp = await self._context.new_cdp_session(frame)
        except Error:  # the frame is in the process of the frame around it, or it has gone
            return
        wire = self._wires[frame] = PlaywrightWire(cdp, "iframe")
        await self._prepare_frame(wire.session)

    def _forget(self, frame: PageFrame) -> None:
        wire = self._wires.pop(frame, None)
        if wire is not None:
            for each in self._tree:
                if each.session is wire.session:
                    self._tree.remove(each.id)
            wire.close()

    def lose(self) -> None:
        """Note that the page's process or the browser has ended."""
        super().lose()
        for wire in self._wires.values():
            wire.close()

    def _on_event(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> None:
        match method:
            case "Inspector.targetCrashed":
                if session.kind == "iframe":
                    self._tree.remove_all_of(session)
            case "Network.requestWillBeSent":
                self._asked[params["requestId"]] = params["request"]["url"]
            case "Network.requestServedFromCache":
                self._note_cached(params["requestId"])
            case "Network.responseReceived":
                if params["response"].get("fromDiskCache"):
                    self._note_cached(params["requestId"])
            case "Network.loadingFinished" | "Network.loadingFailed":
                self._asked.pop(params["requestId"], None)
            case _:
                self._tree.handle(session, method, params)
                if answer := self._bindings.handle(session, method, params, self._tree):
                    self._chores.begin(answer)

    def _note_cached(self, request: str) -> None:
        url = self._asked.pop(request, "")
        if url.startswith("http"):
            self._requests.cached(url)

    @property
    def main_frame(self) -> ChromiumFrame:
        """Return the outermost frame."""
        return self._tree.outermost

    @property
    def frames(self) -> Sequence[ChromiumFrame]:
        """Return the present frames, the main frame first."""
        return list(self._tree)

    async def go_back(self) -> bool:
        """Go to the previous entry of the history, and return whether there was one. Raises EngineLost."""
        return await back_in(self._main)

    async def resize(self, width: int, height: int, scale: float) -> None:
        """Give the page another size. Raises EngineError."""
        metrics = size_of(width, height, scale, is_mobile=self._options.device.is_mobile)
        await self._main.send("Emulation.setDeviceMetricsOverride", **metrics)

    async def screenshot(self, area: Area | None = None) -> bytes:
        """Return a PNG picture of the visible part of the page, or of an area of the whole page."""
        return await self._pictures.screenshot(self._main, area)

    async def pdf(self) -> bytes:
        """Return the page as a PDF document of A4 pages with backgrounds. Raises EngineError."""
        return await pdf_of(self._main)

    async def press(self, key: str) -> None:
        """Send a key to the focus. Raises ValueError for an unknown name, and EngineLost."""
        await press(self._main, key)

    async def cookies(self) -> Sequence[BrowserCookie]:
        """Return all cookies of the context."""
        answer = await self._main.send("Network.getAllCookies")
        return [cookie_of(found) for found in answer["cookies"]]

    @property
    def _main(self) -> DevToolsSession:
        return self._wires[self._page.main_frame].session
