"""Watch a running job: its processes, the disk, Redis, the display, and signals."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Final

from admin.fleet.fleet import Fleet
from admin.jobs.crawling.disk_watch import JobDiskWatch
from admin.jobs.crawling.render_lag import LagAlarm
from admin.jobs.crawling.seed_queueing import SeedQueueing
from admin.jobs.interrupts import Interrupts
from admin.jobs.progress.display import Display, View, one_line
from admin.jobs.progress.meter import Meter
from admin.jobs.progress.progress_log import ProgressLog
from admin.jobs.results.ending import reached_limit
from admin.units import counted
from frontier.definition.job import Limits
from frontier.lease import JobProgress
from frontier.queue import Frontier
from frontier.store import FrontierUnavailable

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 0.25
_CHECK_SECONDS: Final = 0.05
"""Time between two looks whether all workers have ended."""
PUBLISH_SECONDS: Final = 1.0
_MAX_NAMED_SEEDS: Final = 3
REDIS_SECONDS: Final = 60.0
"""The job fails when Redis does not answer for this time."""
OVERDUE_SECONDS: Final = 5.0
"""Workers end themselves at the job's time limit. After this further working time the command ends them."""
NOTHING_YET: Final = JobProgress(0, 0, 0, 0, 0, 0, 0, None, 0, 0, 0, {}, {}, None, None)


