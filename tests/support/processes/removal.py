"""Removal of folders in which processes are at work."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.processes.waiting import until


def remove_in_use(folder: Path) -> None:
    """Remove a folder with its files. A file that a process adds or removes meanwhile is no error.

    The test fails when the folder is missing at the beginning, or is still there after some time.
    """
    assert folder.is_dir(), f"{folder} is missing"

    def is_removed() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    until(is_removed, what=f"the removal of {folder}")
