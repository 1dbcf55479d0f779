"""The harvester waits for the end of a crawl, counts, writes the metadata file, uploads and reports.

Each step may be repeated: a harvester that was killed in the middle of a step does this step again. The report is kept
before it is sent, and sent until the database has it.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from admin.harvester.crawl_process import OUTPUT_FILE
from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.documents.documentation import data_files, make_documents
from admin.harvester.documents.harvest_info import crawl_settings
from admin.harvester.documents.metadata_file import MetadataOwner, free_name, publish_metadata, write_metadata
from admin.harvester.incident_reports import IncidentReports
from admin.harvester.job_folder import JobFolder, JobStep
from admin.harvester.outcome import (
    default_stop_reason,
    ended_in_order,
    gaps_of,
    harvest_error,
    left_by_host,
    loss_of_files,
    seed_ends,
    upload_error,
    with_errors,
)
from admin.harvester.running.domain_tally import DomainTally, domain_results, limits_of
from admin.harvester.upload import UploadStopped, hand_over
from admin.harvests.dispatch.queue import ClaimedJob
from admin.harvests.dispatch.reports import JobResult
from admin.jobs.interrupts import Interrupts
from admin.jobs.progress.tally import JobTally, LogFollower
from admin.jobs.results.ending import JobEnding
from admin.jobs.results.reports import JobFacts, report_json, write_reports
from admin.jobs.runs import Run, find_runs
from admin.jobs.states import JobState
from admin.models.errors import DatabaseRefused, IllegalState, NotFound, UseCaseError
from archive import crawl_log
from archive.dates import iso_date, now_micros, timestamp14
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings
from archive.warc.upkeep.repair import being_written, repair
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CapturesError
from dedupdb.index.sidecars import Sidecars
from frontier.private_redis.server import EmbeddedRedis, RedisProblem
from frontier.shards import frontier_of
from frontier.store import FrontierLost, FrontierUnavailable

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.1
_KILLED_SECONDS: Final = 30.0
_LONGEST_PAUSE: Final = 60.0
_LONGEST_TROUBLE: Final = 2_000


class NotFinished(Exception):
    """The harvester is to end now; the next start goes on with this job."""


@dataclass(slots=True)
class Finishing:
    """Finishing brings one job to its end after the crawl."""

    settings: Settings
    folder: JobFolder
    link: DispatchLink
    interrupts: Interrupts

    def run(self) -> bool:
        """Do every step that is left. Return whether the report counted. Raises NotFinished, OSError."""
        folder = self.folder
        with self.link.kept_alive(folder.claim, "finishing", self.settings.harvester.loop_seconds):
            folder.save()  # what the disk did not take before
            for step, work in self._steps().items():
                if folder.state.step.is_before(step):
                    self._attempt(step, work)
                    folder.save(step=step)
        counted = self._report()
        folder.save(step=JobStep.REPORTED)
        return counted

    def _steps(self) -> dict[JobStep, Callable[[], None]]:
        return {
            JobStep.CRAWLED: self._settle,
            JobStep.COUNTED: self._count,
            JobStep.DOCUMENTED: self._document,
            JobStep.UPLOADED: self._upload_data,
            JobStep.METADATA_UPLOADED: self._upload_metadata,
        }

    def _attempt(self, step: JobStep, work: Callable[[], None]) -> None:
        """Do the work of a step. A step that fails is part of the report and keeps the next ones from nothing."""
        try:
            work()
        except NotFinished:
            raise
        except Exception as error:  # whatever is wrong with one job: its end is reported, and the next one can run
            log.exception("job %d: the step %s failed", self.folder.claim.id, step)
            why, before = f"{type(error).__name__}: {error}"[:_LONGEST_TROUBLE], self.folder.state
            try:
                self.folder.save(troubles={**before.troubles, str(step): why})
            except OSError:  # the step is done again, and may succeed then
                self.folder.state = before
                raise

    # -- the crawl's processes and files

    def _settle(self) -> None:
        """Wait for the end of all processes of the crawl, and make its files whole."""
        folder, settings = self.folder, self.settings
        if not self._until(lambda: not folder.is_alive, settings.harvester.process_seconds):
            killed = folder.kill_processes()
            log.error("job %d: %d processes of the crawl did not end and were killed", folder.claim.id, killed)
            folder.save(was_killed=True)
            self._until(lambda: not folder.is_alive, _KILLED_SECONDS)
        self._until(lambda: not self._open_files(), _KILLED_SECONDS)
        repair(settings, folder.claim.collection)
        if folder.run_folder is None and (run := self._find_run()) is not None:
            folder.save(run_name=run.state.name, run_folder=str(run.folder))
        if folder.state.run_name and not ended_in_order(folder.state):
            drop_frontier(settings, folder.state.run_name)

    def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            if self.interrupts.asked_to_hurry():
                raise NotFinished
            self.interrupts.wait(_POLL_SECONDS)
        return True

    def _open_files(self) -> list[WarcPaths]:
        found = being_written(self.settings, self.folder.claim.collection)
        return [place for place in found if Path(place.name).name.startswith(self.folder.file_prefix)]

    def _find_run(self) -> Run | None:
        """Return the run of a crawl of which the harvester heard no more."""
        jobs = self.settings.collection(self.folder.claim.collection) / "jobs"
        earliest = f"{self.folder.job_name}-{timestamp14(self.folder.claim.created)}"
        runs = [run for run in find_runs(jobs) if run.state.job == self.folder.job_name]
        return next((run for run in reversed(runs) if run.state.name >= earliest), None)

    # -- statistics

    def _count(self) -> None:
        result = self._counted()
        IncidentReports(self.link, self.folder).note_patterns(result.report.get("switched_off_patterns", {}))
        self.folder.save_result(result)

    def _counted(self) -> JobResult:
        folder, run = self.folder, self._run()
        if run is not None and run.state.status is JobState.RUNNING:
            folder.save(was_cut_off=True)  # the reports end the run, and hide this from the next try
            run = self._write_reports(run)
        state = folder.state
        tally = DomainTally(limits_of(folder.claim, state.domain_limits), self.settings.harvester.disregard_seed_url)
        report: dict[str, Any] = {}
        objects_by_file = Counter[str]()
        if run is not None:
            for line in LogFollower(run.folder / crawl_log.FILE_NAME).lines():
                tally.add(line)
                if line.code > 0 and (name := line.extra.get("warcFilename")):
                    objects_by_file[str(name)] += 1
            report = {**run.report(), "seeds": list(run.seed_ends())}
        run_state = run.state if run is not None else None
        loss = loss_of_files(state.seen_objects, tally.total.objects, self._removed(objects_by_file))
        error = loss if loss.short else harvest_error(state, run_state, self._last_words())
        is_known = not state.was_interrupted and not state.was_killed
        left = left_by_host(report, run_state) if is_known else None
        seeds = seed_ends(report) if is_known else None
        is_lost = bool(loss.short or (report.get("frontier") or {}).get("lost"))
        domains = domain_results(tally, default_stop_reason(state, run_state, is_lost=is_lost), left, seeds)
        return JobResult(
            succeeded=not error.short,
            harvest_error=error.short,
            harvest_error_details=error.details,
            domains=domains,
            objects=tally.total.objects,
            bytes=tally.total.bytes,
            new_bytes=tally.total.new_bytes,
            exit_code=state.exit_code,
            run_name=state.run_name,
            gaps=gaps_of(run_state, domains),
            report={
                **report,
                "new_bytes": tally.total.new_bytes,
                "status": run_state.status if run_state is not None else "",
                "reason": state.reason or (run_state.reason if run_state is not None else ""),
                "cause": state.cause,
            },
        )

    def _removed(self, objects_by_file: Mapping[str, int]) -> dict[str, int]:
        """Return those of the WARC files that are not in the home, and were not handed over, with their objects."""
        home, is_uploaded = self.settings.collection(self.folder.claim.collection), bool(self.settings.storage.url)
        removed = {}
        for name, objects in objects_by_file.items():
            place = WarcPaths(home, name)
            is_there = place.warc.exists() or place.growing.exists() or (is_uploaded and place.sidecar.exists())
            if not is_there:
                removed[name] = objects
        return removed

    def _run(self) -> Run | None:
        place = self.folder.run_folder
        if place is None:
            return None
        return next((run for run in find_runs(place.parent) if run.folder == place), None)

    def _write_reports(self, run: Run) -> Run:
        """Write the reports that a crawl which was killed could not write, from its crawl.log."""
        tally = JobTally()
        for line in LogFollower(run.crawl_log).lines():
            tally.add(line)
        reason = self.folder.state.reason or "its process was killed"
        how = JobEnding(JobState.INTERRUPTED, reason)
        ended = iso_date(now_micros())
        facts = JobFacts(
            *(run.state.name, f"{how.state} ({reason})", run.state.seconds, {}, run.state.started, ended, how),
            seeds=run.seeds(),
        )
        write_reports(run.folder, tally, facts)
        run.save_report(report_json(tally, facts))
        total = tally.all.total
        return run.save(status=how.state, reason=reason, ended=ended, urls=total.urls, bytes=total.bytes)

    def _last_words(self) -> str:
        """Return the last lines that the crawl's process has written."""
        try:
            with (self.folder.path / OUTPUT_FILE).open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - 4_000))
                return file.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    # -- metadata and upload

    def _document(self) -> None:
        folder, settings, job = self.folder, self.settings, self.folder.claim
        home = settings.collection(job.collection)
        if not folder.state.metadata_name:
            name = free_name(home, job.id, compressed=settings.harvester.metadata_compressed)
            folder.save(metadata_name=name)
        place, draft = WarcPaths(home, folder.state.metadata_name), folder.path / folder.state.metadata_name
        if not place.warc.exists():
            owner = MetadataOwner(
                settings.harvester.organisation, job.collection, job.harvest_id, job.id, folder.state.run_name
            )
            parts = make_documents(settings, folder, self._result_of_domains())
            write_metadata(draft, folder.state.metadata_name, owner, parts, crawl_settings(job, settings), now_micros())
        publish_metadata(draft, place, job.collection)
        self._index(job.collection)

    def _index(self, collection: str) -> None:
        """Add the lines of new sidecars to the index, as a rebuild of the index does."""
        try:
            with Captures(self.settings.database_url) as captures:
                Sidecars(self.settings.home, captures).reconcile(collection)
        except CapturesError as error:  # the next indexer of this home adds them
            log.warning("the metadata of collection %s is not in the index yet: %s", collection, error)

    def _result(self) -> JobResult:
        """Return the result that was kept; one without statistics when these could not be made."""
        text = "the statistics of the domains could not be made"
        return self.folder.result() or JobResult(
            succeeded=False, harvest_error=text, run_name=self.folder.state.run_name
        )

    def _result_of_domains(self) -> dict[str, Any]:
        result = self._result()
        return {
            "objects": result.objects,
            "bytes": result.bytes,
            "domains": [asdict(each) for each in result.domains],
        }

    def _upload_data(self) -> None:
        self._upload([place.name for place in data_files(self.settings, self.folder)])

    def _upload_metadata(self) -> None:
        name = self.folder.state.metadata_name
        home = self.settings.collection(self.folder.claim.collection)
        self._upload([name] if name and WarcPaths(home, name).sidecar.exists() else [])

    def _upload(self, names: list[str]) -> None:
        """Hand files of the archive to the storage; what goes wrong is part of the report."""
        collection = self.folder.claim.collection
        wanted = {f"{collection}/archive/{name}": name for name in names}
        try:
            failed = hand_over(self.settings, list(wanted), self.interrupts.wait, self.interrupts.asked_to_hurry)
        except UploadStopped as error:
            raise NotFinished from error
        errors = {wanted[name]: why for name, why in failed.items()}
        self.folder.save(upload_errors={**self.folder.state.upload_errors, **errors})

    # -- the report

    def _report(self) -> bool:
        state = self.folder.state
        IncidentReports(self.link, self.folder).send()
        result = with_errors(
            self._result(),
            state.troubles,
            upload_error(state.upload_errors),
            allow_upload_failures=self.settings.harvester.allow_upload_failures,
        )
        return report_end(self.link, self.folder.claim, result, self.interrupts)


