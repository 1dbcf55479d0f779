"""This module fills an admin database with as many jobs, histories and domains as an installation has after years.

The rows are made inside the database, in transactions of a few hundred thousand rows. A fill that was interrupted goes
on behind the last row that was committed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, event, func, select, text

from admin.harvests.dispatch.channels import install_stock as install_channels
from admin.harvests.schedules.stock import install_stock as install_schedules
from admin.harvests.templates.profile_values import profile_of
from admin.harvests.templates.stock import DEFAULT_TEMPLATE, stock_text
from admin.harvests.templates.stock import install_stock as install_templates
from admin.models.base import Base
from admin.models.database import Database
from admin.models.transaction import COMMAND_LINE

CHUNK: Final = 200_000
SNAPSHOTS: Final = 20
SELECTIVE: Final = 600
MOST_DOMAINS: Final = 1_000_000
RUNNING: Final = 40
SUBMITTED: Final = 40
SAMPLES: Final = 500
"""Samples of each running job; an hour's jobs have 180."""
_BIG: Final = ("jobs", "job_configurations", "domain_history", "domains", "configurations", "seed_lists")
_NUMBERS: Final = """
    WITH RECURSIVE numbers(i) AS (
        SELECT CAST(:first AS BIGINT) UNION ALL SELECT i + 1 FROM numbers WHERE i < :last
    )
"""
_NAME: Final = """
    'd' || ({i} * 7919 % 10000019) || '-' || {i} || '.' || CASE {i} % 8
        WHEN 0 THEN 'dk' WHEN 1 THEN 'org' WHEN 2 THEN 'com' WHEN 3 THEN 'se' WHEN 4 THEN 'no' WHEN 5 THEN 'de'
        WHEN 6 THEN 'co.uk' ELSE 'example' END
"""
_TLD: Final = """
    CASE i % 8 WHEN 0 THEN 'dk' WHEN 1 THEN 'org' WHEN 2 THEN 'com' WHEN 3 THEN 'se' WHEN 4 THEN 'no' WHEN 5 THEN 'de'
        WHEN 6 THEN 'co.uk' ELSE 'example' END
"""
# Two fifths of the jobs are those of snapshots, which have many jobs in one run; the others are of selective harvests,
# which have many runs of two jobs.
_IS_SNAPSHOT: Final = "({job} - 1) % (:jobs / :snapshots + 1) < (:jobs / :snapshots + 1) * 2 / 5"
_HARVEST: Final = f"""
    CASE WHEN {_IS_SNAPSHOT} THEN ({{job}} - 1) / (:jobs / :snapshots + 1) + 1
    ELSE :snapshots + 1 + {{job}} % :selective END
"""
# The domains of a snapshot's job are neighbours; a selective harvest has its own ten; domain 1 is in every tenth job.
_DOMAIN: Final = f"""
    CASE WHEN {{at}} = 0 AND {{job}} % 10 = 0 THEN 1
    WHEN {_IS_SNAPSHOT} THEN 2 + ({{job}} * 10 + {{at}}) % (:domains - 1)
    ELSE 2 + ({{job}} % :selective * 10 + {{at}}) % (:domains - 1) END
"""
_STATUS: Final = """
    CASE WHEN i > :jobs - :waiting THEN 'NEW'
    WHEN i > :jobs - :waiting - :submitted THEN 'SUBMITTED'
    WHEN i > :jobs - :waiting - :submitted - :running THEN 'STARTED'
    WHEN i % 100 < 3 THEN 'FAILED' WHEN i % 100 = 3 THEN 'RESUBMITTED' WHEN i % 100 = 4 THEN 'FAILED_REJECTED'
    ELSE 'DONE' END
"""


@dataclass(frozen=True, slots=True)
class Amounts:
    """A filled database has these numbers of rows."""

    jobs: int = 1_000_000
    history: int = 10_000_000
    audit: int = 1_000_000

    @property
    def domains(self) -> int:
        """Return the number of domains, which is one for each job, up to a million."""
        return max(20, min(self.jobs, MOST_DOMAINS))


@dataclass(frozen=True, slots=True)
class _Step:
    table: str
    rows: int
    statement: str
    chunk: int = CHUNK


