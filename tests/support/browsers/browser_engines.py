"""Both browser engines for the same tests. A test with Firefox is skipped when no Firefox is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from archive.settings import BrowserSettings
from browsers.engines.chromium.browser import ChromiumEngine
from browsers.engines.chromium.flags import launch_flags
from browsers.engines.firefox.browser import FirefoxEngine
from browsers.engines.firefox.executable import check_version, find_firefox
from browsers.engines.firefox.trust import make_database
from browsers.engines.interface import BrowserMissing, BrowserWindow, Device, Engine, EngineError
from browsers.engines.playwright.browser import PlaywrightEngine
from browsers.engines.playwright.launch import Launch
from support.browsers.visits import Fleet
from support.processes import machine_needs as needs

ENGINES = ("chromium", "playwright:chromium", "firefox")
TELEPHONE = Device(
    400,
    700,
    scale=2.0,
    has_touch=True,
    is_mobile=True,
    user_agent="Telephone/1.0",
    lang="de-AT,de;q=0.9",
    timezone="Asia/Tokyo",
    dark=True,
)


def firefox() -> Path:
    """Path of a Firefox that is new enough; skips the test, in CI too, when there is none."""
    try:
        executable = find_firefox()
        check_version(executable)
    except BrowserMissing as error:
        pytest.skip(str(error))
    return executable


class Engines:
    """Engines that several tests share. An engine that a test broke is replaced."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._running: dict[tuple[str, Device], Engine] = {}
        self._database: Mapping[str, bytes] = {}

    async def get(self, name: str, device: Device = Device()) -> Engine:  # noqa: B008
        """A running engine of that name, for windows that look like the device."""
        running = self._running.get((name, device))
        if running is not None and not running.is_broken:
            return running
        if running is not None:
            await running.stop()
        running = self._running[name, device] = await self._start(name, device)
        return running

    async def stop(self) -> None:
        """Stop all engines."""
        for running in self._running.values():
            await running.stop()

    async def _start(self, name: str, device: Device) -> Engine:
        if name == "chromium":
            executable = Path(needs.chromium())
            command = launch_flags(self._fleet.trusted.keys, ["127.0.0.1"], "en", sandbox=False)
            return await ChromiumEngine.start(executable, command, BrowserSettings())
        if name == "playwright:chromium":
            command = launch_flags(self._fleet.trusted.keys, ["127.0.0.1"], "en", sandbox=False)
            launch = Launch(Path(needs.chromium()), tuple(command))
            return await PlaywrightEngine.start(launch, BrowserSettings())
        executable = firefox()
        self._database = self._database or make_database(executable, self._fleet.trusted.authority)
        return await FirefoxEngine.start(executable, self._database, BrowserSettings(), device)


async def open_pages(engine: Engine) -> int:
    """The number of pages that an engine has for all windows, with pages that pages opened."""
    if isinstance(engine, ChromiumEngine):
        targets = await engine.root.send("Target.getTargets")
        return len([target for target in targets["targetInfos"] if target["type"] == "page"])
    if isinstance(engine, PlaywrightEngine):
        return sum(len(context.pages) for context in engine.browser.contexts)
    assert isinstance(engine, FirefoxEngine)
    tree = await engine.root.send("browsingContext.getTree", maxDepth=0)
    return len([told for told in tree["contexts"] if told["userContext"] != "default"])


async def kill_page(engine: Engine, window: BrowserWindow, before: set[psutil.Process]) -> None:
    """End the process of a page. `before` are the browser's processes from before the window was opened."""
    if engine.name == "Chromium":
        with suppress(EngineError):
            await window.navigate("chrome://crash")
        return
    for process in set(psutil.Process(engine.pid).children(recursive=True)) - before:
        with suppress(psutil.Error):
            process.kill()
    await asyncio.sleep(0)
