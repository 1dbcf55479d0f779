"""One job to its end on this machine: the use case behind `ghostfleet crawl`.

The fleet is started, the frontier gets the seeds, workers visit until it has nothing more to hand out, a limit is
reached, or a signal comes. Then everything ends in order, and the reports are made from crawl.log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Final

from admin import homefolder, logs
from admin.definition import Definition
from admin.diskwatch import DiskWatch
from admin.ending import Ending, ending
from admin.fleet import Addresses, Fleet
from admin.interrupts import Interrupts
from admin.meter import Meter
from admin.process import StartError
from admin.progress import Display
from admin.reports import JobFacts, write_reports
from admin.runs import Run, held, take_up
from admin.summary import Summary, summarise
from admin.supervise import GaveUp
from admin.tally import Tally
from archive.settings import Settings
from frontier.job import Job
from frontier.lease import Progress
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

TICK_SECONDS: Final = 0.25
REDIS_SECONDS: Final = 60.0
"""How long Redis may be away before the job is given up for now."""
LEASE_SECONDS: Final = 60.0
"""Leases of a crawl on one machine: short, so that one that was killed goes on soon. Long visits renew theirs."""
_MARGIN_SECONDS: Final = 60.0
_BROUGHT_DOWN: Final = (GaveUp, StartError, FrontierLost, FrontierUnavailable)
_NOTHING: Final = Progress(0, 0, 0, 0, 0, 0, 0, None, 0, 0, 0, {}, {}, None, None)


class Crawl:
    """One sitting of one run, from its start to its summary."""

    def __init__(self, settings: Settings, definition: Definition, display: Display, interrupts: Interrupts) -> None:
        self._settings = for_one_machine(settings)
        self._definition = definition
        self._display = display
        self._interrupts = interrupts
        self._fleet = Fleet(self._settings, display.note, lambda: interrupts.asked_to_stop)
        self._progress = _NOTHING
        self._remaining: Mapping[str, int] = {}

    def run(self) -> Summary:
        """Work until the end; the summary of what came, also when the fleet could not be kept alive.

        Raises PortError, HomeError, StartError, RunError or JobError when the work can't be begun, Abandoned when a
        signal came before; what was made for it is gone then.
        """
        definition, home = self._definition, self._settings.home
        homefolder.prepare(home)
        logs.to_file(home / "logs" / "crawl.log")
        jobs = self._settings.collection(definition.collection) / "jobs"
        run = take_up(jobs, definition.collection, definition.job, definition.limits)
        with held(run):
            return self._sit(run)

    def _sit(self, run: Run) -> Summary:
        meter = Meter(run.state.name, run.crawl_log, Tally([seed.url for seed in self._definition.seeds]))
        try:
            frontier = self._open(run, self._fleet.start())
            run = run.save(status="running", reason="", sittings=run.state.sittings + 1, limits=self._definition.limits)
            profile = self._definition.profile.model_dump(mode="json", exclude_defaults=True)
            run.save_definition([seed.url for seed in self._definition.seeds], profile)
            self._start_workers(run)
        except BaseException:
            self._fleet.stop(lambda: True)
            run.discard_if_new()
            raise
        try:
            how = self._work(frontier, meter)
        finally:
            frontier.close()
            self._fleet.stop(self._interrupts.in_haste)
        meter.read_log()
        return self._end(run, meter, how)

    def _open(self, run: Run, addresses: Addresses) -> Frontier:
        """The frontier with the job in it and its seeds queued."""
        definition, settings = self._definition, self._settings
        job = Job(
            name=run.state.name, collection=definition.collection, seeds=definition.seeds, profile=definition.profile
        )
        frontier = Frontier(addresses.redis_url, job, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
        was_there = frontier.open_job()
        frontier.resume()
        if run.resumed:
            self._display.note(f"going on with {run.state.name}" if was_there else f"starting {run.state.name} over")
        return frontier

    def _start_workers(self, run: Run) -> None:
        """One process for each core at most; in each, as many visits at once as make up the whole."""
        wanted = self._settings.browsers.workers
        processes = min(wanted, os.cpu_count() or 1)
        for index in range(processes):
            at_once = wanted // processes + (index < wanted % processes)
            self._fleet.add_worker(
                index,
                job=run.state.name,
                at_once=at_once,
                log_dir=run.folder,
                stop_seconds=self._settings.browsers.page_seconds + _MARGIN_SECONDS,
            )

    def _work(self, frontier: Frontier, meter: Meter) -> Ending:
        """Until there is no more to do, or not any more."""
        try:
            self._watch(frontier, meter)
            self._finish_visits(frontier, meter)
            self._progress = frontier.progress()
            self._remaining = {host.host: host.queued for host in frontier.hosts() if host.queued}
        except _BROUGHT_DOWN as error:
            return Ending("failed", str(error))
        meter.read_log()
        limits = self._definition.profile.limits
        return ending(self._progress, limits, meter.tally, interrupted=self._interrupts.asked_to_stop)

    def _finish_visits(self, frontier: Frontier, meter: Meter) -> None:
        """End the workers, and show what still goes on meanwhile."""
        if self._interrupts.asked_to_stop:
            count = self._progress.leased
            self._display.note(f"stopping: {count} visits going on are finished; another Ctrl-C ends them now")
        due = 0.0

        def hurry() -> bool:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + TICK_SECONDS
                self._progress = frontier.progress()
                self._show(meter)
            return self._interrupts.in_haste()

        self._fleet.stop_workers(hurry)

    def _watch(self, frontier: Frontier, meter: Meter) -> None:
        """Look after everybody and show how it goes, until the workers have left or a signal comes."""
        settings, away_since = self._settings, None
        disk = DiskWatch(settings.home, settings.archive.min_free_bytes, frontier, self._display.note)
        while self._fleet.has_workers and not self._interrupts.wait(TICK_SECONDS):
            self._fleet.tick()
            try:
                disk.look()
                self._progress, away_since = frontier.progress(), None
            except FrontierUnavailable as error:
                if away_since is None:
                    away_since = time.monotonic()
                    self._display.note(f"waiting for Redis: {error}")
                if time.monotonic() - away_since > REDIS_SECONDS:
                    raise
            self._show(meter)
        self._show(meter)

    def _show(self, meter: Meter) -> None:
        stopping = self._interrupts.asked_to_stop
        self._display.show(meter.view(self._progress, restarts=self._fleet.restarts, stopping=stopping))

    def _end(self, run: Run, meter: Meter, how: Ending) -> Summary:
        """Keep what came of it: reports, the run's state, the summary."""
        seconds = run.state.seconds + meter.seconds
        run = run.save(status=how.status, reason=how.reason, seconds=seconds)
        status = f"{how.status} ({how.reason})" if how.reason else how.status
        write_reports(run.folder, meter.tally, JobFacts(run.state.name, status, seconds, self._remaining))
        archive = self._settings.archive_dir(run.state.collection)
        return summarise(run, meter.tally, self._progress, archive)


def for_one_machine(settings: Settings) -> Settings:
    """The settings with what suits a crawl that is alone on its machine, where nothing else was chosen.

    A free port, since a second crawl may run beside it; short leases, since nobody else holds any.
    """
    changes: dict[str, object] = {}
    if "port" not in settings.proxy.model_fields_set:
        changes["proxy"] = settings.proxy.model_copy(update={"port": 0})
    if "lease_seconds" not in settings.frontier.model_fields_set:
        changes["frontier"] = settings.frontier.model_copy(update={"lease_seconds": LEASE_SECONDS})
    return settings.model_copy(update=changes)
