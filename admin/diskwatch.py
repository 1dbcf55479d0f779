"""A job pauses while the disk is nearly full, and goes on by itself when there is room again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from admin.progress import human_bytes
from archive.warcfile import free_bytes
from frontier.control import Controls

LOOK_SECONDS: Final = 2.0
_ROOM: Final = 1.1
"""Work goes on when there is this much more than the threshold, so that it does not flicker."""


class DiskWatch:
    """Looks at the free space now and then, and pauses or resumes the job's frontier."""

    def __init__(self, folder: Path, min_free_bytes: int, controls: Controls, note: Callable[[str], None]) -> None:
        self._folder = folder
        self._min_free_bytes = min_free_bytes
        self._controls = controls
        self._note = note
        self._next = 0.0
        self.is_paused = False

    def look(self) -> None:
        """Pause, resume or do nothing; at most every two seconds."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOOK_SECONDS
        free = free_bytes(self._folder)
        if not self.is_paused and free < self._min_free_bytes:
            self.is_paused = True
            self._controls.pause(f"only {human_bytes(free)} of disk left")
            self._note(f"paused: {human_bytes(free)} free in {self._folder}; make room, and the job goes on by itself")
        elif self.is_paused and free >= self._min_free_bytes * _ROOM:
            self.is_paused = False
            self._controls.resume()
            self._note(f"goes on: {human_bytes(free)} free again")
