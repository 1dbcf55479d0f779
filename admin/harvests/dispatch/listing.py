"""Jobs as pages and programs see them: lists with filters, one job whole, its samples over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from pydantic import Field
from sqlalchemy import ScalarSelect, Select, bindparam, func, literal, literal_column, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from admin.even_choice import CHART_POINTS, evenly_chosen
from admin.harvests.input_checks import COUNTED, count_up_to_limit
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Channel, Harvest
from admin.models.job_tables import HarvestJob, JobConfiguration, JobSample, JobStatus
from admin.models.operation import OutputModel, Page, checked_limit, number_after
from admin.models.plain_text import comparable
from admin.models.transaction import Transaction
from admin.units import counted
from archive.dates import Micros


class JobLine(OutputModel):
    """One line of a list of jobs."""

    id: int
    harvest_id: int
    harvest_name: str
    run_number: int
    channel: str
    status: JobStatus
    configurations: int
    expected_objects: int
    objects: int
    bytes: int
    new_bytes: int
    harvest_error: str
    upload_error: str
    gaps: str
    unanswered_domains: int
    harvester: str | None
    created: Micros
    started: Micros | None
    ended: Micros | None


class JobView(JobLine):
    """A job view holds one job whole, apart from its seeds and domains, which can be many."""

    edition: int
    collection: str
    template_name: str
    template_version: int
    profile: dict[str, Any]
    max_bytes: int
    max_objects: int
    max_seconds: int
    submitted: Micros | None
    heard: Micros | None
    run_name: str | None
    resubmitted_as_id: int | None
    resubmission_of_id: int | None
    continuation_of_id: int | None
    harvest_error_details: str
    upload_error_details: str
    exit_code: int | None
    aliases: dict[str, str]
    duplicate_reduction_jobs: list[int]
    facts: dict[str, Any]
    report: dict[str, Any] | None


class SampleView(OutputModel):
    """A sample is a running job's progress at one moment."""

    at: Micros
    state: str
    progress: dict[str, Any]
    hosts: list[dict[str, Any]] = Field(default_factory=list)


class JobOrder(StrEnum):
    """Lists of jobs have one of these orders; an index serves each of them."""

    NEWEST = "newest"
    OLDEST = "oldest"
    HARVEST = "harvest"
    """By harvest, newest runs first."""
    STATE = "state"
    """By state, newest first."""
    CHANNEL = "channel"
    """By channel and state, newest first."""


_ORDERS: Final[Mapping[JobOrder, tuple[tuple[InstrumentedAttribute[Any], ...], bool]]] = {
    JobOrder.NEWEST: ((HarvestJob.id,), True),
    JobOrder.OLDEST: ((HarvestJob.id,), False),
    JobOrder.HARVEST: ((HarvestJob.harvest_id, HarvestJob.run_number, HarvestJob.id), True),
    JobOrder.STATE: ((HarvestJob.status, HarvestJob.id), True),
    JobOrder.CHANNEL: ((HarvestJob.channel_id, HarvestJob.status, HarvestJob.id), True),
}
"""The columns of an index, and whether the order is descending."""


_LINES: Final = (
    select(
        HarvestJob.id,
        HarvestJob.harvest_id,
        Harvest.name.label("harvest_name"),
        HarvestJob.run_number,
        Channel.name.label("channel"),
        HarvestJob.status,
        HarvestJob.configurations_count.label("configurations"),
        HarvestJob.expected_objects,
        HarvestJob.objects,
        HarvestJob.bytes,
        HarvestJob.new_bytes,
        HarvestJob.harvest_error,
        HarvestJob.upload_error,
        HarvestJob.gaps,
        HarvestJob.unanswered_domains,
        HarvestJob.harvester,
        HarvestJob.created,
        HarvestJob.started,
        HarvestJob.ended,
    )
    .join(Harvest, Harvest.id == HarvestJob.harvest_id)
    .join(Channel, Channel.id == HarvestJob.channel_id)
    .where(HarvestJob.id.in_(bindparam("numbers", expanding=True)))
)


