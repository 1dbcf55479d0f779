"""The summary of a job at its end, for people and for programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admin.jobs.progress.display import clock
from admin.jobs.progress.tally import JobTally
from admin.jobs.results.ending import JobEnding
from admin.jobs.runs import Run
from admin.jobs.states import MEANINGS, JobState
from admin.jobs.status_names import status_text
from admin.units import counted, human_bytes
from archive.program_name import command
from archive.settings.load import DEFAULT_HOME, Settings
from frontier.lease import JobProgress


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a run. The counts include all its attempts."""

    job: str
    collection: str
    status: JobState
    reason: str
    exit_code: int
    missing: tuple[str, ...]
    """One line for each missing thing: seeds, hosts, URLs."""
    started: str
    ended: str
    seconds: float
    resumed: bool
    pages: int
    """Documents that were visited."""
    urls: int
    bytes: int
    novel_urls: int
    novel_bytes: int
    duplicate_urls: int
    duplicate_bytes: int
    queued: int
    """URLs that were not visited yet."""
    left: int
    """Queued URLs, and the URLs of hosts that were set aside."""
    failed_urls: int
    """URLs that failed after all tries."""
    ghost_trouble: dict[str, int]
    """The number of failed browser visits by kind, such as `hang` and `timeout`."""
    page_flaws: dict[str, int]
    """The number of pages that were captured and are not what their URLs promise, by kind, such as `waf`."""
    failures: dict[int, int]
    """The number of tries without a response, by Heritrix's code."""
    http_errors: dict[int, int]
    """The number of responses with a status of 400 or above, by status. They are recorded like any other."""
    excluded: int
    """URLs that robots.txt, a limit or a rule excluded."""
    rendered: int
    """Pages that the queue of renders has opened in Chromium (`rendering: asynchronous`)."""
    renders_left: int
    """Pages that wait for this."""
    render_lag_seconds: float | None
    """The time that 95 of 100 of these pages did not exceed between fetch and render; None without such a page."""
    folder: str
    """The job's folder, with crawl.log and the reports."""
    archive: str
    """The folder of the collection's WARC files."""
    replay: str
    """The command that replays the collection."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {"event": "summary", **asdict(self)}

    def lines(self) -> Iterator[str]:
        """Yield the lines for people."""
        reason = f" ({self.reason})" if self.reason else ""
        yield f"{self.job} {self.status}{reason} after {clock(self.seconds)}; {MEANINGS[self.status]}"
        yield from (f"  {'missing':10} {text}" for text in self.missing)
        yield from (f"  {name:10} {text}" for name, text in self._rows())
        yield f"  to replay: {self.replay}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "pages", f"{self.pages:,}{f', {self.queued:,} still queued' if self.queued else ''}"
        if self.rendered or self.renders_left:
            lag = f", 95% within {clock(self.render_lag_seconds)}" if self.render_lag_seconds is not None else ""
            left = f", {self.renders_left:,} still queued" if self.renders_left else ""
            yield "rendered", f"{self.rendered:,}{lag}{left}"
        yield "URLs", f"{self.urls:,}, {human_bytes(self.bytes)}"
        yield "new", f"{self.novel_urls:,}, {human_bytes(self.novel_bytes)}"
        yield "duplicates", f"{self.duplicate_urls:,}, {human_bytes(self.duplicate_bytes)} (stored as revisits)"
        if self.excluded:
            yield "excluded", f"{counted(self.excluded, 'URL')} (by robots.txt, limits or rules)"
        for kind, counts in (("answered", self.http_errors), ("failed", self.failures)):
            for code, count in counts.items():
                yield kind, f"{count:,} × {status_text(code)}"
        yield "files", self.archive
        yield "reports", self.folder


def summarise(run: Run, tally: JobTally, progress: JobProgress, ending: JobEnding, settings: Settings) -> Summary:
    """Return the summary of a run that has just ended."""
    state, count = run.state, tally.all
    is_default = settings.home == Path(DEFAULT_HOME).absolute()
    home = "" if is_default else f" --home {shlex.quote(str(settings.home))}"
    return Summary(
        job=state.name,
        collection=state.collection,
        status=state.status,
        reason=state.reason,
        exit_code=ending.exit_code,
        missing=ending.missing,
        started=state.started,
        ended=state.ended,
        seconds=state.seconds,
        resumed=run.resumed,
        pages=progress.pages,
        urls=count.total.urls,
        bytes=count.total.bytes,
        novel_urls=count.novel.urls,
        novel_bytes=count.novel.bytes,
        duplicate_urls=count.duplicate.urls,
        duplicate_bytes=count.duplicate.bytes,
        queued=progress.queued + progress.leased,
        left=ending.left,
        failed_urls=progress.failed,
        ghost_trouble=dict(tally.ghost_errors.most_common()),
        page_flaws=dict(tally.page_flaws.most_common()),
        failures=tally.failures,
        http_errors={code: number for code, number in tally.codes.most_common() if code >= 400},
        excluded=tally.disregards,
        rendered=progress.renders.done,
        renders_left=progress.renders.depth,
        render_lag_seconds=progress.renders.p95_seconds,
        folder=str(run.folder),
        archive=str(settings.archive_dir(state.collection)),
        replay=command(f"replay {state.collection}{home}"),
    )
