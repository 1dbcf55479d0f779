"""The harvester is a process that runs the jobs of one channel on this machine, one after another.

The order of its work is NetarchiveSuite's: finish what was left behind, say that it is ready, take a job, prepare its
folder, crawl, write the metadata file, hand the files over, report, look whether the disk has room for another job.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from admin.fleet import home_folder
from admin.fleet.process import StartError
from admin.harvester.crawl_process import CrawlProcess
from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.documents.documentation import log_sizes
from admin.harvester.documents.harvest_info import crawl_settings, harvest_info
from admin.harvester.finishing import Finishing, NotFinished, report_end
from admin.harvester.job_folder import INFO_FILE, FolderError, JobFolder, JobStep, StopCause, is_here, leftovers
from admin.harvester.job_logins import forget_logins, with_logins
from admin.harvester.kept_folders import name_of_home, prune_old_jobs
from admin.harvester.running.control_loop import ControlLoop
from admin.harvests.dispatch.queue import ClaimedJob
from admin.harvests.dispatch.reports import JobResult
from admin.harvests.domains.passwords import DomainLogin
from admin.jobs.crawling.crawl import single_machine_settings
from admin.jobs.interrupts import Interrupts
from admin.models.database import Database
from admin.models.errors import DatabaseRefused, IllegalState, NotFound, UseCaseError
from admin.models.job_tables import HarvesterState
from admin.notifications.events import Event
from archive.dates import now_micros
from archive.file_lock import lock_or_not
from archive.files import free_bytes
from archive.settings.load import Settings
from browsers.logins.profile_store import ProfileUnusable
from frontier.definition.job import JobError, Seed, delay_of

log = logging.getLogger(__name__)

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_MOST_BAD_SEEDS: Final = 1_000
_RETRY_SECONDS: Final = 10.0
_MINUTE: Final = 60.0


class HarvesterRefused(Exception):
    """The harvester can't work here; the message is one line with the remedy."""