def list_jobs(
    transaction: Transaction,
    *,
    status: JobStatus | None = None,
    harvest: str | None = None,
    harvest_id: int | None = None,
    run_number: int | None = None,
    channel: str | None = None,
    domain: str | None = None,
    harvester: str | None = None,
    order: JobOrder = JobOrder.NEWEST,
    after: str | None = None,
    limit: int = 50,
) -> Page[JobLine]:
    """Return jobs in an order; `after` is the number of the last job of the page before. Raises NotFound, InvalidInput.

    A run is one of a harvest, so `run_number` needs `harvest`, its name, or `harvest_id`.
    """
    if harvest is not None:
        harvest_id = _harvest_number(transaction, harvest, harvest_id)
    if run_number is not None and harvest_id is None:
        raise InvalidInput(Problem("run_number", f"run {run_number} of which harvest? Give the harvest's name too"))
    query = select(HarvestJob.id)
    columns, is_descending = _ORDERS[order]
    sorted_by: Sequence[Any] = columns
    others = (status, harvest_id, run_number, channel, harvester)
    if domain is not None and order in (JobOrder.NEWEST, JobOrder.OLDEST) and all(each is None for each in others):
        # The index of domains gives the jobs in this order: a domain may be in a hundred thousand jobs.
        query = select(JobConfiguration.job_id).where(JobConfiguration.domain_name == comparable(domain))
        sorted_by = (JobConfiguration.job_id,)
    elif domain is not None:
        name = comparable(domain)
        query = query.where(
            HarvestJob.id.in_(select(JobConfiguration.job_id).where(JobConfiguration.domain_name == name))
        )
    if status is not None:
        query = query.where(HarvestJob.status == status)
    if harvest_id is not None:
        query = query.where(HarvestJob.harvest_id == harvest_id)
    if run_number is not None:
        query = query.where(HarvestJob.run_number == run_number)
    if channel is not None:
        found = transaction.session.scalar(select(Channel.id).where(Channel.name == comparable(channel)))
        if found is None:
            raise NotFound("channel", channel)
        query = query.where(HarvestJob.channel_id == found)
    if harvester is not None:
        query = query.where(HarvestJob.harvester == comparable(harvester))
    total = count_up_to_limit(transaction, query)
    if after is not None:
        place, mark = tuple_(*sorted_by), _place(transaction, after, columns)
        query = query.where(place < mark if is_descending else place > mark)
    wanted = checked_limit(limit)
    ordered = query.order_by(*(column.desc() if is_descending else column for column in sorted_by))
    numbers = transaction.session.scalars(ordered.limit(wanted + 1)).all()
    shown = numbers[:wanted]
    return Page[JobLine](
        items=lines_of(transaction, shown),
        next=str(shown[-1]) if len(numbers) > wanted else None,
        total=total,
    )


def _harvest_number(transaction: Transaction, name: str, number: int | None) -> int:
    """Return the number of the harvest of this name. Raises NotFound, also when another number is asked for, too."""
    found = transaction.session.scalar(select(Harvest.id).where(Harvest.name == comparable(name)))
    if found is None or number not in (None, found):
        raise NotFound("harvest", name)
    return found


