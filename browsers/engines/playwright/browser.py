"""A running browser of Playwright has Playwright's driver, a browser process and a folder. All end together."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from playwright.async_api import Browser, CDPSession, Error, Playwright, async_playwright

from archive.settings import BrowserSettings
from browsers.engines.chromium import flags
from browsers.engines.chromium.profile_folder import environment_of, new_profile_folder, profile_flag
from browsers.engines.files import BrowserDown, remove, sweep
from browsers.engines.interface import EngineError, WindowOptions
from browsers.engines.memory import MemoryWatch
from browsers.engines.playwright.chromium_window import ChromiumPlaywrightWindow
from browsers.engines.playwright.launch import Launch, context_options
from browsers.engines.playwright.window import PlaywrightWindow

log = logging.getLogger(__name__)
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
_PING_SECONDS: Final = 2.0
_TOGETHER_SECONDS: Final = 5.0
"""A browser that ends so soon after a page's process ended because of that page."""


class PlaywrightEngine:
    """A running browser opens windows. It belongs to the event loop that started it."""

    def __init__(
        self, driver: Playwright, browser: Browser, launch: Launch, folder: Path, settings: BrowserSettings, pid: int
    ) -> None:
        self.name = "Chromium"
        self.version = browser.version
        self.pid = pid
        self.is_broken = False
        """Set when a part of the browser hung or ended. It gets no further window."""
        self.lost = asyncio.Event()
        """Set when the browser ended or does not answer. Its visits are over."""
        self._lost_at = 0.0
        self.user_agent = flags.user_agent_override(settings.user_agent, self.version, sys.platform)
        self._driver = driver
        self.browser = browser
        self._folder = folder
        self._settings = settings
        self._windows: set[PlaywrightWindow] = set()
        self._is_busy = asyncio.Event()
        self._is_stopping = False
        self._pictures = 0
        """Number of pictures that are being taken."""
        self._page_crashed_at = -math.inf
        """Time (monotonic seconds) of the last unexpected end of a page's process."""
        browser.on("disconnected", lambda _: self._on_end())
        self._memory: MemoryWatch | None = None
        self._watches: list[asyncio.Future[None]] = []
        if pid:
            self._memory = MemoryWatch(pid, settings.page_memory_bytes, may_end_processes=lambda: not self._pictures)
            self._watches.append(asyncio.ensure_future(self._memory.run(self._is_busy)))

    @classmethod
    async def start(cls, launch: Launch, settings: BrowserSettings, *, answers_401: bool = False) -> Self:
        """Return a running browser. Raises BrowserDown when it does not start.

        With `answers_401`, each of its windows must have an HTTP login.
        """
        sweep()
        folder: Path | None = None
        driver: Playwright | None = None
        try:
            async with asyncio.timeout(_START_SECONDS):
                folder = new_profile_folder(flags.LOCAL_STATE_WITH_LOGIN if answers_401 else flags.LOCAL_STATE)
                driver = await async_playwright().start()
                browser = await _launched(driver, launch, folder)
                root = await browser.new_browser_cdp_session()
                pid = await _pid_of(root)
                started = cls(driver, browser, launch, folder, settings, pid)
                started._watch(root)
        except (Error, OSError, TimeoutError) as error:
            if driver is not None:
                with suppress(Error):
                    await driver.stop()
            if folder is not None:
                remove(folder)
            down = BrowserDown(launch.executable, str(error) or "it does not answer")
            log.error("%s", down.complaint)
            raise down from error
        log.info("%s %s started by Playwright, process %d", started.name, started.version, started.pid)
        return started

    async def open(self, options: WindowOptions) -> PlaywrightWindow:
        """Return a new window with an empty page. Raises EngineError, and the engine is broken then."""
        window: PlaywrightWindow | None = None
        try:
            async with asyncio.timeout(_START_SECONDS):
                given = context_options(options, self._user_agent_of(options))
                context = await self.browser.new_context(**given)
                window = ChromiumPlaywrightWindow(self, context, options)
                self._windows.add(window)
                self._is_busy.set()
                await window.prepare()
        except (Error, EngineError, TimeoutError) as error:
            self.is_broken = True
            if window is not None:
                self.closed(window)
            raise EngineError(f"no window could be opened: {error}") from error
        return window

    def _user_agent_of(self, options: WindowOptions) -> str:
        if options.device.user_agent or self._settings.user_agent:
            return options.device.user_agent or self._settings.user_agent
        return str(self.user_agent["userAgent"])

    @property
    def was_ended_by_a_page(self) -> bool:
        """Return whether the browser ended just after the process of a page of it had ended."""
        return self.lost.is_set() and self._lost_at - self._page_crashed_at < _TOGETHER_SECONDS

    @contextmanager
    def taking_picture(self) -> Iterator[None]:
        """Let the watch of the memory wait: Chromium crashes when a page's process ends while its picture is taken."""
        self._pictures += 1
        try:
            yield
        finally:
            self._pictures -= 1

    def page_crashed(self) -> None:
        """Note that the process of a page has ended unexpectedly."""
        self._page_crashed_at = time.monotonic()

    def ended_for_memory(self) -> bool:
        """Return whether a process ended for its use of memory. Each end is reported once."""
        return self._memory is not None and self._memory.claim_end()

    def closed(self, window: PlaywrightWindow) -> None:
        """Forget a window that was closed."""
        self._windows.discard(window)
        if not self._windows:
            self._is_busy.clear()

    async def stop(self) -> None:
        """Stop the browser and Playwright's driver, and remove the folder."""
        self.is_broken = self._is_stopping = True
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        for work in (self.browser.close, self._driver.stop):
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await work()
            except (Error, TimeoutError):
                log.warning("%s did not end in time, process %d", self.name, self.pid)
        self._lose()
        remove(self._folder)

    def _watch(self, root: CDPSession) -> None:
        self._watches.append(asyncio.ensure_future(self._ping(root)))

    async def _ping(self, root: CDPSession) -> None:
        """Ask the browser for its version regularly, since no event tells of a browser that hangs."""
        while not self.lost.is_set():
            await asyncio.sleep(_PING_SECONDS)
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await root.send("Browser.getVersion")
            except (Error, TimeoutError):
                self._lose()

    def _on_end(self) -> None:
        if not self._is_stopping:
            log.warning("%s ended by itself, process %d", self.name, self.pid)
        self._lose()

    def _lose(self) -> None:
        if not self.lost.is_set():
            self._lost_at = time.monotonic()
        self.is_broken = True
        self.lost.set()
        for window in self._windows:
            window.lose()


async def _launched(driver: Playwright, launch: Launch, folder: Path) -> Browser:
    """Return the browser. Playwright adds nothing to the command line of Chromium. Raises Error of Playwright."""
    return await driver.chromium.launch(
        executable_path=launch.executable,
        ignore_default_args=True,
        args=[*launch.flags, profile_flag(folder)],
        env=dict(environment_of(folder)),
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
    )


async def _pid_of(root: CDPSession) -> int:
    """Return the process of a Chromium."""
    found = (await root.send("SystemInfo.getProcessInfo"))["processInfo"]
    return next((int(each["id"]) for each in found if each["type"] == "browser"), 0)
