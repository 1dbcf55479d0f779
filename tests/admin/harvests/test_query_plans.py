"""Lists of jobs and domains never scan a large table, and need few statements, on both kinds of database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event

from admin.harvests.definitions.listing import list_runs
from admin.harvests.dispatch import job_domains, listing
from admin.harvests.domains.domain import show_domain
from admin.harvests.domains.search import list_domains
from admin.harvests.statistics.domain_history import newest_result
from admin.harvests.statistics.overview import show_overview
from admin.models.database import Database
from admin.models.job_tables import JobStatus
from admin.models.transaction import COMMAND_LINE, Transaction
from admin.people.audit import list_audit
from bench.admin_site.filled_database import Amounts, fill_database

pytestmark = pytest.mark.both_databases

AMOUNTS = Amounts(jobs=3000, history=6000, audit=1000)
LARGE = ("jobs", "job_configurations", "domain_history", "domains", "audit_entries", "job_samples", "configurations")
SMALL_INDEXES = {"ix_jobs_upload_error", "ix_jobs_unanswered_domains"}
"""The index has the jobs with upload errors alone; the newest thousand are read."""
FREQUENT = "d7919-1.org"

PAGES: dict[str, tuple[int, Callable[[Transaction], Any]]] = {
    "jobs": (3, listing.list_jobs),
    "jobs deep": (4, lambda opened: listing.list_jobs(opened, after="1500")),
    "jobs by state": (3, lambda opened: listing.list_jobs(opened, status=JobStatus.FAILED)),
    "jobs by harvest": (3, lambda opened: listing.list_jobs(opened, harvest_id=3)),
    "jobs by harvest and state": (3, lambda opened: listing.list_jobs(opened, harvest_id=3, status=JobStatus.FAILED)),
    "jobs by run": (3, lambda opened: listing.list_jobs(opened, harvest_id=30, run_number=1)),
    "jobs by harvest's name": (4, lambda opened: listing.list_jobs(opened, harvest="harvest 30")),
    "jobs by harvest and channel": (4, lambda opened: listing.list_jobs(opened, harvest_id=3, channel="FOCUSED")),
    "jobs by channel": (4, lambda opened: listing.list_jobs(opened, channel="FOCUSED")),
    "jobs by channel and state": (
        4, lambda opened: listing.list_jobs(opened, channel="FOCUSED", status=JobStatus.FAILED),
    ),
    "jobs by harvester": (3, lambda opened: listing.list_jobs(opened, harvester="harvester-3")),
    "jobs by domain": (3, lambda opened: listing.list_jobs(opened, domain=FREQUENT)),
    "jobs by domain and state": (
        3, lambda opened: listing.list_jobs(opened, domain=FREQUENT, status=JobStatus.FAILED),
    ),
    **{
        f"jobs in the order {order}": (3, lambda opened, order=order: listing.list_jobs(opened, order=order))  # type: ignore[misc]
        for order in listing.JobOrder
    },
    "job": (1, lambda opened: listing.show_job(opened, 1500)),
    "job's domains": (3, lambda opened: job_domains.list_job_domains(opened, 1500)),
    "job's samples": (2, lambda opened: listing.job_samples(opened, 2769)),
    "job's curve": (3, lambda opened: listing.job_curve(opened, 2769)),
    "counts": (1, listing.count_by_status),
    "runs": (3, lambda opened: list_runs(opened, "harvest 30")),
    "domains": (2, list_domains),
    "domains by name": (3, lambda opened: list_domains(opened, search="d79*")),
    "domains by top level": (2, lambda opened: list_domains(opened, tld="dk")),
    "domain": (8, lambda opened: show_domain(opened, FREQUENT)),
    "last job of a domain": (1, lambda opened: newest_result(opened, FREQUENT)),
    "overview": (17, show_overview),
    "audit": (1, list_audit),
    "audit by person and action": (1, lambda opened: list_audit(opened, actor="person-7", action="job.resubmit")),
}  # fmt: skip


@pytest.mark.timeout(600)
def test_pages_need_few_statements_and_scan_no_large_table(database: Database) -> None:
    fill_database(database, AMOUNTS, lambda _: None)
    wrong = []
    for name, (most, use_case) in PAGES.items():
        with _explained(database) as plans, database.reading(COMMAND_LINE) as opened:
            if database.engine.dialect.name == "postgresql":
                opened.session.connection().exec_driver_sql("SET LOCAL enable_seqscan = off")
            use_case(opened)
        statements = [each for each in plans if not each[0].startswith(("SET", "EXPLAIN", "PRAGMA", "BEGIN"))]
        if len(statements) > most:
            wrong.append(f"{name}: {len(statements)} statements, {most} are allowed")
        for statement, steps in statements:
            wrong += [f"{name}: {step} for {statement[:200]}" for step in steps if _is_scan(step, statement)]
    assert not wrong, "\n".join(wrong)


def _is_scan(step: str, statement: str) -> bool:
    """Whether a step of a plan reads a whole large table or index. Without a condition, the page's size ends it."""
    words = step.split()
    if "Seq Scan on" in step:
        return words[words.index("on") + 1] in LARGE
    return step.startswith("SCAN") and words[1] in LARGE and "WHERE" in statement and not SMALL_INDEXES & set(words)


def test_a_filter_without_an_index_is_found(sqlite_database: Database) -> None:
    fill_database(sqlite_database, AMOUNTS, lambda _: None)
    with sqlite_database.engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX ix_jobs_harvester_id")
    with _explained(sqlite_database) as plans, sqlite_database.reading(COMMAND_LINE) as opened:
        listing.list_jobs(opened, harvester="harvester-3")
    assert any(_is_scan(step, statement) for statement, steps in plans for step in steps)


@contextmanager
def _explained(database: Database) -> Iterator[list[tuple[str, list[str]]]]:
    """Collect the statements of a block with the steps of their plans."""
    plans: list[tuple[str, list[str]]] = []
    is_sqlite = database.engine.dialect.name == "sqlite"

    def look(connection: Connection, _: Any, statement: str, parameters: Any, *__: Any) -> None:
        raw: Any = connection.connection.driver_connection
        if statement.startswith("SELECT"):
            explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
            cursor = raw.cursor()
            cursor.execute(f"{explain} {statement}", parameters)
            plans.append((statement, [str(row[3] if is_sqlite else row[0]).strip() for row in cursor.fetchall()]))

    event.listen(database.engine, "before_cursor_execute", look)
    try:
        yield plans
    finally:
        event.remove(database.engine, "before_cursor_execute", look)
