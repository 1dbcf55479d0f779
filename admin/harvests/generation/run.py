"""One run of a harvest: its jobs are stored as drafts, part by part, and become new jobs together at the end.

A run reads for as long as it needs from one view of the database and writes in short transactions, so that a slow run
holds up nobody. A run that was interrupted leaves drafts, which nobody works on. They are undone and the run is
generated again: domains may have changed since, and a run shall come from one state of them. Completing the drafts
would mix two states.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from admin.harvests.domains.extended_fields import domain_values_for_jobs
from admin.harvests.generation.jobs import FilledJob, Tally, filled_jobs
from admin.harvests.generation.plan import RunPlan, plan
from admin.harvests.schedules.dates import next_run
from admin.harvests.schedules.rules import rule_of
from admin.models.database import Database
from admin.models.domain_tables import Configuration
from admin.models.errors import DatabaseRefused, NotFound, UseCaseError
from admin.models.harvest_tables import Harvest, HarvestKind, HarvestRun
from admin.models.job_tables import HarvestJob, JobConfiguration, JobStatus
from admin.models.transaction import SCHEDULER, Transaction
from archive.dates import Micros, iso_second
from archive.settings.load import Settings

CONFIGURATIONS_STORED_TOGETHER: Final = 5_000
CHARACTERS_STORED_TOGETHER: Final = 20_000_000
JOBS_UNDONE_TOGETHER: Final = 5
_IDS_TOGETHER: Final = 1_000
_LONGEST_REASON: Final = 1_000
_LOG: Final = logging.getLogger("ghostfleet.scheduler")


class FenceLost(Exception):
    """Another scheduler has taken over; this one may not write any more."""


class Fence(Protocol):
    """A scheduler writes only as long as it holds its lease."""

    def check(self, transaction: Transaction) -> None:
        """Raise FenceLost when another scheduler holds the lease; keep others from taking it until the commit."""


class EventKind(StrEnum):
    """People may want to hear of these events."""

    RUN_GENERATED = "run-generated"
    NO_JOBS = "no-jobs"
    DATES_SKIPPED = "dates-skipped"
    SCHEDULE_ENDED = "schedule-ended"
    HARVEST_DEACTIVATED = "harvest-deactivated"
    STILL_GENERATING = "still-generating"


@dataclass(frozen=True, slots=True)
class GenerationEvent:
    """An event is something that people may want to know of the generation of a harvest's jobs."""

    kind: EventKind
    harvest_id: int
    harvest_name: str
    run_number: int
    message: str


