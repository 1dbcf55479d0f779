"""The dispatch, model-checked: whatever dies, comes twice, late or out of order, no job is lost, none runs twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dispatch_model import DispatchModel
from dispatch_parts import PostgresCopies, SqliteCopies
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from postgres_server import PostgresServer
from sqlalchemy import select, update

from admin.harvests.dispatch import queue, reports
from admin.harvests.dispatch.queue import ClaimedJob
from admin.models.job_tables import Harvester, HarvestJob, JobStatus
from admin.models.transaction import Transaction
from admin.scheduler import assembly
from admin.scheduler.lease import LeaseFence


def run(databases: object, *, examples: int, steps: int) -> None:
    """Let hypothesis look for a sequence of steps after which something does not hold."""

    class Machine(DispatchModel):
        pass

    Machine.databases = databases
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            phases=[Phase.generate],
        ),
    )


@pytest.fixture
def copies(tmp_path: Path) -> SqliteCopies:
    return SqliteCopies(tmp_path)


@pytest.fixture
def postgresql_copies(postgres_server: PostgresServer) -> PostgresCopies:
    return PostgresCopies(postgres_server)


@pytest.mark.timeout(600)
def test_nothing_that_goes_wrong_loses_a_job_or_runs_one_twice(copies: SqliteCopies) -> None:
    run(copies, examples=10, steps=40)


@pytest.mark.timeout(600)
def test_nothing_that_comes_between_two_statements_does_either(postgresql_copies: PostgresCopies) -> None:
    run(postgresql_copies, examples=5, steps=40)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["copies", "postgresql_copies"])
def test_the_same_with_many_sequences(request: pytest.FixtureRequest, kind: str) -> None:
    run(request.getfixturevalue(kind), examples=300, steps=60)


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


def claim_beside_another(transaction: Transaction, harvester: str) -> ClaimedJob | None:
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
    """A function of the program, a worse one in its place, and what the model says of it."""

    place: Any
    name: str
    worse: Callable[..., Any]
    finding: str
    kind: str = "copies"


MUTATIONS = {
    "the state is not compared": Mutation(
        queue, "move", queue_without_compare, "crawled|changed its owner|went from|no chain", "postgresql_copies"
    ),
    "the end is stored again": Mutation(reports, "_has_statistics", no_statistics, "end|reported|statistics"),
    "the lease fences nobody": Mutation(LeaseFence, "check", no_fence, "run .* has|runs|refused"),
    "a resubmitted job stays": Mutation(assembly, "resubmit_after_restart", resubmit_without_end, "went from|with"),
    "a harvester takes several jobs": Mutation(queue, "claim_job", claim_beside_another, "has several jobs"),
}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
def test_the_model_finds_what_is_broken(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    databases = request.getfixturevalue(mutation.kind)
    monkeypatch.setattr(mutation.place, mutation.name, mutation.worse)
    with pytest.raises(AssertionError, match=mutation.finding):
        run(databases, examples=300, steps=60)
