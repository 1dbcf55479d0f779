"""One job to its end on this machine: the use case behind `ghostfleet crawl`.

The fleet is started, the frontier gets the seeds, workers visit until it has nothing more to hand out, a limit is
reached, or a signal comes. Then everything ends in order, and the reports are made from crawl.log.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from admin import homefolder, logs
from admin.definition import Definition
from admin.ending import Ending, ending
from admin.fleet import Addresses, Fleet
from admin.interrupts import Interrupts
from admin.meter import Meter
from admin.process import StartError
from admin.progress import Display
from admin.reports import JobFacts, write_rejected, write_reports
from admin.runs import Run, held, take_up
from admin.summary import Summary, summarise
from admin.supervise import GaveUp
from admin.tally import Tally
from admin.vigil import Vigil
from archive.settings import Settings
from frontier.job import Job
from frontier.lease import Progress
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

LEASE_SECONDS: Final = 60.0
"""Leases of a crawl on one machine: short, so that one that was killed goes on soon. Long visits renew theirs."""
_MARGIN_SECONDS: Final = 60.0
_BROUGHT_DOWN: Final = (GaveUp, StartError, FrontierLost, FrontierUnavailable)


class Crawl:
    """One sitting of one run, from its start to its summary."""

    def __init__(self, settings: Settings, definition: Definition, display: Display, interrupts: Interrupts) -> None:
        self._settings = for_one_machine(settings)
        self._definition = definition
        self._display = display
        self._interrupts = interrupts
        self._fleet = Fleet(self._settings, display.note, lambda: interrupts.asked_to_stop)

    def run(self) -> Summary:
        """Work until the end; the summary of what came, also when the fleet could not be kept alive.

        Raises PortError, HomeError, StartError, RunError, JobError or FrontierUnavailable when the work can't be
        begun, Abandoned when a signal came before; what was made for it is gone then.
        """
        definition, home = self._definition, self._settings.home
        homefolder.prepare(home)
        logs.to_file(home / "logs" / "crawl.log", self._settings.logs.format)
        jobs = self._settings.collection(definition.collection) / "jobs"
        run = take_up(jobs, definition.collection, definition.job, definition.limits)
        with held(run):
            self._display.note(f"{run.state.name}: starting")
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
        vigil = Vigil(self._fleet, frontier, meter, self._display, self._interrupts)
        try:
            how, remaining = self._work(vigil, frontier, meter, run.folder)
        finally:
            frontier.close()
            self._fleet.stop(self._interrupts.in_haste)
        if self._fleet.failures and not self._interrupts.in_haste():
            how = Ending("failed", "; ".join(self._fleet.failures))
        return self._end(run, meter, vigil.progress, how, remaining)

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

    def _work(self, vigil: Vigil, frontier: Frontier, meter: Meter, folder: Path) -> tuple[Ending, dict[str, int]]:
        """How it ended, once there is no more to do, or not any more; and what is left, by host.

        A frontier that has nothing left is dropped: the job's next run starts with a seen set of its own.
        """
        try:
            vigil.until_over()
            vigil.finish_visits()
            progress = vigil.progress = frontier.progress()
            remaining = {host.host: host.queued for host in frontier.hosts() if host.queued}
            write_rejected(folder, frontier.rejected())
            if progress.queued + progress.leased == 0:
                frontier.forget()
        except _BROUGHT_DOWN as error:
            return Ending("failed", str(error)), {}
        meter.read_log()
        limits, interrupted = self._definition.profile.limits, self._interrupts.asked_to_stop
        return ending(progress, limits, meter.tally, interrupted=interrupted), remaining

    def _end(self, run: Run, meter: Meter, progress: Progress, how: Ending, remaining: dict[str, int]) -> Summary:
        """Keep what came of it: reports, the run's state, the summary."""
        meter.read_log()
        seconds = run.state.seconds + meter.seconds
        run = run.save(status=how.status, reason=how.reason, seconds=seconds)
        status = f"{how.status} ({how.reason})" if how.reason else how.status
        write_reports(run.folder, meter.tally, JobFacts(run.state.name, status, seconds, remaining))
        return summarise(run, meter.tally, progress, self._settings)


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
