"""Is there room to write? New work is refused before the disk is full, and taken again when there is room."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

_PROBE_BYTES: Final = 1 << 20


class DiskWatch:
    """Looks at the disk that holds the home."""

    def __init__(self, home: Path, min_free_bytes: int) -> None:
        self._home = home
        self._min_free_bytes = min_free_bytes

    def trouble(self, last_failure: str) -> str:
        """Why nothing new should be accepted; empty when there is room.

        `last_failure` is why the last exchange could not be kept: then only a successful write proves the disk well,
        since quotas, file size limits and failing disks don't show in the free space.
        """
        try:
            status = os.statvfs(self._home)
        except OSError as error:
            return f"disk failing: {error}"
        free = status.f_bavail * status.f_frsize
        if free < self._min_free_bytes:
            return f"disk full: {free} bytes free in {self._home}, archive.min_free_bytes is {self._min_free_bytes}"
        if last_failure and (problem := self._probe()):
            return f"disk full or failing: {problem}"
        return ""

    def _probe(self) -> str:
        try:
            with tempfile.TemporaryFile(dir=self._home, buffering=0) as file:
                file.write(bytes(_PROBE_BYTES))
                os.fsync(file.fileno())
        except OSError as error:
            return str(error)
        return ""
