"""This module finds Chromium: that of the settings, else the system's, else Playwright's download."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from browsers.engines.executables import find_executable

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names of executables on PATH. The first one that is found is used."""
MAC_APPLICATIONS: Final = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_PLAYWRIGHT_CACHES: Final = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
_PLAYWRIGHT_BINARIES: Final = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)


def find_chromium(chosen: str = "") -> Path:
    """Return the browser to start. `chosen` is the setting browsers.executable. Raises BrowserMissing in one line."""
    return find_executable(
        "browsers.executable",
        chosen,
        _candidates(),
        "Chromium or Chrome was not found; install one (Debian: apt-get install chromium), "
        "run 'playwright install chromium', or set browsers.executable to its path",
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
