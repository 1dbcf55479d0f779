"""The seeds of a crawl are queued by a thread, while workers visit the first of them already."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from archive.steady_work import SteadyWork
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

_NOTE_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.25
MOST_WAITING: Final = 100_000
"""Further seeds are queued when fewer hosts of seeds than this wait for their first visit.

So many hosts keep the workers of a fast crawl busy for minutes. Redis needs no memory for seeds whose turn is later.
"""


class SeedNotes:
    """Tell how many seeds were read, every few seconds. A short list is read without a word."""

    def __init__(self, note: Callable[[str], None], what: str, total: int | None = None) -> None:
        self._note, self._what, self._total = note, what, total
        self._next = time.monotonic() + _NOTE_SECONDS

    def __call__(self, number: int) -> None:
        """Tell that so many seeds were read, unless the last words are too young."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _NOTE_SECONDS
            of_all = "" if self._total is None else f" of {self._total:,} ({100 * number // max(self._total, 1)} %)"
            self._note(f"{self._what}: {number:,}{of_all}")


class SeedQueueing:
    """The thread queues the seeds of one job. It outlasts a Redis that does not answer for a while."""

    def __init__(self, frontier: Frontier, total: int, *, most_waiting: int = MOST_WAITING) -> None:
        """`total` is the number of the job's seeds."""
        self._frontier = frontier
        self._most_waiting = most_waiting
        self.total = total
        self.queued = frontier.seeds_queued()
        """Number of the seeds that are queued."""
        self.is_held = False
        """The job has reached a limit, so that no further seed is queued until the limit is raised."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="seeds", daemon=True)
        self._thread.start()

    @property
    def left(self) -> int:
        """Return the number of seeds that are not queued."""
        return max(self.total - self.queued, 0)

    def stop(self) -> None:
        """Queue no more seeds, and return when the thread has ended."""
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        queueing = SteadyWork("the queueing of seeds", self._queue_all, FrontierUnavailable)
        while not queueing() and not self._stop.wait(_RETRY_SECONDS):
            pass

    def _queue_all(self) -> bool:
        """Return True when nothing is left to do."""
        with suppress(FrontierLost):  # the watch of the job finds the same, and ends the job
            self._frontier.queue_seeds(told=self._tell, is_stopped=self._is_stopped)
        return True

    def _is_stopped(self) -> bool:
        """Return whether to stop, once further seeds may be queued and there is room for them."""
        while self._is_full() and not self._stop.wait(_LOOK_SECONDS):
            pass
        return self._stop.is_set()

    def _is_full(self) -> bool:
        return self.is_held or self._frontier.unvisited_seed_hosts() >= self._most_waiting

    def _tell(self, number: int) -> None:
        self.queued = number
