"""A running browser of Playwright has Playwright's driver, a browser process and a folder. All end together."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from playwright.async_api import Browser, CDPSession, Error, Playwright, async_playwright

from archive.settings import BrowserSettings
from browsers.engines.chromium import flags
from browsers.engines.chromium.profile_folder import environment_of, new_profile_folder, profile_flag
from browsers.engines.files import remove, start_failure, sweep
from browsers.engines.interface import EngineError, WindowOptions
from browsers.engines.playwright.chromium_window import ChromiumPlaywrightWindow
from browsers.engines.playwright.launch import Launch, context_options
from browsers.engines.playwright.window import PlaywrightWindow
from browsers.engines.running_browser import START_SECONDS, STOP_SECONDS, RunningBrowser

log = logging.getLogger(__name__)


class PlaywrightEngine(RunningBrowser):
    """A running browser opens windows. It belongs to the event loop that started it."""

    name = "Chromium"

    def __init__(
        self, driver: Playwright, browser: Browser, root: CDPSession, folder: Path, settings: BrowserSettings, pid: int
    ) -> None:
        super().__init__(pid, browser.version, settings)
        self.user_agent = flags.user_agent_override(settings.user_agent, self.version, sys.platform)
        self._driver = driver
        self._root = root
        self.browser = browser
        self._folder = folder
        self._settings = settings
        self._windows: set[PlaywrightWindow] = set()
        self._is_stopping = False
        browser.on("disconnected", lambda _: self._on_end())
        self._watch(self._ping())

    @classmethod
    async def start(cls, launch: Launch, settings: BrowserSettings, *, answers_401: bool = False) -> Self:
        """Return a running browser. Raises BrowserDown when it does not start.

        With `answers_401`, each of its windows must have an HTTP login.
        """
        sweep()
        folder: Path | None = None
        driver: Playwright | None = None
        try:
            async with asyncio.timeout(START_SECONDS):
                folder = new_profile_folder(flags.LOCAL_STATE_WITH_LOGIN if answers_401 else flags.LOCAL_STATE)
                driver = await async_playwright().start()
                browser = await _launched(driver, launch, folder)
                root = await browser.new_browser_cdp_session()
                pid = await _pid_of(root)
                started = cls(driver, browser, root, folder, settings, pid)
        except (Error, OSError, TimeoutError) as error:
            if driver is not None:
                with suppress(Error):
                    await driver.stop()
            raise start_failure(launch.executable, str(error) or "it does not answer", folder) from error
        log.info("%s %s started by Playwright, process %d", started.name, started.version, started.pid)
        return started

    async def open(self, options: WindowOptions) -> PlaywrightWindow:
        """Return a new window with an empty page. Raises EngineError, and the engine is broken then."""
        window: PlaywrightWindow | None = None
        try:
            async with asyncio.timeout(START_SECONDS):
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

    def closed(self, window: PlaywrightWindow) -> None:
        """Forget a window that was closed."""
        self._windows.discard(window)
        if not self._windows:
            self._is_busy.clear()

    async def stop(self) -> None:
        """Stop the browser and Playwright's driver, and remove the folder."""
        self.is_broken = self._is_stopping = True
        await self._end_watches()
        for work in (self.browser.close, self._driver.stop):
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await work()
            except (Error, TimeoutError):
                log.warning("%s did not end in time, process %d", self.name, self.pid)
        self._lose()
        remove(self._folder)

    async def _ask(self) -> None:
        try:
            await self._root.send("Browser.getVersion")
        except Error as error:
            raise EngineError(error.message) from error

    def _open_windows(self) -> Iterable[PlaywrightWindow]:
        return self._windows

    def _on_end(self) -> None:
        if not self._is_stopping:
            log.warning("%s ended by itself, process %d", self.name, self.pid)
        self._lose()


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
