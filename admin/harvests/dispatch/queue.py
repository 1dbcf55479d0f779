"""Jobs go from NEW to SUBMITTED when a harvester of their channel is there, and to STARTED when one takes them.

The database is the queue. A job is taken by one UPDATE that asks for its state again, so that of two harvesters that
want the same job exactly one gets it, and a process that is killed at any point leaves the job with one owner or with
none.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import select, update
from sqlalchemy.orm import selectinload

from admin.harvests.dispatch.job_status import ENDED, RESUBMITTABLE, check_transition
from admin.harvests.dispatch.observations import forget_observations
from admin.harvests.domains.seeds import seed_lines
from admin.models.errors import IllegalState, NotFound
from admin.models.harvest_tables import Channel
from admin.models.job_tables import Harvester, HarvesterState, HarvestJob, JobCommand, JobConfiguration, JobStatus
from admin.models.transaction import Transaction
from archive.dates import Micros

READY_AFTER: Final[Micros] = 300_000_000
"""A channel is served while one of its harvesters was heard within this time."""
TOO_LATE: Final = "not carried out: the crawl has ended"
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class ClaimedDomain:
    """A claimed domain describes one domain of a claimed job."""

    domain_name: str
    configuration_name: str
    max_bytes: int
    max_objects: int
    expected_objects: int
    max_rate: int = 0
    """Visits in a minute to each host of the domain; 0 is no rate."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A harvester gets this when it takes a job: the job's own copy of everything that it needs."""

    id: int
    token: str
    harvest_id: int
    harvest_name: str
    run_number: int
    channel: str
    collection: str
    template_name: str
    template_version: int
    profile: dict[str, Any]
    seeds: tuple[str, ...]
    max_bytes: int
    max_objects: int
    max_seconds: int
    harvest_max_bytes: int
    """The harvest's own limit for each domain; a domain's limit may be lower, by its configuration."""
    harvest_max_objects: int
    domains: tuple[ClaimedDomain, ...]
    aliases: dict[str, str]
    duplicate_reduction_jobs: tuple[int, ...]
    facts: dict[str, Any]
    created: Micros


def submit_jobs(transaction: Transaction, *, at_most: int = 100, per_channel: int = 0) -> int:
    """Submit NEW jobs of channels that a harvester listens to, oldest first. Return how many.

    At most `at_most` of each channel are submitted, so that a channel with many jobs holds up no other channel.
    `per_channel` limits how many submitted jobs of a channel may wait; 0 is no limit.
    """
    served = transaction.session.scalars(
        select(Harvester.channel_id)
        .where(Harvester.heard > transaction.now - READY_AFTER, Harvester.state != HarvesterState.STOPPED)
        .distinct()
    ).all()
    submitted = 0
    for channel_id in sorted(served):
        room = at_most
        if per_channel:
            waiting = transaction.session.scalars(
                select(HarvestJob.id)
                .where(HarvestJob.channel_id == channel_id, HarvestJob.status == JobStatus.SUBMITTED)
                .limit(per_channel)
            ).all()
            room = min(room, per_channel - len(waiting))
        if room <= 0:
            continue
        jobs = transaction.session.scalars(
            select(HarvestJob.id)
            .where(HarvestJob.channel_id == channel_id, HarvestJob.status == JobStatus.NEW)
            .order_by(HarvestJob.id)
            .limit(room)
        ).all()
        for job_id in jobs:
            submitted += move(transaction, job_id, JobStatus.NEW, JobStatus.SUBMITTED, submitted=transaction.now)
    return submitted


def claim_job(transaction: Transaction, harvester: str, home: str = "") -> ClaimedJob | None:
    """Take the oldest submitted job of the harvester's channel; None when there is none.

    Raises NotFound for a harvester that never registered, and for one whose name a harvester of another home has now;
    IllegalState for one that still has a job.
    """
    row = transaction.session.get(Harvester, harvester, with_for_update=True)
    if row is None or row.home != home:
        raise NotFound("harvester", harvester)
    mine = transaction.session.scalar(
        select(HarvestJob.id).where(HarvestJob.harvester == harvester, HarvestJob.status == JobStatus.STARTED).limit(1)
    )
    if mine is not None:
        raise IllegalState(f"harvester {harvester} still works on job {mine}; it must report the end of that job first")
    for _ in range(_TRIES):
        job_id = transaction.session.scalar(
            select(HarvestJob.id)
            .where(HarvestJob.channel_id == row.channel_id, HarvestJob.status == JobStatus.SUBMITTED)
            .order_by(HarvestJob.id)
            .limit(1)
        )
        if job_id is None:
            return None
        token = secrets.token_urlsafe(24)
        changes = {"harvester": harvester, "token": token, "started": transaction.now, "heard": transaction.now}
        if move(transaction, job_id, JobStatus.SUBMITTED, JobStatus.STARTED, **changes):
            row.state, row.why, row.job_id, row.heard = HarvesterState.WORKING, "", job_id, transaction.now
            transaction.audit("job.start", "job", job_id, f"job {job_id}", new={"harvester": harvester})
            return claimed(transaction, job_id)
    return None


