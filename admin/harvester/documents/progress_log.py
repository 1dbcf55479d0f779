"""progress-statistics.log has the progress of a crawl at regular times, in Heritrix's columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from archive.dates import Micros, iso_date

FILE_NAME: Final = "progress-statistics.log"
_HEAD: Final = (
    "           timestamp  discovered      queued   downloaded       doc/s(avg)  KB/s(avg)   dl-failures   busy-thread"
    "   mem-use-KB  heap-size-KB   congestion   max-depth   avg-depth"
)


@dataclass(slots=True)
class ProgressLog:
    """A progress log is the log of one crawl. Columns that only Heritrix has are 0."""

    folder: Path

    def add(self, now: Micros, view: dict[str, Any], recent: tuple[float, int, int]) -> None:
        """Write a line. `recent` has the seconds, URLs and bytes since the last one."""
        path = self.folder / FILE_NAME
        seconds, urls, size = recent
        all_seconds = max(float(view.get("seconds", 0)), 0.001)
        all_urls, all_bytes = int(view.get("urls", 0)), int(view.get("bytes", 0))
        failed, queued = int(view.get("failed", 0)), int(view.get("queued", 0))
        in_flight = int(view.get("in_flight", 0))
        rate = f"{urls / max(seconds, 0.001):.2f}({all_urls / all_seconds:.2f})"
        kilobytes = f"{size / 1024 / max(seconds, 0.001):.0f}({all_bytes / 1024 / all_seconds:.0f})"
        discovered = all_urls + failed + queued + in_flight
        line = (
            f"{iso_date(now)[:19]}Z {discovered:>11} {queued:>11} {all_urls:>12} {rate:>16} {kilobytes:>10}"
            f" {failed:>13} {in_flight:>13} {0:>12} {0:>13} {0:>12} {0:>11} {0:>11}"
        )
        is_new = not path.exists()
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{iso_date(now)[:19]}Z CRAWL RUNNING - Running\n{_HEAD}\n{line}\n" if is_new else f"{line}\n")

    def end(self, now: Micros, reason: str) -> None:
        """Write the last line, which says how the crawl ended."""
        with (self.folder / FILE_NAME).open("a", encoding="utf-8") as file:
            file.write(f"{iso_date(now)[:19]}Z CRAWL ENDED - {reason}\n")
