"""A running Chromium has a Playwright driver and a profile folder. Both are removed at its end.

The folder `ghostfleet-ghost-<pid>-…` in the system's temporary folder holds all files of the browser. The next start
removes the folders of processes that have ended.
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
from playwright.async_api import CDPSession, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from archive.settings import BrowserSettings
from browsers.chromium import flags
from browsers.chromium.memory import MemoryWatch
from browsers.chromium.playwright_window import PlaywrightWindow
from browsers.engine import EngineError, WindowOptions
from browsers.visit import FleetUnavailable

log = logging.getLogger(__name__)
_FOLDER: Final = "ghostfleet-ghost-"
_FOLDER_NAME: Final = re.compile(rf"{_FOLDER}(\d+)-")
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
_PING_SECONDS: Final = 2.0
_ERROR_LINE: Final = re.compile(r"\[err\] *(.*\S)")
"""An error line of the browser itself in Playwright's report about a failed start."""


class BrowserDown(FleetUnavailable):
    """The browser does not start. `complaint` is one line with the remedy, where it is known."""

    def __init__(self, executable: Path, told: str) -> None:
        super().__init__("browser-start")
        errors = _ERROR_LINE.findall(told)
        reason, remedy = (errors[-1][:200] if errors else told.splitlines()[0]), ""
        if "No usable sandbox" in told:
            reason = "no sandbox can be had here"
            remedy = (
                "; install the package chromium-sandbox, or allow namespaces to users"
                " (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0),"
                " or set browsers.sandbox to false where nothing else is on the machine"
            )
        self.complaint = f"{executable} does not start: {reason}{remedy}"


class ChromiumEngine:
    """A running Chromium opens windows. It belongs to the event loop that started it."""

    name = "Chromium"

    def __init__(
        self,
        driver: Playwright,
        root: playwright.async_api.BrowserContext,
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
        self.is_broken = False
        """Set when a part of the browser hung or ended. It gets no further visit."""
        self.lost = asyncio.Event()
        """Set when the browser ended or does not answer. Its visits are over."""
        self._windows = 0
        self._is_busy = asyncio.Event()
        self._browser = browser
        self._browser.on("disconnected", lambda _: self._lose())
        self._watch = asyncio.ensure_future(self._ping())
        self._memory: MemoryWatch | None = None
        self._memory_watch: asyncio.Task[None] | None = None
        self.version = browser.version
        self._user_agent = settings.user_agent or flags.page_user_agent(self.version, sys.platform)

    @classmethod
    async def start(cls, executable: Path, command: Sequence[str], settings: BrowserSettings, *, sandbox: bool) -> Self:
        """Return a running browser. Raises BrowserDown when it does not start."""
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
            await started._prepare()
        except PlaywrightError as error:
            await driver.stop()
            shutil.rmtree(folder, ignore_errors=True)
            down = BrowserDown(executable, error.message)
            log.error("%s", down.complaint)
            raise down from error
        log.info("Chromium %s started, process %d", started.version, started.pid)
        return started

    async def open(self, options: WindowOptions) -> PlaywrightWindow:
        """Return a new window. Raises EngineError, and the engine is broken then."""
        device = options.device
        try:
            context = await self._browser.new_context(
                proxy={"server": f"http://{options.proxy}", "bypass": "<-loopback>"},
                viewport={"width": device.width, "height": device.height},
                device_scale_factor=device.scale,
                has_touch=device.has_touch,
                is_mobile=device.is_mobile,
                color_scheme="dark" if device.dark else "light",
                locale=device.lang or None,
                timezone_id=device.timezone or None,
                user_agent=device.user_agent or self._user_agent,
                extra_http_headers=dict(options.headers) if options.headers else None,
                accept_downloads=False,
                service_workers="allow",
            )
            window = PlaywrightWindow(context, await context.new_page(), options, self)
            await window.prepare()
        except PlaywrightError as error:
            self.is_broken = True
            raise EngineError(error.message) from error
        self._count(1)
        return window

    def closed(self) -> None:
        """Count a window that was closed."""
        self._count(-1)

    def ended_for_memory(self) -> bool:
        """Return whether a process ended for its use of memory. Each end is reported once."""
        return self._memory is not None and self._memory.claim_end()

    def _count(self, change: int) -> None:
        self._windows += change
        if self._windows:
            self._is_busy.set()
        else:
            self._is_busy.clear()

    async def stop(self) -> None:
        """Stop the browser and the driver, kill them when they do not answer, and remove the folder."""
        self.is_broken = True
        self._watch.cancel()
        if self._memory_watch is not None:
            self._memory_watch.cancel()
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

    async def _prepare(self) -> None:
        """Find the process of the browser, and close its empty first window."""
        answer = await self._cdp.send("SystemInfo.getProcessInfo")
        self.pid = next((int(process["id"]) for process in answer["processInfo"] if process["type"] == "browser"), 0)
        for page in self._root.pages:
            await page.close()
        if self.pid:
            self._memory = MemoryWatch(self.pid, self._settings.page_memory_bytes)
            self._memory_watch = asyncio.ensure_future(self._memory.run(self._is_busy))

    async def _ping(self) -> None:
        """Ask the browser for its version regularly, since no event tells of a driver or browser that hangs."""
        while not self.lost.is_set():
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._cdp.send("Browser.getVersion")
            except (PlaywrightError, TimeoutError):
                self._lose()
            await asyncio.sleep(_PING_SECONDS)

    def _lose(self) -> None:
        self.is_broken = True
        self.lost.set()


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
    """Remove the folders of processes that have ended."""
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
