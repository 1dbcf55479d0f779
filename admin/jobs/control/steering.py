"""Find a running job and control it from another process.

The command that runs a job holds the lock of its folder. Requests are data in the job's frontier (`frontier.control`):
the workers see them at their next claim, the command within a second. The frontier is in the home's private Redis, or
in the Redis of the setting `redis.url`, which also has the jobs of other machines.
"""

from __future__ import annotations

import difflib
import json
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final

from admin.fleet.home_folder import collections
from admin.jobs.control.operator_log import login_name
from admin.jobs.control.url_history import UrlHistory, url_history
from admin.jobs.runs import PROFILE_FILE, SEEDS_FILE, STATE_FILE, Run, find_runs, is_locked
from archive.program_name import command
from archive.settings.load import Settings
from frontier.definition.job import Seed
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.definition.scope import Accepted, Rejected
from frontier.lease import JobProgress
from frontier.private_redis.server import running_url
from frontier.queue import Frontier
from frontier.reports import GroupReport
from frontier.segments.registry import SEGMENT_FOLDER
from frontier.shards import frontier_of
from frontier.store import FrontierLost, FrontierUnavailable, job_names, latest_run

_PAUSE: Final = 0.2
_CLOSE_MATCHES: Final = 0.5


class NoJob(Exception):
    """No job has this name. The message suggests the nearest name."""


class NotRunning(Exception):
    """The job is not running. The message has its state and the command that resumes it."""


