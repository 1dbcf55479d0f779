"""Find the harvests and jobs that write to a collection."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from admin.models.harvest_tables import Harvest
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.operation import OutputModel
from admin.models.transaction import Transaction
from archive.dates import Micros

MOST_JOBS: Final = 30
MOST_HARVESTS: Final = 100


class HarvestLink(OutputModel):
    """The link names a harvest whose captures go to the collection."""

    id: int
    name: str
    kind: str
    is_active: bool


class JobLink(OutputModel):
    """The link names a job that wrote to the collection, or will."""

    id: int
    harvest_name: str
    status: JobStatus
    objects: int
    bytes: int
    run_name: str | None
    started: Micros | None
    ended: Micros | None


def harvests_of(transaction: Transaction, collection: str) -> list[HarvestLink]:
    """Return the first 100 harvests, by name, that write to the collection now."""
    query = select(Harvest).where(Harvest.collection == collection).order_by(Harvest.name).limit(MOST_HARVESTS)
    return [HarvestLink.model_validate(row) for row in transaction.session.scalars(query)]


def jobs_of(transaction: Transaction, collection: str) -> list[JobLink]:
    """Return the newest 30 jobs of the collection."""
    query = (
        select(HarvestJob, Harvest.name)
        .join(Harvest, Harvest.id == HarvestJob.harvest_id)
        .where(HarvestJob.collection == collection)
        .order_by(HarvestJob.id.desc())
        .limit(MOST_JOBS)
    )
    return [
        JobLink(
            id=job.id,
            harvest_name=harvest,
            status=job.status,
            objects=job.objects,
            bytes=job.bytes,
            run_name=job.run_name,
            started=job.started,
            ended=job.ended,
        )
        for job, harvest in transaction.session.execute(query)
    ]
