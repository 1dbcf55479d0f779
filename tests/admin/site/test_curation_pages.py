"""admin/web/pages/curation: a curator describes, asks, changes many domains, and looks ahead and back."""

from __future__ import annotations

import html
from collections.abc import Iterator
from urllib.parse import urlencode

import httpx
import pytest
from support.admin.harvest_database import DAY, START
from support.admin.harvest_world import World
from support.archive.browsed_collection import NAME, Shelf
from support.archive.exchanges import DATE
from support.web.axe_pages import serious_on_pages
from support.web.site_pages import edition_of, refused, saved
from support.web.site_server import RunningSite, running_site, send_form

from admin.models.database import Database
from admin.models.job_tables import JobStatus
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from archive.dates import timestamp14
from archive.settings.load import Settings

HOSTILE = '"><script>alert(1)</script>'
CAPTURE = f"/collections/{NAME}/description/capture?" + urlencode(
    {"url": "http://example.org/page", "timestamp": timestamp14(DATE)}
)


@pytest.fixture
def world(sqlite_database: Database, settings: Settings) -> World:
    shelf = Shelf(settings)
    shelf.page()
    shelf.close()
    world = World(sqlite_database, settings)
    world.schedule()
    number = world.domain("a.org")
    harvest = world.harvest("news", [number], schedule="hourly", runs_made=1, next_run=START + DAY)
    with world.database.transaction(COMMAND_LINE) as transaction:
        job = world.job_row(harvest, status=JobStatus.FAILED)
        job.ended, job.objects = START - DAY, 5
        transaction.session.add(job)
    return world


@pytest.fixture
def site(world: World, settings: Settings) -> Iterator[RunningSite]:
    with running_site(world.database, settings.home) as running:
        yield running


@pytest.fixture
def curator(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.CURATOR) as client:
        yield client


def fill(client: httpx.Client) -> None:
    """Do each kind of work once."""
    page = f"/collections/{NAME}/description"
    sent = {"state": "in-review", "dc_title": f"News\n{HOSTILE}", "tags": "press, web", "embargo_until": ""}
    assert send_form(client, f"{page}/edit", **sent).status_code == 303
    assert send_form(client, CAPTURE, state="draft", dc_creator="Anna").status_code == 303
    given = {"url": f"https://example.org/{HOSTILE[2:10]}", "reason": HOSTILE}
    assert send_form(client, page, f"{page}/exclusions", **given).status_code == 303
    made = send_form(
        client, "/permissions/new", site="a.org", state="granted", granted_until="2027-01-20T08:00", contact=HOSTILE
    )
    assert made.headers["Location"] == "/permissions/1"


def test_a_curator_describes_asks_and_reviews(curator: httpx.Client) -> None:
    fill(curator)
    shown = curator.get(f"/collections/{NAME}/description").text
    assert "in-review" in shown
    assert "<dd><bdi>News</bdi></dd>" in shown
    assert "<script>alert" not in shown
    assert "Anna" in curator.get(CAPTURE).text
    tray = curator.get("/tray").text
    assert all(each in tray for each in ("to-review", "licence-ends", "job-failed"))
    assert curator.get("/tray/count").text == "(3)"
    assert send_form(curator, "/tray", "/tray/dismiss", entry="job:1").status_code == 303
    assert curator.get("/tray/count").text == "(2)"
    letter = send_form(curator, "/permissions/1", "/permissions/1/letter", template="default")
    assert "Permission to archive a.org" in letter.text
    assert "<script>alert" not in letter.text
    changed = send_form(curator, "/permissions/1/edit", state="refused", note="by post", edition="1")
    assert changed.status_code == 303
    assert "by post" in curator.get("/permissions/1").text
    assert "permission-refused" in curator.get("/harvests/news/preview").text


def test_a_long_description_is_saved_and_edited(curator: httpx.Client) -> None:
    text = "å" * 10_000
    for path in (f"/collections/{NAME}/description/edit", CAPTURE):
        for _ in range(2):
            sent = send_form(
                curator, path, state="draft", dc_description=f"{text}\n{text}", edition=edition_of(curator, path)
            )
            assert sent.status_code == 303, sent.text


