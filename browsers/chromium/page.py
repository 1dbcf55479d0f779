"""One page, from its address to what is left of it: load, settle, look, scroll, settle, look again.

Whatever goes wrong, what was gathered until then is the result, with a note: no step may take the page's time from
the others, and no page more than its time.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from archive.sections import BrowserSettings
from browsers import behaviors, html, render
from browsers.behaviors import Position, Scroll
from browsers.links import media_type
from browsers.traffic import MainAnswer, Traffic

_RESERVE_SECONDS: Final = 10.0
"""Kept back from scrolling and settling, for pictures, DOM and links."""
_STEP_SECONDS: Final = 15.0
"""Longest single look at the page."""
_CLOSED: Final = re.compile(r"has been closed|crashed|browser has disconnected")
_NET_ERROR: Final = re.compile(r"net::(ERR_[A-Z0-9_]+)")


@dataclass(slots=True)
class Look:
    """What was seen of a page; grows while the page is visited."""

    main: MainAnswer | None = None
    failure: str = ""
    """Chromium's name for why there is no page, such as ERR_TUNNEL_CONNECTION_FAILED; empty when there is one."""
    crashed: bool = False
    title: str = ""
    final_url: str = ""
    view: bytes | None = None
    whole: bytes | None = None
    dom: str | None = None
    text: str | None = None
    links: list[tuple[str, str]] = field(default_factory=list)
    scroll: Scroll = field(default_factory=Scroll)
    notes: list[str] = field(default_factory=list)
    """Annotations: what was cut short."""

    @property
    def is_page(self) -> bool:
        """Whether a document of the site is shown, and not a download or an error page of the browser."""
        return self.main is not None and self.main.is_sites and not self.failure and not self.crashed


