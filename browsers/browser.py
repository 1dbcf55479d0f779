"""One running Chromium: its Playwright driver, its profile folder, and how both are gone afterwards whatever happens.

The folder `ghostfleet-ghost-<pid>-…` in the system's temporary folder holds everything the browser writes. Folders
of processes that are gone are removed when the next browser starts.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
from asyncio import timeout
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import structlog
from playwright.async_api import BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from archive.settings import BrowserSettings
from browsers import flags
from browsers.visit import FleetUnavailable

_log = structlog.get_logger(__name__)
_FOLDER: Final = "ghostfleet-ghost-"
_FOLDER_NAME: Final = re.compile(rf"{_FOLDER}(\d+)-")
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0


class Browser:
    """Lends a fresh context per visit. Belongs to the event loop that started it."""

    def __init__(
        self, driver: Playwright, root: BrowserContext, folder: Path, pid: int, settings: BrowserSettings
    ) -> None:
        self._driver = driver
        self._root = root
        self._folder = folder
        self._settings = settings
        self.pid = pid
        self.used = 0
        """Contexts lent so far."""
        self.busy = 0
        """Contexts lent at this moment."""
        self.is_broken = False
        """Set when something of it hung or died: it gets no further visit."""
        browser = root.browser
        if browser is None:
            raise FleetUnavailable("browser-start")
        self._browser = browser
        self._browser.on("disconnected", lambda _: self._mark_broken())
        self.version = browser.version
        self._user_agent = settings.user_agent or flags.page_user_agent(self.version, sys.platform)

    @classmethod
    async def start(cls, executable: Path, command: Sequence[str], settings: BrowserSettings, *, sandbox: bool) -> Self:
        """A running browser. Raises FleetUnavailable when it does not start."""
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-"))
        (folder / "profile" / "Default").mkdir(parents=True)
        (folder / "profile" / "Default" / "Preferences").write_text(flags.PREFERENCES, "utf-8")
        driver = await async_playwright().start()
        try:
            root = await driver.chromium.launch_persistent_context(
                folder / "profile",
                executable_path=executable,
                headless=True,
                args=list(command),
                chromium_sandbox=sandbox,
                proxy={"server": flags.NOWHERE, "bypass": "<-loopback>"},
                env={
                    **os.environ,
                    "XDG_CONFIG_HOME": str(folder),
                    "XDG_CACHE_HOME": str(folder),
                    "TMPDIR": str(folder),
                },
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=_START_SECONDS * 1000,
            )
            browser = cls(driver, root, folder, await _pid_of(root), settings)
            for page in root.pages:
                await page.close()
        except PlaywrightError as error:
            _log.error("browser did not start", executable=str(executable), error=error.message.splitlines()[0])
            await driver.stop()
            shutil.rmtree(folder, ignore_errors=True)
            raise FleetUnavailable("browser-start") from error
        _log.info("browser started", version=browser.version, pid=browser.pid)
        return browser

    async def context(self, proxy: str) -> BrowserContext:
        """A context that shares nothing with any other and fetches only through `proxy`. Raises PlaywrightError."""
        settings = self._settings
        return await self._browser.new_context(
            proxy={"server": f"http://{proxy}", "bypass": "<-loopback>"},
            viewport={"width": settings.width, "height": settings.height},
            user_agent=self._user_agent,
            accept_downloads=False,
            service_workers="allow",
        )

    async def give_back(self, context: BrowserContext) -> None:
        """Ends a context; a browser that can't do so in time is not used again."""
        try:
            async with timeout(_STOP_SECONDS):
                await context.close()
        except (PlaywrightError, TimeoutError):
            self._mark_broken()

    def is_spent(self, contexts_per_browser: int) -> bool:
        """Whether the next visit should have a fresh browser."""
        return self.is_broken or self.used >= contexts_per_browser

    async def stop(self) -> None:
        """Ends browser and driver and removes the folder: asked first, killed when it does not answer."""
        self._mark_broken()
        try:
            async with timeout(_STOP_SECONDS):
                await self._root.close()
        except (PlaywrightError, TimeoutError):
            _log.warning("browser had to be killed", pid=self.pid)
        _kill(self.pid)
        try:
            async with timeout(_STOP_SECONDS):
                await self._driver.stop()
        except (PlaywrightError, TimeoutError):
            _log.warning("browser driver did not end", pid=self.pid)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _mark_broken(self) -> None:
        self.is_broken = True


async def _pid_of(root: BrowserContext) -> int:
    """The browser's own process; its children end with it."""
    browser = root.browser
    if browser is None:
        return 0
    session = await browser.new_browser_cdp_session()
    answer = await session.send("SystemInfo.getProcessInfo")
    await session.detach()
    return next((int(process["id"]) for process in answer["processInfo"] if process["type"] == "browser"), 0)


def _kill(pid: int) -> None:
    if pid > 0:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # it ended as asked


def _sweep() -> None:
    """Removes folders that processes left which are no more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        match = _FOLDER_NAME.match(folder.name)
        if match and not _is_alive(int(match[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
