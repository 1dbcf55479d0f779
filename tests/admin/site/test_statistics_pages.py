"""Pages of statistics: run history of a harvest, a domain over time with CSV, and the overview."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from support.admin.harvest_database import DAY, HOUR, MINUTE, MovableClock
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.web.axe_pages import serious_on_pages
from support.web.site_server import RunningSite, running_site

from admin.csv_text import csv_bytes
from admin.harvests.definitions.listing import list_runs
from admin.harvests.dispatch.harvesters import Registration, announce, register
from admin.harvests.dispatch.queue import claim_job, submit_jobs
from admin.harvests.dispatch.reports import DomainResult, JobResult, report_end, report_progress
from admin.harvests.statistics.domain_history import domain_history, domain_totals
from admin.harvests.statistics.overview import show_overview
from admin.models.database import Database
from admin.models.harvest_tables import Harvest, HarvestRun
from admin.models.job_tables import Harvester, HarvesterState, HarvestJob, StopReason
from admin.models.people_tables import Role, SchedulerLease
from admin.models.transaction import COMMAND_LINE

EVIL = '=HYPERLINK("http://evil.test")<script>alert(1)</script>'


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.ADMINISTRATOR) as client:
        yield client


def harvest_runs(database: Database, clock: MovableClock, runs: int, name: str = EVIL) -> None:
    """Let a harvest of example.org run so often, an hour apart: run n gives n objects, and every third job fails."""
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        harvest = add_harvest(transaction, add_channel(transaction), name)
        harvest_id = harvest.id
        register(transaction, Registration("h1", "FOCUSED", "machine", 1))
    for number in range(runs):
        clock.move(HOUR)
        with database.transaction(COMMAND_LINE) as transaction:
            harvest = transaction.session.get_one(Harvest, harvest_id)
            transaction.session.add(
                HarvestRun(
                    harvest_id=harvest_id, number=number, started=transaction.now, jobs=1, configurations=1, left_out={}
                )
            )
            job = add_job(transaction, harvest)
            transaction.session.flush()
            transaction.session.execute(
                HarvestJob.__table__.update().where(HarvestJob.id == job.id).values(run_number=number)  # type: ignore[attr-defined]
            )
            announce(transaction, "h1", HarvesterState.READY, free_bytes=10**12)
            submit_jobs(transaction)
            claimed = claim_job(transaction, "h1")
            assert claimed is not None
        clock.move(MINUTE)
        error = "no seed answered" if number % 3 == 2 else ""
        domain = DomainResult("example.org", number, number * 1000, number * 400, StopReason.COMPLETE)
        result = JobResult(
            not error, error, domains=[domain], objects=number, bytes=number * 1000, new_bytes=number * 400
        )
        with database.transaction(COMMAND_LINE) as transaction:
            report_end(transaction, claimed.id, claimed.token, result)


def test_runs_say_what_each_gave(database: Database, clock: MovableClock) -> None:
    harvest_runs(database, clock, 5)
    with database.reading(COMMAND_LINE) as transaction:
        first = list_runs(transaction, EVIL, limit=3)
        rest = list_runs(transaction, EVIL, after=first.next or "", limit=3)
    runs = [*first.items, *rest.items]
    assert [run.number for run in runs] == [4, 3, 2, 1, 0]
    assert [(run.objects, run.bytes, run.new_bytes) for run in runs[:2]] == [(4, 4000, 1600), (3, 3000, 1200)]
    assert [run.errors for run in runs] == [0, 0, 1, 0, 0]
    newest = runs[0]
    assert newest.last_ended is not None
    assert newest.first_started is not None
    assert newest.last_ended - newest.first_started == MINUTE
    assert rest.next is None


def test_a_run_that_goes_on_has_no_end(database: Database, clock: MovableClock) -> None:
    harvest_runs(database, clock, 1)
    with database.transaction(COMMAND_LINE) as transaction:
        add_job(transaction, transaction.session.get_one(Harvest, 1))
    with database.reading(COMMAND_LINE) as transaction:
        (run,) = list_runs(transaction, EVIL).items
    assert run.statuses == {"DONE": 1, "NEW": 1}
    assert run.last_ended is None


def test_the_history_of_a_domain_is_paged_newest_first_and_adds_up(database: Database, clock: MovableClock) -> None:
    harvest_runs(database, clock, 5)
    with database.reading(COMMAND_LINE) as transaction:
        found, after = [], ""
        while True:
            page = domain_history(transaction, "example.org", after=after, limit=2)
            found += page.items
            if page.next is None:
                break
            after = page.next
        totals = domain_totals(transaction, "example.org")
    assert [each.run_number for each in found] == [4, 3, 2, 1, 0]
    assert [each.known_bytes for each in found[:2]] == [2400, 1800]
    assert (totals.jobs, totals.objects, totals.bytes, totals.new_bytes) == (5, 10, 10_000, 4000)


def test_csv_holds_no_formula_and_reads_back() -> None:
    cells = ["=1+1", "+1", "-1", "@x", "\tx", "\r=x", " =x", "a,b", 'say "x"', "plain", -5]
    found = next(csv.reader(io.StringIO(csv_bytes(["h"] * len(cells), [cells]).decode(), newline="").readlines()[1:]))
    assert [each[:1] for each in found[:7]] == ["'"] * 7
    assert found[7:] == ["a,b", 'say "x"', "plain", "-5"]


def test_the_pages_show_charts_tables_and_a_download(
    sqlite_database: Database, client: httpx.Client, clock: MovableClock
) -> None:
    harvest_runs(sqlite_database, clock, 4)
    for path in ("/domains/example.org/statistics", runs_path()):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert "<script>alert" not in answer.text
        assert answer.text.count('<svg class="drawn"') == 2
        assert answer.text.count("<g><title>") == 8, "each of four runs has a bar in both charts"
    download = client.get("/domains/example.org/statistics.csv")
    assert download.headers["Content-Disposition"] == 'attachment; filename="statistics-of-example.org.csv"'
    rows = list(csv.DictReader(io.StringIO(download.text)))
    assert [row["objects"] for row in rows] == ["3", "2", "1", "0"]
    assert rows[0]["harvest"] == f"'{EVIL}"
    assert rows[0]["known_bytes"] == "1800"
    assert client.get("/api/v1/domains/example.org/history.csv").content == download.content
    assert client.get("/domains/none.test/statistics").status_code == 404
    assert client.get("/domains/example.org/statistics", params={"after": "x"}).status_code == 422
    assert 'href="/domains/example.org/statistics"' in client.get("/domains/example.org").text


def runs_path() -> str:
    """The address of the run history of the harvest with the evil name."""
    return f"/harvests/{quote(EVIL)}/runs"


def test_empty_pages_say_what_to_do_first(sqlite_database: Database, client: httpx.Client) -> None:
    assert "There are no domains yet." in client.get("/").text
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        add_harvest(transaction, add_channel(transaction), "first")
    assert "No job has harvested this domain yet." in client.get("/domains/example.org/statistics").text
    assert "The harvest has not run yet." in client.get("/harvests/first/runs").text


def test_the_overview_names_everything_that_needs_a_person(database: Database, clock: MovableClock) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(SchedulerLease(name="scheduler", owner="here", until=clock.now + HOUR))
    harvest_runs(database, clock, 3, "weekly")
    with database.transaction(COMMAND_LINE) as transaction:
        view = show_overview(transaction)
        assert [job.harvest_error for job in view.failed] == ["no seed answered"]
        assert (view.unserved, view.troubled, view.upload_errors, view.deactivated) == ([], [], [], [])
        harvest = transaction.session.get_one(Harvest, 1)
        harvest.why_inactive = "its template is gone"
        harvest.is_active = False
        done = transaction.session.get_one(HarvestJob, 1)
        done.upload_error = "the storage is full"
        add_job(transaction, harvest)
        transaction.session.get_one(Harvester, "h1").state = HarvesterState.DORMANT
    clock.move(DAY)
    with database.reading(COMMAND_LINE) as transaction:
        view = show_overview(transaction)
    assert [job.upload_error for job in view.upload_errors] == ["the storage is full"]
    assert [harvest.why_inactive for harvest in view.deactivated] == ["its template is gone"]
    assert [(each.name, each.waiting) for each in view.unserved] == [("FOCUSED", True)]
    assert [each.name for each in view.troubled] == ["h1"]
    assert not view.has_scheduler
    assert view.needs_attention
    clock.move(31 * DAY)
    with database.reading(COMMAND_LINE) as transaction:
        assert show_overview(transaction).upload_errors == []


def test_a_disk_that_is_low_is_named(sqlite_database: Database, clock: MovableClock, client: httpx.Client) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_channel(transaction)
        register(transaction, Registration("h1", "FOCUSED", "machine", 1))
        announce(transaction, "h1", HarvesterState.READY, free_bytes=1000)
    shown = client.get("/").text
    assert "The disk of harvester h1 has 1.0 kB left." in shown
    assert "No scheduler works" in shown


def test_running_jobs_and_next_runs_are_shown(
    sqlite_database: Database, clock: MovableClock, client: httpx.Client
) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        harvest = add_harvest(transaction, add_channel(transaction), "weekly")
        harvest.is_active, harvest.next_run = True, clock.now + HOUR
        add_job(transaction, harvest)
        register(transaction, Registration("h1", "FOCUSED", "machine", 1))
        announce(transaction, "h1", HarvesterState.READY, free_bytes=10**12)
        submit_jobs(transaction)
        job = claim_job(transaction, "h1")
        assert job is not None
        report_progress(transaction, job.id, job.token, "running", {"urls": 5, "bytes": 5000, "new_bytes": 2000})
    text = client.get("/overview/live").text
    for shown in ('<a href="/jobs/1">1</a>', "5.0 kB", "2.0 kB", '<a href="/harvests/weekly">weekly</a>'):
        assert shown in text, shown
    found = client.get("/api/v1/overview").json()
    assert [each["id"] for each in found["running"]] == [1]
    assert [each["name"] for each in found["coming"]] == ["weekly"]


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_axe_finds_nothing_serious_on_pages_with_statistics(
    sqlite_database: Database, site: RunningSite, client: httpx.Client, clock: MovableClock
) -> None:
    harvest_runs(sqlite_database, clock, 4)
    paths = ("/domains/example.org/statistics", runs_path(), "/", "/jobs")
    assert serious_on_pages(site.address, client, paths) == []
