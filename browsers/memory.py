"""This module measures the memory of a browser's processes, and ends a process that uses too much.

A page has renderer processes of its own, so that ending one ends no other visit. No flag of Chromium bounds all memory
of a page (buffers, pictures, nodes, WebAssembly). A kernel limit (RLIMIT_DATA) of a few times their normal use ends the
processes at once. So their memory is measured regularly.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 0.2
"""Seconds between two checks during a visit. A page allocates about a gigabyte a second at most."""
_SLOW_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks that need a process."""
_PROC: Final = Path("/proc")
_OF_THE_BROWSER: Final = 2
_TOLD_SECONDS: Final = 10.0
"""The end of a process explains a lost page for so many seconds."""


class MemoryWatch:
    """The watch kills a descendant of a process that uses more than `most_bytes`; 0 is no bound.

    The process itself, which keeps blobs for all pages, may use twice as much.
    """

    def __init__(self, pid: int, most_bytes: int) -> None:
        self._pid = pid
        self._most = most_bytes
        self._seen: dict[int, int] = {}
        """Bytes by process at the last check."""
        self._over: list[float] = []
        """Times (monotonic seconds) of the ends of processes that used much memory. Each is reported once."""

    async def run(self, is_busy: asyncio.Event) -> None:
        """Check regularly while `is_busy` is set, until cancelled."""
        if not self._most:
            return
        pause = CHECK_SECONDS if sys.platform == "linux" else _SLOW_CHECK_SECONDS
        while True:
            await is_busy.wait()
            if sys.platform == "linux":
                self.check(dict(_family(self._pid)))
            else:
                self.check(await asyncio.to_thread(lambda: dict(_family_by_ps(self._pid))))
            await asyncio.sleep(pause)

    def check(self, used: dict[int, int]) -> None:
        """Check the bytes by process, and kill processes over the bound."""
        now = time.monotonic()
        self._over += [now for pid, size in self._seen.items() if pid not in used and size > self._most // 2]
        for pid, size in list(used.items()):
            if size > self._most * (_OF_THE_BROWSER if pid == self._pid else 1):
                log.warning("process %d of a page used %d bytes, more than browsers.page_memory_bytes", pid, size)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                self._over.append(now)
                del used[pid]
        self._seen = used
        self._over = [moment for moment in self._over if now - moment < _TOLD_SECONDS]

    def claim_end(self) -> bool:
        """Return whether a process has just ended for its use of memory. Each end is reported once."""
        if self._most and sys.platform == "linux":
            self.check(dict(_family(self._pid)))
        ended = bool(self._over)
        if ended:
            self._over.pop()
        return ended


def _family(pid: int) -> Iterator[tuple[int, int]]:
    """Yield the process and each descendant with its resident bytes, by /proc."""
    children: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in os.scandir(_PROC):
        if folder.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                fields = (_PROC / folder.name / "stat").read_bytes().rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(folder.name))
                sizes[int(folder.name)] = int(fields[21]) * page
    yield from _below(pid, children, sizes)


def _family_by_ps(pid: int) -> Iterator[tuple[int, int]]:
    """Yield the process and each descendant with its resident bytes, by ps."""
    children: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    told = subprocess.run(["ps", "-axo", "pid=,ppid=,rss="], capture_output=True, text=True, check=False).stdout
    for line in told.splitlines():
        own, parent, kilobytes = map(int, line.split())
        children.setdefault(parent, []).append(own)
        sizes[own] = kilobytes * 1024
    yield from _below(pid, children, sizes)


def _below(pid: int, children: dict[int, list[int]], sizes: dict[int, int]) -> Iterator[tuple[int, int]]:
    to_do = [pid]
    while to_do:
        one = to_do.pop()
        yield one, sizes.get(one, 0)
        to_do += children.get(one, ())