@dataclass(frozen=True, slots=True)
class FoundJob:
    """The latest run of a job. `name` is the run's name; `run` is None when its folder is in another home."""

    name: str
    run: Run | None
    settings: Settings

    @property
    def redis_url(self) -> str | None:
        """Return the URL of the frontier's Redis; None when the home's private Redis is not running."""
        return self.settings.redis.url or running_url(self.settings.home)

    @property
    def is_running(self) -> bool:
        """Return whether a command on this machine runs the job."""
        return self.run is not None and is_locked(self.run)

    @property
    def segment_folder(self) -> Path | None:
        """Return the folder with the ends of long queues; None for a job of another home."""
        return self.run.folder / SEGMENT_FOLDER if self.run is not None else None

    def facts(self) -> dict[str, Any]:
        """Return the content of run.json and the folder; only the name for a job of another home."""
        if self.run is None:
            return {"name": self.name}
        found: dict[str, Any] = json.loads((self.run.folder / STATE_FILE).read_text("utf-8"))
        return {**found, "folder": str(self.run.folder)}

    @contextmanager
    def frontier(self) -> Iterator[Frontier]:
        """Yield the frontier of the running job. Raises NotRunning, also when the job ends meanwhile."""
        url = self.redis_url
        if url is None or not (self.settings.redis.url or self.is_running):
            raise NotRunning(self.ended_line())
        settings = self.settings
        try:
            frontier = frontier_of(url, self.name, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
            with closing(frontier):
                frontier.segments.folder = self.segment_folder
                if not self.is_running and not _is_active(frontier):
                    raise NotRunning(self.ended_line())
                yield frontier
        except FrontierLost:
            message = f"job {self.name} is starting or ending; run the command again in a moment"
            raise NotRunning(message if self.is_running else self.ended_line()) from None

    def ended_line(self) -> str:
        """Return one line about a job that is not running: its state, and the command that resumes it."""
        if self.run is None:
            return f"job {self.name} is not running"
        facts = self.facts()
        status, reason = str(facts["status"]), str(facts.get("reason") or "")
        state = "its command was killed" if status == "running" else status
        again = f"; {self.command()} resumes it" if status in ("running", "stopped", "limit", "failed") else ""
        return f"job {self.name} is not running: {state}{f' ({reason})' if reason else ''}{again}"

    def command(self) -> str:
        """Return the command line that resumes the job."""
        assert self.run is not None
        state, folder, proxy = self.run.state, self.run.folder, self.settings.proxy
        options = ["--home", self.settings.home, "--collection", state.collection, "--job", state.job]
        options += ["--seeds-file", folder / SEEDS_FILE, "--profile", folder / PROFILE_FILE]
        if state.settings_file:
            options += ["--settings", state.settings_file]
        if state.allow_private and not proxy.allow_private:
            options.append("--allow-private")
        for name, address in state.resolve.items() if state.resolve != proxy.resolve else ():
            options += ["--resolve", f"{name}={address}"]
        if state.upstream_ca not in ("", proxy.upstream_ca):
            options += ["--upstream-ca", state.upstream_ca]
        return f"`{command('crawl')} {shlex.join(map(str, options))}`"


@dataclass(frozen=True, slots=True)
class SeedAnswer:
    """The answer to one new seed. `outcome` is added, known or refused; `reason` names the rule that decided."""

    url: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CrawlStatus:
    """The progress of a running job, from the command that runs it, or else from the frontier's counts."""

    name: str
    state: str
    """running, paused or stopping."""
    reason: str
    since: str
    """When the job was paused (UTC); empty when it is not paused."""
    view: dict[str, Any]
    """The fields of `admin.jobs.progress.display.View` as JSON, and `line`, the view in one line."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {"name": self.name, "state": self.state, "reason": self.reason, "since": self.since, **self.view}

    def lines(self) -> Iterator[str]:
        """Yield the lines for people."""
        since = f" since {self.since}" if self.since else ""
        yield f"{self.name} {self.state}{since}{f': {self.reason}' if self.reason else ''}"
        yield f"  {self.view['line']}"
        if bloom := self.view.get("bloom"):
            yield f"  seen test: {bloom}"


def find(settings: Settings, name: str) -> FoundJob:
    """Return the job with this name. For the name of a job the latest run is returned. Raises NoJob, RunError."""
    runs = list(_runs(settings))
    found = [run for run in runs if name in (run.state.name, run.state.job)]
    if found:
        run = max(found, key=lambda run: run.folder.name[-14:])
        return FoundJob(run.state.name, run, settings)
    shared = _shared_names(settings)
    if (run_name := latest_run(name, shared)) is not None:
        return FoundJob(run_name, None, settings)
    known = [*shared, *(text for run in runs for text in (run.state.name, run.state.job))]
    near = difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE_MATCHES)
    hint = f"; did you mean {near[0]}?" if near else f"; `{command('job list')}` lists the jobs"
    raise NoJob(f"there is no job {name}{hint}")


def names(settings: Settings) -> list[str]:
    """Return all names that `find` accepts, sorted."""
    of_runs = {text for run in _runs(settings) for text in (run.state.name, run.state.job)}
    return sorted(of_runs | set(_shared_names(settings)))


def running_names(settings: Settings) -> list[str]:
    """Return the names of the runs that a command on this machine executes now."""
    return sorted(run.state.name for run in _runs(settings) if is_locked(run))


def status(target: FoundJob) -> CrawlStatus:
    """Return the status of a running job. Raises NotRunning."""
    with target.frontier() as frontier:
        progress, published = frontier.reports.progress(), frontier.controls.stored_view()
    state = "stopping" if progress.stopped else "paused" if progress.paused else "running"
    view = json.loads(published) if published else _view_of(progress)
    since = ""
    if progress.paused_seconds is not None:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time.time() - progress.paused_seconds))
    return CrawlStatus(target.name, state, progress.stopped or progress.paused or "", since, view)


def stop(target: FoundJob, reason: str) -> int:
    """Stop the job after the visits in progress; return the number of these visits. Raises NotRunning."""
    with target.frontier() as frontier:
        frontier.controls.stop(reason)
        return frontier.reports.progress().visits


def pause(target: FoundJob, reason: str) -> int:
    """Pause the job; return the number of visits that are still in progress. Raises NotRunning."""
    with target.frontier() as frontier:
        frontier.controls.pause(reason)
        return frontier.reports.progress().visits


def resume(target: FoundJob) -> bool:
    """End the pause; return False when the job was not paused by an operator. Raises NotRunning."""
    with target.frontier() as frontier:
        return frontier.controls.go_on()


def set_render_workers(target: FoundJob, at_once: int) -> None:
    """Ask for so many renders at once in all. The number can be raised, and not lowered. Raises NotRunning."""
    with target.frontier() as frontier:
        frontier.renders.set_workers(at_once)


def history(target: FoundJob, url: str) -> UrlHistory | None:
    """Return the history of a canonical URL of the running job; None for an unknown URL. Raises NotRunning."""
    with target.frontier() as frontier:
        return url_history(frontier, target.settings.database_url, url)


def visit_now(target: FoundJob, urls: Sequence[str]) -> list[SeedAnswer]:
    """Visit canonical URLs before all others; return an answer for each. Raises NotRunning."""
    with target.frontier() as frontier:
        found = frontier.visit_now(urls)
    if not found:
        raise NotRunning(f"job {target.name} has just finished; crawl it again with these seeds")
    answers = []
    for url, (decision, queued) in zip(urls, found, strict=True):
        if isinstance(decision, Rejected):
            rule = f" ({decision.rule})" if decision.rule else ""
            answers.append(SeedAnswer(url, "refused", f"{decision.reason}{rule}"))
        else:
            answers.append(SeedAnswer(url, "added" if queued else "known", "" if queued else "it is being visited"))
    return answers


def groups(target: FoundJob) -> list[GroupReport]:
    """Return the queue groups of the running job. Raises NotRunning."""
    with target.frontier() as frontier:
        return frontier.reports.groups()


def set_groups(target: FoundJob, lines: Sequence[str]) -> list[GroupReport]:
    """Replace the queue groups of the running job, and return them. Raises NotRunning and JobError."""
    with target.frontier() as frontier:
        frontier.set_groups(lines, lists=target.settings.home / LIST_FOLDER, by=login_name())
        return frontier.reports.groups()


def add_seeds(target: FoundJob, seeds: Sequence[Seed], *, again: bool) -> list[SeedAnswer]:
    """Add seeds to the running job; return an answer for each. Raises NotRunning."""
    with target.frontier() as frontier:
        decisions = frontier.add_seeds(seeds, again=again)
    if not decisions:
        raise NotRunning(f"job {target.name} has just finished; crawl it again with these seeds")
    answers = []
    for seed, decision in zip(seeds, decisions, strict=True):
        match decision:
            case Accepted():
                answers.append(SeedAnswer(seed.url, "added"))
            case Rejected(reason="seen"):
                answers.append(
                    SeedAnswer(seed.url, "known", "it is already queued or visited; --again visits it again")
                )
            case Rejected(reason=reason, rule=rule):
                answers.append(SeedAnswer(seed.url, "refused", f"{reason} ({rule})" if rule else reason))
    return answers


def wait_until_ended(target: FoundJob) -> dict[str, Any]:
    """Wait until the job has ended; return `FoundJob.facts`."""
    pause = Event()
    while target.is_running if target.run is not None else _has_frontier(target):
        pause.wait(_PAUSE)
    return target.facts()


def _has_frontier(target: FoundJob) -> bool:
    try:
        with target.frontier():
            return True
    except NotRunning:
        return False


def _is_active(frontier: Frontier) -> bool:
    """Return whether a job of another machine is running: it has a published view or visits in progress."""
    return frontier.controls.stored_view() is not None or frontier.reports.progress().visits > 0


def _view_of(progress: JobProgress) -> dict[str, Any]:
    """Return the frontier's counts as a view, for a job without a published view."""
    counts = {
        "pages": progress.pages,
        "failed": progress.failed,
        "queued": progress.queued,
        "in_flight": progress.visits,
        "hosts_waiting": progress.hosts_waiting,
        "bytes": progress.bytes,
        "renders": progress.renders.depth,
        "rendered": progress.renders.done,
        "bloom": progress.bloom.text if progress.bloom else "",
    }
    return {**counts, "line": ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())}


def _runs(settings: Settings) -> Iterator[Run]:
    for collection in collections(settings):
        yield from find_runs(settings.collection(collection) / "jobs")


def _shared_names(settings: Settings) -> list[str]:
    """Return the names of the jobs in the Redis of the setting redis.url; none when Redis does not answer."""
    if not settings.redis.url:
        return []
    try:
        return job_names(settings.redis.url, settings.frontier.shard, timeout_seconds=settings.redis.timeout_seconds)
    except FrontierUnavailable:
        return []
