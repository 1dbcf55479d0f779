"""What a job came to, for people and for programs, when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admin.codes import word
from admin.progress import clock, human_bytes
from admin.runs import Run, Status
from admin.tally import Tally
from frontier.lease import Progress

_ENDINGS = {
    "finished": "finished: everything in scope was visited",
    "limit": "stopped at its limit",
    "stopped": "stopped; the same command goes on from here",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """The end of one sitting of a run; counts are of the whole run, all its sittings."""

    job: str
    collection: str
    status: Status
    reason: str
    seconds: float
    resumed: bool
    pages: int
    urls: int
    bytes: int
    novel_urls: int
    novel_bytes: int
    duplicate_urls: int
    duplicate_bytes: int
    queued: int
    """URLs that were not visited yet."""
    failures: dict[int, int]
    """Attempts that brought no answer, by Heritrix's code."""
    http_errors: dict[int, int]
    """Answers of 400 and above, by status; they are kept like any other."""
    excluded: int
    """URLs left alone on purpose, robots.txt above all."""
    folder: str
    """The job's folder: crawl.log and reports."""
    archive: str
    """The collection's WARC files."""

    def as_json(self) -> dict[str, Any]:
        """For `--json`: the fields by their names, and how to look at the result."""
        return {"event": "summary", **asdict(self), "replay": self.replay_command}

    @property
    def replay_command(self) -> str:
        """What shows the result."""
        return f"ghostfleet replay {self.collection}"

    def lines(self) -> Iterator[str]:
        """For people."""
        reason = f" ({self.reason})" if self.reason else ""
        yield f"{self.job} {_ENDINGS.get(self.status, self.status)}{reason} after {clock(self.seconds)}"
        yield from (f"  {name:10} {text}" for name, text in self._rows())
        yield f"  look at it with: {self.replay_command}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "pages", f"{self.pages}{f', {self.queued} still queued' if self.queued else ''}"
        yield "URLs", f"{self.urls}, {human_bytes(self.bytes)}"
        yield "new", f"{self.novel_urls}, {human_bytes(self.novel_bytes)}"
        yield "known", f"{self.duplicate_urls}, {human_bytes(self.duplicate_bytes)} (kept as revisits)"
        if self.excluded:
            yield "left alone", f"{self.excluded} URLs, on purpose (robots.txt, limits, rules)"
        for kind, counts in (("answered", self.http_errors), ("failed", self.failures)):
            for code, count in counts.items():
                yield kind, f"{count} × {word(code)}"
        yield "files", self.archive
        yield "reports", self.folder


def summarise(run: Run, tally: Tally, progress: Progress, archive: Path) -> Summary:
    """The summary of a run that has just ended; `archive` is the folder of its collection's WARC files."""
    state, count = run.state, tally.all
    return Summary(
        job=state.name,
        collection=state.collection,
        status=state.status,
        reason=state.reason,
        seconds=state.seconds,
        resumed=run.resumed,
        pages=progress.done,
        urls=count.total.urls,
        bytes=count.total.bytes,
        novel_urls=count.novel.urls,
        novel_bytes=count.novel.bytes,
        duplicate_urls=count.duplicate.urls,
        duplicate_bytes=count.duplicate.bytes,
        queued=progress.queued + progress.leased,
        failures=tally.failures,
        http_errors={code: number for code, number in tally.codes.most_common() if code >= 400},
        excluded=tally.disregards,
        folder=str(run.folder),
        archive=str(archive),
    )
