"""A plan holds what all jobs of one run have in common, read once at the start of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from admin.harvests.domains.crawler_traps import active_global_traps, active_harvest_traps
from admin.harvests.domains.extended_fields import values_for_jobs
from admin.harvests.generation.expectations import BudgetLimits
from admin.models.errors import NotFound
from admin.models.harvest_tables import Channel, Harvest, HarvestKind, HarvestRun
from admin.models.job_tables import HarvestJob, JobStatus
from archive.dates import Micros


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run of a harvest, before its configurations are looked at."""

    harvest_id: int
    name: str
    kind: HarvestKind
    edition: int
    """The harvest's, when the plan was made; jobs of an older edition are not kept."""
    run_number: int
    is_extra: bool
    """A person asked for the run before its date."""
    was_asked_for: bool
    now: Micros
    channel_id: int | None
    collection: str
    limits: BudgetLimits
    max_seconds: int
    continued: tuple[int, ...]
    """The snapshot harvests that this one continues, nearest first."""
    duplicate_reduction_jobs: tuple[int, ...]
    traps: tuple[str, ...]
    """Of the active lists and of the harvest itself."""
    facts: Mapping[str, Any]
    permission: str = ""
    """The harvest's own rule for sites without permission; empty follows the setting."""


def plan(session: Session, harvest_id: int, now: Micros) -> RunPlan:
    """Return the plan of the harvest's next run. Raises NotFound."""
    harvest = session.get(Harvest, harvest_id)
    if harvest is None:
        raise NotFound("harvest", harvest_id)
    number = session.scalar(
        select(func.coalesce(func.max(HarvestRun.number) + 1, 0)).where(HarvestRun.harvest_id == harvest_id)
    )
    assert number is not None
    is_due = harvest.is_active and (harvest.next_run is not None and harvest.next_run < now)
    return RunPlan(
        harvest_id=harvest.id,
        name=harvest.name,
        kind=harvest.kind,
        edition=harvest.edition,
        run_number=number,
        is_extra=harvest.kind == HarvestKind.SELECTIVE and harvest.run_now and not is_due,
        was_asked_for=harvest.run_now,
        now=now,
        channel_id=harvest.channel_id or _default_channel(session, harvest.kind),
        collection=harvest.collection,
        limits=BudgetLimits(harvest.max_objects, harvest.max_bytes),
        max_seconds=harvest.max_seconds,
        continued=tuple(_continued(session, harvest)),
        duplicate_reduction_jobs=_earlier_jobs(session, harvest, number),
        traps=_traps(session, harvest_id),
        facts=_facts(session, harvest, number),
        permission=harvest.permission,
    )


def _default_channel(session: Session, kind: HarvestKind) -> int | None:
    return session.scalar(
        select(Channel.id)
        .where(Channel.is_default.is_(True), Channel.takes_snapshots.is_(kind == HarvestKind.SNAPSHOT))
        .order_by(Channel.id)
        .limit(1)
    )


def _traps(session: Session, harvest_id: int) -> tuple[str, ...]:
    own = active_harvest_traps(session, [harvest_id]).get(harvest_id, [])
    return tuple(dict.fromkeys([*active_global_traps(session), *own]))


def _facts(session: Session, harvest: Harvest, run_number: int) -> Mapping[str, Any]:
    """Return what warcinfo says of the harvest."""
    return {
        **harvest.facts,
        "harvest": harvest.name,
        "kind": str(harvest.kind),
        "run": run_number,
        "comments": harvest.comments,
        "audience": harvest.audience,
        "schedule": harvest.schedule.name if harvest.schedule is not None else "",
        "extended": values_for_jobs(session, "harvest", [harvest.id]).get(harvest.id, {}),
    }


def _earlier_jobs(session: Session, harvest: Harvest, run_number: int) -> tuple[int, ...]:
    """Return the numbers of the jobs that the jobs of this run are deduplicated against.

    Selective harvests take all jobs of their run before. Snapshot harvests take all jobs of the snapshots that they
    continue, and those of the chain of snapshots before theirs.
    """
    of_jobs = select(HarvestJob.id).where(HarvestJob.status != JobStatus.DRAFT).order_by(HarvestJob.id)
    if harvest.kind == HarvestKind.SELECTIVE:
        query = of_jobs.where(HarvestJob.harvest_id == harvest.id, HarvestJob.run_number == run_number - 1)
    else:
        own = [harvest.id, *_continued(session, harvest)]
        before = _last_before(session, own[-1])
        older = [before.id, *_continued(session, before)] if before is not None else []
        query = of_jobs.where(HarvestJob.harvest_id.in_([*own[1:], *older]))
    return tuple(session.scalars(query))


def _continued(session: Session, harvest: Harvest) -> Sequence[int]:
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