class Deadline:
    """When a page's time is over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float, reserve: float = 0.0) -> float:
        """Seconds that a step may take: at most `most`, and what is left after `reserve`."""
        return max(0.0, min(most, self._end - reserve - time.monotonic()))


async def look_at(
    context: BrowserContext, url: str, traffic: Traffic, settings: BrowserSettings, gone: asyncio.Event
) -> Look:
    """Visits `url` in a fresh page of `context`; always comes back within the page's time and a little.

    `gone` is set when the browser is no more. Raises PlaywrightError when there can't even be a page.
    """
    look = Look()
    page = await context.new_page()
    traffic.watch(page.main_frame)
    chores: set[asyncio.Task[None]] = set()

    def close_popup(popup: Page) -> None:
        task = asyncio.ensure_future(_close(popup))
        chores.add(task)
        task.add_done_callback(chores.discard)

    context.on("page", close_popup)
    crashed = asyncio.Event()
    page.on("crash", lambda _: crashed.set())
    steps: asyncio.Future[Any] = asyncio.ensure_future(_Steps(page, url, traffic, settings, look).run())
    ends = {steps, asyncio.ensure_future(crashed.wait()), asyncio.ensure_future(gone.wait())}
    try:
        done, _ = await asyncio.wait(ends, timeout=settings.page_seconds, return_when="FIRST_COMPLETED")
        look.crashed = look.crashed or crashed.is_set() or gone.is_set()
        if not done:
            look.notes.append("page-timeout")
    finally:
        context.remove_listener("page", close_popup)
        for task in (*ends, *chores):
            task.cancel()
        await asyncio.gather(*ends, *chores, return_exceptions=True)
    look.main = look.main or traffic.main
    return look


class _Steps:
    """The steps of one visit, in order."""

    def __init__(self, page: Page, url: str, traffic: Traffic, settings: BrowserSettings, look: Look) -> None:
        self._page = page
        self._url = url
        self._traffic = traffic
        self._settings = settings
        self._look = look
        self._deadline = Deadline(settings.page_seconds)

    async def run(self) -> None:
        look = self._look
        await self._load()
        if not look.is_page:
            return
        await self._settle()
        await self._try("view", self._take_view)
        if media_type((look.main or MainAnswer("", 0, {})).headers.get("content-type", "")) not in html.TYPES | {""}:
            return  # a picture, a text, a feed: shown by the browser in a page of its own making
        await self._try("scroll", self._scroll)
        await self._settle()
        await self._try("full-page", self._take_whole)
        await self._try("dom", self._take_dom)
        await self._try("text", self._take_text)
        await self._try("links", self._take_links)

    async def _load(self) -> None:
        seconds = self._deadline.left(self._settings.load_seconds)
        began = time.monotonic()
        try:
            await self._page.goto(self._url, wait_until="commit", timeout=seconds * 1000)
            self._look.main = self._traffic.main
            await self._loaded(max(0.1, seconds - (time.monotonic() - began)))
        except PlaywrightTimeout:
            if self._traffic.main is None:
                self._look.failure = "ERR_TIMED_OUT"
            else:
                self._look.notes.append("load-timeout")
        except PlaywrightError as error:
            if _CLOSED.search(error.message):
                self._look.crashed = True
            match = _NET_ERROR.search(error.message)
            self._look.failure = match[1] if match else "ERR_FAILED"
        self._look.main = self._traffic.main

    async def _loaded(self, seconds: float) -> None:
        """The load event; nothing to wait for when the document itself broke off. Raises PlaywrightTimeout."""
        load = asyncio.ensure_future(self._page.wait_for_load_state("load", timeout=seconds * 1000))
        broken = asyncio.ensure_future(self._traffic.main_failed.wait())
        try:
            await asyncio.wait({load, broken}, return_when="FIRST_COMPLETED")
            if load.done():
                load.result()
        finally:
            load.cancel()
            broken.cancel()

    async def _settle(self) -> None:
        most = self._deadline.left(self._settings.settle_max_seconds, _RESERVE_SECONDS)
        if not await self._traffic.settled(self._settings.settle_seconds, most):
            self._look.notes.append("never-settled")

    async def _scroll(self) -> None:
        seconds = self._deadline.left(self._settings.scroll_seconds, _RESERVE_SECONDS)
        if seconds <= 0:
            return
        clock = Deadline(seconds)
        await self._page.evaluate(behaviors.PREPARE_SCRIPT)
        while self._look.scroll.ended is None:
            position = Position(**await self._page.evaluate(behaviors.STEP_SCRIPT))
            quiet = 0.25 if position.is_bottom else 0.1
            await self._traffic.settled(quiet, clock.left(2.0), from_now=True)
            self._look.scroll = self._look.scroll.after(position, time_is_up=clock.left(1.0) == 0)
        if self._look.scroll.ended != "bottom":
            self._look.notes.append(f"scroll-{self._look.scroll.ended}")
        await self._page.evaluate(behaviors.RETURN_SCRIPT)

    async def _take_view(self) -> None:
        self._look.view = await render.window_picture(self._page, self._deadline.left(_STEP_SECONDS))

    async def _take_whole(self) -> None:
        settings = self._settings
        self._look.whole = await render.whole_picture(
            self._page, settings.width, settings.full_page_height, self._deadline.left(_STEP_SECONDS)
        )

    async def _take_dom(self) -> None:
        self._look.dom = await self._page.content()
        self._look.final_url = self._page.url
        self._look.title = (await self._page.title())[:1000]

    async def _take_text(self) -> None:
        self._look.text = await render.page_text(self._page)

    async def _take_links(self) -> None:
        await render.collect_links(self._page, self._look.links)

    async def _try(self, name: str, step: Callable[[], Awaitable[None]]) -> None:
        """One look at the page: when it fails or hangs, a note says so and the next one has its turn."""
        seconds = self._deadline.left(max(_STEP_SECONDS, self._settings.scroll_seconds + _RESERVE_SECONDS))
        try:
            async with asyncio.timeout(seconds):
                await step()
        except (PlaywrightError, TimeoutError):
            self._look.notes.append(f"{name}-failed")


async def _close(page: Page) -> None:
    try:
        await page.close()
    except PlaywrightError:
        return  # it closed itself, or its context did
