"""Ways to break the dispatch on purpose, each with a sequence of steps and a search in which the model finds it.

The sequence is short and always the same, so that every run of the tests shows that the model sees the broken part. The
search gives hypothesis a few rules of the model, and leaves the steps to hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import select, update

from admin.harvests.dispatch import queue, reports
from admin.harvests.dispatch.queue import ClaimedJob
from admin.models.job_tables import Harvester, HarvestJob, JobStatus
from admin.models.transaction import Transaction
from admin.scheduler import assembly
from admin.scheduler.lease import LeaseFence
from support.admin.dispatch_model import DispatchModel
from support.stores.faulty_database import Ill

type Step = Callable[[DispatchModel], object]


def queue_without_compare(
    transaction: Transaction, job_id: int, before: JobStatus, after: JobStatus, **values: Any
) -> bool:
    """`queue.move` that does not look again whether the job is in the first state."""
    transaction.session.execute(
        update(HarvestJob).where(HarvestJob.id == job_id).values(status=after, edition=HarvestJob.edition + 1, **values)
    )
    return True


def no_statistics(transaction: Transaction, job_id: int) -> bool:
    """`reports._has_statistics` that never finds any."""
    return False


def no_fence(self: LeaseFence, transaction: Transaction) -> None:
    """`LeaseFence.check` that lets everybody write."""


def resubmit_without_end(transaction: Transaction) -> list[int]:
    """`resubmit_after_restart` that makes new jobs of the old ones and leaves these submitted."""
    waiting = transaction.session.scalars(select(HarvestJob.id).where(HarvestJob.status == JobStatus.SUBMITTED)).all()
    made = [queue.resubmit(transaction, job_id) for job_id in waiting]
    transaction.session.execute(update(HarvestJob).where(HarvestJob.id.in_(waiting)).values(status=JobStatus.SUBMITTED))
    return made


def claim_beside_another(transaction: Transaction, harvester: str, home: str = "") -> ClaimedJob | None:
    """`claim_job` that does not ask whether the harvester has a job already."""
    row = transaction.session.get_one(Harvester, harvester)
    query = select(HarvestJob.id).where(
        HarvestJob.channel_id == row.channel_id, HarvestJob.status == JobStatus.SUBMITTED
    )
    job_id = transaction.session.scalars(query.order_by(HarvestJob.id)).first()
    if job_id is None:
        return None
    changes = {"harvester": harvester, "token": str(job_id), "started": transaction.now, "heard": transaction.now}
    queue.move(transaction, job_id, JobStatus.SUBMITTED, JobStatus.STARTED, **changes)
    return queue.claimed(transaction, job_id)


@dataclass(frozen=True)
class Mutation:
    """A function of the program, a worse one in its place, what the model says of it, and where it finds that."""

    place: Any
    name: str
    worse: Callable[..., Any]
    finding: str
    steps: tuple[Step, ...]
    rules: tuple[str, ...]
    kind: str = "copies"


def works(which: int, steps: int) -> Step:
    """A harvester says so many things."""
    return lambda model: model.harvester_works(which=which, steps=steps)


def looks(which: int = 0) -> Step:
    """A scheduler looks once, and nothing goes wrong."""
    return lambda model: model.scheduler_looks(which=which, ill=None, at=0, other=0, by=0)


UNTIL_CLAIM: Final = 3
"""A new harvester registers, asks for what it has not finished, and says that it is ready, before it asks for a job."""
JOBS_WAIT: Final = (works(0, UNTIL_CLAIM), works(1, UNTIL_CLAIM), looks(), looks())
"""Two harvesters are about to ask for a job, and two jobs are submitted."""
OFTEN: Final = ("scheduler_looks", "harvester_works", "clock_moves")

MUTATIONS: Final = {
    "the state is not compared": Mutation(
        *(queue, "move", queue_without_compare, "crawled|changed its owner|went from|no chain"),
        steps=(*JOBS_WAIT, lambda model: model.requests_for_jobs_cross(at=4, is_late=False)),
        rules=(*OFTEN, "requests_for_jobs_cross"),
        kind="postgresql_copies",
    ),
    "the end is stored again": Mutation(
        *(reports, "_has_statistics", no_statistics, "never reported|statistics"),
        steps=(
            *JOBS_WAIT,
            works(0, 1),
            lambda model: model.harvester_is_killed(which=0),
            works(0, 3),
            lambda model: model.answer_is_lost(which=0),
        ),
        rules=(*OFTEN, "harvester_is_killed", "answer_is_lost"),
    ),
    "the lease fences nobody": Mutation(
        *(LeaseFence, "check", no_fence, "run .* has"),
        steps=(
            lambda model: model.scheduler_is_slow_and_the_next_meets_trouble(
                which=0, begins="INSERT INTO jobs", at=0, ill=Ill.KILL, other_begins="UPDATE harvests", other_at=0
            ),
        ),
        rules=("scheduler_is_slow_and_the_next_meets_trouble", "scheduler_looks", "clock_moves"),
        kind="postgresql_copies",
    ),
    "a resubmitted job stays": Mutation(
        *(assembly, "resubmit_after_restart", resubmit_without_end, "went from|with"),
        steps=(*JOBS_WAIT, lambda model: model.scheduler_ends_in_order(which=0), looks()),
        rules=(*OFTEN, "scheduler_ends_in_order", "lease_is_over"),
    ),
    "a harvester takes several jobs": Mutation(
        *(queue, "claim_job", claim_beside_another, "has several jobs"),
        steps=(*JOBS_WAIT, lambda model: model.answer_is_lost(which=0), works(0, 2)),
        rules=(*OFTEN, "answer_is_lost", "message_comes_later"),
    ),
}
