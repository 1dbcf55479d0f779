"""Jobs of harvests get QA sessions: when a person asks for those of a run, or by the harvest's definition."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from admin.models.harvest_tables import Harvest
from admin.models.job_tables import HarvestJob
from admin.models.transaction import Right, Transaction
from admin.qa.automatic import start_for_run

_MOST_JOBS: Final = 100
_LONGEST_NAME: Final = 255


def run_names(transaction: Transaction, harvest: str, run_number: int) -> list[str]:
    """Return the names of the crawls of a harvest's run, at most 100; jobs that never started have none."""
    transaction.require(Right.READ)
    query = (
        select(HarvestJob.run_name)
        .join(Harvest, Harvest.id == HarvestJob.harvest_id)
        .where(Harvest.name == harvest, HarvestJob.run_number == run_number, HarvestJob.run_name.is_not(None))
        .order_by(HarvestJob.id)
        .limit(_MOST_JOBS)
    )
    return [name for name in transaction.session.scalars(query) if name]


def start_qa(transaction: Transaction, job: HarvestJob, *, is_over: bool) -> int | None:
    """Make the QA session that the job's harvest asks for, and return its number; None when it asks for none now.

    A harvest whose QA follows its runs gets the session with the first report that names the crawl. Others get it when
    the job is done.
    """
    harvest = transaction.session.get(Harvest, job.harvest_id)
    if harvest is None or not job.run_name or not (harvest.qa_sample or harvest.qa_follows):
        return None
    if not (harvest.qa_follows or is_over):
        return None
    return start_for_run(
        transaction,
        job.collection,
        job.run_name,
        f"harvest {harvest.name}"[:_LONGEST_NAME],
        sample=harvest.qa_sample,
        follows=harvest.qa_follows and not is_over,
    )