def test_a_wrong_form_keeps_what_was_typed(curator: httpx.Client) -> None:
    for path, values in (
        (f"/collections/{NAME}/description/edit", {"state": "rejected", "reason": "", "dc_title": "kept so"}),
        ("/permissions/new", {"site": "kept so", "state": "asked"}),
        ("/bulk-changes", {"action": "add-tag", "new_tag": "kept so", "step": "preview"}),
        ("/permissions/letters/default", {"name": "mine", "subject": "kept so", "body": "{colour}"}),
    ):
        answer = send_form(curator, path, **values)
        assert (answer.status_code, "kept so" in answer.text) == (422, True), path
    for path in ("/calendar?days=0", "/reports?since=never"):
        assert curator.get(path).status_code == 422
    report = curator.get("/reports/report.csv?since=abc")
    assert (report.status_code, "<h1>The input can't be used</h1>" in html.unescape(report.text)) == (422, True)
    assert "is no month" in report.text


def test_a_template_that_is_saved_by_another_name_is_another_template(curator: httpx.Client) -> None:
    assert curator.get("/permissions/letters/short").status_code == 404
    saved = send_form(curator, "/permissions/letters/default", name="short", subject="May we?", body="{site}")
    assert (saved.status_code, saved.headers["location"]) == (303, "/permissions/letters/short")
    assert 'value="May we?"' in curator.get("/permissions/letters/short").text
    assert 'value="May we?"' not in curator.get("/permissions/letters/default").text


def test_a_template_is_not_saved_over_another_one(curator: httpx.Client) -> None:
    default, typed = "/permissions/letters/default", {"subject": "Bob's", "body": "{site}"}
    assert saved(curator, default, name="reminder", subject="Anna's", body="{site}", edition="0")
    refused(curator, default, "a template 'reminder' already", "Bob's", name="reminder", edition="0", **typed)
    shown = curator.get("/permissions/letters/reminder").text
    assert "Anna's" in html.unescape(shown)
    assert saved(curator, "/permissions/letters/reminder", name="reminder", edition="1", **typed)


def test_many_domains_are_changed_after_a_preview(curator: httpx.Client, world: World) -> None:
    given = {"action": "set-owner", "domains": "a.org\nb.org", "owner": HOSTILE}
    preview = send_form(curator, "/bulk-changes", step="preview", **given)
    assert "1 of 2 domains would change" in preview.text
    assert "<script>alert" not in preview.text
    assert "Anna" not in curator.get("/domains/a.org").text
    done = send_form(curator, "/bulk-changes", step="do", **{**given, "owner": "Anna"})
    assert "1 of 2 domains were changed" in done.text
    assert "Anna" in curator.get("/domains/a.org").text


def test_the_calendar_and_the_report_show_the_harvest(curator: httpx.Client) -> None:
    assert "news" in curator.get("/calendar?days=3").text
    assert "2027-01" in curator.get("/reports").text
    assert curator.get("/reports/report.csv").text.splitlines()[1].startswith("2027-01,news,me,1,1,5")


PAGES = (
    *("/tray", "/permissions/1", "/permissions/1/edit", "/calendar?days=3", "/bulk-changes"),
    f"/collections/{NAME}/description/edit",
)
ALIKE = (
    *("/permissions", "/permissions/new", "/permissions/letters/default", "/reports", CAPTURE),
    f"/collections/{NAME}/description",
)
"""These pages have the form or the table of another one, with other values."""


@pytest.mark.browser
@pytest.mark.timeout(300)
@pytest.mark.parametrize("paths", [PAGES, pytest.param(ALIKE, marks=pytest.mark.slow)], ids=["all kinds", "alike"])
def test_axe_finds_nothing_serious(site: RunningSite, curator: httpx.Client, paths: tuple[str, ...]) -> None:
    fill(curator)
    assert serious_on_pages(site.address, curator, paths) == []
