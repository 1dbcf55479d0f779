"""A job is deduplicated against the jobs of earlier runs; this module finds their numbers.

Selective harvests take all jobs of their run before. Snapshot harvests take all jobs of the snapshots that they
continue, and those of the chain of snapshots before theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from admin.models.harvest_tables import Harvest, HarvestKind
from admin.models.job_tables import HarvestJob, JobStatus


def earlier_jobs(session: Session, harvest: Harvest, run_number: int) -> tuple[int, ...]:
    """Return the numbers of the jobs that the jobs of this run are deduplicated against."""
    of_jobs = select(HarvestJob.id).where(HarvestJob.status != JobStatus.DRAFT).order_by(HarvestJob.id)
    if harvest.kind == HarvestKind.SELECTIVE:
        query = of_jobs.where(HarvestJob.harvest_id == harvest.id, HarvestJob.run_number == run_number - 1)
    else:
        own = [harvest.id, *continued(session, harvest)]
        before = _last_before(session, own[-1])
        older = [before.id, *continued(session, before)] if before is not None else []
        query = of_jobs.where(HarvestJob.harvest_id.in_([*own[1:], *older]))
    return tuple(session.scalars(query))


def continued(session: Session, harvest: Harvest) -> Sequence[int]:
    """Return the snapshot harvests that this one continues, directly or by others, nearest first."""
    chain: list[int] = []
    following = harvest.previous_id
    while following is not None and following not in chain and following != harvest.id:
        chain.append(following)
        following = session.scalar(select(Harvest.previous_id).where(Harvest.id == following))
    return chain


def _last_before(session: Session, first_id: int) -> Harvest | None:
    """Return the newest snapshot harvest that has run and is older than the first of a chain."""
    first = session.get_one(Harvest, first_id)
    is_older = or_(Harvest.created < first.created, and_(Harvest.created == first.created, Harvest.id < first.id))
    return session.scalar(
        select(Harvest)
        .where(Harvest.kind == HarvestKind.SNAPSHOT, Harvest.runs_made > 0, is_older)
        .order_by(Harvest.created.desc(), Harvest.id.desc())
        .limit(1)
    )
