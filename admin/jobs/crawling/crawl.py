"""Run a crawl job on this machine until it ends; the command `crawl` calls this module.

The fleet starts and the frontier gets the seeds. Workers visit URLs until the frontier has no more, a limit is
reached, or a signal comes. Then all processes end in order, and the reports are made from crawl.log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from admin.fleet import home_folder, logs
from admin.fleet.fleet import RENDER_WORKER, WORKER, Addresses, Fleet
from admin.fleet.process import StartError, StartInterrupted
from admin.fleet.supervisor import RestartLimitReached
from admin.jobs.control.action_folder import FOLDER as ACTION_FOLDER
from admin.jobs.control.action_folder import ActionFolder
from admin.jobs.crawling.logins import make_logins
from admin.jobs.crawling.seed_queueing import SeedNotes, SeedQueueing
from admin.jobs.crawling.watch import JobWatch
from admin.jobs.definition import Definition
from admin.jobs.interrupts import Interrupts
from admin.jobs.progress.display import Display
from admin.jobs.progress.meter import Meter
from admin.jobs.progress.progress_log import ProgressLog
from admin.jobs.progress.tally import JobTally
from admin.jobs.results.ending import FrontierFacts, JobEnding, decide_ending, fleet_failed, with_gaps
from admin.jobs.results.reports import JobFacts, report_json, seed_rows, write_rejected, write_reports
from admin.jobs.results.seed_ends import SpooledEnds
from admin.jobs.results.summary import Summary, summarise
from admin.jobs.runs import Run, locked, resume_or_create
from admin.jobs.states import HostState, JobState
from archive.dates import iso_date, now_micros
from archive.program_name import command
from archive.rotated_log import removed_parts
from archive.settings.load import Settings
from browsers.visitor_choice import needs_renders
from frontier.definition.job import Job
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.definition.seeds import SeedFile
from frontier.lease import JobProgress
from frontier.links.log import FILE_NAME as LINK_FILE
from frontier.links.log import LinkLog
from frontier.queue import Frontier
from frontier.segments.registry import SEGMENT_FOLDER
from frontier.shards import frontier_for
from frontier.store import FrontierLost, FrontierUnavailable

LEASE_SECONDS: Final = 30.0
"""Leases of a crawl on one machine are short, so that a killed crawl resumes soon. Long visits renew their leases."""
_MARGIN_SECONDS: Final = 60.0
_NAMED_FILES: Final = 5
_FLEET_FAILURES: Final = (RestartLimitReached, StartError, FrontierLost, FrontierUnavailable)


class _ReadingInterrupted(StartInterrupted):
    """A signal came while the scope of the seeds was read. The run is resumed by the next command."""


class Crawl:
    """The crawl makes one attempt at a run, from the start of the fleet to the summary."""

    def __init__(
        self,
        settings: Settings,
        definition: Definition,
        display: Display,
        interrupts: Interrupts,
        *,
        settings_file: Path | None = None,
        begun: Callable[[Run], None] = lambda _: None,
        is_supervised: bool = False,
        fds: tuple[int, ...] = (),
    ) -> None:
        """Start nothing yet. `begun` is called with the run before a process is started. All children inherit `fds`.

        `settings_file` is noted for the command that resumes the run. A supervised crawl is the child of a process that
        keeps its log. It is never resumed, so its frontier is dropped at its end, however it ended.
        """
        self._begun = begun
        self._is_supervised = is_supervised
        self._settings = single_machine_settings(settings)
        self._settings_file = settings_file
        self._definition = definition
        self._display = display
        self._interrupts = interrupts
        self._failed_logins: tuple[str, ...] = ()
        """One line for each login that failed."""
        self._render_workers = 0
        """Number of render worker processes that were started."""
        self._fleet = Fleet(self._settings, display.note, lambda: interrupts.asked_to_stop, fds=fds)

    def run(self) -> Summary:
        """Run the job until it ends, and return its summary, even when the fleet failed.

        Raises PortError, HomeError, StartError, RunError, JobError or FrontierUnavailable when the crawl can't begin,
        and StartInterrupted when a signal came before. Then the folder of a new run is removed, unless the signal came
        while the scope of the seeds was read: the next command goes on with the run.
        """
        definition, home = self._definition, self._settings.home
        if mended := home_folder.prepare(home, self._settings.archive.readable_by):
            self._display.note(mended)
        if not self._is_supervised:
            logs.to_file(home / "logs" / "crawl.log", self._settings.logs)
        jobs = self._settings.collection(definition.collection) / "jobs"
        run = resume_or_create(jobs, definition.collection, definition.job, definition.limits, anew=self._is_supervised)
        with locked(run):
            self._begun(run)
            self._display.note(f"{run.state.name}: starting")
            return self._attempt(run)

    def _attempt(self, run: Run) -> Summary:
        meter = Meter(run.state.name, run.crawl_log, JobTally())
        authorities = self._settings.proxy.upstream_ca
        try:
            addresses = self._fleet.start()
            self._log_in(addresses)
            frontier = self._open(run, addresses)
            run = run.save(
                status=JobState.RUNNING,
                reason="",
                sittings=run.state.sittings + 1,
                limits=self._definition.limits,
                started=run.state.started or iso_date(now_micros()),
                ended="",
                missing=(),
                allow_private=self._settings.proxy.allow_private,
                resolve=self._settings.proxy.resolve,
                upstream_ca=os.path.abspath(authorities) if authorities else "",
                settings_file=os.path.abspath(self._settings_file) if self._settings_file else "",
            )
            actions = ActionFolder(run.folder, frontier, self._display.note)
            actions.prepare()
            seeds = SeedQueueing(frontier, len(run.seeds()))
            self._start_workers(run, frontier)
        except BaseException as error:
            self._fleet.stop(lambda: True)
            if not isinstance(error, _ReadingInterrupted):  # the next command goes on where this one stopped
                run.discard_if_new()
            raise
        watch = JobWatch(
            self._fleet,
            frontier,
            meter,
            self._display,
            self._interrupts,
            start_render_workers=lambda at_once: self._start_render_workers(run, frontier, at_once),
            take_actions=actions.look,
            seeds=seeds,
            progress_log=ProgressLog(run.folder),
        )
        try:
            ending, remaining = self._work(watch, frontier, meter, run, seeds)
            if left := actions.left():
                self._display.note(f"not taken from {run.folder / ACTION_FOLDER}: {', '.join(left[:_NAMED_FILES])}")
        finally:
            seeds.stop()
            self._fleet.stop_workers(self._interrupts.asked_to_hurry)
            _release_leases(frontier)
            frontier.close()
            self._fleet.stop(self._interrupts.asked_to_hurry)
        if self._fleet.failures and not self._interrupts.asked_to_hurry():
            reason = "; ".join(self._fleet.failures)
            ending = replace(ending, state=JobState.FAILED, reason=reason, missing=(*ending.missing, reason))
        watch.note_end(ending.reason or ending.state)
        return self._end(run, meter, watch.progress, with_gaps(ending, self._failed_logins), remaining)

    def _log_in(self, addresses: Addresses) -> None:
        """Make the logins of the job that are not made yet. The job goes on without those that fail, and says so."""
        profile = self._definition.profile
        if not profile.logins:
            return
        made, self._failed_logins = make_logins(
            self._settings, addresses, profile.logins, lambda: self._interrupts.asked_to_stop
        )
        for line in self._failed_logins:
            self._display.note(line)
        self._definition = replace(self._definition, profile=profile.model_copy(update={"logins": made}))

    def _open(self, run: Run, addresses: Addresses) -> Frontier:
        """Return the frontier with the job and its queued seeds."""
        definition, settings = self._definition, self._settings
        run.append_seeds(seed.url for seed in definition.seeds)
        run.save_profile(definition.profile.model_dump(mode="json", exclude_defaults=True))
        seeds = run.seeds()
        job = Job(name=run.state.name, collection=definition.collection, seeds=seeds, profile=definition.profile)
        frontier = frontier_for(
            addresses.redis_url, job, settings.frontier, timeout_seconds=settings.redis.timeout_seconds
        )
        if settings.logs.links == "on":
            frontier.link_log = LinkLog(run.folder, settings.logs)
        frontier.segments.folder = run.folder / SEGMENT_FOLDER
        notes = SeedNotes(self._display.note, "reading the scope of the seeds", len(seeds))

        def told(number: int) -> None:
            notes(number)
            if self._interrupts.asked_to_stop and not self._is_supervised:
                self._display.note(f"interrupted after {number:,} of {len(seeds):,} seeds were read")
                raise _ReadingInterrupted

        was_there = frontier.begin_job(lists=settings.home / LIST_FOLDER, told=told)
        run.append_seeds(frontier.added_seeds(0))  # those of a killed command
        frontier.controls.release()  # the disk watch sets a hold again if it must; the pause of an operator stays
        if why := frontier.reports.progress().paused:
            self._display.note(
                f"paused: {why}; run `{command(f'job resume {run.state.name}')}` in another terminal to resume"
            )
        _release_leases(frontier)  # those of a killed command; no other process runs this job
        if run.resumed:
            name = run.state.name
            self._display.note(
                f"resuming {name}" if was_there else f"restarting {name}: the frontier has lost its URLs"
            )
        return frontier

    def _start_workers(self, run: Run, frontier: Frontier) -> None:
        """Start at most one worker process for each core, and share the number of simultaneous visits among them.

        The leases of a dead worker are released before a new one starts.
        """
        wanted = self._settings.browsers.workers
        processes = min(wanted, os.cpu_count() or 1)
        for index in range(processes):
            at_once = wanted // processes + (index < wanted % processes)
            self._start_worker(run, frontier, index, at_once)
        # An earlier attempt at the run may have left renders, though the profile has another mode now.
        if needs_renders(frontier.job.profile.page_rules()) or frontier.reports.progress().renders.depth:
            self._start_render_workers(run, frontier, self._settings.browsers.render_workers)

    def _start_render_workers(self, run: Run, frontier: Frontier, at_once: int) -> None:
        """Start render workers with so many further visits at once, at most one process for each core."""
        processes = min(at_once, os.cpu_count() or 1)
        for number in range(processes):
            share = at_once // processes + (number < at_once % processes)
            self._start_worker(run, frontier, self._render_workers, share, renders=True)
            self._render_workers += 1

    def _start_worker(self, run: Run, frontier: Frontier, index: int, at_once: int, *, renders: bool = False) -> None:
        name = f"{RENDER_WORKER if renders else WORKER}{index}-"
        self._fleet.add_worker(
            index,
            job=run.state.name,
            at_once=at_once,
            log_dir=run.folder,
            stop_seconds=self._settings.browsers.page_seconds + _MARGIN_SECONDS,
            before_restart=partial(_release_leases, frontier, (name,), counts=True),
            renders=renders,
        )

    def _work(
        self, watch: JobWatch, frontier: Frontier, meter: Meter, run: Run, seeds: SeedQueueing
    ) -> tuple[JobEnding, dict[str, int]]:
        """Wait until the work ends; return the ending, and the number of queued URLs by host.

        When the job is over, its frontier is dropped: the next run of the job begins with an empty seen set.
        """
        try:
            with frontier.spiller(self._display.note):
                watch.wait_until_over()
                seeds.stop()
                watch.finish_visits()
            ending, remaining = watch.ask(lambda: self._ending(watch, frontier, meter, run, seeds.left))
            if _is_over(ending) or self._is_supervised:
                profile = watch.ask(frontier.stored_job).profile  # people may have edited the profile
                if profile != self._definition.profile:
                    run.save_profile(profile.model_dump(mode="json", exclude_defaults=True))
                watch.ask(frontier.forget)
        except _FLEET_FAILURES as error:
            meter.read_log()
            return fleet_failed(str(error), meter.tally), {}
        return ending, remaining

    def _ending(
        self, watch: JobWatch, frontier: Frontier, meter: Meter, run: Run, unqueued: int
    ) -> tuple[JobEnding, dict[str, int]]:
        """Ask the frontier how the job ended. This can be repeated when Redis fails in between."""
        _release_leases(frontier)
        run.append_seeds(frontier.added_seeds(0))
        facts = _facts(frontier, run.seeds(), unqueued)
        watch.progress = facts.progress
        write_rejected(run.folder, frontier.reports.rejected())
        meter.read_log()
        limits = frontier.stored_job().profile.limits  # an operator may have changed them
        is_interrupted = self._interrupts.asked_to_stop
        ending = decide_ending(facts, limits, meter.tally, interrupted=is_interrupted, keep=SpooledEnds)
        return ending, {host.host: host.left for host in ending.hosts if host.left}

    def _end(
        self, run: Run, meter: Meter, progress: JobProgress, ending: JobEnding, remaining: dict[str, int]
    ) -> Summary:
        """Write the reports and the run's state; return the summary."""
        meter.read_log()
        seconds = run.state.seconds + meter.seconds
        ended, total = iso_date(now_micros()), meter.tally.all.total
        status = f"{ending.state} ({ending.reason})" if ending.reason else ending.state.value
        removed = tuple(removed_parts(run.folder / LINK_FILE))
        facts = JobFacts(
            *(run.state.name, status, seconds, remaining, run.state.started, ended, ending, progress),
            seeds=run.seeds(),
            removed_links=removed,
        )
        write_reports(run.folder, meter.tally, facts)
        run.save_report(report_json(meter.tally, facts), seed_rows(meter.tally, ending))
        run = run.save(
            status=ending.state,
            reason=ending.reason,
            seconds=seconds,
            ended=ended,
            pages=progress.pages,
            urls=total.urls,
            bytes=total.bytes,
            left=ending.left,
            failed=progress.failed,
            missing=ending.missing,
        )
        return summarise(run, meter.tally, progress, ending, self._settings)


