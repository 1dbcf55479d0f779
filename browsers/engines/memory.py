"""This module measures the memory of a browser's processes, and ends a process that uses too much.

A page has renderer processes of its own, so that ending one ends no other visit. No flag of Chromium bounds all memory
of a page (buffers, pictures, nodes, WebAssembly). A kernel limit (RLIMIT_DATA) of a few times their normal use ends the
processes at once. So their memory is measured regularly.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 0.2
"""Seconds between two checks during a visit. A page allocates about a gigabyte a second at most."""
_SLOW_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks that need a process."""
_WHOLE_LOOK_SECONDS: Final = 1.0
_TELLS_CHILDREN: Final = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()
"""True if the kernel names the children of a process, as Linux with CONFIG_PROC_CHILDREN does."""
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_OF_THE_BROWSER: Final = 2
_WAIT_SECONDS: Final = 1.0
"""The end of a process waits at most so long for a good moment."""
_WAITING_CHECK_SECONDS: Final = 0.02
_TOLD_SECONDS: Final = 10.0
"""The end of a process explains a lost page for so many seconds."""


class MemoryWatch:
    """The watch kills a descendant of a process that uses more than `most_bytes`; 0 is no bound.

    The process itself, which keeps blobs for all pages, may use twice as much.
    """

    def __init__(self, pid: int, most_bytes: int, may_end_processes: Callable[[], bool] = lambda: True) -> None:
        """Kill nothing yet. While `may_end_processes` returns False, the end of a process waits, for a short time."""
        self._pid = pid
        self._most = most_bytes
        self._may_end = may_end_processes
        self._waits_since = 0.0
        """Time (monotonic seconds) since when a process that uses too much waits for its end; 0 when none does."""
        self._tree = ProcessTree(pid)
        self._seen: dict[int, int] = {}
        """Bytes by process at the last check."""
        self._over: list[float] = []
        """Times (monotonic seconds) of the ends of processes that used much memory. Each is reported once."""

    async def run(self, is_busy: asyncio.Event) -> None:
        """Check regularly while `is_busy` is set, until cancelled."""
        if not self._most:
            return
        pause = CHECK_SECONDS if _TELLS_CHILDREN else _SLOW_CHECK_SECONDS
        while True:
            await is_busy.wait()
            if _TELLS_CHILDREN:
                self.check(self._tree.sizes())
            else:
                self.check(await asyncio.to_thread(lambda: dict(_family_by_ps(self._pid))))
            await asyncio.sleep(_WAITING_CHECK_SECONDS if self._waits_since else pause)

    def check(self, used: dict[int, int]) -> None:
        """Check the bytes by process, and kill processes over the bound."""
        now = time.monotonic()
        self._over += [now for pid, size in self._seen.items() if pid not in used and size > self._most // 2]
        if self._must_wait(used, now):
            self._seen = used
            return
        for pid, size in list(used.items()):
            if self._is_too_large(pid, size):
                log.warning("process %d of a page used %d bytes, more than browsers.page_memory_bytes", pid, size)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                self._over.append(now)
                del used[pid]
        self._seen = used
        self._over = [moment for moment in self._over if now - moment < _TOLD_SECONDS]

    def _is_too_large(self, pid: int, size: int) -> bool:
        return size > self._most * (_OF_THE_BROWSER if pid == self._pid else 1)

    def _must_wait(self, used: Mapping[int, int], now: float) -> bool:
        if self._may_end() or not any(self._is_too_large(pid, size) for pid, size in used.items()):
            self._waits_since = 0.0
            return False
        self._waits_since = self._waits_since or now
        return now - self._waits_since < _WAIT_SECONDS

    def claim_end(self) -> bool:
        """Return whether a process has just ended for its use of memory. Each end is reported once."""
        if self._most and _TELLS_CHILDREN:
            self.check(self._tree.sizes())
        ended = bool(self._over)
        if ended:
            self._over.pop()
        return ended


class ProcessTree:
    """A process and its descendants, as /proc tells them, without a look at the other processes of the machine.

    The kernel names the children of each thread. Threads that have had children are asked each time, and all others
    only now and then, since a browser has hundreds of threads and starts processes with few of them.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._parents: dict[int, set[str]] = {}
        """The threads that had children at the last look at all threads, by process."""
        self._looked = -math.inf
        """Time (monotonic seconds) of the last look at all threads."""

    def sizes(self) -> dict[int, int]:
        """Return the resident bytes of each process of the tree."""
        now = time.monotonic()
        is_whole = now - self._looked >= _WHOLE_LOOK_SECONDS
        if is_whole:
            self._looked, self._parents = now, {}
        found: dict[int, int] = {}
        to_do = [self._pid]
        while to_do:
            pid = to_do.pop()
            if pid not in found:
                found[pid] = _resident_bytes(pid)
                to_do += self._children(pid, is_whole=is_whole)
        return found

    def _children(self, pid: int, *, is_whole: bool) -> list[int]:
        threads: Iterable[str] = self._parents.get(pid, ())
        if is_whole:
            try:
                threads = os.listdir(f"/proc/{pid}/task")
            except OSError:
                return []  # the process has ended
        found: list[int] = []
        for thread in threads:
            with suppress(OSError):
                children = Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split()
                found += map(int, children)
                if children:
                    self._parents.setdefault(pid, set()).add(thread)
        return found


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0  # the process has ended


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
