"""The two busy threads of a recording process, the event loop's and the writer's, share one core (Linux).

With one interpreter lock only one of them computes at a time, and both work on the same objects. On two cores each
switch moves these objects from one core's cache to the other's. The kernel spreads busy threads, so they are bound to
the core that the loop is on. When another program wants that core too, they are released, and bound anew where the
kernel has moved the loop. This happens less often the longer the core is crowded, since then no core is better. The
writer does not interrupt the loop when it wakes (SCHED_BATCH): its work may wait for some milliseconds.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

log = logging.getLogger(__name__)

type Task = Callable[[], None]
type TaskRunner = Callable[[Task], None]
"""Runs a job to its end on the calling thread, and raises the job's exceptions."""

_CROWDED: Final = 0.15
"""A core is crowded when the loop waits for it for this share of the time."""
_LONGEST_STAY_SECONDS: Final = 64
_TASKS: Final = Path("/proc/self/task")
_CORE_FIELD: Final = 36
"""Index, after the name in `stat`, of the core that a thread ran on last (proc_pid_stat(5), field 39)."""


class Times(NamedTuple):
    """The two threads have had and wanted these times so far, in nanoseconds."""

    now: int
    loop_waited: int
    """Time in which the loop could have run, but waited for a core."""
    writer_ran: int


class CoreStay:
    """A core stay decides once a second whether to stay on a core. Pure."""

    def __init__(self) -> None:
        self._before: Times | None = None
        self._left = self._stay = 1

    def should_stay(self, times: Times) -> bool:
        """Return False when it is time to try another core."""
        before, self._before = self._before, times
        if before is None:
            return True
        waited = times.loop_waited - before.loop_waited - (times.writer_ran - before.writer_ran)
        if waited <= _CROWDED * (times.now - before.now):
            self._left = self._stay = 1
            return True
        self._left -= 1
        if self._left:
            return True
        self._before = None
        self._left = self._stay = min(2 * self._stay, _LONGEST_STAY_SECONDS)
        return False


class SharedCore:
    """A shared core is the core to which two threads of this process are bound, by their native ids. It does nothing
    where there is one core, or no way to bind threads.
    """

    def __init__(self) -> None:
        self._cores = _allowed()
        self._stay = CoreStay()
        self.core: int | None = None
        """The core that the threads are bound to; None when they are not bound."""
        self._is_unpinned = False

    def tick(self, loop_thread: int, writer_thread: int, now: int) -> None:
        """Check the threads about once a second, at `now` nanoseconds."""
        if len(self._cores) < 2:
            return
        try:
            if self.core is None:
                self.core = _core_of(loop_thread)
                os.sched_setscheduler(writer_thread, os.SCHED_BATCH, os.sched_param(0))
            else:
                (_, waited), (ran, _) = _times_of(loop_thread), _times_of(writer_thread)
                if not self._stay.should_stay(Times(now, waited, ran)):
                    self.core = None
            self._bind(frozenset((loop_thread,) if self._is_unpinned else (loop_thread, writer_thread)))
        except (OSError, ValueError, IndexError) as error:
            log.info("threads can't be bound to one core: %s", error)
            self.core = None
            with suppress(OSError):
                self._bind(frozenset())
            self._cores = frozenset()

    def run_unpinned(self, job: Task) -> None:
        """Run a long job of the writer that does not hold the interpreter lock, on any core."""
        self._is_unpinned = True
        try:
            if self.core is not None:
                _bind_caller(self._cores)
            job()
        finally:
            self._is_unpinned = False
            if (core := self.core) is not None:
                _bind_caller((core,))

    def _bind(self, busy: frozenset[int]) -> None:
        """Bind the other threads too, since a thread begins where its maker is bound."""
        for thread in map(int, os.listdir(_TASKS)):
            with suppress(ProcessLookupError):  # it has just ended
                os.sched_setaffinity(thread, self._cores if self.core is None or thread not in busy else (self.core,))


def run_inline(job: Task) -> None:
    """Run the job as the caller is bound."""
    job()


def _bind_caller(cores: Iterable[int]) -> None:
    """Bind the calling thread. When none of the cores is in its cpuset any more, `tick` finds that out."""
    with suppress(OSError):
        os.sched_setaffinity(0, cores)


def _allowed() -> frozenset[int]:
    if not hasattr(os, "sched_getaffinity") or not _TASKS.is_dir():
        return frozenset()
    return frozenset(os.sched_getaffinity(0))


def _core_of(thread: int) -> int:
    said = (_TASKS / str(thread) / "stat").read_text("ascii", "replace")
    return int(said.rpartition(")")[2].split()[_CORE_FIELD])


def _times_of(thread: int) -> tuple[int, int]:
    """Return the nanoseconds that a thread has run and has waited for a core (kernel documentation, sched-stats)."""
    ran, waited, _ = (_TASKS / str(thread) / "schedstat").read_text("ascii").split()
    return int(ran), int(waited)
