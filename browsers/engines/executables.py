"""The executable of a browser is that of the settings, or the first one of several places."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from browsers.engines.interface import BrowserMissing


def find_executable(setting: str, chosen: str, places: Iterable[Path | str], missing: str) -> Path:
    """Return the browser to start: `chosen`, which is the value of the setting, or else the first one of the places.

    Raises BrowserMissing in one line; `missing` is the message when there is none.
    """
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise BrowserMissing(
                f"{setting} = {chosen!r} is not an executable; set its path, or leave the setting empty"
            )
        return Path(path)
    for place in places:
        if os.access(place, os.X_OK):
            return Path(place)
    raise BrowserMissing(missing)
