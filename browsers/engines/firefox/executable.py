"""This module finds Firefox, and finds out whether it is new enough."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from browsers.engines.executables import find_executable
from browsers.engines.interface import BrowserMissing

NAMES: Final = ("firefox-esr", "firefox")
"""Names of executables on PATH. The first one that is found is used."""
MAC_APPLICATION: Final = "/Applications/Firefox.app/Contents/MacOS/firefox"
OLDEST: Final = 153
"""The oldest release with all commands that the engine uses, such as a proxy for each user context."""
_SECONDS: Final = 30
_VERSION: Final = re.compile(r"Firefox (\d+)(\.[\d.]+)?")


def find_firefox(chosen: str = "") -> Path:
    """Return the browser to start. `chosen` is a setting. Raises BrowserMissing in one line."""
    return find_executable(
        "browsers.firefox_executable",
        chosen,
        (*filter(None, map(shutil.which, NAMES)), MAC_APPLICATION),
        f"Firefox was not found; install release {OLDEST} or newer (Debian: apt-get install firefox-esr), "
        "or set browsers.firefox_executable to its path",
    )


def check_version(executable: Path) -> str:
    """Return the version of this Firefox. Raises BrowserMissing when it is too old, or does not tell."""
    try:
        told = subprocess.run(
            [str(executable), "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrowserMissing(f"{executable} does not start: {error}") from error
    found = _VERSION.search(told)
    if found is None:
        raise BrowserMissing(f"{executable} does not tell its version")
    if int(found[1]) < OLDEST:
        raise BrowserMissing(f"{executable} is Firefox {found[1]}; release {OLDEST} or newer is needed")
    return found[0].removeprefix("Firefox ")