class Listener(Protocol):
    """The listener is called in the transaction of the event: what it writes is kept or undone with it."""

    def __call__(self, transaction: Transaction, event: GenerationEvent) -> None:
        """Take notice of the event."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A generator makes the jobs of runs, and holds what all runs need."""

    database: Database
    settings: Settings
    fence: Fence
    listeners: Sequence[Listener] = ()

    def generate(self, harvest_id: int) -> HarvestRun | None:
        """Generate one run of the harvest. Return None when there is none: it failed, or was changed meanwhile.

        A failing harvest is deactivated with its reason. Raises DatabaseRefused and FenceLost, after which the harvest
        is as before, perhaps with drafts that `undo_drafts` finds.
        """
        try:
            return self._generate(harvest_id)
        except FenceLost:
            raise
        except Exception as error:
            if isinstance(error, DatabaseRefused) and is_away(error):
                raise
            if not isinstance(error, (UseCaseError, DatabaseRefused)):
                _LOG.exception("harvest %d could not be generated", harvest_id)
            self.undo_drafts([harvest_id])
            self._deactivate(harvest_id, error)
            return None

    def undo_drafts(self, harvests: Collection[int] | None = None, *, without: Collection[int] = ()) -> int:
        """Remove the drafts of these harvests, or of all but some. Return how many jobs they were."""
        undone = 0
        while True:
            with self.database.transaction(SCHEDULER) as transaction:
                query = select(HarvestJob.id).where(HarvestJob.status == JobStatus.DRAFT)
                if harvests is not None:
                    query = query.where(HarvestJob.harvest_id.in_(harvests))
                if without:
                    query = query.where(HarvestJob.harvest_id.not_in(without))
                drafts = transaction.session.scalars(query.order_by(HarvestJob.id).limit(JOBS_UNDONE_TOGETHER)).all()
                if not drafts:
                    return undone
                self.fence.check(transaction)
                transaction.session.execute(delete(JobConfiguration).where(JobConfiguration.job_id.in_(drafts)))
                transaction.session.execute(delete(HarvestJob).where(HarvestJob.id.in_(drafts)))
            undone += len(drafts)

    def _generate(self, harvest_id: int) -> HarvestRun | None:
        self.undo_drafts([harvest_id])
        tally = Tally()
        with self.database.reading(SCHEDULER) as reading:
            try:
                planned = plan(reading.session, harvest_id, reading.now)
            except NotFound:
                return None
            channel_id = _channel_of(planned)
            for part in _parts(filled_jobs(reading.session, planned, self.settings, tally)):
                self._store(planned, channel_id, part)
        return self._complete(planned, tally)

    def _store(self, planned: RunPlan, channel_id: int, jobs: Sequence[FilledJob]) -> None:
        """Store drafts, in one short transaction."""
        with self.database.transaction(SCHEDULER) as transaction:
            self.fence.check(transaction)
            rates = _rates(transaction, jobs)
            names = [entry.domain_name for job in jobs for entry in job.entries]
            of_domains = domain_values_for_jobs(transaction.session, names)
            rows = [_row(planned, channel_id, job, of_domains) for job in jobs]
            transaction.session.add_all(rows)
            transaction.session.flush()
            transaction.session.execute(
                insert(JobConfiguration),
                [
                    {
                        "job_id": row.id,
                        "position": position,
                        "configuration_id": entry.configuration_id if entry.configuration_id in rates else None,
                        "domain_name": entry.domain_name,
                        "configuration_name": entry.configuration_name,
                        "expected_objects": entry.expected,
                        "max_bytes": entry.limits.bytes,
                        "max_objects": entry.limits.objects,
                        "max_rate": rates.get(entry.configuration_id, self.settings.harvests.default_max_rate),
                        "reason": entry.reason,
                    }
                    for row, job in zip(rows, jobs, strict=True)
                    for position, entry in enumerate(job.entries)
                ],
            )

    def _complete(self, planned: RunPlan, tally: Tally) -> HarvestRun | None:
        """Make all drafts of the run new jobs, and set the harvest's next date. Undo them when it was changed."""
        with self.database.transaction(SCHEDULER) as transaction:
            self.fence.check(transaction)
            harvest = transaction.session.get(Harvest, planned.harvest_id, with_for_update=True)
            if harvest is not None and harvest.edition == planned.edition:
                run = self._run_row(transaction, harvest, planned, tally)
                transaction.session.execute(
                    update(HarvestJob)
                    .where(
                        HarvestJob.harvest_id == planned.harvest_id,
                        HarvestJob.run_number == planned.run_number,
                        HarvestJob.status == JobStatus.DRAFT,
                    )
                    .values(status=JobStatus.NEW)
                )
                transaction.session.add(run)
                return run
        _LOG.info("harvest %s was changed while its run was generated; it is generated again", planned.name)
        self.undo_drafts([planned.harvest_id])
        return None

    def _run_row(self, transaction: Transaction, harvest: Harvest, planned: RunPlan, tally: Tally) -> HarvestRun:
        """Return the run, and count it in the harvest, whether or not it has jobs."""
        before = harvest.next_run
        skipped = 0
        if harvest.kind == HarvestKind.SELECTIVE and not planned.is_extra:
            harvest.next_run, skipped = self._next_run(transaction, harvest, planned)
        elif harvest.kind == HarvestKind.SNAPSHOT:
            harvest.next_run = None
        harvest.runs_made += 1
        harvest.why_inactive = ""
        if planned.was_asked_for:
            harvest.run_now = False
        run = HarvestRun(
            harvest_id=harvest.id,
            number=planned.run_number,
            started=planned.now,
            jobs=tally.jobs,
            configurations=tally.configurations,
            left_out=dict(sorted(tally.left_out.items())),
            dates_skipped=skipped,
            is_extra=planned.is_extra,
        )
        self._tell(
            transaction, EventKind.RUN_GENERATED, planned, f"{tally.jobs} jobs of {tally.configurations} domains"
        )
        if tally.jobs == 0:
            left = ", ".join(f"{count} {reason}" for reason, count in run.left_out.items()) or "there are none"
            self._tell(transaction, EventKind.NO_JOBS, planned, f"no configuration was left to harvest: {left}")
        if skipped:
            self._tell(transaction, EventKind.DATES_SKIPPED, planned, f"{skipped} dates of the schedule had passed")
        if before is not None and harvest.next_run is None and harvest.kind == HarvestKind.SELECTIVE:
            self._tell(transaction, EventKind.SCHEDULE_ENDED, planned, "the schedule has no further date")
        return run

    def _next_run(self, transaction: Transaction, harvest: Harvest, planned: RunPlan) -> tuple[Micros | None, int]:
        due, schedule = harvest.next_run, harvest.schedule
        if due is None or schedule is None:
            return None, 0
        extra = transaction.session.scalar(
            select(func.count()).where(HarvestRun.harvest_id == harvest.id, HarvestRun.is_extra.is_(True))
        )
        anchor = harvest.first_run if harvest.first_run is not None else due
        made = harvest.runs_made - (extra or 0) + 1
        # A date that is now has not passed: the harvest is ready right after it.
        following = next_run(rule_of(schedule), anchor, due, planned.now - 1, made)
        return following.moment, following.skipped

    def _deactivate(self, harvest_id: int, error: Exception) -> None:
        """Take a failing harvest out of work, so that it does not fail again each minute."""
        reason = (
            str(error) if isinstance(error, (UseCaseError, DatabaseRefused)) else f"{type(error).__name__}: {error}"
        )
        reason = reason[:_LONGEST_REASON]
        with self.database.transaction(SCHEDULER) as transaction:
            self.fence.check(transaction)
            harvest = transaction.session.get(Harvest, harvest_id, with_for_update=True)
            if harvest is None:
                return
            old = {"is_active": harvest.is_active, "why_inactive": harvest.why_inactive}
            harvest.is_active, harvest.run_now, harvest.why_inactive = False, False, reason
            harvest.edition += 1
            new = {"is_active": False, "why_inactive": reason}
            transaction.audit("harvest.deactivate", "harvest", harvest_id, harvest.name, old=old, new=new)
            message = f"the harvest was deactivated: {reason}"
            event = GenerationEvent(EventKind.HARVEST_DEACTIVATED, harvest_id, harvest.name, harvest.runs_made, message)
            self._hear(transaction, event)

    def _tell(self, transaction: Transaction, kind: EventKind, planned: RunPlan, message: str) -> None:
        event = GenerationEvent(kind, planned.harvest_id, planned.name, planned.run_number, message)
        self._hear(transaction, event)

    def _hear(self, transaction: Transaction, event: GenerationEvent) -> None:
        level = logging.ERROR if event.kind == EventKind.HARVEST_DEACTIVATED else logging.INFO
        is_warning = event.kind in (EventKind.NO_JOBS, EventKind.DATES_SKIPPED)
        _LOG.log(
            logging.WARNING if is_warning else level,
            "harvest %s run %d at %s: %s",
            event.harvest_name,
            event.run_number,
            iso_second(transaction.now),
            event.message,
        )
        for listener in self.listeners:
            listener(transaction, event)


