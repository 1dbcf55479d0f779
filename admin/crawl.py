"""One job to its end on this machine: the use case behind `ghostfleet crawl`.

The fleet is started, the frontier gets the seeds, workers visit until it has nothing more to hand out, a limit is
reached, or a signal comes. Then everything ends in order, and the reports are made from crawl.log.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from admin import homefolder
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
from admin.summary import Summary
from admin.supervise import GaveUp
from admin.tally import Tally
from archive.settings import Settings
from frontier.job import Job
from frontier.lease import Progress
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 0.25
_REDIS_SECONDS: Final = 60.0
"""How long Redis may be away before the job is given up."""
_LEASE_SECONDS: Final = 60.0
"""Leases of a crawl on one machine: short, so that a crawl that was killed goes on soon. Long visits renew theirs."""
_BROUGHT_DOWN: Final = (GaveUp, StartError, FrontierLost, FrontierUnavailable)


class Crawl:
    """One sitting of one run, from its start to its summary."""

    def __init__(self, settings: Settings, definition: Definition, display: Display, interrupts: Interrupts) -> None:
        self._settings = for_one_machine(settings)
        self._definition = definition
        self._display = display
        self._interrupts = interrupts
        self._fleet = Fleet(self._settings, display.note)

    def run(self) -> Summary:
        """Work until the end; the summary of what came, also when the fleet could not be kept alive.

        Raises PortError, HomeError, StartError, RunError or JobError when the work can't be begun; a run that was
        made for it is gone then.
        """
        definition = self._definition
        homefolder.prepare(self._settings.home)
        jobs = self._settings.collection(definition.collection) / "jobs"
        run = take_up(jobs, definition.collection, definition.job, definition.limits)
        with held(run):
            return self._sit(run)

    def _sit(self, run: Run) -> Summary:
        meter = Meter(run.state.name, run.crawl_log, Tally([seed.url for seed in self._definition.seeds]))
        try:
            frontier = self._begin(run, self._fleet.start())
            run = run.save(status="running", reason="", sittings=run.state.sittings + 1, limits=self._definition.limits)
            run.save_profile(self._definition.profile.model_dump(mode="json", exclude_defaults=True))
        except BaseException:
            self._fleet.stop(lambda: True)
            run.discard_if_new()
            raise
        try:
            how, progress, remaining = self._work(frontier, run, meter)
        finally:
            frontier.close()
            self._fleet.stop(self._interrupts.in_haste)
        return self._end(run, meter, how, progress, remaining)

    def _begin(self, run: Run, addresses: Addresses) -> Frontier:
        """The frontier with the job in it, seeds queued, and the workers started."""
        definition, settings = self._definition, self._settings
        job = Job(
            name=run.state.name,
            collection=definition.collection,
            seeds=definition.seeds,
            profile=definition.profile,
        )
        frontier = Frontier(
            addresses.redis_url, job, settings.frontier, timeout_seconds=settings.redis.timeout_seconds
        )
        was_there = frontier.open_job()
        frontier.resume()
        if run.resumed:
            self._display.note(f"going on with {run.state.name}" if was_there else f"starting {run.state.name} over")
        return frontier

    def _work(self, frontier: Frontier, run: Run, meter: Meter) -> tuple[Ending, Progress, dict[str, int]]:
        """Until there is no more to do, or not any more."""
        try:
            self._watch(frontier, run, meter)
            self._fleet.stop_workers(self._interrupts.in_haste)
            progress = frontier.progress()
            meter.read_log()
            how = ending(
                progress, self._definition.profile.limits, meter.tally, interrupted=self._interrupts.asked_to_stop
            )
            return how, progress, {host.host: host.queued for host in frontier.hosts() if host.queued}
        except _BROUGHT_DOWN as error:
            return Ending("failed", str(error)), self._last_progress, {}
