"""progress-statistics.log in the folder of a run has a line every 20 seconds, in the columns of Heritrix."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from admin.jobs.progress.display import View
from archive.dates import iso_date, now_micros

log = logging.getLogger(__name__)

FILE_NAME: Final = "progress-statistics.log"
INTERVAL_SECONDS: Final = 20.0
_HEAD: Final = (
    "           timestamp  discovered      queued   downloaded       doc/s(avg)  KB/s(avg)   dl-failures   busy-thread"
    "   mem-use-KB  heap-size-KB   congestion   max-depth   avg-depth"
)


@dataclass(slots=True)
class ProgressLog:
    """A progress log is the log of one attempt at a run. Columns that only Heritrix has are 0."""

    folder: Path
    interval_seconds: float = INTERVAL_SECONDS
    _before: tuple[float, int, int] | None = field(default=None, init=False)
    """The time (monotonic seconds), URLs and bytes of the last line."""
    _is_lost: bool = field(default=False, init=False)

    def look(self, view: View) -> None:
        """Write a line when the last one is 20 seconds old, and the head and a line at the first call."""
        now = time.monotonic()
        if self._before is None:
            self._before = (now, view.urls, view.bytes)  # a resumed run has earlier URLs
            self._write(f"CRAWL RUNNING - Running\n{_HEAD}\n{_stamp()} {self._columns(view, now)}")
        elif now - self._before[0] >= self.interval_seconds:
            self._write(self._columns(view, now))
        else:
            return
        self._before = (now, view.urls, view.bytes)

    def end(self, view: View, reason: str) -> None:
        """Write the last numbers, and a line that says how the crawl ended."""
        self._write(self._columns(view, time.monotonic()))
        self._write(f"CRAWL ENDED - {' '.join(reason.split())}")

    def _columns(self, view: View, now: float) -> str:
        since, urls, size = self._before or (now, view.urls, view.bytes)
        seconds, all_seconds = max(now - since, 0.001), max(view.seconds, 0.001)
        rate = f"{(view.urls - urls) / seconds:.2f}({view.urls / all_seconds:.2f})"
        kilobytes = f"{(view.bytes - size) / 1024 / seconds:.0f}({view.bytes / 1024 / all_seconds:.0f})"
        discovered = view.urls + view.failed + view.queued + view.in_flight
        return (
            f"{discovered:>11} {view.queued:>11} {view.urls:>12} {rate:>16} {kilobytes:>10}"
            f" {view.failed:>13} {view.in_flight:>13} {0:>12} {0:>13} {0:>12} {0:>11} {0:>11}"
        )

    def _write(self, text: str) -> None:
        """Append a line. A line that can't be written is left out: a full disk pauses the crawl by itself."""
        try:
            with (self.folder / FILE_NAME).open("a", encoding="utf-8") as file:
                file.write(f"{_stamp()} {text}\n")
        except OSError as error:
            if not self._is_lost:
                log.warning("%s: %s", self.folder / FILE_NAME, error)
            self._is_lost = True


def _stamp() -> str:
    return f"{iso_date(now_micros())[:19]}Z"
