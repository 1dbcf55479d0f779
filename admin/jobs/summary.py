"""What a job came to, for people and for programs, when it ends."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from admin.codes import word
from admin.progress import clock, human_bytes
from admin.runs import Run, Status
from admin.tally import Tally
from archive.settings import DEFAULT_HOME, Settings
from frontier.lease import Progress

_ENDINGS: Final[dict[Status, str]] = {
    "running": "it goes on",
    "finished": "everything in scope was visited",
    "limit": "the same command with a higher limit goes on from here",
    "stopped": "the same command goes on from here",
    "failed": "the same command tries again",
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
    replay: str
    """The command that shows the result."""

    def as_json(self) -> dict[str, Any]:
        """For `--json`: the fields by their names."""
        return {"event": "summary", **asdict(self)}

    def lines(self) -> Iterator[str]:
        """For people."""
        reason = f" ({self.reason})" if self.reason else ""
        yield f"{self.job} {self.status}{reason} after {clock(self.seconds)}; {_ENDINGS[self.status]}"
        yield from (f"  {name:10} {text}" for name, text in self._rows())
        yield f"  look at it with: {self.replay}"

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


def summarise(run: Run, tally: Tally, progress: Progress, settings: Settings) -> Summary:
    """The summary of a run that has just ended."""
    state, count = run.state, tally.all
    is_usual = settings.home == Path(DEFAULT_HOME).absolute()
    where = "" if is_usual else f" --home {shlex.quote(str(settings.home))}"
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
        archive=str(settings.archive_dir(state.collection)),
        replay=f"ghostfleet replay {state.collection}{where}",
    )
