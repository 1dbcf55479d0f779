"""admin/web/pages: a curator adds domains, makes a template, a schedule and a harvest, and sees its jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from support.admin.harvest_database import MovableClock
from support.web.axe_pages import serious_on_pages
from support.web.security_site import flask_app
from support.web.site_server import RunningSite, running_site, send_form

from admin.harvests.dispatch.channels import install_stock as install_channels
from admin.harvests.dispatch.harvesters import Registration, register
from admin.harvests.domains.names import registered_domain
from admin.harvests.input_checks import name_problem, refuse
from admin.harvests.schedules.stock import install_stock as install_schedules
from admin.harvests.templates.stock import install_stock as install_templates
from admin.models.database import Database
from admin.models.errors import InvalidInput
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.people.fields import login_name
from admin.scheduler.assembly import installed_scheduler
from archive.settings.load import load

HOSTILE = '"><script>alert(1)</script>\u202e'


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        install_channels(transaction)
        install_templates(transaction)
        install_schedules(transaction)
        register(transaction, Registration("a-harvester", "FOCUSED", "here", 1, 1_000_000_000))
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.ADMINISTRATOR) as client:
        yield client


def fill(client: httpx.Client) -> None:
    """Make domains, a schedule, a template and a harvest as a curator does."""
    uploaded = send_form(client, "/domains/upload", text="example.org\nhttps://www.example.com/x\nnot a domain\n")
    assert "Line 3" in uploaded.text
    assert send_form(client, "/domains", name="https://blåbær.dk/").headers["Location"] == "/domains/xn--blbr-roah.dk"
    values = {"every": "2", "unit": "week", "weekday": "0", "hour": "3", "minute": "30", "zone": "Europe/Copenhagen"}
    assert send_form(client, "/schedules/new", name="Mondays", ends="never", **values).status_code == 303
    text = client.get("/templates/default/download/1").text
    assert send_form(client, "/templates/new", name="news", comments="", text=text).status_code == 303
    made = send_form(
        client, "/harvests/new", name="weekly news", kind="selective", collection="news", schedule="Mondays"
    )
    assert made.headers["Location"] == "/harvests/weekly%20news"
    to = "/harvests/weekly%20news/configurations"
    added = send_form(client, "/harvests/weekly%20news", to, domains="example.org\nexample.com", action="add")
    assert added.status_code == 303, added.text


def test_a_curator_makes_a_harvest_and_sees_its_jobs(
    site: RunningSite, client: httpx.Client, clock: MovableClock, tmp_path: Path
) -> None:
    fill(client)
    assert "2 configurations" in client.get("/harvests/weekly%20news").text
    preview = client.get("/harvests/weekly%20news/preview")
    assert preview.status_code == 200
    assert send_form(client, "/harvests/weekly%20news", "/harvests/weekly%20news/run_now").status_code == 303
    settings = load({"home": str(tmp_path / "home")}, environment={})
    scheduler = installed_scheduler(site.database, settings)
    scheduler.tick()
    scheduler.wait()
    shown = client.get("/jobs").text
    assert "weekly news" in shown
    assert "example.org" in client.get("/jobs/1/domains").text
    assert client.get("/jobs/1/setup").status_code == 200
    assert client.get("/").status_code == 200


def test_forms_keep_what_was_typed_and_say_what_is_wrong(client: httpx.Client) -> None:
    wrong = send_form(client, "/schedules/new", name=HOSTILE, every="0", unit="day", ends="never", zone="Mars/Olympus")
    assert wrong.status_code == 422
    assert "Nothing was saved." in wrong.text
    assert "Mars/Olympus" in wrong.text
    assert "<script>alert" not in wrong.text
    for path, values in (
        ("/domains", {"name": HOSTILE}),
        ("/templates/new", {"name": "x", "comments": "", "text": "hops: [1"}),
        ("/harvests/new", {"name": HOSTILE, "kind": "selective", "collection": "a b", "first_run": "tomorrow"}),
    ):
        answer = send_form(client, path, **values)
        assert answer.status_code == 422, path
        assert "<script>alert" not in answer.text
        assert 'role="alert"' in answer.text


def test_two_people_who_edit_the_same_thing_get_a_conflict_page(client: httpx.Client) -> None:
    fill(client)
    first = {"name": "Mondays", "every": "1", "unit": "day", "zone": "UTC", "ends": "never", "edition": "1"}
    assert send_form(client, "/schedules/Mondays/edit", **first).status_code == 303
    late = send_form(client, "/schedules/Mondays/edit", **{**first, "comments": "mine"})
    assert "Somebody else has changed this meanwhile." in late.text
    assert 'value="mine"' in late.text


def test_what_is_in_use_is_not_deleted_and_the_page_says_where(client: httpx.Client) -> None:
    fill(client)
    for path in ("/schedules/Mondays", "/domains/example.org"):
        answer = send_form(client, path, f"{path}/delete")
        assert answer.status_code == 409
        assert "<h1>This did not work</h1>" in answer.text
        assert "weekly news" in answer.text


def test_a_thing_that_somebody_else_has_changed_is_not_deleted(client: httpx.Client) -> None:
    fill(client)
    late = send_form(client, "/harvests/weekly%20news", "/harvests/weekly%20news/delete", edition="99")
    assert late.status_code == 409
    assert "<h1>Somebody else changed it</h1>" in late.text


def test_a_list_has_links_to_its_pages_whatever_the_query_has(client: httpx.Client) -> None:
    send_form(client, "/domains/upload", text="".join(f"example-{number}.org\n" for number in range(102)))
    for name in ("endpoint", "_anchor", "_external", "_method", "_scheme", "_other", "self", "values", "list"):
        answer = client.get("/domains", params={"search": "*example*", "after": "a.org", name: "PUT"})
        links = re.findall(r'href="(/domains\?[^"]+)"(?: rel="next")?>(?:Next|First) page', answer.text)
        assert (answer.status_code, len(links)) == (200, 2), name
        assert all("search=*example*" in link for link in links), links


def can_be_named(place: str, name: str) -> bool:
    """Return whether a thing whose pages are below the place can get this name."""
    checks: dict[str, Callable[[str], object]] = {"/domains": registered_domain, "/users": login_name}
    try:
        checks.get(place, lambda name: refuse([name_problem("name", name)]))(name)
    except (InvalidInput, ValueError):
        return False
    return True


def test_nothing_gets_the_name_of_a_page_that_stands_beside_it(tmp_path: Path) -> None:
    rules = [
        rule.rule.rpartition("/") for rule in flask_app(tmp_path).url_map.iter_rules() if "GET" in (rule.methods or ())
    ]
    named = {place for place, _, last in rules if re.fullmatch(r"<(path:)?\w+>", last)}
    pages = {(place, last) for place, _, last in rules if place in named and "<" not in last}
    pages.remove(("/collections/<name>/access/rules", "new"))  # the names of access rules are computed
    assert {place for place, _ in pages} >= {"/domains", "/harvests", "/schedules", "/templates", "/users"}
    assert [each for each in pages if can_be_named(*each)] == []


PATHS = (
    *("/harvests/new", "/harvests/weekly news", "/harvests/weekly news/explain?domain=example.org"),
    *("/harvests/weekly news/preview", "/schedules/new", "/fleet", "/settings"),
)
"""Other files of this folder check the pages of domains, jobs and people, the overview and the editor of templates."""
ALIKE = (
    *("/harvests/weekly news/configurations", "/templates/default"),
    *("/harvests/weekly news/edit", "/harvests/weekly news/copy", "/harvests/new?kind=snapshot", "/harvests"),
    *("/schedules/Mondays/edit", "/templates/new", "/templates/default/users", "/templates/default/rename"),
    *("/schedules", "/schedules/Mondays", "/templates", "/audit"),
    "/templates/default/scope?urls=http://example.org/a&seeds=http://example.org/",
)
"""These pages have the form, the table or the list of another one, with other values."""


@pytest.mark.parametrize("paths", [PATHS, pytest.param(ALIKE, marks=pytest.mark.slow)], ids=["all kinds", "alike"])
@pytest.mark.browser
@pytest.mark.timeout(300)
def test_axe_finds_nothing_serious_and_no_script_is_refused(
    site: RunningSite, client: httpx.Client, paths: Sequence[str]
) -> None:
    fill(client)
    assert serious_on_pages(site.address, client, paths) == []