def fill_database(database: Database, amounts: Amounts, tell: Callable[[str], None]) -> None:
    """Fill the database up to these numbers, and let it collect the statistics by which it plans queries."""
    database.check()
    with database.transaction(COMMAND_LINE) as transaction:
        install_channels(transaction)
        install_templates(transaction)
        install_schedules(transaction)
    is_sqlite = database.engine.dialect.name == "sqlite"
    hurry = _hurry if is_sqlite else _hurry_postgresql
    event.listen(database.engine, "connect", hurry)
    database.engine.dispose()
    tables = [Base.metadata.tables[name] for name in _BIG]
    begun = time.monotonic()
    with database.engine.connect() as connection:
        missing = [step for step in _steps(is_sqlite) if _last(connection, step.table) < _wanted(step, amounts)]
    if missing:
        _drop_indexes(database, tables)
        values = _values(database, amounts)
        for step in missing:
            _run(database, step, _wanted(step, amounts), values, tell)
    _make_indexes(database, tables, tell)
    with database.engine.begin() as connection:
        if not is_sqlite:
            for table in Base.metadata.tables.values():
                if "id" in table.columns and table.columns["id"].autoincrement is True:
                    highest = select(func.coalesce(func.max(table.c.id), 0) + 1).scalar_subquery()
                    sequence = func.pg_get_serial_sequence(table.name, "id")
                    connection.execute(select(func.setval(sequence, highest, False)))
        connection.execute(text("ANALYZE"))
    if not is_sqlite:  # PostgreSQL does this by itself some time after so many rows were added
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM"))
    tell(f"filled after {time.monotonic() - begun:.0f} s")
    event.remove(database.engine, "connect", hurry)
    database.engine.dispose()


def _hurry(connection: Any, _: Any) -> None:
    """Write without waiting for the disk: rows that a power cut destroys are made anew."""
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute("PRAGMA cache_size=-200000")


def _hurry_postgresql(connection: Any, _: Any) -> None:
    """Write without waiting for the disk, and, when the user is a superuser, without looking for rows referred to."""
    connection.execute("SET synchronous_commit = off")
    if connection.info.parameter_status("is_superuser") == "on":
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET maintenance_work_mem = '512MB'")
    connection.commit()


def _wanted(step: _Step, amounts: Amounts) -> int:
    numbers = {"jobs": amounts.jobs, "audit_entries": amounts.audit, "domains": amounts.domains}
    of_domains = dict.fromkeys(("configurations", "seed_lists"), amounts.domains)
    of_history = dict.fromkeys(("job_configurations", "domain_history"), amounts.history)
    return {**numbers, **of_domains, **of_history}.get(step.table, step.rows)


