"""A visit of a page has these steps: load, settle, take data, scroll, settle, take more data.

After an error, the data so far is the result, with a note. No step may use the time of the later ones, and no page more
than its time.
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

from archive.settings import BrowserSettings
from browsers.chromium import behaviors, render
from browsers.chromium.behaviors import Scroll, ScrollPosition
from browsers.chromium.traffic import MainAnswer, Traffic
from browsers.links import html
from browsers.links.documents import media_type

_RESERVE_SECONDS: Final = 10.0
"""Time that scrolling and settling leave for pictures, DOM and links."""
_STEP_SECONDS: Final = 15.0
"""Longest time of one step."""
_ANSWER_SECONDS: Final = 10.0
"""A page that does not answer within this time hangs."""
_SHORTEST_ANSWER_SECONDS: Final = 2.0
_CLOSED: Final = re.compile(r"has been closed|crashed|browser has disconnected")
_NET_ERROR: Final = re.compile(r"net::(ERR_[A-Z0-9_]+)")


@dataclass(slots=True)
class PageSnapshot:
    """The snapshot holds the data of a page. It grows during the visit."""

    main: MainAnswer | None = None
    failure: str = ""
    """Chromium's name of the error, such as ERR_TUNNEL_CONNECTION_FAILED; empty when there is a page."""
    crashed: bool = False
    out_of_memory: bool = False
    """Whether the page's process ended for its use of memory."""
    hangs: bool = False
    """Whether the page does not answer, since a script of it does not end."""
    title: str = ""
    final_url: str = ""
    view: bytes | None = None
    whole: bytes | None = None
    dom: str | None = None
    text: str | None = None
    links: list[tuple[str, str]] = field(default_factory=list)
    scroll: Scroll = field(default_factory=Scroll)
    notes: list[str] = field(default_factory=list)
    """Annotations about steps that failed or were cut short."""

    @property
    def is_page(self) -> bool:
        """Return whether a document of the site is shown, and not a download or an error page of the browser."""
        return self.main is not None and self.main.is_sites and not self.failure and not self.crashed