def claimed(transaction: Transaction, job_id: int) -> ClaimedJob:
    """Return a started job as its harvester has it. Raises NotFound."""
    job = transaction.session.scalar(
        select(HarvestJob)
        .where(HarvestJob.id == job_id)
        .options(selectinload(HarvestJob.configurations), selectinload(HarvestJob.harvest))
    )
    if job is None:
        raise NotFound("job", job_id)
    transaction.session.refresh(job)
    channel = transaction.session.get_one(Channel, job.channel_id)
    return ClaimedJob(
        id=job.id,
        token=job.token or "",
        harvest_id=job.harvest_id,
        harvest_name=job.harvest.name,
        run_number=job.run_number,
        channel=channel.name,
        collection=job.collection,
        template_name=job.template_name,
        template_version=job.template_version,
        profile=dict(job.profile),
        seeds=tuple(seed_lines(job.seeds)),
        max_bytes=job.max_bytes,
        max_objects=job.max_objects,
        max_seconds=job.max_seconds,
        harvest_max_bytes=job.harvest.max_bytes,
        harvest_max_objects=job.harvest.max_objects,
        domains=tuple(
            ClaimedDomain(
                each.domain_name,
                each.configuration_name,
                each.max_bytes,
                each.max_objects,
                each.expected_objects,
                each.max_rate,
            )
            for each in job.configurations
        ),
        aliases=dict(job.aliases),
        duplicate_reduction_jobs=tuple(job.duplicate_reduction_jobs),
        facts=dict(job.facts),
        created=job.created,
    )


def unfinished_jobs(transaction: Transaction, harvester: str, home: str = "") -> list[ClaimedJob]:
    """Return the jobs that a harvester has taken and has not reported the end of, oldest first.

    There are none for a harvester whose name a harvester of another home has now.
    """
    found = transaction.session.scalars(
        select(HarvestJob.id)
        .join(Harvester, Harvester.name == HarvestJob.harvester)
        .where(HarvestJob.status == JobStatus.STARTED, Harvester.name == harvester, Harvester.home == home)
        .order_by(HarvestJob.id)
    ).all()
    return [claimed(transaction, job_id) for job_id in found]


def resubmit(transaction: Transaction, job_id: int) -> int:
    """Make a new job with the same content, and mark the old one as resubmitted. Return the new job's number.

    Raises NotFound, and IllegalState unless the job is SUBMITTED or FAILED.
    """
    old = transaction.session.get(HarvestJob, job_id, with_for_update=True)
    if old is None:
        raise NotFound("job", job_id)
    if old.status not in RESUBMITTABLE:
        check_transition(job_id, old.status, JobStatus.RESUBMITTED)
    new = HarvestJob(
        **{name: getattr(old, name) for name in _CONTENT},
        status=JobStatus.NEW,
        created=transaction.now,
        resubmission_of_id=old.id,
        continuation_of_id=old.id if old.status is JobStatus.FAILED else None,
        harvest_error="",
        harvest_error_details="",
        upload_error="",
        upload_error_details="",
        configurations=[
            JobConfiguration(**{name: getattr(each, name) for name in _CONFIGURATION_CONTENT})
            for each in old.configurations
        ],
    )
    transaction.session.add(new)
    transaction.session.flush()
    before = old.status
    if not move(transaction, job_id, before, JobStatus.RESUBMITTED, resubmitted_as_id=new.id):
        raise IllegalState(f"job {job_id} changed its state at this moment; look again")
    transaction.audit(
        "job.resubmit", "job", job_id, f"job {job_id}", old={"status": before}, new={"resubmitted_as": new.id}
    )
    return new.id


def resubmit_after_restart(transaction: Transaction) -> list[int]:
    """Submit every SUBMITTED job again as a new job. Return the new jobs' numbers.

    After a restart, nothing says whether a harvester was told of a submitted job.
    """
    waiting = transaction.session.scalars(
        select(HarvestJob.id).where(HarvestJob.status == JobStatus.SUBMITTED).order_by(HarvestJob.id)
    ).all()
    return [resubmit(transaction, job_id) for job_id in waiting]


def move(transaction: Transaction, job_id: int, before: JobStatus, after: JobStatus, **values: Any) -> bool:
    """Bring a job from one state to the next, with further values. Return whether the job was in the first state.

    Raises IllegalState for states that may not follow each other.
    """
    check_transition(job_id, before, after)
    changed = transaction.session.execute(
        update(HarvestJob)
        .where(HarvestJob.id == job_id, HarvestJob.status == before)
        .values(status=after, edition=HarvestJob.edition + 1, **values)
        .execution_options(synchronize_session="fetch")
    )
    if not changed.rowcount:  # type: ignore[attr-defined]
        return False
    if after in ENDED:
        transaction.session.execute(
            update(JobCommand)
            .where(JobCommand.job_id == job_id, JobCommand.done.is_(None))
            .values(done=transaction.now, outcome=TOO_LATE)
            .execution_options(synchronize_session="fetch")
        )
    if after in ENDED and after is not JobStatus.FAILED:
        forget_observations(transaction, job_id)
    return True


_CONTENT: Final = (
    *("harvest_id", "run_number", "channel_id", "collection", "template_name", "template_version", "profile", "seeds"),
    *("max_bytes", "max_objects", "max_seconds", "expected_objects", "configurations_count", "aliases"),
    *("duplicate_reduction_jobs", "facts"),
)
_CONFIGURATION_CONTENT: Final = (
    *("position", "configuration_id", "domain_name", "configuration_name", "expected_objects", "max_bytes"),
    *("max_objects", "max_rate", "reason"),
)
