"""A preview says what would be generated now, without writing anything."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from admin.harvests.generation.jobs import Tally, filled_jobs
from admin.harvests.generation.plan import RunPlan, plan
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Harvest
from admin.models.operation import OutputModel
from admin.models.transaction import Right, Transaction

MOST_CONFIGURATIONS: Final = 1_000_000
SHOWN_JOBS: Final = 100


class JobPreview(OutputModel):
    """The item is a job that would be made."""

    template: str
    template_version: int
    configurations: int
    expected_objects: int
    seeds: int
    max_bytes: int
    max_objects: int
    first_domain: str
    begins: str
    """Why the job begins where it does."""


class RunPreview(OutputModel):
    """The output says what a run would be if it were generated now."""

    jobs: int
    configurations: int
    expected_objects: int
    left_out: dict[str, int]
    """How many configurations would be left out, by reason."""
    bad_seeds: int
    """Lines of seed lists that are no URLs and would be passed over."""
    barred_seeds: int
    """Seeds that would be passed over because their sites have no permission, while others of the domain have."""
    deduplicated_against: int
    """How many earlier jobs the new ones would be deduplicated against."""
    is_whole: bool
    """All configurations were looked at."""
    warnings: list[str]
    first_jobs: list[JobPreview]


def preview_run(transaction: Transaction, name: str, *, at_most: int = 100_000) -> RunPreview:
    """Return what would be generated now, by looking at this many configurations. Raises UseCaseError for a harvest
    that would fail.
    """
    transaction.require(Right.READ)
    if not 1 <= at_most <= MOST_CONFIGURATIONS:
        raise InvalidInput(
            Problem("at_most", f"{at_most} can't be used; write a number from 1 to {MOST_CONFIGURATIONS}")
        )
    planned = plan_by_name(transaction, name)
    tally = Tally()
    first: list[JobPreview] = []
    is_whole = True
    for job in filled_jobs(transaction.session, planned, transaction.settings, tally):
        if len(first) < SHOWN_JOBS:
            first.append(
                JobPreview(
                    template=job.template,
                    template_version=job.template_version,
                    configurations=len(job.entries),
                    expected_objects=job.expected,
                    seeds=len(job.seeds),
                    max_bytes=job.limits.bytes,
                    max_objects=job.limits.objects,
                    first_domain=job.entries[0].domain_name,
                    begins=job.entries[0].reason,
                )
            )
        if tally.configurations + tally.left_out.total() >= at_most:
            is_whole = False
            break
    warnings = list(transaction.settings.generation.warnings())
    if planned.channel_id is None:
        warnings.append(f"there is no default channel for {planned.kind} harvests, so the harvest would fail")
    return RunPreview(
        jobs=tally.jobs,
        configurations=tally.configurations,
        expected_objects=tally.expected,
        left_out=dict(sorted(tally.left_out.items())),
        bad_seeds=tally.bad_seeds,
        barred_seeds=tally.barred_seeds,
        deduplicated_against=len(planned.duplicate_reduction_jobs),
        is_whole=is_whole,
        warnings=warnings,
        first_jobs=first,
    )


def plan_by_name(transaction: Transaction, name: str) -> RunPlan:
    """Return the plan of the harvest's next run. Raises NotFound."""
    found = transaction.session.scalar(select(Harvest.id).where(Harvest.name == name)) if name.isprintable() else None
    if found is None:
        raise NotFound("harvest", name)
    return plan(transaction.session, found, transaction.now)
