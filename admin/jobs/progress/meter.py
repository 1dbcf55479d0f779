"""The meter combines crawl.log and the frontier's counters to one view of a running job."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Final

from admin.jobs.progress.display import View, wait_text
from admin.jobs.progress.new_bytes import NewBytes
from admin.jobs.progress.tally import JobTally, LogFollower
from admin.jobs.status_names import status_text
from frontier.lease import JobProgress

_RATE_SECONDS: Final = 10.0


class Meter:
    """The meter follows one attempt at a run."""

    def __init__(self, name: str, crawl_log: Path, tally: JobTally) -> None:
        self.tally = tally
        self.new_bytes = NewBytes(tally)
        self._name = name
        self._log = LogFollower(crawl_log)
        self._began = time.monotonic()
        self._recent: deque[tuple[float, int]] = deque()

    @property
    def seconds(self) -> float:
        """Return the seconds since this attempt began."""
        return time.monotonic() - self._began

    def read_log(self) -> None:
        """Count the lines of crawl.log that are new since the last call."""
        for line in self._log.lines():
            self.tally.add(line)
            self.new_bytes.note(line)

    def view(
        self,
        progress: JobProgress,
        *,
        restarts: int,
        stopping: bool,
        renders_lag: bool = False,
        seeds: int = 0,
        seeds_queued: int = 0,
    ) -> View:
        """Return the current view of the job."""
        self.read_log()
        everything = self.tally.all
        return View(
            name=self._name,
            seconds=self.seconds,
            pages=progress.pages,
            failed=progress.failed,
            queued=progress.queued,
            spilled=progress.spilled,
            in_flight=progress.visits,
            hosts_waiting=progress.hosts_waiting,
            urls=everything.total.urls,
            bytes=everything.total.bytes,
            duplicates=everything.duplicate.urls,
            urls_per_second=self._rate(everything.total.urls),
            waits=[wait_text(wait) for wait in progress.waits],
            errors={status_text(code): count for code, count in self.tally.failures.items()},
            restarts=restarts,
            stopping=stopping,
            paused=progress.paused or "",
            paused_seconds=progress.paused_seconds or 0.0,
            renders=progress.renders.depth,
            rendered=progress.renders.done,
            render_oldest_seconds=progress.renders.oldest_seconds,
            render_p95_seconds=progress.renders.p95_seconds,
            renders_lag=renders_lag,
            seeds=seeds,
            seeds_queued=seeds_queued,
            bloom=progress.bloom.text if progress.bloom else "",
        )

    def _rate(self, urls: int) -> float:
        """Return URLs per second over the last ten seconds of this attempt."""
        now = time.monotonic()
        self._recent.append((now, urls))
        while now - self._recent[0][0] > _RATE_SECONDS:
            self._recent.popleft()
        since, before = self._recent[0]
        return (urls - before) / (now - since) if now > since else 0.0
