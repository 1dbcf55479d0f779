"""A folder in which no more files can be made at some time, though it has bytes enough."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest


class FewFiles:
    """A file system with few inodes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def use_up(self, *, until_left: int = 0) -> None:
        """Make files until so many more can be made."""
        fillers = self.folder / "fillers"
        fillers.mkdir(exist_ok=True)
        with suppress(OSError):
            for number in count():
                if until_left and os.statvfs(self.folder).f_favail <= until_left:
                    return
                (fillers / str(number)).touch()

    def give_back(self) -> None:
        """Remove them."""
        for filler in (self.folder / "fillers").iterdir():
            filler.unlink()


@contextmanager
def room_for_few_files(folder: Path, *, inodes: int = 40) -> Iterator[FewFiles]:
    """A file system of its own at that folder; skips the test where it can't be mounted."""
    folder.mkdir(parents=True)
    options = f"size=64m,nr_inodes={inodes}"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield FewFiles(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
