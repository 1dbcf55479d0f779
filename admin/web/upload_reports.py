"""Reports of uploads are files in the home, so that a person downloads every line that could not be used.

A report belongs to the user who uploaded the list. The newest ones of each user are kept for a day.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from admin.harvests.domains.uploads import LineProblem
from archive.names.characters import printable

FOLDER: Final = "upload-reports"
MOST_OF_USER: Final = 10
LARGEST: Final = 50_000_000
"""Bytes of one report; further lines are left out, and the report says so."""
_KEPT_SECONDS: Final = 86_400
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_HEADING: Final = "# line\treason\ttext\n"


class UploadReportFile:
    """An upload report file gets one report, line by line."""

    def __init__(self, home: Path, user_id: int) -> None:
        """Begin a report; old ones of the user are removed. `token` is its name for the user."""
        self.token = secrets.token_urlsafe(16)
        self._folder = home / FOLDER
        self._path = self._folder / f"{user_id}-{self.token}.txt"
        self._user_id = user_id
        self._file: IO[str] | None = None
        self._size = 0

    def add(self, problem: LineProblem) -> None:
        """Write one line that could not be used."""
        if self._file is None:
            self._file = self._begin()
        if self._size > LARGEST:
            return
        text = f"{problem.line}\t{printable(problem.reason)}\t{printable(problem.text)}\n"
        self._size += len(text.encode())
        self._file.write(text if self._size <= LARGEST else "# The report is full; correct these lines first.\n")

    def close(self) -> bool:
        """End the report. Return whether there is one: a list without wrong lines has none."""
        if self._file is None:
            return False
        self._file.close()
        return True

    def _begin(self) -> IO[str]:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        _remove_old(self._folder, self._user_id)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        file = os.fdopen(descriptor, "w", encoding="utf-8")
        file.write(_HEADING)
        return file


def report_path(home: Path, user_id: int, token: str) -> Path | None:
    """Return where the user's report of that name is; None when there is none."""
    if not _TOKEN.fullmatch(token):
        return None
    path = home / FOLDER / f"{user_id}-{token}.txt"
    return path if path.is_file() else None


def _remove_old(folder: Path, user_id: int) -> None:
    """Remove reports of a day ago, and all but the newest of this user."""
    found = sorted(folder.glob("*.txt"), key=lambda path: path.stat().st_mtime, reverse=True)
    oldest = max((path.stat().st_mtime for path in found), default=0.0) - _KEPT_SECONDS
    own = [path for path in found if path.name.startswith(f"{user_id}-")]
    for path in {*own[MOST_OF_USER - 1 :], *(each for each in found if each.stat().st_mtime < oldest)}:
        with suppress(OSError):
            path.unlink()
