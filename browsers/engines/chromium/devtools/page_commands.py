"""Commands to a page that take several messages or many parameters of the DevTools protocol."""

from __future__ import annotations

from typing import Any

from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.chromium.devtools.keyboard import key_events


async def back_in(page: DevToolsSession) -> bool:
    """Go to the previous entry of the history, and return whether there was one. Raises EngineLost."""
    history = await page.send("Page.getNavigationHistory")
    index = history["currentIndex"]
    if index < 1:
        return False
    await page.send("Page.navigateToHistoryEntry", entryId=history["entries"][index - 1]["id"])
    return True


async def press(page: DevToolsSession, key: str) -> None:
    """Send a key to the focus. Raises ValueError for an unknown name, and EngineLost."""
    down, up = key_events(key)
    pressed = page.send("Input.dispatchKeyEvent", **down)
    released = page.send("Input.dispatchKeyEvent", **up)
    await pressed
    await released


def size_of(width: int, height: int, scale: float, *, is_mobile: bool) -> dict[str, Any]:
    """Return the parameters of `Emulation.setDeviceMetricsOverride`."""
    return {
        "width": width,
        "height": height,
        "deviceScaleFactor": scale,
        "mobile": is_mobile,
        "screenWidth": width,
        "screenHeight": height,
    }
