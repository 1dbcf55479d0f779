"""A harvest's QA: a session when a job is done, or with the first report of a run; and the message at its end."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.admin.notifying import Notifying
from support.admin.qa_rows import add_page, add_session

from admin.harvests.dispatch.reports import JobResult, report_end, report_progress
from admin.models.database import Database
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.people_tables import Role
from admin.models.qa_tables import QaSession, QaState
from admin.models.transaction import COMMAND_LINE, Transaction
from admin.qa.leases import end_work

RUN = "news-20261126080000"


def started_job(transaction: Transaction, sample: str, *, follows: bool) -> HarvestJob:
    harvest = add_harvest(transaction, add_channel(transaction))
    harvest.qa_sample, harvest.qa_follows = sample, follows
    add_domain(transaction, "example.org")
    job = add_job(transaction, harvest)
    job.status, job.token, job.started = JobStatus.STARTED, "token", transaction.now
    transaction.session.flush()
    return job


def sessions(transaction: Transaction) -> list[tuple[str | None, str, bool]]:
    rows = transaction.session.scalars(select(QaSession).order_by(QaSession.id))
    return [(row.job, row.sample, row.follows) for row in rows]


@pytest.mark.parametrize(
    ("sample", "follows", "while_it_runs", "after"),
    [
        ("", False, [], []),
        ("10%", False, [], [(RUN, "10%", False)]),
        ("", True, [(RUN, "", True)], [(RUN, "", True)]),
    ],
)
def test_a_run_gets_the_session_that_its_harvest_asks_for(
    database: Database, sample: str, follows: bool, while_it_runs: list[object], after: list[object]
) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started_job(transaction, sample, follows=follows)
        report_progress(transaction, job.id, "token", "starting", {})
        assert sessions(transaction) == []
        for _ in range(2):
            report_progress(transaction, job.id, "token", "running", {"urls": 3}, run_name=RUN)
        assert sessions(transaction) == while_it_runs
        assert report_end(transaction, job.id, "token", JobResult(succeeded=True, run_name=RUN))
        assert sessions(transaction) == after
        report_end(transaction, job.id, "token", JobResult(succeeded=True, run_name=RUN))
        assert sessions(transaction) == after


def test_a_job_that_failed_gets_no_session(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started_job(transaction, "10%", follows=False)
        report_end(transaction, job.id, "token", JobResult(succeeded=False, harvest_error="no disk", run_name=RUN))
        assert sessions(transaction) == []


def test_subscribers_hear_once_of_a_session_that_is_done(database: Database) -> None:
    outbox = Notifying(database)
    outbox.hear(outbox.person("ada", Role.OPERATOR), "https://example.org/hook", event="qa-done")
    with database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction, state=QaState.RUNNING)
        add_page(transaction, session, "http://example.org/1", 10)
        add_page(transaction, session, "http://example.org/2", 100)
        session.owner, number = "me", session.id
    for owner in ("another", "me", "me"):
        end_work(database, QaSession, number, owner, QaState.DONE)
    (row,) = outbox.rows()
    assert row.subject == f"QA session {number} of news is done: 1 severely and 0 noticeably damaged of 2 pages"
    assert {name: row.body["facts"][name] for name in ("pages", "severe", "good", "unjudged")} == {
        "pages": 2, "severe": 1, "good": 1, "unjudged": 0
    }  # fmt: skip
