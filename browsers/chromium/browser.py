"""One running Chromium: its Playwright driver, its profile folder, and how both are gone afterwards whatever happens.

The folder `ghostfleet-ghost-<pid>-…` in the system's temporary folder holds everything the browser writes. Folders
of processes that are gone are removed when the next browser starts.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import playwright.async_api
from playwright.async_api import BrowserContext, CDPSession, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from archive.sections import BrowserSettings
from browsers import flags
from browsers.visit import FleetUnavailable

log = logging.getLogger(__name__)
_FOLDER: Final = "ghostfleet-ghost-"
_FOLDER_NAME: Final = re.compile(rf"{_FOLDER}(\d+)-")
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
_PING_SECONDS: Final = 2.0
_ITS_WORDS: Final = re.compile(r"\[err\] *(.*\S)")
"""What the browser itself said, in Playwright's account of how it did not start."""


class BrowserDown(FleetUnavailable):
    """The browser does not start; `complaint` says so in one line, with the remedy where it is known."""

    def __init__(self, executable: Path, told: str) -> None:
        super().__init__("browser-start")
        its_words = _ITS_WORDS.findall(told)
        reason, remedy = (its_words[-1][:200] if its_words else told.splitlines()[0]), ""
        if "No usable sandbox" in told:
            reason = "no sandbox can be had here"
            remedy = (
                "; install the package chromium-sandbox, or allow namespaces to users"
                " (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0),"
                " or set browsers.sandbox to false where nothing else is on the machine"
            )
        self.complaint = f"{executable} does not start: {reason}{remedy}"


class Browser:
    """Lends a fresh context per visit. Belongs to the event loop that started it."""

    def __init__(
        self,
        driver: Playwright,
        root: BrowserContext,
        browser: playwright.async_api.Browser,
        cdp: CDPSession,
        folder: Path,
        settings: BrowserSettings,
    ) -> None:
        self._driver = driver
        self._root = root
        self._folder = folder
        self._settings = settings
        self._cdp = cdp
        self.pid = 0
        self.used = 0
        """Contexts lent so far."""
        self.busy = 0
        """Contexts lent at this moment."""
        self.is_broken = False
        """Set when something of it hung or died: it gets no further visit."""
        self.gone = asyncio.Event()
        """Set when it ended or answers no more: its visits are over."""
        self._browser = browser
        self._browser.on("disconnected", lambda _: self._lose())
        self._watch = asyncio.ensure_future(self._ping())
        self.version = browser.version
        self._user_agent = settings.user_agent or flags.page_user_agent(self.version, sys.platform)

    @classmethod
    async def start(cls, executable: Path, command: Sequence[str], settings: BrowserSettings, *, sandbox: bool) -> Self:
        """A running browser. Raises BrowserDown when it does not start."""
        _sweep()
        folder = _new_folder()
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
            if root.browser is None:
                raise PlaywrightError("the browser ended at once")
            started = cls(driver, root, root.browser, await root.browser.new_browser_cdp_session(), folder, settings)
            await started._settle_in()
        except PlaywrightError as error:
            await driver.stop()
            shutil.rmtree(folder, ignore_errors=True)
            down = BrowserDown(executable, error.message)
            log.error("%s", down.complaint)
            raise down from error
        log.info("Chromium %s started, process %d", started.version, started.pid)
        return started

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
            async with asyncio.timeout(_STOP_SECONDS):
                await context.close()
        except (PlaywrightError, TimeoutError):
            self.is_broken = True

    def is_spent(self, contexts_per_browser: int) -> bool:
        """Whether the next visit should have a fresh browser."""
        return self.is_broken or self.used >= contexts_per_browser

    async def stop(self) -> None:
        """Ends browser and driver and removes the folder: asked first, killed when it does not answer."""
        self.is_broken = True
        self._watch.cancel()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._root.close()
        except (PlaywrightError, TimeoutError):
            log.warning("Chromium had to be killed, process %d", self.pid)
        _kill(self.pid)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._driver.stop()
        except (PlaywrightError, TimeoutError):
            log.warning("the driver of Chromium %d did not end", self.pid)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _settle_in(self) -> None:
        """Learns its process, whose children end with it, and closes the empty window that every browser opens."""
        answer = await self._cdp.send("SystemInfo.getProcessInfo")
        self.pid = next((int(process["id"]) for process in answer["processInfo"] if process["type"] == "browser"), 0)
        for page in self._root.pages:
            await page.close()

    async def _ping(self) -> None:
        """Asks it for a sign of life over and over: of a driver that died, or a browser that hangs, no event tells."""
        while not self.gone.is_set():
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._cdp.send("Browser.getVersion")
            except (PlaywrightError, TimeoutError):
                self._lose()
            await asyncio.sleep(_PING_SECONDS)

    def _lose(self) -> None:
        self.is_broken = True
        self.gone.set()


def _new_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-"))
    preferences = folder / "profile" / "Default" / "Preferences"
    preferences.parent.mkdir(parents=True)
    preferences.write_text(flags.PREFERENCES, "utf-8")
    return folder


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
