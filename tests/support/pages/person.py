"""A person visits feature pages in Chromium: does what each page needs, scrolls, and reads whether the page passes."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from demo_replay import playwright_flags
from playwright.async_api import BrowserContext, Dialog, Frame, Locator, Page, ProxySettings, async_playwright
from playwright.async_api import Error as PlaywrightError

from browsers.engines.chromium.executable import find_chromium
from browsers.engines.chromium.flags import NOWHERE, page_user_agent
from support.pages.feature import Act, Feature
from support.pages.site import FeatureSite

WINDOW: Final = (1280, 1024)
NO_PAGE: Final = "no page"
"""This is missing when the browser showed nothing."""
_PATIENCE: Final = 5
"""A person waits so many times the seconds of a feature on a busy machine. A visit ends as soon as the page passes."""
_OPEN_SECONDS: Final = 40.0
_CLOSE_SECONDS: Final = 10.0
_PLAYER_SECONDS: Final = 15.0
"""A page may take so much longer when something else has to open it."""
_ANSWER_SECONDS: Final = 3.0
_ACT_SECONDS: Final = 5.0
_STILL_SECONDS: Final = 1.0
"""A person goes on when an act has shown no effect for this time."""

type NewContext = Callable[..., Awaitable[BrowserContext]]
type Opening = Callable[[Page, Feature], Awaitable[Frame]]
"""An opening shows a feature in a page of the browser, and returns the frame of the feature's document."""


@dataclass(frozen=True, slots=True)
class PageResult:
    """The result says whether the page passed, and which parts were missing."""

    has_passed: bool
    missing: str
    seconds: float


