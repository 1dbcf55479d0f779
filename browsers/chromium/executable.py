"""Which Chromium the ghosts use: the one named in the settings, the system's, else Playwright's own download."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names on PATH, the first found wins."""
MAC_APPLICATIONS: Final = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_PLAYWRIGHT_CACHES: Final = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
_PLAYWRIGHT_BINARIES: Final = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)


class BrowserMissing(RuntimeError):
    """No browser to be a ghost with; the message says what to install or set."""


def find_chromium(chosen: str = "") -> Path:
    """The browser to start; `chosen` is the setting browsers.executable. Raises BrowserMissing in one line."""
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise BrowserMissing(f"setting browsers.executable = {chosen!r} names no program that can be run")
        return Path(path)
    for candidate in _candidates():
        if os.access(candidate, os.X_OK):
            return candidate
    raise BrowserMissing(
        "no Chromium or Chrome found; install one (Debian: apt-get install chromium), "
        "run 'playwright install chromium', or name it in the setting browsers.executable"
    )


def _candidates() -> Iterator[Path]:
    for name in NAMES:
        if path := shutil.which(name):
            yield Path(path)
    yield from map(Path, MAC_APPLICATIONS)
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    for cache in [folder] if folder else _PLAYWRIGHT_CACHES:
        for pattern in _PLAYWRIGHT_BINARIES:
            yield from sorted(Path(cache).expanduser().glob(pattern), reverse=True)
