"""How much memory processes have taken."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def peak_bytes(pids: Iterable[int]) -> int:
    """The largest peak of resident memory of one of the processes (VmHWM), bytes."""
    found = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
    return max(int(status.partition("VmHWM:")[2].split()[0]) * 1024 for status in found if "VmHWM:" in status)


def resident_bytes() -> int:
    """The resident memory of this process now, bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