class JobWatch:
    """The watch supervises one attempt at a run. `progress` has the latest counts of the frontier."""

    def __init__(
        self,
        fleet: Fleet,
        frontier: Frontier,
        meter: Meter,
        display: Display,
        interrupts: Interrupts,
        *,
        start_render_workers: Callable[[int], None],
        take_actions: Callable[[], None] = lambda: None,
        seeds: SeedQueueing | None = None,
        progress_log: ProgressLog | None = None,
    ) -> None:
        """`start_render_workers` is called with a number of further visits at once that an operator asked for.

        `take_actions` is called a few times a second, to take files of operators (`admin.jobs.control.action_folder`).
        `seeds` queues the seeds, and its progress is shown. `progress_log` gets the view of the job.
        """
        archive = fleet.settings.archive
        self.progress = NOTHING_YET
        self._fleet = fleet
        self._frontier = frontier
        self._meter = meter
        self._display = display
        self._interrupts = interrupts
        self._disk = JobDiskWatch(
            fleet.settings.home,
            archive.min_free_bytes,
            frontier.controls,
            display.note,
            min_free_inodes=archive.min_free_inodes,
        )
        self._start_render_workers = start_render_workers
        self._take_actions = take_actions
        self._seeds = seeds
        self._progress_log = progress_log
        self._known_render_workers: int | None = None
        self._is_overfull = False
        """The Bloom filter has more URLs than it was made for, and a notice has said so."""
        self._lag = LagAlarm()
        self._refreshed = 0.0
        self._published = 0.0
        self._known_seeds: int | None = None
        self._limit_seconds: float | None = None
        """The time limit in force, which an operator may change while the job runs."""
        self._reasons = ("", "")
        """The reasons of a pause and of a stop, as of the last notices."""
        self._redis_lost: float | None = None
        """Since when Redis does not answer (monotonic seconds); None while it answers."""

    def wait_until_over(self) -> None:
        """Return when all workers have ended, a signal came, or the job's time limit has passed.

        Workers end themselves at a limit. A worker that is too busy to check the time limit is ended from here.

        Raises RestartLimitReached or StartError when the fleet fails, FrontierUnavailable when Redis does not answer.
        """
        worked, looked = 0.0, time.monotonic()
        self._limit_seconds = self._frontier.job.profile.limits.seconds
        while self._fleet.has_workers and not self._interrupts.wait(_CHECK_SECONDS):
            self._fleet.tick()
            self._refresh()
            before, looked = looked, time.monotonic()
            if self.progress.paused is None:
                worked += looked - before
            if self._limit_seconds is not None and worked > self._limit_seconds + OVERDUE_SECONDS:
                self._display.note("the time limit has passed; ending the visits in progress")
                return

    def finish_visits(self) -> None:
        """End the workers after the visits in progress, or at once after a second signal."""
        if self._interrupts.asked_to_stop:
            self._refresh(now=True)
            visits = counted(self.progress.visits, "visit")
            self._display.note(f"stopping: finishing {visits} in progress; another Ctrl-C stops at once")
        self._fleet.stop_workers(self._refresh_while_stopping)
        self._refresh(now=True)

    def ask[T](self, question: Callable[[], T]) -> T:
        """Return the answer of the frontier. Redis is waited for as long as in the crawl.

        Raises RestartLimitReached or StartError when the fleet fails, FrontierUnavailable when Redis does not answer.
        """
        while True:
            try:
                return question()
            except FrontierUnavailable as error:
                self._tolerate(error)
            self._fleet.tick()
            self._interrupts.wait(TICK_SECONDS)

    def _refresh_while_stopping(self) -> bool:
        self._refresh()
        return self._interrupts.asked_to_hurry()

    def _refresh(self, *, now: bool = False) -> None:
        """Read the progress and show it, at most four times a second unless `now` is True."""
        if not now and time.monotonic() - self._refreshed < TICK_SECONDS:
            return
        self._refreshed = time.monotonic()
        try:
            self._disk.look()
            self.progress, self._redis_lost = self._frontier.reports.progress(), None
            limits = Limits.model_validate(self._frontier.reports.limits())
            self._limit_seconds = limits.seconds
            if self._seeds:
                over = self.progress.stopped or reached_limit(self.progress, limits)
                self._seeds.is_held = bool(over or self._frontier.reports.reached_quota())
            self._note_requests()
            self._note_renders()
            self._note_bloom()
            self._note_new_bytes()
            self._take_actions()
        except FrontierUnavailable as error:
            self._tolerate(error)
        view = self._view()
        self._display.show(view)
        self._publish(view)
        if self._progress_log is not None:
            self._progress_log.look(view)

    def note_end(self, reason: str) -> None:
        """Write the end of the work into the progress log."""
        if self._progress_log is not None:
            self._progress_log.end(self._view(), reason)

    def _view(self) -> View:
        stopping = self._interrupts.asked_to_stop or self.progress.stopped is not None
        return self._meter.view(
            self.progress,
            restarts=self._fleet.restarts,
            stopping=stopping,
            renders_lag=self._lag.is_on,
            seeds=self._seeds.total if self._seeds else 0,
            seeds_queued=self._seeds.queued if self._seeds else 0,
        )

    def _note_requests(self) -> None:
        """Show notices about the requests of commands in other terminals (`admin.jobs.control.steering`)."""
        if self.progress.added > (self._known_seeds or 0):
            seeds = self._frontier.added_seeds(self._known_seeds or 0)
            if self._known_seeds is not None:  # the others were added in an earlier attempt
                more = " …" if len(seeds) > _MAX_NAMED_SEEDS else ""
                self._display.note(f"seeds added: {', '.join(seeds[:_MAX_NAMED_SEEDS])}{more}")
        self._known_seeds = self.progress.added
        before, self._reasons = self._reasons, (self.progress.paused or "", self.progress.stopped or "")
        paused, stopped = self._reasons
        if paused != before[0]:
            self._display.note(f"paused: {paused}; finishing the visits in progress" if paused else "resumed")
        if stopped and not before[1]:
            self._display.note(f"stopping: {stopped}; finishing the visits in progress")

    def _note_new_bytes(self) -> None:
        """Tell the frontier what crawl.log says about new bytes, for the quotas that count them."""
        quotas = self._frontier.reports.quotas()
        owners = [owner for owner, bounds in quotas.items() if "new_bytes" in bounds]
        if amounts := self._meter.new_bytes.changes(owners):
            self._frontier.note_new_bytes(amounts)

    def _note_renders(self) -> None:
        """Warn of renders that wait for too long, and start the render workers that an operator asked for."""
        renders = self.progress.renders
        if line := self._lag.look(renders):
            log.warning("job %s: %s", self._frontier.name, line)
            self._display.note(line)
        wanted, known = renders.workers, self._known_render_workers
        if known is None:
            known = self._fleet.settings.browsers.render_workers
        if wanted is not None and wanted > known and not self._interrupts.asked_to_stop and not self.progress.stopped:
            self._known_render_workers = wanted
            self._display.note(f"render workers: {counted(wanted, 'visit')} at a time")
            self._start_render_workers(wanted - known)

    def _note_bloom(self) -> None:
        """Warn once when the Bloom filter of the seen test has more URLs than it was made for."""
        bloom = self.progress.bloom
        if bloom is None or not bloom.is_overfull or self._is_overfull:
            return
        self._is_overfull = True
        line = f"seen test: {bloom.text}; give the next run a larger seen.expected_urls"
        log.warning("job %s: %s", self._frontier.name, line)
        self._display.note(line)

    def _publish(self, view: View) -> None:
        """Store the view in Redis for `ghostfleet job status`, at most once a second."""
        if time.monotonic() - self._published < PUBLISH_SECONDS:
            return
        self._published = time.monotonic()
        with suppress(FrontierUnavailable):  # the next refresh handles the loss
            self._frontier.controls.store_view(json.dumps({**asdict(view), "line": one_line(view)}, ensure_ascii=False))

    def _tolerate(self, error: FrontierUnavailable) -> None:
        """Show one notice when Redis does not answer; raise the error after REDIS_SECONDS."""
        if self._redis_lost is None:
            self._redis_lost = time.monotonic()
            self._display.note(f"waiting for Redis: {error}")
        if time.monotonic() - self._redis_lost > REDIS_SECONDS:
            raise error
