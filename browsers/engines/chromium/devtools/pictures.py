"""Pictures and PDF documents of a page, by the DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.interface import Area, Device
from browsers.engines.png import UnfitPicture, joined

_PDF_PART: Final = 1024 * 1024
_STRIP_PIXELS: Final = 1280 * 768
"""A picture of more pixels is taken in strips, since Chromium keeps several copies of all pixels that it shows.

With another scale than 1, letters of strips stand a part of a pixel elsewhere.
"""
_TILE: Final = 256
"""Strips have a multiple of so many rows, as Chromium's tiles have."""


class PagePictures:
    """A camera that takes pictures of a page that looks like the device."""

    def __init__(self, device: Device, taking_picture: Callable[[], AbstractContextManager[None]]) -> None:
        """`taking_picture` returns a context in which no process of a page is ended by us."""
        self._device = device
        self._taking_picture = taking_picture

    async def screenshot(self, page: DevToolsSession, area: Area | None = None) -> bytes:
        """Return a PNG picture of the visible part of the page, or of an area of the whole page. Raises EngineError."""
        device = self._device
        if area is not None:
            fits = area.x + area.width <= device.width and area.y + area.height <= device.height
            strips = _strips(area)
            if len(strips) > 1 and device.scale == 1:
                with suppress(UnfitPicture):
                    pictures = [await self._picture_of(page, strip, beyond_viewport=not fits) for strip in strips]
                    return await asyncio.to_thread(joined, pictures)
            return await self._picture_of(page, area, beyond_viewport=not fits)
        if device.scale == 1:
            return await self._picture(page)
        metrics = await page.send("Page.getLayoutMetrics")
        seen = metrics["cssVisualViewport"]
        clip = {"x": seen["pageX"], "y": seen["pageY"], "width": device.width, "height": device.height}
        return await self._picture(page, clip=clip | {"scale": 1 / device.scale})

    async def _picture_of(self, page: DevToolsSession, area: Area, *, beyond_viewport: bool) -> bytes:
        scale = 1 / self._device.scale
        clip = {"x": area.x, "y": area.y, "width": area.width, "height": area.height, "scale": scale}
        return await self._picture(page, clip=clip, captureBeyondViewport=beyond_viewport)

    async def _picture(self, page: DevToolsSession, **wanted: Any) -> bytes:
        with self._taking_picture():
            answer = await page.send("Page.captureScreenshot", format="png", optimizeForSpeed=True, **wanted)
        return base64.b64decode(answer["data"])


async def pdf_of(page: DevToolsSession) -> bytes:
    """Return the page as a PDF document of A4 pages with backgrounds. Raises EngineError."""
    answer = await page.send(
        "Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69, transferMode="ReturnAsStream"
    )
    handle = answer["stream"]
    parts: list[bytes] = []
    while True:
        part = await page.send("IO.read", handle=handle, size=_PDF_PART)
        data = part["data"]
        parts.append(base64.b64decode(data) if part.get("base64Encoded") else data.encode("latin-1"))
        if part["eof"]:
            break
    page.send("IO.close", handle=handle)
    return b"".join(parts)


def _strips(area: Area) -> Sequence[Area]:
    """Return the parts of a tall area, from top to bottom, in which a picture of it is taken."""
    rows = max(_TILE, int(_STRIP_PIXELS / area.width) // _TILE * _TILE)
    if area.height <= rows:
        return (area,)
    many = math.ceil(area.height / rows)
    return [Area(area.x, area.y + at * rows, area.width, min(rows, area.height - at * rows)) for at in range(many)]
