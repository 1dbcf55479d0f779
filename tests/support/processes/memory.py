"""How much memory processes have taken."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def peak_bytes(pids: Iterable[int]) -> int:
    """The largest peak of resident memory of one of the processes (VmHWM), bytes."""
    found = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
    return max(int(status.partition("VmHWM:")[2].split()[0]) * 1024 for status in found if "VmHWM:" in status)
