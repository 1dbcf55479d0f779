"""An explanation says why a domain is in its job, or why it would be left out."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from admin.harvests.domains.lookup import find_domain
from admin.harvests.generation.jobs import Tally, filled_jobs
from admin.harvests.generation.preview import plan_by_name
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import HarvestRun
from admin.models.job_tables import HarvestJob, JobConfiguration
from admin.models.operation import OutputModel, Page, checked_limit
from admin.models.transaction import Right, Transaction

LONGEST_AFTER: Final = 255


class PlaceInJob(OutputModel):
    """The item is a domain in a job, with the reason that was kept when the job was made."""

    job: int | None
    """None in a preview."""
    domain: str
    configuration: str
    expected_objects: int
    max_bytes: int
    max_objects: int
    reason: str


class DomainExplanation(OutputModel):
    """The output says where a domain was in the newest run of a harvest, and what would become of it now."""

    run: int | None
    last: list[PlaceInJob]
    left_out_then: dict[str, int]
    """Of all domains in that run."""
    now: list[PlaceInJob]
    left_out_now: dict[str, int]
    """Of this domain's configurations."""


def explain_domain(transaction: Transaction, name: str, domain: str) -> DomainExplanation:
    """Return why the domain is in its job, or was left out. Raises NotFound."""
    transaction.require(Right.READ)
    planned = plan_by_name(transaction, name)
    stored = find_domain(transaction, domain).name
    session = transaction.session
    run = session.scalar(
        select(HarvestRun).where(
            HarvestRun.harvest_id == planned.harvest_id, HarvestRun.number == planned.run_number - 1
        )
    )
    tally = Tally()
    now = [
        PlaceInJob(
            job=None,
            domain=entry.domain_name,
            configuration=entry.configuration_name,
            expected_objects=entry.expected,
            max_bytes=entry.limits.bytes,
            max_objects=entry.limits.objects,
            reason=entry.reason.partition("; ")[2],
        )
        for job in filled_jobs(session, planned, transaction.settings, tally, domain=stored)
        for entry in job.entries
    ]
    query = (
        select(JobConfiguration)
        .join(HarvestJob, HarvestJob.id == JobConfiguration.job_id)
        .where(
            HarvestJob.harvest_id == planned.harvest_id,
            HarvestJob.run_number == planned.run_number - 1,
            JobConfiguration.domain_name == stored,
        )
        .order_by(JobConfiguration.id)
    )
    return DomainExplanation(
        run=run.number if run is not None else None,
        last=[_place(row) for row in session.scalars(query)],
        left_out_then=run.left_out if run is not None else {},
        now=now,
        left_out_now=dict(tally.left_out),
    )


def explain_job(transaction: Transaction, job_id: int, *, after: str = "", limit: int = 100) -> Page[PlaceInJob]:
    """List the domains of a job by name, each with its expectation and the reason for its place."""
    transaction.require(Right.READ)
    session = transaction.session
    if not 0 < job_id < 2**63 or session.get(HarvestJob, job_id) is None:
        raise NotFound("job", job_id)
    if not after.isprintable() or len(after) > LONGEST_AFTER:
        raise InvalidInput(Problem("after", f"{after[:100]!a} is no place in this list; use the `next` of a page"))
    size = checked_limit(limit)
    query = select(JobConfiguration).where(JobConfiguration.job_id == job_id)
    if after:
        query = query.where(JobConfiguration.domain_name > after)
    found = session.scalars(query.order_by(JobConfiguration.domain_name).limit(size + 1)).all()
    items = [_place(row) for row in found[:size]]
    return Page(items=items, next=items[-1].domain if len(found) > size else None)


def _place(row: JobConfiguration) -> PlaceInJob:
    return PlaceInJob(
        job=row.job_id,
        domain=row.domain_name,
        configuration=row.configuration_name,
        expected_objects=row.expected_objects,
        max_bytes=row.max_bytes,
        max_objects=row.max_objects,
        reason=row.reason,
    )