def lines_of(transaction: Transaction, numbers: Sequence[int]) -> list[JobLine]:
    """Return the lines of these jobs, in this order."""
    rows = transaction.session.execute(_LINES, {"numbers": list(numbers)}) if numbers else ()
    found = {row.id: JobLine.model_validate(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def _place(transaction: Transaction, after: str, columns: Sequence[InstrumentedAttribute[Any]]) -> Any:
    """Return the place of a job in an order. Raises InvalidInput for what is no job."""
    row = transaction.session.execute(select(*columns).where(HarvestJob.id == number_after(after))).one_or_none()
    if row is None:
        raise InvalidInput(Problem("after", f"there is no job {after}; begin with the first page"))
    return tuple_(*(literal(value, column.type) for value, column in zip(row, columns, strict=True)))


def show_job(transaction: Transaction, job_id: int) -> JobView:
    """Return one job. Raises NotFound."""
    row = transaction.session.execute(
        select(HarvestJob, Harvest.name, Channel.name)
        .join(Harvest, Harvest.id == HarvestJob.harvest_id)
        .join(Channel, Channel.id == HarvestJob.channel_id)
        .where(HarvestJob.id == job_id)
    ).one_or_none()
    if row is None:
        raise NotFound("job", job_id)
    job, harvest, channel = row
    fields = [name for name in JobView.model_fields if name not in JobLine.model_fields]
    return JobView(**_line(job, harvest, channel), **{name: getattr(job, name) for name in fields})


def job_seeds(transaction: Transaction, job_id: int) -> bytes:
    """Return the job's seeds, one on each line. Raises NotFound."""
    seeds = transaction.session.scalar(select(HarvestJob.seeds).where(HarvestJob.id == job_id))
    if seeds is None:
        raise NotFound("job", job_id)
    return seeds.encode()


def job_samples(transaction: Transaction, job_id: int, *, since: Micros = 0, limit: int = 500) -> list[SampleView]:
    """Return samples of the job's progress after `since`, oldest first, without hosts apart from the newest one."""
    chosen = _SAMPLE.where(JobSample.job_id == job_id, JobSample.at > since).limit(checked_limit(limit, 2_000))
    return _samples(transaction, chosen)


def job_curve(transaction: Transaction, job_id: int, *, points: int = CHART_POINTS) -> list[SampleView]:
    """Return at most so many samples of the job's progress, evenly chosen, oldest first, the newest one among them.

    Only the newest sample has hosts. To read a sample's document is dear, so that only chosen ones are read.
    """
    newest = select(JobSample.id).where(JobSample.job_id == job_id).order_by(JobSample.id.desc()).limit(2_000)
    ids = transaction.session.scalars(newest).all()
    return _samples(transaction, _SAMPLE.where(JobSample.id.in_(evenly_chosen(ids, points))))


_MOVING: Final = frozenset(("group", "held", "paused", "politeness", "ready", "retry", "visited"))
"""Kinds of reasons for which a host waits that hold while the job runs only."""
_SAMPLE: Final = select(JobSample.id, JobSample.at, JobSample.state, JobSample.progress).order_by(JobSample.id.desc())


def _samples(transaction: Transaction, chosen: Select[int, Micros, str, Any]) -> list[SampleView]:
    """Return the chosen samples, oldest first."""
    rows = transaction.session.execute(chosen).all()
    if not rows:
        return []
    of_newest = select(JobSample.hosts, HarvestJob.status).join(HarvestJob, HarvestJob.id == JobSample.job_id)
    hosts, status = transaction.session.execute(of_newest.where(JobSample.id == rows[0].id)).one()
    if status != JobStatus.STARTED:
        hosts = [_after_the_end(host) for host in hosts]
    found = [
        SampleView(at=row.at, state=row.state, progress=row.progress, hosts=hosts if number == 0 else [])
        for number, row in enumerate(rows)
    ]
    return found[::-1]


def _after_the_end(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return a host of the last sample as it is after the end of the job: nothing moves any more."""
    if host.get("kind") not in _MOVING:
        return dict(host)
    left = host.get("queued") or 0
    return {**host, "kind": "ended", "why": f"the job has ended; {counted(left, 'URL')} not visited"}


def count_by_status(transaction: Transaction) -> dict[JobStatus, int]:
    """Return how many jobs are in each state; a state with more than 10,000 jobs is counted to 10,001."""
    row = transaction.session.execute(_COUNTS).one()
    return dict(zip(JobStatus, row, strict=True))


def _count_of(status: JobStatus) -> ScalarSelect[int]:
    some = select(literal_column("1")).where(HarvestJob.status == status).limit(COUNTED + 1).subquery()
    return select(func.count()).select_from(some).scalar_subquery()


_COUNTS: Final = select(*(_count_of(status) for status in JobStatus))


def _line(job: HarvestJob, harvest: str, channel: str) -> dict[str, Any]:
    return {
        "id": job.id,
        "harvest_id": job.harvest_id,
        "harvest_name": harvest,
        "run_number": job.run_number,
        "channel": channel,
        "status": job.status,
        "configurations": job.configurations_count,
        "expected_objects": job.expected_objects,
        "objects": job.objects,
        "bytes": job.bytes,
        "new_bytes": job.new_bytes,
        "harvest_error": job.harvest_error,
        "upload_error": job.upload_error,
        "gaps": job.gaps,
        "unanswered_domains": job.unanswered_domains,
        "harvester": job.harvester,
        "created": job.created,
        "started": job.started,
        "ended": job.ended,
    }
