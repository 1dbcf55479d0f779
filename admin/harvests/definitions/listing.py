"""Harvest definitions are listed by name, and their runs newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import case, func, select

from admin.harvests.definitions.checks import find_harvest
from admin.harvests.input_checks import count_up_to_limit
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Harvest, HarvestKind, HarvestRun, Schedule
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.operation import OutputModel, Page, checked_limit, numbered_page
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

LONGEST_SEARCH: Final = 200
_UNDER_WAY: Final = frozenset((JobStatus.DRAFT, JobStatus.NEW, JobStatus.SUBMITTED, JobStatus.STARTED))


class HarvestItem(OutputModel):
    """The item is one harvest definition in a list."""

    id: int
    name: str
    kind: HarvestKind
    is_active: bool
    why_inactive: str
    schedule: str | None
    next_run: Micros | None
    runs_made: int
    run_now: bool
    edition: int


class RunView(OutputModel):
    """The output describes one run of a harvest."""

    number: int
    started: Micros
    jobs: int
    configurations: int
    left_out: dict[str, int]
    dates_skipped: int
    is_extra: bool
    statuses: dict[str, int]
    """How many of its jobs are in each state."""
    objects: int = 0
    bytes: int = 0
    new_bytes: int = 0
    errors: int = 0
    """How many of its jobs have an error of the harvest or of the upload."""
    first_started: Micros | None = None
    """When the first of its jobs was started."""
    last_ended: Micros | None = None
    """When the last of its jobs ended; None while a job has not ended."""


def list_harvests(
    transaction: Transaction,
    *,
    search: str = "",
    kind: HarvestKind | None = None,
    is_active: bool | None = None,
    after: str = "",
    limit: int = 100,
) -> Page[HarvestItem]:
    """List harvest definitions by name. `search` finds a part of the name, whatever its case."""
    transaction.require(Right.READ)
    if not (search + after).isprintable() or len(search) > LONGEST_SEARCH:
        raise InvalidInput(Problem("search", f"write at most {LONGEST_SEARCH} printable characters"))
    query = select(Harvest, Schedule.name).outerjoin(Schedule, Schedule.id == Harvest.schedule_id)
    if search:
        query = query.where(func.lower(Harvest.name).contains(search.lower(), autoescape=True))
    if kind is not None:
        query = query.where(Harvest.kind == kind)
    if is_active is not None:
        query = query.where(Harvest.is_active.is_(is_active))
    total = count_up_to_limit(transaction, query.with_only_columns(Harvest.id))
    size = checked_limit(limit)
    page = query.where(Harvest.name > after) if after else query
    found = transaction.session.execute(page.order_by(Harvest.name).limit(size + 1)).all()
    items = [
        HarvestItem(
            id=row.id,
            name=row.name,
            kind=HarvestKind(row.kind),
            is_active=row.is_active,
            why_inactive=row.why_inactive,
            schedule=schedule,
            next_run=row.next_run,
            runs_made=row.runs_made,
            run_now=row.run_now,
            edition=row.edition,
        )
        for row, schedule in found[:size]
    ]
    return Page(items=items, next=items[-1].name if len(found) > size else None, total=total)


def list_runs(transaction: Transaction, name: str, *, after: str = "", limit: int = 100) -> Page[RunView]:
    """List the runs of a harvest, newest first, with the states of their jobs."""
    transaction.require(Right.READ)
    row = find_harvest(transaction, name)
    query = select(HarvestRun).where(HarvestRun.harvest_id == row.id)

    def views(runs: Sequence[HarvestRun]) -> list[RunView]:
        return _views(transaction, row.id, runs)

    return numbered_page(
        transaction, query, HarvestRun.number, views, after=after or None, limit=limit, newest_first=True
    )


def show_run(transaction: Transaction, name: str, number: int) -> RunView:
    """Return one run of a harvest. Raises NotFound."""
    transaction.require(Right.READ)
    row = find_harvest(transaction, name)
    query = select(HarvestRun).where(HarvestRun.harvest_id == row.id, HarvestRun.number == number)
    found = transaction.session.scalars(query).one_or_none() if 0 <= number < 2**63 else None
    if found is None:
        raise NotFound(f"run of harvest {row.name}", number)
    return _views(transaction, row.id, [found])[0]


def _views(transaction: Transaction, harvest_id: int, runs: Sequence[HarvestRun]) -> list[RunView]:
    if not runs:
        return []
    numbers = [run.number for run in runs]
    error = case(((HarvestJob.harvest_error != "") | (HarvestJob.upload_error != ""), 1), else_=0)
    counted = transaction.session.execute(
        select(
            HarvestJob.run_number,
            HarvestJob.status,
            func.count(),
            func.sum(HarvestJob.objects),
            func.sum(HarvestJob.bytes),
            func.sum(HarvestJob.new_bytes),
            func.sum(error),
            func.min(HarvestJob.started),
            func.max(HarvestJob.ended),
        )
        .where(HarvestJob.harvest_id == harvest_id, HarvestJob.run_number.between(min(numbers), max(numbers)))
        .group_by(HarvestJob.run_number, HarvestJob.status)
    )
    groups: defaultdict[int, list[_JobsOfState]] = defaultdict(list)
    for number, status, count, objects, size, new, errors, started, ended in counted:
        sums = (int(objects), int(size), int(new), int(errors))
        groups[number].append(_JobsOfState(JobStatus(status), count, *sums, started, ended))
    return [_view(run, groups[run.number]) for run in runs]


@dataclass(frozen=True, slots=True)
class _JobsOfState:
    """The jobs of a run that are in one state are added up."""

    status: JobStatus
    count: int
    objects: int
    bytes: int
    new_bytes: int
    errors: int
    started: Micros | None
    ended: Micros | None


def _view(run: HarvestRun, groups: Sequence[_JobsOfState]) -> RunView:
    is_over = bool(groups) and not any(group.status in _UNDER_WAY for group in groups)
    return RunView(
        number=run.number,
        started=run.started,
        jobs=run.jobs,
        configurations=run.configurations,
        left_out=run.left_out,
        dates_skipped=run.dates_skipped,
        is_extra=run.is_extra,
        statuses={str(group.status): group.count for group in groups},
        objects=sum(group.objects for group in groups),
        bytes=sum(group.bytes for group in groups),
        new_bytes=sum(group.new_bytes for group in groups),
        errors=sum(group.errors for group in groups),
        first_started=min((group.started for group in groups if group.started is not None), default=None),
        last_ended=max((group.ended for group in groups if group.ended is not None), default=None) if is_over else None,
    )
