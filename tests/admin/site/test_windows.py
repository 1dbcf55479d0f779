"""admin/web/templates: pages fit a telephone and a desk; navigation and charts need no script."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect
from sqlalchemy import select, update
from support.admin.harvest_database import HOUR, MovableClock
from support.admin.job_rows import add_domain, add_harvest, add_job
from support.web.site_server import RunningSite

from admin.models.database import Database
from admin.models.harvest_tables import Channel, HarvestRun
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.web.elements import time_element
from admin.web.formats import compared_text, date_text, zone_of
from archive.dates import parse_date

type OpenContext = Callable[[str, bool], BrowserContext]
LONG_NAME = "Parliament, ministries and agencies, every night"
LONG_ERROR = "no seed answered: http://www.example.org/ was refused by its server with the status 503 three times"
DESK, TELEPHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
CUT = """[...document.querySelectorAll(".scroll")].filter(each => each.scrollWidth > each.clientWidth)
    .map(each => each.getAttribute("aria-label"))"""
OVERLAPS = """[...document.querySelectorAll(".check")].flatMap(row => [...row.children].flatMap((one, at, all) =>
    all.slice(at + 1).filter(other => {
        const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
        return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    }).map(other => `${one.outerHTML} and ${other.outerHTML}`)))"""


def fill(database: Database, clock: MovableClock) -> None:
    """Make a harvest with three runs, of which the last one has a job that was resubmitted."""
    with database.transaction(COMMAND_LINE) as transaction:
        session = transaction.session
        add_domain(transaction, "example.org")
        harvest = add_harvest(transaction, session.scalars(select(Channel).limit(1)).one(), LONG_NAME)
        for number, status in enumerate((JobStatus.DONE, JobStatus.FAILED, JobStatus.RESUBMITTED)):
            clock.move(HOUR)
            session.add(
                HarvestRun(
                    harvest_id=harvest.id, number=number, started=clock.now, jobs=1, configurations=1, left_out={}
                )
            )
            job = add_job(transaction, harvest)
            session.flush()
            values = {"run_number": number, "status": status, "objects": 1_234_567 * number, "bytes": 10**10}
            values |= {"new_bytes": 10**9, "started": clock.now, "ended": clock.now + HOUR, "harvest_error": LONG_ERROR}
            session.execute(update(HarvestJob).where(HarvestJob.id == job.id).values(**values))


def test_the_navigation_has_groups_by_work_and_marks_the_present_part(
    stocked_site: RunningSite, curator: httpx.Client
) -> None:
    side = curator.get("/domains/crawler-traps").text.partition('<nav class="side"')[2].partition("</nav>")[0]
    assert re.findall(r'class="group">([^<]+)<', side) == ["Harvesting", "Jobs and fleet", "Archive", "Administration"]
    assert re.findall(r'aria-current="(\w+)">([^<]+)<', side) == [("page", "Crawler traps")]
    assert ">Users<" not in side
    below = curator.get("/domains/upload").text
    assert 'aria-current="true">Domains<' in below
    assert '<nav class="trail" aria-label="Place"><a href="/domains">Domains</a>' in below
    with stocked_site.client(Role.ADMINISTRATOR) as administrator:
        assert ">Users<" in administrator.get("/").text


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_nothing_is_cut_or_laid_over_another_thing(
    open_context: OpenContext, sqlite_database: Database, clock: MovableClock
) -> None:
    fill(sqlite_database, clock)
    tab = open_context("light", True).new_page()
    found = []
    for window in (DESK, TELEPHONE):
        tab.set_viewport_size(window)  # type: ignore[arg-type]
        for path in ("/jobs", f"/harvests/{LONG_NAME}/runs", "/harvests", "/", "/profile/notifications", "/fleet"):
            tab.goto(path)
            wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
            found += [f"{path} is {wide} px wider than {window['width']} px"] if wide > 0 else []
            found += [f"{path}: {each} is cut at {window['width']} px" for each in tab.evaluate(CUT)]
            found += tab.evaluate(OVERLAPS)
    assert "\n".join(found) == ""
    tab.goto("/jobs")
    expect(tab.get_by_text("FAILED", exact=True).last).to_be_visible()
    heights = {row.inner_text()[:1]: row.bounding_box() for row in tab.locator("tbody tr").all()}
    resubmitted, failed = heights["3"], heights["2"]
    assert resubmitted is not None
    assert failed is not None
    assert resubmitted["height"] < failed["height"] / 2, "a resubmitted job has one row"


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_menu_and_charts_need_no_script(
    open_context: OpenContext, sqlite_database: Database, clock: MovableClock
) -> None:
    fill(sqlite_database, clock)
    tab = open_context("dark", False).new_page()
    tab.set_viewport_size(TELEPHONE)  # type: ignore[arg-type]
    tab.goto("/")
    entry = tab.locator(".menu").get_by_role("link", name="Fleet")
    expect(entry).to_be_hidden()
    expect(tab.locator("nav.side")).to_be_hidden()
    tab.locator(".menu summary").focus()
    tab.keyboard.press("Enter")
    expect(entry).to_be_visible()
    entry.click()
    expect(tab.get_by_role("heading", name="Fleet", level=1)).to_be_visible()
    tab.set_viewport_size(DESK)  # type: ignore[arg-type]
    tab.goto(f"/harvests/{LONG_NAME}/runs")
    expect(tab.locator(".menu summary")).to_be_hidden()
    assert _bars(tab) == ["Run 0: 0", "Run 1: 1\u202f234\u202f567", "Run 2: 2\u202f469\u202f134"]
    texts = [text for text in tab.locator("svg.drawn").first.locator("text").all_text_contents() if text]
    assert {"run 0", "run 1", "run 2", "0", "5\u202f000\u202f000"} <= set(texts)


def _bars(tab: Page) -> list[str]:
    """Return what the bars of the first chart say, without their dates."""
    titles = tab.locator("svg.drawn").first.locator("g title").all_text_contents()
    return [re.sub(r", \d{4}-\d\d-\d\d \d\d:\d\d", "", title) for title in titles]


def test_the_last_microsecond_of_the_year_9999_is_a_date() -> None:
    last = parse_date("9999-12-31T23:59:59.999999Z")
    assert date_text(last, zone_of("UTC")) == "9999-12-31 23:59"
    assert date_text(last, zone_of("Europe/Copenhagen")) == "9999-12-31 23:59", "there is no later year"
    shown = time_element(lambda: zone_of("UTC"), lambda: last)(last)
    assert shown == '<time datetime="9999-12-31T23:59:59Z" title="0 s ago">9999-12-31 23:59</time>'


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        (139, 5384, "97 % fewer than the 5\u202f384 expected"),
        (5384, 5384, "as many as expected: 5\u202f384"),
        (5385, 5384, "less than 1 % more than the 5\u202f384 expected"),
        (1, 10_000, "99 % fewer than the 10\u202f000 expected"),
        (0, 10, "100 % fewer than the 10 expected"),
        (25, 10, "2.5 times the 10 expected"),
        (25, 0, "nothing was expected"),
    ],
)
def test_a_result_is_compared_in_words_with_what_was_expected(found: int, expected: int, said: str) -> None:
    assert compared_text(found, expected) == said
