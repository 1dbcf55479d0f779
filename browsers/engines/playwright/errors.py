"""Messages of Playwright tell what happened to a page, a frame or a navigation. Pure."""

from __future__ import annotations

import re
from typing import Final

_CHROMIUM: Final = re.compile(r"net::(ERR_[A-Z0-9_]+)")
_PAGE_ENDED: Final = (
    "Target crashed",
    "Page crashed",
    "Target page, context or browser has been closed",
    "Connection closed",
)
_FRAME_ENDED: Final = (
    "Execution context was destroyed",
    "Frame was detached",
    "frame got detached",
    "Cannot find context",
    "most likely because of a navigation",
    "Element is not attached",
)


def navigation_reason(message: str) -> str:
    """Return Chromium's name of the error for which a navigation failed."""
    if match := _CHROMIUM.search(message):
        return match[1]
    return "ERR_INVALID_URL" if "invalid url" in message.lower() else "ERR_FAILED"


def is_of_page(message: str) -> bool:
    """Return whether a message of Playwright says that the page or the browser has ended."""
    return any(words in message for words in _PAGE_ENDED)


def is_of_frame(message: str) -> bool:
    """Return whether a message of Playwright says that a frame was removed, or that its document has gone."""
    return any(words in message for words in _FRAME_ENDED)
