"""Jobs as pages and programs see them: lists with filters, one job whole, its samples over time."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from sqlalchemy import func, select

from admin.harvests.input_checks import COUNTED, checked_limit, count_up_to_limit
from admin.models.domain_tables import Domain
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Channel, Harvest
from admin.models.job_tables import DomainHistory, HarvestJob, JobConfiguration, JobSample, JobStatus, StopReason
from admin.models.operation import OutputModel, Page
from admin.models.transaction import Transaction
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
    harvest_error: str
    upload_error: str
    harvester: str | None
    created: Micros
    started: Micros | None
    ended: Micros | None


class JobDomain(OutputModel):
    """The model describes one domain of a job: why the domain is in the job, and what the job got of it."""

    domain_name: str
    configuration_name: str
    expected_objects: int
    max_bytes: int
    max_objects: int
    reason: str
    objects: int | None = None
    bytes: int | None = None
    new_bytes: int | None = None
    stop_reason: StopReason | None = None


class JobView(JobLine):
    """The model holds one job whole, apart from its seeds and domains, which can be many."""

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


def list_jobs(
    transaction: Transaction,
    *,
    status: JobStatus | None = None,
    harvest_id: int | None = None,
    run_number: int | None = None,
    channel: str | None = None,
    domain: str | None = None,
    harvester: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page[JobLine]:
    """Return jobs, newest first; `after` is the number of the last job of the page before."""
    query = select(HarvestJob.id)
    if status is not None:
        query = query.where(HarvestJob.status == status)
    if harvest_id is not None:
        query = query.where(HarvestJob.harvest_id == harvest_id)
    if run_number is not None:
        query = query.where(HarvestJob.run_number == run_number)
    if channel is not None:
        found = transaction.session.scalar(select(Channel.id).where(Channel.name == channel))
        if found is None:
            raise NotFound("channel", channel)
        query = query.where(HarvestJob.channel_id == found)
    if harvester is not None:
        query = query.where(HarvestJob.harvester == harvester)
    if domain is not None:
        query = query.where(
            select(JobConfiguration.id)
            .where(JobConfiguration.job_id == HarvestJob.id, JobConfiguration.domain_name == domain)
            .exists()
        )
    total = count_up_to_limit(transaction, query)
    if after is not None:
        if not after.isdecimal() or len(after) > 18:
            raise InvalidInput(Problem("after", f"{after[:50]!r} is no job's number"))
        query = query.where(HarvestJob.id < int(after))
    wanted = checked_limit(limit)
    numbers = transaction.session.scalars(query.order_by(HarvestJob.id.desc()).limit(wanted + 1)).all()
    shown = numbers[:wanted]
    rows = transaction.session.execute(
        select(HarvestJob, Harvest.name, Channel.name)
        .join(Harvest, Harvest.id == HarvestJob.harvest_id)
        .join(Channel, Channel.id == HarvestJob.channel_id)
        .where(HarvestJob.id.in_(shown))
        .order_by(HarvestJob.id.desc())
    )
    return Page[JobLine](
        items=[JobLine(**_line(job, harvest, name)) for job, harvest, name in rows],
        next=str(shown[-1]) if len(numbers) > wanted else None,
        total=total,
    )


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


def job_domains(
    transaction: Transaction, job_id: int, *, after: str | None = None, limit: int = 100
) -> Page[JobDomain]:
    """Return the job's domains by name, with what the job got of each; `after` is the last name of the page before."""
    wanted = checked_limit(limit)
    query = select(JobConfiguration).where(JobConfiguration.job_id == job_id)
    total = count_up_to_limit(transaction, query.with_only_columns(JobConfiguration.id))
    if after is not None:
        query = query.where(JobConfiguration.domain_name > after)
    rows = transaction.session.scalars(query.order_by(JobConfiguration.domain_name).limit(wanted + 1)).all()
    shown = rows[:wanted]
    found = transaction.session.execute(
        select(Domain.name, DomainHistory)
        .join(Domain, Domain.id == DomainHistory.domain_id)
        .where(DomainHistory.job_id == job_id, Domain.name.in_([row.domain_name for row in shown]))
    )
    results = {row[0]: row[1] for row in found}
    return Page[JobDomain](
        items=[_domain(row, results.get(row.domain_name)) for row in shown],
        next=shown[-1].domain_name if len(rows) > wanted else None,
        total=total,
    )


def job_samples(transaction: Transaction, job_id: int, *, since: Micros = 0, limit: int = 500) -> list[SampleView]:
    """Return samples of the job's progress after `since`, oldest first, without hosts apart from the newest one."""
    rows = transaction.session.scalars(
        select(JobSample)
        .where(JobSample.job_id == job_id, JobSample.at > since)
        .order_by(JobSample.at.desc())
        .limit(checked_limit(limit, 2_000))
    ).all()
    found = [
        SampleView(at=row.at, state=row.state, progress=row.progress, hosts=row.hosts if number == 0 else [])
        for number, row in enumerate(rows)
    ]
    return found[::-1]


def count_by_status(transaction: Transaction) -> dict[JobStatus, int]:
    """Return how many jobs are in each state; a state with more than 10,000 jobs is counted to 10,001."""
    return {
        status: transaction.session.scalar(
            select(func.count()).select_from(
                select(HarvestJob.id).where(HarvestJob.status == status).limit(COUNTED + 1).subquery()
            )
        )
        or 0
        for status in JobStatus
    }


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
        "harvest_error": job.harvest_error,
        "upload_error": job.upload_error,
        "harvester": job.harvester,
        "created": job.created,
        "started": job.started,
        "ended": job.ended,
    }


def _domain(row: JobConfiguration, result: DomainHistory | None) -> JobDomain:
    found = JobDomain.model_validate(row)
    if result is None:
        return found
    return found.model_copy(
        update={
            "objects": result.objects,
            "bytes": result.bytes,
            "new_bytes": result.new_bytes,
            "stop_reason": StopReason(result.stop_reason),
        }
    )
