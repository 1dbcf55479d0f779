"""The lists of rules may stand in files, which are watched: a changed file holds without a new start of the job.

A profile that a person reads from a file names lists by their paths, relative to the profile. A template of the admin
site names files in the home's folder `lists`, since curators have no right to other files of the machine. In a job,
all paths are absolute.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

LIST_FOLDER: Final = "lists"
"""Folder of a home with the list files that rules of templates and queue groups name."""
MAX_LIST_BYTES: Final = 50_000_000
MAX_LIST_LINES: Final = 1_000_000
CHECK_SECONDS: Final = 5.0
"""The time of a file is looked at so often at most."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", re.ASCII)


class ListFileError(ValueError):
    """A list file can't be used. The message names the file, the line, the reason and the remedy."""


def is_plain_name(file: str) -> bool:
    """Return whether a text names a file of the home's folder of lists."""
    return _PLAIN_NAME.fullmatch(file) is not None


def list_lines(path: Path) -> list[str]:
    """Return the lines of a list file. Raises ListFileError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_LIST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ListFileError(f"the list {path} can't be read: {error}; it must be UTF-8 text") from error
    if len(data) > MAX_LIST_BYTES:
        raise ListFileError(f"the list {path} has more than {MAX_LIST_BYTES:,} bytes; shorten it")
    lines = text.splitlines()
    if len(lines) > MAX_LIST_LINES:
        raise ListFileError(f"the list {path} has {len(lines):,} lines; use at most {MAX_LIST_LINES:,}")
    return lines


class WatchedList[T]:
    """A watched list has the content of a file, and reads the file again when the file has changed.

    A file that can't be used leaves the last content in force. Threads may share a list.
    """

    def __init__(self, path: Path, read: Callable[[list[str], Path], T]) -> None:
        """Read nothing yet. `read` makes the content of the lines; it raises ListFileError."""
        self.path = path
        self.problem = ""
        """The reason why the file can't be used at present; empty while it can."""
        self._read = read
        self._content: T | None = None
        self._mark: tuple[int, int, int] | None = None
        self._next_check = 0.0
        self._lock = threading.Lock()

    def load(self) -> T:
        """Read the file now. Raises ListFileError."""
        with self._lock:
            mark = self._stat()  # before the lines, so that a change in between is seen later
            self._content, self._mark = self._read(list_lines(self.path), self.path), mark
            self.problem = ""
            self._next_check = time.monotonic() + CHECK_SECONDS
            return self._content

    def content(self) -> T | None:
        """Return the content that is in force; None when the file could never be used."""
        # Only one thread reads a changed file. The others go on with the last content.
        if time.monotonic() >= self._next_check and self._lock.acquire(blocking=self._content is None):
            try:
                self._look()
            finally:
                self._lock.release()
        return self._content

    def _look(self) -> None:
        if time.monotonic() < self._next_check:  # another thread has just looked
            return
        mark = self._stat()
        if mark is None or mark != self._mark:
            try:
                self._content, self.problem = self._read(list_lines(self.path), self.path), ""
                logger.info("the list %s was read", self.path)
            except ListFileError as error:
                kept = "the last list stays in force" if self._content is not None else "its rule decides nothing"
                if self.problem != str(error):
                    logger.error("%s; %s", error, kept)
                self.problem = str(error)
            self._mark = mark
        self._next_check = time.monotonic() + CHECK_SECONDS

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
