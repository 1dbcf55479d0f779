"""One core for the two busy threads of a recording process: the event loop's and the writer's (Linux).

With one interpreter lock only one of them computes at a time, and both on the same objects: on two cores each hand-over
moves these from one core's cache to the other's, which was a twelfth of the proxy's CPU. The kernel spreads busy
threads, so they are bound to the core that the loop is on. When somebody else wants that core too, they are let go and
bound anew where the kernel has moved the loop; the longer it goes on, the less often, since then no core is better.
The writer, whose work nobody waits for within a millisecond, does not push the loop aside when it wakes (SCHED_BATCH).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

log = logging.getLogger(__name__)

type Job = Callable[[], None]
type Apart = Callable[[Job], None]
"""Does a job of the calling thread's and comes back when it is done; raises what the job raises."""

_CROWDED: Final = 0.15
"""Share of its time that the loop waits for a core which somebody else has."""
_LONGEST_STAY: Final = 64
_TASKS: Final = Path("/proc/self/task")
_CORE_FIELD: Final = 36
"""Of `stat` behind the name: the core that a thread ran on last (proc_pid_stat(5), field 39)."""


class Times(NamedTuple):
    """What the two threads have had and wanted so far, in nanoseconds."""

    now: int
    loop_waited: int
    """For a core, though it could have run."""
    writer_ran: int


class Stay:
    """Whether to stay on a core, asked once a second. Pure."""

    def __init__(self) -> None:
        self._before: Times | None = None
        self._left = self._stay = 1

    def goes_on(self, times: Times) -> bool:
        """False when it is time to try another core."""
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
        self._left = self._stay = min(2 * self._stay, _LONGEST_STAY)
        return False


class OneCore:
    """Binds two threads of this process, by their native ids. Does nothing where there is one core, or no way to."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._cores = _allowed() if wanted else frozenset[int]()
        self._stay = Stay()
        self.core: int | None = None
        """The core that they are bound to; None when they are not."""
        self._is_apart = False

    def tick(self, loop_thread: int, writer_thread: int, now: int) -> None:
        """To be called about once a second, at `now` nanoseconds."""
        if len(self._cores) < 2:
            return
        try:
            if self.core is None:
                self.core = _core_of(loop_thread)
                os.sched_setscheduler(writer_thread, os.SCHED_BATCH, os.sched_param(0))
            else:
                (_, waited), (ran, _) = _times_of(loop_thread), _times_of(writer_thread)
                if not self._stay.goes_on(Times(now, waited, ran)):
                    self.core = None
            self._bind(frozenset((loop_thread,) if self._is_apart else (loop_thread, writer_thread)))
        except (OSError, ValueError, IndexError) as error:
            log.info("threads can't be bound to one core: %s", error)
            self.core = None
            with suppress(OSError):
                self._bind(frozenset())
            self._cores = frozenset()

    def apart(self, job: Job) -> None:
        """Does a job of the writer's that computes for long without the interpreter, on whatever core."""
        self._is_apart = True
        try:
            if self.core is not None:
                os.sched_setaffinity(0, self._cores)
            job()
        finally:
            self._is_apart = False
            if self.core is not None:
                os.sched_setaffinity(0, (self.core,))

    def _bind(self, busy: frozenset[int]) -> None:
        """The others too, since a thread begins where its maker is bound."""
        for thread in map(int, os.listdir(_TASKS)):
            with suppress(ProcessLookupError):  # it has just ended
                os.sched_setaffinity(thread, self._cores if self.core is None or thread not in busy else (self.core,))


def at_once(job: Job) -> None:
    """Does the job, wherever that is."""
    job()


def _allowed() -> frozenset[int]:
    if not hasattr(os, "sched_getaffinity") or not _TASKS.is_dir():
        return frozenset()
    return frozenset(os.sched_getaffinity(0))


def _core_of(thread: int) -> int:
    said = (_TASKS / str(thread) / "stat").read_text("ascii", "replace")
    return int(said.rpartition(")")[2].split()[_CORE_FIELD])


def _times_of(thread: int) -> tuple[int, int]:
    """Nanoseconds that a thread has run, and has waited for a core (sched-stats of the kernel's documentation)."""
    ran, waited, _ = (_TASKS / str(thread) / "schedstat").read_text("ascii").split()
    return int(ran), int(waited)