@asynccontextmanager
async def browser(trusted: Sequence[str], resolve: Mapping[str, str] | None = None) -> AsyncIterator[NewContext]:
    """Run a Chromium, and yield what opens a context, whose proxy is an address. With `resolve`, no proxy is used."""
    flags = playwright_flags(trusted)
    if resolve:
        rules = ", ".join(f"MAP {name} {address}" for name, address in resolve.items())
        flags.append(f"--host-resolver-rules={rules}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    chosen = os.environ.get("GHOSTFLEET_BROWSERS__EXECUTABLE", "")
    outside: ProxySettings | None = None if resolve else {"server": NOWHERE}
    async with AsyncExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        playwright = await stack.enter_async_context(async_playwright())
        root = await playwright.chromium.launch_persistent_context(
            profile, executable_path=find_chromium(chosen), args=flags, proxy=outside
        )
        stack.push_async_callback(_close, root)
        running = root.browser
        assert running is not None
        agent = page_user_agent(running.version, "linux")

        async def new_context(proxy: str = "", **more: Any) -> BrowserContext:
            through: ProxySettings | None = {"server": f"http://{proxy}"} if proxy else None
            return await running.new_context(
                proxy=through, viewport={"width": WINDOW[0], "height": WINDOW[1]}, user_agent=agent, **more
            )

        yield new_context


async def visit_all(
    features: Iterable[Feature],
    open_browser: Callable[[], AbstractAsyncContextManager[NewContext]],
    proxy_of: Callable[[Feature], Awaitable[str]],
    after: Callable[[Feature], Awaitable[None]],
    at_once: int = 3,
    opening: Opening | None = None,
) -> dict[str, PageResult]:
    """Visit every feature, some at once, each in a context of its own; `proxy_of` returns the proxy, empty for none.

    There is a browser for every two features, and `at_once` browsers at most. A browser that was held by a page, or
    makes no page in time, is replaced.
    """
    results: dict[str, PageResult] = {}
    waiting = list(features)[::-1]

    async def work() -> None:
        while waiting:
            async with open_browser() as new_context:
                is_good = True
                while waiting and is_good:
                    feature = waiting.pop()
                    results[feature.name] = await visit(feature, new_context, await proxy_of(feature), opening)
                    is_good = not feature.is_hostile and results[feature.name].missing != NO_PAGE
                    await after(feature)

    await asyncio.gather(*(work() for _ in range(min(at_once, (len(waiting) + 1) // 2))))
    return results


async def visit(
    feature: Feature, new_context: NewContext, proxy: str = "", opening: Opening | None = None
) -> PageResult:
    """Visit one feature as a person does: at its address, or by the opening."""
    login = next((act for act in feature.acts if act.kind == "login"), None)
    more: dict[str, Any] = {}
    if login is not None:
        more["http_credentials"] = {"username": login.selector, "password": login.value}
    began = time.monotonic()
    try:
        async with asyncio.timeout(_OPEN_SECONDS):
            context = await new_context(proxy, **more)
            page = await context.new_page()
    except (PlaywrightError, TimeoutError):
        return PageResult(False, NO_PAGE, time.monotonic() - began)
    page.on("dialog", _accept)
    visitor = _Visitor(page, feature, opening or _at_its_address)
    with suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(feature.seconds * _PATIENCE + (_PLAYER_SECONDS if opening else 0)):
            await visitor.run()
    with suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await context.close()
    return PageResult(visitor.result == "pass", visitor.missing, time.monotonic() - began)


class _Visitor:
    def __init__(self, page: Page, feature: Feature, opening: Opening) -> None:
        self._page = page
        self._feature = feature
        self._opening = opening
        self._document = page.main_frame
        self._corner = (0.0, 0.0)
        self.result = ""
        self.missing = NO_PAGE

    async def run(self) -> None:
        with suppress(PlaywrightError):
            self._document = await self._opening(self._page, self._feature)
        with suppress(PlaywrightError):
            await self._document.wait_for_load_state("load", timeout=4000)
        if self._document is not self._page.main_frame:
            element = await self._document.frame_element()
            await element.focus()  # a person's keys go to the archived page
            box = await element.bounding_box()
            self._corner = (box["x"], box["y"]) if box else self._corner
        await self._look()
        for act in self._feature.acts:
            if self.result == "pass":
                return
            before = self.missing
            with suppress(PlaywrightError):
                await self._act(act)
            end = time.monotonic() + _STILL_SECONDS
            while time.monotonic() < end and self.missing == before:
                await asyncio.sleep(0.05)
                await self._look()
        await self._move(400, 300)
        while self.result != "pass":
            with suppress(PlaywrightError):
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await self._page.mouse.wheel(0, 500)
            await asyncio.sleep(0.1)
            await self._look()

    async def _look(self) -> None:
        """Read the page's result. A page that navigates or hangs keeps the last one."""
        with suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                found = await self._document.evaluate(
                    "() => [document.documentElement.dataset.result || '', document.documentElement.dataset.missing || '']"
                )
                self.result, self.missing = found

    async def _act(self, act: Act) -> None:
        inside = self._document.frame_locator(act.frame) if act.frame else self._document
        element = inside.locator(act.selector) if act.selector and act.kind not in ("evaluate", "login") else None
        wait = _ACT_SECONDS * 1000
        if act.kind == "evaluate":
            await self._document.evaluate(act.selector)
        elif act.kind == "mouse":
            await self._move(200, 150)
            await self._move(260, 240, steps=5)
        elif act.kind == "point":
            x, y = (float(part) for part in act.value.split(","))
            await self._page.mouse.click(self._corner[0] + x % WINDOW[0], self._corner[1] + y % WINDOW[1])
        elif element is None:
            return
        elif act.kind == "drag":
            await self._drag(element, float(act.value))
        elif act.kind == "click":
            await element.click(timeout=wait)
        elif act.kind == "hover":
            await element.hover(timeout=wait)
        elif act.kind == "fill":
            await element.fill(act.value, timeout=wait)
        elif act.kind == "press":
            await element.press(act.value, timeout=wait)
        elif act.kind == "select":
            await element.select_option(act.value, timeout=wait)
        elif act.kind == "wheel":
            await element.hover(timeout=wait)
            for _ in range(4):
                await self._page.mouse.wheel(0, float(act.value) / 4)
                await asyncio.sleep(0.05)

    async def _move(self, x: float, y: float, steps: int = 1) -> None:
        """Move the mouse to a point of the document."""
        await self._page.mouse.move(self._corner[0] + x, self._corner[1] + y, steps=steps)

    async def _drag(self, element: Locator, distance: float) -> None:
        """Drag from the middle of the element to its side."""
        box = await element.bounding_box()
        if box is None:
            return
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        await self._page.mouse.move(x, y)
        await self._page.mouse.down()
        await self._page.mouse.move(x + distance, y, steps=8)
        await self._page.mouse.up()


async def live(site: FeatureSite, features: Iterable[Feature]) -> dict[str, PageResult]:
    """Visit the features at the site itself, without a proxy: this proves the pages."""
    return await visit_all(features, partial(browser, [site.trusted], site.resolve), _no_proxy, _nothing)


async def through(features: Iterable[Feature], proxy: str, trusted: Sequence[str]) -> dict[str, PageResult]:
    """Visit the features through one proxy, such as one that replays a collection."""

    async def same(_: Feature) -> str:
        return proxy

    return await visit_all(features, partial(browser, trusted), same, _nothing)


async def _at_its_address(page: Page, feature: Feature) -> Frame:
    with suppress(PlaywrightError):
        await page.goto(feature.url, wait_until="commit", timeout=feature.seconds * 1000)
    return page.main_frame


async def _close(root: BrowserContext) -> None:
    """Close the browser. The driver's end kills one that does not answer."""
    with suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await root.close()


async def _no_proxy(_: Feature) -> str:
    return ""


async def _nothing(_: Feature) -> None:
    return


async def _accept(dialog: Dialog) -> None:
    with suppress(PlaywrightError):
        await dialog.accept()