class Deadline:
    """The deadline is the end of a page's time."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float, reserve: float = 0.0) -> float:
        """Return the seconds that a step may take: at most `most`, and `reserve` seconds must be left."""
        return max(0.0, min(most, self._end - reserve - time.monotonic()))


async def visit_page(
    context: BrowserContext, url: str, traffic: Traffic, settings: BrowserSettings, gone: asyncio.Event
) -> PageSnapshot:
    """Visit `url` in a fresh page of `context`, within the page's time.

    `gone` is set when the browser has ended. Raises PlaywrightError when the page can't be made.
    """
    snapshot = PageSnapshot()
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
    steps: asyncio.Future[Any] = asyncio.ensure_future(_Steps(page, url, traffic, settings, snapshot).run())
    ends = {steps, asyncio.ensure_future(crashed.wait()), asyncio.ensure_future(gone.wait())}
    try:
        done, _ = await asyncio.wait(ends, timeout=settings.page_seconds, return_when="FIRST_COMPLETED")
        snapshot.crashed = snapshot.crashed or crashed.is_set() or gone.is_set()
        if not done:
            snapshot.notes.append("page-timeout")
            snapshot.hangs = snapshot.hangs or not await _answers(page, _SHORTEST_ANSWER_SECONDS)
    finally:
        context.remove_listener("page", close_popup)
        for task in (*ends, *chores):
            task.cancel()
        await asyncio.gather(*ends, *chores, return_exceptions=True)
    snapshot.main = snapshot.main or traffic.main
    return snapshot


class _Steps:
    """The object runs the steps of a visit in order."""

    def __init__(
        self, page: Page, url: str, traffic: Traffic, settings: BrowserSettings, snapshot: PageSnapshot
    ) -> None:
        self._page = page
        self._url = url
        self._traffic = traffic
        self._settings = settings
        self._snapshot = snapshot
        self._deadline = Deadline(settings.page_seconds)

    async def run(self) -> None:
        snapshot = self._snapshot
        await self._load()
        if not snapshot.is_page or snapshot.hangs:
            return
        await self._settle()
        await self._try("view", self._take_view)
        if media_type((snapshot.main or MainAnswer("", 0, {})).headers.get("content-type", "")) not in html.TYPES | {
            ""
        }:
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
            self._snapshot.main = self._traffic.main
            await self._loaded(max(0.1, seconds - (time.monotonic() - began)))
        except PlaywrightTimeout:
            if self._traffic.main is None:
                self._snapshot.failure = "ERR_TIMED_OUT"
            else:
                self._snapshot.notes.append("load-timeout")
                await self._check_whether_it_hangs()
        except PlaywrightError as error:
            if _CLOSED.search(error.message):
                self._snapshot.crashed = True
            match = _NET_ERROR.search(error.message)
            self._snapshot.failure = match[1] if match else "ERR_FAILED"
        self._snapshot.main = self._traffic.main

    async def _loaded(self, seconds: float) -> None:
        """Wait for the load event, or for a broken connection of the document. Raises PlaywrightTimeout."""
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
            self._snapshot.notes.append("never-settled")

    async def _scroll(self) -> None:
        seconds = self._deadline.left(self._settings.scroll_seconds, _RESERVE_SECONDS)
        if seconds <= 0:
            return
        clock = Deadline(seconds)
        await self._page.evaluate(behaviors.PREPARE_SCRIPT)
        while self._snapshot.scroll.ended is None:
            position = ScrollPosition(**await self._page.evaluate(behaviors.STEP_SCRIPT))
            quiet = 0.25 if position.is_bottom else 0.1
            await self._traffic.settled(quiet, clock.left(2.0), from_now=True)
            self._snapshot.scroll = self._snapshot.scroll.after(position, time_is_up=clock.left(1.0) == 0)
        if self._snapshot.scroll.ended != "bottom":
            self._snapshot.notes.append(f"scroll-{self._snapshot.scroll.ended}")
        await self._page.evaluate(behaviors.RETURN_SCRIPT)

    async def _take_view(self) -> None:
        self._snapshot.view = await render.window_picture(self._page, self._deadline.left(_STEP_SECONDS))

    async def _take_whole(self) -> None:
        settings = self._settings
        self._snapshot.whole = await render.whole_picture(
            self._page, settings.width, settings.full_page_height, self._deadline.left(_STEP_SECONDS)
        )

    async def _take_dom(self) -> None:
        self._snapshot.final_url = self._page.url
        self._snapshot.title = await render.page_title(self._page)
        self._snapshot.dom = await render.page_dom(self._page, self._settings.max_page_bytes)
        if self._snapshot.dom is None:
            self._snapshot.notes.append("dom-too-large")

    async def _take_text(self) -> None:
        self._snapshot.text = await render.page_text(self._page)

    async def _take_links(self) -> None:
        await render.collect_links(self._page, self._snapshot.links)

    async def _check_whether_it_hangs(self) -> None:
        seconds = max(_SHORTEST_ANSWER_SECONDS, self._deadline.left(_ANSWER_SECONDS))
        self._snapshot.hangs = not await _answers(self._page, seconds)

    async def _try(self, name: str, step: Callable[[], Awaitable[None]]) -> None:
        """Run one step. When it fails, note this, and continue with the next.

        The steps of a page that hangs are skipped.
        """
        if self._snapshot.hangs:
            return
        seconds = self._deadline.left(max(_STEP_SECONDS, self._settings.scroll_seconds + _RESERVE_SECONDS))
        try:
            async with asyncio.timeout(seconds):
                await step()
        except (PlaywrightTimeout, TimeoutError):
            self._snapshot.notes.append(f"{name}-failed")
            await self._check_whether_it_hangs()
        except PlaywrightError:
            self._snapshot.notes.append(f"{name}-failed")


async def _answers(page: Page, seconds: float) -> bool:
    """Return whether the page's scripts answer. A page that is closed or crashed does not hang."""
    try:
        async with asyncio.timeout(seconds):
            await page.evaluate("1")
    except TimeoutError:
        return False
    except PlaywrightError:
        return True
    return True


async def _close(page: Page) -> None:
    try:
        await page.close()
    except PlaywrightError:
        return  # it closed itself, or its context did
