"""Where a running job stands: crawl.log as it grows, and the frontier's own counters, as one view."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Final

from admin.codes import word
from admin.progress import View
from admin.tally import LogFollower, Tally
from frontier.lease import Progress

_RATE_SECONDS: Final = 10.0


class Meter:
    """Follows one run. `earlier_seconds` is the time worked on it before this sitting."""

    def __init__(self, name: str, crawl_log: Path, tally: Tally) -> None:
        self.tally = tally
        self._name = name
        self._log = LogFollower(crawl_log)
        self._began = time.monotonic()
        self._recent: deque[tuple[float, int]] = deque()

    @property
    def seconds(self) -> float:
        """Since this sitting began."""
        return time.monotonic() - self._began

    def read_log(self) -> None:
        """Count what came since the last time."""
        for line in self._log.lines():
            self.tally.add(line)

    def view(self, progress: Progress, *, restarts: int, stopping: bool) -> View:
        """The job at this moment."""
        self.read_log()
        everything = self.tally.all
        return View(
            name=self._name,
            seconds=self.seconds,
            pages=progress.done,
            failed=progress.failed,
            queued=progress.queued,
            in_flight=progress.leased,
            hosts_waiting=progress.hosts_waiting,
            urls=everything.total.urls,
            bytes=everything.total.bytes,
            duplicates=everything.duplicate.urls,
            urls_per_second=self._rate(everything.total.urls),
            errors={word(code): count for code, count in self.tally.failures.items()},
            restarts=restarts,
            stopping=stopping,
        )

    def _rate(self, urls: int) -> float:
        """URLs per second over the last ten seconds of this sitting."""
        now = time.monotonic()
        self._recent.append((now, urls))
        while now - self._recent[0][0] > _RATE_SECONDS:
            self._recent.popleft()
        since, before = self._recent[0]
        return (urls - before) / (now - since) if now > since else 0.0