def _facts(frontier: Frontier, seeds: SeedFile, unqueued: int) -> FrontierFacts:
    """Return the frontier's counts of the job, and its reports about hosts and seeds."""
    return FrontierFacts(
        progress=frontier.reports.progress(),
        hosts=frontier.reports.hosts(),
        seeds=frontier.reports.facts_of_seeds(seeds.urls()),
        unqueued=unqueued,
        switched_off=frontier.reports.switched_off_patterns(),
        quota=frontier.reports.reached_quota(),
    )


def _is_over(ending: JobEnding) -> bool:
    """Return whether the run can't be resumed, so that its frontier is not needed any more."""
    if ending.state in (JobState.FINISHED, JobState.GAPS):
        return True
    return ending.state is JobState.FAILED and not any(host.state is HostState.LEFT for host in ending.hosts)


def _release_leases(
    frontier: Frontier, workers: Sequence[str] = (WORKER, RENDER_WORKER), *, counts: bool = False
) -> None:
    """Release the leases of this command's dead workers. Without Redis they expire by themselves."""
    with suppress(FrontierUnavailable, FrontierLost):
        for names in workers:
            queue = frontier.renders if names.startswith(RENDER_WORKER) else frontier
            queue.take_back(names, counts=counts)


def single_machine_settings(settings: Settings) -> Settings:
    """Return the settings with other defaults for a crawl on one machine: a free port and short leases.

    A second crawl may run on the machine, so a fixed port could be in use. All workers run on this machine, so short
    leases are renewed in time.
    """
    changes: dict[str, object] = {}
    if "port" not in settings.proxy.model_fields_set:
        changes["proxy"] = settings.proxy.model_copy(update={"port": 0})
    if "lease_seconds" not in settings.frontier.model_fields_set:
        changes["frontier"] = settings.frontier.model_copy(update={"lease_seconds": LEASE_SECONDS})
    return settings.model_copy(update=changes)
