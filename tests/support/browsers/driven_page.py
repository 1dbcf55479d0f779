"""A page of a real Chromium in which single tools of the behaviours are tried."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Frame, Page, async_playwright

from browsers.engines.interface import World
from support.processes.machine_needs import chromium


class DrivenFrame:
    """A frame as the behaviours see frames."""

    url = "http://a.example/"

    def __init__(self, frame: Frame) -> None:
        self.is_main = frame.parent_frame is None
        self._frame = frame

    async def evaluate(self, function: str, values: list[Any], world: World = World.ISOLATED) -> Any:
        assert world is World.PAGE
        return await self._frame.evaluate(function, values)


@asynccontextmanager
async def open_page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield await browser.new_page()
        finally:
            await browser.close()