def _channel_of(planned: RunPlan) -> int:
    if planned.channel_id is None:
        raise UseCaseError(
            f"there is no default channel for {planned.kind} harvests; make one, or give the harvest one"
        )
    return planned.channel_id


def _parts(jobs: Iterable[FilledJob]) -> Iterator[Sequence[FilledJob]]:
    """Yield the jobs in parts that are stored together."""
    part: list[FilledJob] = []
    configurations = characters = 0
    for job in jobs:
        part.append(job)
        configurations += len(job.entries)
        characters += job.seed_characters
        if configurations >= CONFIGURATIONS_STORED_TOGETHER or characters >= CHARACTERS_STORED_TOGETHER:
            yield part
            part, configurations, characters = [], 0, 0
    if part:
        yield part


def is_away(error: DatabaseRefused) -> bool:
    """Return whether the database can't be reached or is busy, rather than that it refuses a value."""
    cause = error.__cause__
    if isinstance(cause, DBAPIError) and cause.connection_invalidated:
        return True
    return isinstance(cause, (OperationalError, InterfaceError, PoolTimeout))


def _rates(transaction: Transaction, jobs: Sequence[FilledJob]) -> dict[int, int]:
    """Return the rates of the jobs' configurations that were not deleted since; they can't be until the commit."""
    wanted = [entry.configuration_id for job in jobs for entry in job.entries]
    rates: dict[int, int] = {}
    for start in range(0, len(wanted), _IDS_TOGETHER):
        found = transaction.session.execute(
            select(Configuration.id, Configuration.max_rate)
            .where(Configuration.id.in_(wanted[start : start + _IDS_TOGETHER]))
            .with_for_update(read=True, key_share=True)
        )
        rates.update({row.id: row.max_rate for row in found})
    return rates


def _row(planned: RunPlan, channel_id: int, job: FilledJob, of_domains: Mapping[str, Mapping[str, str]]) -> HarvestJob:
    """Return the row of a job. `of_domains` has what jobs keep of the extended fields of domains, by their names."""
    kept = {
        entry.domain_name: dict(of_domains[entry.domain_name])
        for entry in job.entries
        if entry.domain_name in of_domains
    }
    return HarvestJob(
        harvest_id=planned.harvest_id,
        run_number=planned.run_number,
        channel_id=channel_id,
        collection=planned.collection,
        status=JobStatus.DRAFT,
        template_name=job.template,
        template_version=job.template_version,
        profile=job.profile,
        seeds="\n".join(job.seeds),
        max_bytes=job.limits.bytes,
        max_objects=job.limits.objects,
        max_seconds=planned.max_seconds,
        expected_objects=job.expected,
        configurations_count=len(job.entries),
        aliases=dict(job.aliases),
        duplicate_reduction_jobs=list(planned.duplicate_reduction_jobs),
        facts={**planned.facts, **({"domains": kept} if kept else {})},
        created=planned.now,
    )