class HarvesterProcess:
    """A harvester process runs jobs until it is asked to end."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        channel: str,
        name: str,
        interrupts: Interrupts,
        note: Callable[[str], None],
        on_step: Callable[[JobStep], None] = lambda _: None,
    ) -> None:
        """Start nothing yet. `note` gets a line for whatever people should know; `on_step` hears of each step."""
        self._settings = settings
        self._link = DispatchLink(database, name, channel)
        self._interrupts = interrupts
        self._note = note
        self._on_step = on_step
        self._place = settings.home / "harvester"
        self._is_dormant = False

    def run(self, *, most_jobs: int | None = None, registered: Callable[[], None] = lambda: None) -> int:
        """Work until a signal comes, or until so many jobs were taken and finished. Return how many these were.

        Raises HarvesterRefused when another harvester of this name works here, IllegalState when one works elsewhere,
        NotFound for an unknown channel, DatabaseRefused when the database is away at the start, HomeError.
        """
        if mended := home_folder.prepare(self._settings.home, self._settings.archive.readable_by):
            self._note(mended)
        with self._alone():
            self._link = replace(self._link, home=name_of_home(self._place))
            self._link.register(self._free_bytes)
            registered()
            self._note(f"{self._link.name} listens to channel {self._link.channel}")
            try:
                self._finish_leftovers()
                return self._serve(most_jobs)
            except NotFinished:
                self._note("a job is not finished; the next start goes on with it")
                return 0
            finally:
                self._say(HarvesterState.STOPPED, "ended")

    # -- waiting for jobs

    def _serve(self, most_jobs: int | None) -> int:
        done, announced = 0, 0.0
        while not self._interrupts.asked_to_stop and (most_jobs is None or done < most_jobs):
            if not self._has_room():
                announced = 0.0
                self._interrupts.wait(min(self._settings.harvester.send_ready_seconds, 5.0))
                continue
            if time.monotonic() - announced >= self._settings.harvester.send_ready_seconds:
                self._say(HarvesterState.READY)
                announced = time.monotonic()
            job = self._take()
            if job is None:
                self._interrupts.wait(self._settings.harvester.pull_seconds)
                continue
            self._work(job)
            done, announced = done + 1, 0.0
        return done

    def _take(self) -> ClaimedJob | None:
        try:
            return self._link.claim()
        except NotFound:
            log.warning("%s is not known any more and registers again", self._link.name)
            self._register_again()
        except IllegalState as error:
            log.warning("a job is still to be finished: %s", error)
            self._finish_what_was_taken()
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("no job could be asked for: %s", error)
        return None

    def _finish_what_was_taken(self) -> None:
        """Finish the job of which this harvester heard nothing: the answer to its request was lost."""
        try:
            self._finish_leftovers()
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("the job that is still to be finished could not be asked for: %s", error)

    def _register_again(self) -> None:
        try:
            self._link.register(self._free_bytes)
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("%s could not register: %s", self._link.name, error)

    def _has_room(self) -> bool:
        """Return whether the disk has room for another job; say so when that changes."""
        free, least = self._free_bytes, self._settings.harvester.min_space_left
        if free < least:
            why = f"{free} bytes of disk are free, and harvester.min_space_left is {least}; make room"
            if not self._is_dormant:
                self._note(f"dormant: {why}")
                facts = {"free_bytes": free, "min_space_left": least}
                self._link.notify(Event.HARVESTER_DORMANT, f"Harvester {self._link.name} is dormant: {why}", facts)
            self._is_dormant = True
            self._say(HarvesterState.DORMANT, why)
            return False
        if self._is_dormant:
            self._is_dormant = False
            self._note(f"ready again: {free} bytes of disk are free")
            facts = {"free_bytes": free, "min_space_left": least}
            self._link.notify(Event.HARVESTER_READY_AGAIN, f"Harvester {self._link.name} takes jobs again", facts)
        return True

    # -- one job

    def _work(self, job: ClaimedJob) -> None:
        self._note(f"job {job.id} of harvest {job.harvest_name!r}, run {job.run_number}: {len(job.domains)} domains")
        try:
            folder = JobFolder.make(self._place, job, now_micros(), self._on_step)
        except FolderError as error:
            self._refuse(job, str(error))
            return
        self._prepare(folder)
        if folder.state.step is JobStep.PREPARED:
            self._crawl(folder)
        self._finish(folder)

    def _prepare(self, folder: JobFolder) -> None:
        """Write harvestInfo, seeds and profile; what can't be used becomes the job's harvest error."""
        job = folder.claim
        seeds, bad = _usable_seeds(job)
        profile = dict(job.profile)
        if job.max_seconds > 0:
            limits = dict(profile.get("limits") or {})
            profile["limits"] = limits | {"seconds": min(job.max_seconds, limits.get("seconds") or job.max_seconds)}
        profile = _with_rates(profile, job)
        info = harvest_info(job, self._settings, folder.job_name, now_micros())
        try:
            profile = with_logins(self._settings.home, job.id, profile, self._logins(job))
        except (UseCaseError, DatabaseRefused, ProfileUnusable) as error:
            folder.try_save(refusal=f"the logins of the job can't be used: {error}")
            return
        try:
            folder.write_setup(info, seeds, profile)
        except (OSError, FolderError) as error:
            folder.try_save(refusal=f"the folder of the job can't be written: {error}")
            return
        if not seeds:
            folder.try_save(refusal=f"none of the {len(bad)} seeds can be used; the first: {bad[0] if bad else '-'}")
            return
        folder.try_save(step=JobStep.PREPARED, bad_seeds=tuple(bad), log_sizes=log_sizes(self._settings.home))

    def _logins(self, job: ClaimedJob) -> list[DomainLogin]:
        """Return the job's passwords, once the database is there. Raises UseCaseError and DatabaseRefused."""
        while True:
            try:
                return self._link.logins(job)
            except DatabaseRefused as error:
                log.warning("job %d: its logins could not be asked for: %s", job.id, error)
                if self._interrupts.asked_to_stop:
                    raise
            self._interrupts.wait(_RETRY_SECONDS)

    def _crawl(self, folder: JobFolder) -> None:
        settings = single_machine_settings(crawl_settings(folder.claim, self._settings))
        try:
            process = CrawlProcess(settings, folder)
        except (StartError, OSError) as error:
            folder.try_save(refusal=str(error))
            return
        try:
            folder.try_save(step=JobStep.CRAWLING, pid=process.pid)
            ControlLoop(settings, folder, process, self._link, self._interrupts).run()
        finally:
            process.close()

    def _finish(self, folder: JobFolder) -> None:
        job = folder.claim
        self._say(HarvesterState.UPLOADING, job_id=job.id)
        is_over = False
        try:
            counted = self._finished(folder)
            is_over = True
            result = folder.result()
            errors = "; ".join(filter(None, (result.harvest_error, result.upload_error))) if result else ""
            self._note(f"job {job.id} {'reported' if counted else 'ended'}{f': {errors}' if errors else ''}")
        finally:
            forget_logins(self._settings.home, job.id)
            folder.close(is_over=is_over)
            prune_old_jobs(self._place, self._settings.harvester.old_jobs)

    def _finished(self, folder: JobFolder) -> bool:
        """Do what follows the crawl, until the disk takes what there is to keep. Return whether the report counted."""
        while True:
            try:
                return Finishing(self._settings, folder, self._link, self._interrupts).run()
            except OSError as error:
                log.exception("job %d can't be finished now", folder.claim.id)
                self._note(f"job {folder.claim.id} can't be finished now: {error}; it is tried again")
                if self._interrupts.asked_to_stop:
                    raise NotFinished from error
                self._say(HarvesterState.DORMANT, f"job {folder.claim.id}: {error}", job_id=folder.claim.id)
                self._interrupts.wait(_RETRY_SECONDS)

    def _refuse(self, job: ClaimedJob, why: str) -> None:
        """Report a job that could not be begun."""
        log.error("job %d: %s", job.id, why)
        self._note(f"job {job.id} is not begun: {why}")
        result = JobResult(succeeded=False, harvest_error=why[:300], harvest_error_details=why)
        report_end(self._link, job, result, self._interrupts)

    # -- what was left behind

    def _finish_leftovers(self) -> None:
        """Bring the jobs to their end that a harvester of this home left behind, before new work."""
        for folder in leftovers(self._place, self._on_step):
            self._note(f"job {folder.claim.id} was left behind {folder.state.step}; it is documented and reported")
            if folder.state.step is JobStep.REPORTED:
                folder.close(is_over=True)
                continue
            if folder.state.step.is_before(JobStep.CRAWLED) and folder.state.exit_code is None:
                folder.try_save(was_interrupted=True, cause=folder.state.cause or StopCause.SHUTDOWN)
            if not (folder.path / INFO_FILE).exists():
                self._prepare(folder)
            self._finish(folder)
        for job in self._link.unfinished():
            if is_here(self._place, job):  # another harvester of this home is finishing the job
                continue
            self._note(f"job {job.id} was taken and not begun; it is documented and reported")
            try:
                folder = JobFolder.make(self._place, job, now_micros(), self._on_step)
            except FolderError as error:
                self._refuse(job, str(error))
                continue
            self._prepare(folder)
            folder.try_save(was_interrupted=True, cause=StopCause.SHUTDOWN)
            self._finish(folder)

    # -- the rest

    @property
    def _free_bytes(self) -> int:
        return free_bytes(self._settings.home)

    def _say(self, state: HarvesterState, why: str = "", *, job_id: int | None = None) -> None:
        """Announce what this harvester does; a database that is away hears it the next time."""
        try:
            self._link.announce(state, self._free_bytes, why=why, job_id=job_id)
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("the state %s could not be announced: %s", state, error)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep a second harvester of this name out. Raises HarvesterRefused."""
        self._place.mkdir(parents=True, exist_ok=True)
        path = self._place / f"{_UNSAFE.sub('_', self._link.name)}.lock"
        with lock_or_not(path) as is_held:
            if not is_held:
                raise HarvesterRefused(
                    f"a harvester {self._link.name} works in {self._settings.home} already; "
                    "give this one another --name"
                )
            yield


def _usable_seeds(job: ClaimedJob) -> tuple[list[str], list[str]]:
    """Return the seeds of a job in canonical form, and what is wrong with the others."""
    seeds, bad = dict[str, None](), list[str]()
    for text in job.seeds:
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        try:
            seeds[Seed.parse(text).url] = None
        except JobError as error:
            if len(bad) < _MOST_BAD_SEEDS:
                bad.append(str(error))
    return list(seeds), bad


def _with_rates(profile: dict[str, Any], job: ClaimedJob) -> dict[str, Any]:
    """Return the profile with the least delays that the rates of the job's domains ask for.

    A rate that is as high as the politeness of the job allows gives a least delay, too, since a sheet or an edit of the
    running job may allow more. Where a rate and the template both name a delay for a host, the longer one holds.
    """
    pauses = {each.domain_name: _MINUTE / each.max_rate for each in job.domains if each.max_rate > 0}
    given = profile.get("least_delays", {})
    own = {name: max(seconds, delay_of(pauses, name)) for name, seconds in given.items()}
    longer = {name: seconds for name, seconds in pauses.items() if seconds > delay_of(given, name)}
    return profile | {"least_delays": {**own, **longer}} if pauses else profile


def default_name(channel: str) -> str:
    """Return the name of the harvester of a channel on this machine."""
    machine = _UNSAFE.sub("", os.uname().nodename)[:100] or "localhost"
    return f"{machine}:{channel}"
