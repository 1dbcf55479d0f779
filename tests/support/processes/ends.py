"""Tests ask whether a process has ended. A process that its parent has not waited for yet counts as ended."""

from __future__ import annotations

from contextlib import suppress

import psutil


def is_at_work(process: psutil.Process) -> bool:
    """Return whether a process runs. The process may end between two questions."""
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
