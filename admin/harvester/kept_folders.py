"""This module keeps a home's own name, and bounds the number of folders of reported jobs."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from archive.files import make_folder

log = logging.getLogger(__name__)

_NAME_FILE: Final = "home-name"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")
_JOB: Final = re.compile(r"\d+_(?P<millis>\d+)")


def name_of_home(harvester: Path) -> str:
    """Return the name by which the database tells this home from others; it is made up when it is first asked for."""
    make_folder(harvester)
    path = harvester / _NAME_FILE
    for _ in range(2):
        name = _read(path)
        if name is not None and _NAME.fullmatch(name):
            return name
        # The first of several harvesters that make up a name at once gives it to the home.
        with tempfile.NamedTemporaryFile("w", dir=harvester, prefix=f".{_NAME_FILE}-") as file:
            file.write(f"{secrets.token_urlsafe(16)}\n")
            file.flush()
            os.fsync(file.fileno())
            if name is not None:
                path.unlink(missing_ok=True)  # it was damaged
            with suppress(FileExistsError):
                os.link(file.name, path)
    return _read(path) or ""


def _read(path: Path) -> str | None:
    try:
        return path.read_text("ascii", "replace").strip()
    except FileNotFoundError:
        return None


def prune_old_jobs(harvester: Path, most: int) -> int:
    """Remove the folders of reported jobs but the newest ones. Return how many were removed.

    All that was fetched is in the archive, and all that is worth keeping of a folder is in the job's metadata file.
    """
    place = harvester / "oldjobs"
    found = [(int(match["millis"]), path) for path in _children(place) if (match := _JOB.fullmatch(path.name))]
    removed = 0
    for _, path in sorted(found, reverse=True)[most:]:
        try:
            shutil.rmtree(path)
        except OSError as error:  # another harvester of this home removes it too, or the disk is ill
            log.debug("%s is not removed: %s", path, error)
        else:
            removed += 1
    return removed


def _children(place: Path) -> list[Path]:
    return list(place.iterdir()) if place.is_dir() else []
