"""A process refuses new work before the disk is full, and accepts work again when there is room."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from archive.files import free_bytes, free_inodes

_PROBE_BYTES: Final = 1 << 20


class DiskWatch:
    """Looks at the disk that holds the home."""

    def __init__(self, home: Path, min_free_bytes: int, min_free_inodes: int = 0) -> None:
        self._home = home
        self._min_free_bytes = min_free_bytes
        self._min_free_inodes = min_free_inodes

    def trouble(self, last_failure: str) -> str:
        """Return why nothing new should be accepted; empty when there is room.

        `last_failure` is why the last exchange could not be kept. When it is not empty, only a successful write proves
        that the disk works: quotas, file size limits and failing disks don't show in the free space.
        """
        try:
            free, inodes = free_bytes(self._home), free_inodes(self._home)
        except OSError as error:
            return f"the disk fails: {error}"
        if free < self._min_free_bytes:
            return (
                f"the disk is full: {self._home} has {free} bytes free, fewer than archive.min_free_bytes ="
                f" {self._min_free_bytes}"
            )
        if inodes is not None and inodes < self._min_free_inodes:
            return (
                f"the disk is full: {self._home} has room for {inodes} more files, fewer than"
                f" archive.min_free_inodes = {self._min_free_inodes}"
            )
        if last_failure and (problem := self._probe()):
            return f"the disk is full or fails: {problem}"
        return ""

    def _probe(self) -> str:
        try:
            with tempfile.TemporaryFile(dir=self._home, buffering=0) as file:
                file.write(bytes(_PROBE_BYTES))
                os.fsync(file.fileno())
        except OSError as error:
            return str(error)
        return ""
