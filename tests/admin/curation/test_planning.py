"""admin/curation/planning: the calendar of the load to come, and reports of months as table, CSV and PDF."""

from __future__ import annotations

import csv
import io

import pytest
from support.admin.harvest_database import DAY, HOUR, START
from support.admin.harvest_world import World

from admin.curation.planning.harvest_report import report_csv, report_pdf, show_report
from admin.curation.planning.load_calendar import MOST_RUNS, moments_of, show_calendar
from admin.curation.planning.pdf import pdf_of
from admin.models.errors import IllegalState, InvalidInput
from admin.models.harvest_tables import Harvest, TimeUnit
from admin.models.job_tables import JobStatus
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings


def ran(world: World, harvest: int, run: int, objects: int, size: int, *, ended: int, failed: bool = False) -> None:
    with world.database.transaction(COMMAND_LINE) as transaction:
        job = world.job_row(harvest, run, JobStatus.FAILED if failed else JobStatus.DONE)
        job.objects, job.bytes, job.new_bytes, job.ended = objects, size, size // 2, ended
        transaction.session.add(job)


def test_days_have_the_means_of_earlier_runs_and_conflicts_are_named(world: World) -> None:
    world.schedule("daily", TimeUnit.DAY)
    first = world.harvest("first", schedule="daily", first_run=START + HOUR, next_run=START + HOUR, runs_made=2)
    for run, objects in enumerate((1_000_000, 1_400_000)):
        ran(world, first, run, objects, 10_000, ended=START - DAY)
    number = world.domain("a.org", max_objects=20)
    world.harvest("second", [number], schedule="daily", first_run=START + DAY, next_run=START + DAY)
    world.harvest("asleep", schedule="daily", is_active=False)
    with world.database.reading(COMMAND_LINE) as transaction:
        found = show_calendar(transaction, days=3)
    assert [(str(each.day), each.runs) for each in found.days] == [
        ("2027-01-15", 1), ("2027-01-16", 2), ("2027-01-17", 2),
    ]  # fmt: skip
    day = found.days[1]
    assert day.objects == 1_200_000 + 20
    assert "1,200,020 expected objects" in day.conflict
    assert [each.is_guess for each in day.first_runs] == [True, False]
    assert (found.runs, found.conflicts, found.is_whole) == (5, 3, True)
    with world.database.reading(COMMAND_LINE) as transaction, pytest.raises(InvalidInput, match="days"):
        show_calendar(transaction, days=367)


def test_a_schedule_that_ends_and_a_year_of_hours_are_bounded(world: World) -> None:
    world.schedule("hourly")
    number = world.harvest("often", schedule="hourly", next_run=START - HOUR, first_run=START - HOUR)
    with world.database.reading(COMMAND_LINE) as transaction:
        harvest = transaction.session.get_one(Harvest, number)
        year = list(moments_of(harvest, START, START + 366 * DAY, MOST_RUNS))
        assert (len(year), year[0]) == (366 * 24, START)
        assert year == sorted(set(year))
        assert len(list(moments_of(harvest, START, START + 366 * DAY, 10))) == 10
        assert list(moments_of(harvest, START, START + 366 * DAY, 0)) == []


def test_a_report_sums_up_months_and_harvests(world: World) -> None:
    harvest = world.harvest("=news", created_by="anna")
    ran(world, harvest, 0, 10, 1_000, ended=START)
    ran(world, harvest, 1, 5, 500, ended=START + DAY, failed=True)
    ran(world, harvest, 2, 1, 100, ended=START - 40 * DAY)
    ran(world, harvest, 3, 7, 700, ended=START - 900 * DAY)
    with world.database.reading(COMMAND_LINE) as transaction:
        found = show_report(transaction)
        assert [(each.month, each.jobs, each.failed_jobs, each.objects) for each in found.lines] == [
            ("2026-12", 1, 0, 1), ("2027-01", 2, 1, 15),
        ]  # fmt: skip
        assert (found.lines[1].created_by, found.lines[1].new_bytes) == ("anna", 750)
        assert (found.total.jobs, found.total.bytes) == (3, 1_600)
        rows = list(csv.DictReader(io.StringIO(report_csv(transaction, since="2027-01").decode())))
        assert [(each["harvest"], each["objects"]) for each in rows] == [("'=news", "15")]
        assert show_report(transaction, harvest="other").lines == []
        for since, until in (("2027-13", ""), ("1900-01", ""), ("2027-02", "2027-01"), ("1990-01", "2027-01")):
            with pytest.raises(InvalidInput, match="since"):
                show_report(transaction, since=since, until=until)


@pytest.mark.browser
def test_a_report_is_printed_with_names_that_are_no_markup(world: World) -> None:
    ran(world, world.harvest("<script>é 日本</script>"), 0, 10, 1_000, ended=START)
    with world.database.reading(COMMAND_LINE) as transaction:
        assert report_pdf(transaction).startswith(b"%PDF-")


def test_without_a_browser_the_remedy_is_named(settings: Settings) -> None:
    browsers = settings.browsers.model_copy(update={"executable": "/no/such/browser"})
    with pytest.raises(IllegalState, match="CSV"):
        pdf_of("<p>", settings.model_copy(update={"browsers": browsers}))