def _values(database: Database, amounts: Amounts) -> Mapping[str, Any]:
    jobs = amounts.jobs
    waiting = min(5000, jobs // 20)
    return {
        "jobs": jobs,
        "domains": amounts.domains,
        "per_job": max(1, amounts.history // jobs),
        "snapshots": SNAPSHOTS,
        "selective": SELECTIVE,
        "waiting": waiting,
        "running": RUNNING,
        "submitted": SUBMITTED,
        "now": database.clock(),
        "apart": 300_000_000,
        "profile": json.dumps(profile_of(stock_text(DEFAULT_TEMPLATE))),
        "report": json.dumps({"urls": 1200, "bytes": 45_000_000, "errors": {"timeout": 3, "dns": 1}, "pages": 300}),
        "facts": json.dumps({"harvest": "bench", "audience": "", "comments": "", "schedule": "Daily"}),
        "progress": json.dumps({"urls": 1200, "bytes": 45_000_000, "new_bytes": 9_000_000, "queued": 321, "failed": 2,
                                "rate": 12.5, "errors": {"timeout": 3}}),
        "hosts": json.dumps([{"host": f"www{n}.example", "queued": n, "why": "pause of 3 s"} for n in range(20)]),
    }  # fmt: skip


def _last(connection: Connection, table: str) -> int:
    return connection.scalar(text(f"SELECT coalesce(max(id), 0) FROM {table}")) or 0


def _run(database: Database, step: _Step, wanted: int, values: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    begun = time.monotonic()
    with database.engine.connect() as connection:
        before = first = _last(connection, step.table)
    statements = [text(each) for each in step.statement.split(";") if each.strip()]
    while first < wanted:
        last = min(first + step.chunk, wanted)
        with database.engine.begin() as connection:
            for statement in statements:
                used = statement.compile().params
                given = {**values, "first": first + 1, "last": last}
                connection.execute(statement, {name: given[name] for name in used})
        first = last
        rate = (first - before) / max(time.monotonic() - begun, 0.001)
        tell(f"{step.table}: {first:,} of {wanted:,} rows, {rate:,.0f} a second")


def _drop_indexes(database: Database, tables: list[Table]) -> None:
    """Remove the indexes, which are made faster once all rows are there."""
    for table in tables:
        for index in table.indexes:
            index.drop(database.engine, checkfirst=True)


def _make_indexes(database: Database, tables: list[Table], tell: Callable[[str], None]) -> None:
    for table in tables:
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            begun = time.monotonic()
            index.create(database.engine, checkfirst=True)
            if (seconds := time.monotonic() - begun) > 1:
                tell(f"index {index.name}: {seconds:.0f} s")


def _steps(is_sqlite: bool) -> list[_Step]:
    document = ":{0}" if is_sqlite else "CAST(:{0} AS JSON)"
    empty_list, empty = ("'[]'", "'{}'") if is_sqlite else ("CAST('[]' AS JSON)", "CAST('{}' AS JSON)")
    yes, no = ("1", "0") if is_sqlite else ("true", "false")
    name, domain = _NAME.format(i="i"), _DOMAIN.format(job="job", at="at")
    rows = "(SELECT i, (i - 1) / :per_job + 1 AS job, (i - 1) % :per_job AS at FROM numbers) AS rows"
    harvest = _HARVEST.format(job="i")
    return [
        _Step("harvests", SNAPSHOTS + SELECTIVE, f"""{_NUMBERS}
            INSERT INTO harvests (id, name, kind, comments, audience, collection, is_active, why_inactive, first_run,
                next_run, runs_made, run_now, max_bytes, max_objects, max_seconds, is_index_ready, facts, created,
                created_by, edition)
            SELECT i, CASE WHEN i <= :snapshots THEN 'snapshot ' ELSE 'harvest ' END || i,
                CASE WHEN i <= :snapshots THEN 'snapshot' ELSE 'selective' END, '', '', 'bench',
                CASE WHEN i % 50 = 0 THEN {no} ELSE {yes} END,
                CASE WHEN i % 50 = 0 THEN 'the template is gone' ELSE '' END,
                :now, CASE WHEN i > :snapshots THEN :now + i * 60000000 END, 1, {no}, 1000000000, -1, 0, {yes}, {empty},
                :now, 'bench', 1 FROM numbers"""),
        _Step("domains", 0, f"""{_NUMBERS}
            INSERT INTO domains (id, name, unicode_name, tld, comments, created, edition)
            SELECT i, {name}, {name}, {_TLD}, '', :now, 1 FROM numbers"""),
        _Step("configurations", 0, f"""{_NUMBERS}
            INSERT INTO configurations (id, domain_id, name, comments, template_id, max_objects, max_bytes, max_rate,
                attributes, edition)
            SELECT i, i, 'defaultconfig', '', (SELECT min(id) FROM templates), -1, 1000000000, 100, {empty}, 1
            FROM numbers;
            UPDATE domains SET default_configuration_id = id WHERE id BETWEEN :first AND :last"""),
        _Step("seed_lists", 0, f"""{_NUMBERS}
            INSERT INTO seed_lists (id, domain_id, name, seeds, comments, edition)
            SELECT i, i, 'defaultseeds', 'http://www.' || {name} || '/', '', 1 FROM numbers;
            INSERT INTO configuration_seed_lists (configuration_id, seed_list_id)
            SELECT id, id FROM seed_lists WHERE id BETWEEN :first AND :last"""),
        _Step("jobs", 0, f"""{_NUMBERS}
            INSERT INTO jobs (id, harvest_id, run_number, channel_id, collection, status, edition, template_name,
                template_version, profile, seeds, max_bytes, max_objects, max_seconds, expected_objects,
                configurations_count, aliases, duplicate_reduction_jobs, facts, created, submitted, started, ended,
                heard, harvester, run_name, harvest_error, harvest_error_details, upload_error, upload_error_details,
                objects, bytes, new_bytes, exit_code, report)
            SELECT i, harvest, CASE WHEN harvest <= :snapshots THEN 0 ELSE i / (:selective * 2) END,
                1 + i % (SELECT count(*) FROM channels), 'bench', status, 3, 'default', 1, {document.format("profile")},
                'http://www.example.org/', 1000000000, -1, 0, 1000, :per_job, {empty}, {empty_list},
                {document.format("facts")}, at, at, CASE WHEN status NOT IN ('NEW', 'SUBMITTED') THEN at END,
                CASE WHEN status NOT IN ('NEW', 'SUBMITTED', 'STARTED') THEN at + 3600000000 END, at,
                CASE WHEN status NOT IN ('NEW', 'SUBMITTED') THEN 'harvester-' || i % 20 END, i || '-20260101000000',
                CASE WHEN status LIKE 'FAILED%' THEN 'the crawl ended with exit code 3' ELSE '' END, '', '', '',
                i % 5000, i % 5000 * 40000, i % 5000 * 9000,
                CASE WHEN status = 'DONE' THEN 0 END, {document.format("report")}
            FROM (SELECT i, {harvest} AS harvest, {_STATUS} AS status, :now - (:jobs - i + 1) * :apart AS at
                FROM numbers) AS rows""", 50_000),
        _Step("harvest_runs", 1, """
            INSERT INTO harvest_runs (harvest_id, number, started, jobs, configurations, left_out, dates_skipped,
                is_extra)
            SELECT harvest_id, run_number,  min(created), count(*),
                sum(configurations_count), """ + empty + f""", 0, {no}
            FROM jobs GROUP BY harvest_id, run_number""", 1),
        _Step("job_configurations", 0, f"""{_NUMBERS}
            INSERT INTO job_configurations (id, job_id, position, configuration_id, domain_name, configuration_name,
                expected_objects, max_bytes, max_objects, reason)
            SELECT i, job, at, domain, {_NAME.format(i="domain")}, 'defaultconfig', 100, 1000000000, -1, 'fitted'
            FROM (SELECT i, job, at, {domain} AS domain FROM {rows}) AS named"""),
        _Step("domain_history", 0, f"""{_NUMBERS}
            INSERT INTO domain_history (id, job_id, harvest_id, domain_id, configuration_id, objects, bytes, new_bytes,
                stop_reason, ended)
            SELECT i, job, {_HARVEST.format(job="job")}, domain, domain, i * 31 % 20000, i * 31 % 20000 * 30000,
                i * 31 % 20000 * 9000,
                CASE i % 10 WHEN 0 THEN 'size-limit' WHEN 1 THEN 'object-limit' ELSE 'complete' END,
                :now - (:jobs - job) * :apart FROM (SELECT i, job, at, {domain} AS domain FROM {rows}) AS named"""),
        _Step("job_samples", SAMPLES * RUNNING, f"""{_NUMBERS}
            INSERT INTO job_samples (id, job_id, at, state, progress, hosts)
            SELECT i, :jobs - :waiting - :submitted - i % :running, :now - i * 20000000 / :running, 'running',
                {document.format("progress")}, {document.format("hosts")} FROM numbers"""),
        _Step("audit_entries", 0, f"""{_NUMBERS}
            INSERT INTO audit_entries (id, at, actor, door, address, action, entity, entity_id, entity_name, old, new)
            SELECT i, :now - (10000000 - i) * 1000000, 'person-' || i % 30, 'web', '192.0.2.1',
                CASE i % 4 WHEN 0 THEN 'domain.change' WHEN 1 THEN 'harvest.change' WHEN 2 THEN 'job.resubmit'
                ELSE 'session.start' END,
                CASE i % 4 WHEN 0 THEN 'domain' WHEN 1 THEN 'harvest' WHEN 2 THEN 'job' ELSE 'user' END,
                CAST(i % 100000 AS TEXT), 'thing ' || i, {empty}, {empty} FROM numbers"""),
    ]  # fmt: skip
