"""How much memory processes have taken."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


def peak_bytes(pids: Iterable[int]) -> int:
    """The largest peak of resident memory of one of the processes (VmHWM), bytes."""
    found = []
    for pid in pids:
        with suppress(OSError):  # the process may have ended
            found.append(Path(f"/proc/{pid}/status").read_text())
    return max(int(status.partition("VmHWM:")[2].split()[0]) * 1024 for status in found if "VmHWM:" in status)


def resident_bytes() -> int:
    """The resident memory of this process now, bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass
class Growth:
    """How far the resident memory of this process grew at most."""

    bytes: int = 0


@contextmanager
def growth() -> Iterator[Growth]:
    """Yield a `Growth` that is filled while the block runs.

    A thread reads the memory all the time: the peak that the kernel keeps (VmHWM) may be of an earlier test.
    """
    found, before, ended = Growth(), resident_bytes(), threading.Event()

    def watch() -> None:
        while True:
            found.bytes = max(found.bytes, resident_bytes() - before)
            if ended.wait(0.01):
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
