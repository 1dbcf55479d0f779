"""Pause a job while the disk is nearly full, and resume it when there is enough space again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from admin.units import counted, human_bytes
from archive.files import free_bytes, free_inodes
from frontier.control import Controls

LOOK_SECONDS: Final = 2.0
_RESUME_FACTOR: Final = 1.1
"""The job resumes at this multiple of the threshold, so that it does not pause and resume all the time."""


class JobDiskWatch:
    """The watch holds the job's frontier while space or inodes are short. The pause of an operator is not changed."""

    def __init__(
        self,
        folder: Path,
        min_free_bytes: int,
        controls: Controls,
        note: Callable[[str], None],
        *,
        min_free_inodes: int = 0,
    ) -> None:
        self._folder = folder
        self._min_free_bytes = min_free_bytes
        self._min_free_inodes = min_free_inodes
        self._controls = controls
        self._note = note
        self._next = 0.0
        self.is_paused = False

    def look(self) -> None:
        """Check the disk, at most every two seconds, and pause or resume the job if needed."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOOK_SECONDS
        free, inodes = free_bytes(self._folder), free_inodes(self._folder)
        is_short_of_inodes = inodes is not None and inodes < self._min_free_inodes
        has_inodes = inodes is None or inodes >= self._min_free_inodes * _RESUME_FACTOR
        if not self.is_paused and (free < self._min_free_bytes or is_short_of_inodes):
            left = (
                counted(inodes or 0, "free inode") if is_short_of_inodes else f"{human_bytes(free)} of free disk space"
            )
            self._controls.hold(f"only {left} left")
            self.is_paused = True
            self._note(f"paused: only {left} left in {self._folder}; the job resumes when there is more")
        elif self.is_paused and free >= self._min_free_bytes * _RESUME_FACTOR and has_inodes:
            self._controls.release()
            self.is_paused = False
            self._note(f"resumed: {human_bytes(free)} of free disk space")