def report_end(link: DispatchLink, job: ClaimedJob, result: JobResult, interrupts: Interrupts) -> bool:
    """Report the end of a job until the database has it. Return whether the report counted. Raises NotFinished."""
    pause = 1.0
    while True:
        try:
            return link.end(job, result)
        except (IllegalState, NotFound) as refused:
            log.error("job %d: the report of its end is refused: %s", job.id, refused)
            return False
        except (DatabaseRefused, UseCaseError) as away:
            log.warning("job %d: its end could not be reported: %s", job.id, away)
        if interrupts.asked_to_stop:
            raise NotFinished
        interrupts.wait(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def drop_frontier(settings: Settings, run_name: str) -> None:
    """Drop what Redis has of a crawl that is not taken up again."""
    try:
        if settings.redis.url:
            _forget(settings, settings.redis.url, run_name)
        elif (settings.home / "redis").is_dir():
            with EmbeddedRedis(settings.home) as redis:
                _forget(settings, redis.url, run_name)
    except FrontierLost:
        return
    except (FrontierUnavailable, RedisProblem) as error:
        log.warning("the frontier of %s is left in Redis: %s", run_name, error)


def _forget(settings: Settings, url: str, run_name: str) -> None:
    frontier = frontier_of(url, run_name, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
    with closing(frontier):
        frontier.forget()
