"""A form that is sent after its session has ended comes back after the login, with what was typed."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser
from support.admin.harvest_database import MovableClock
from support.each_value import each_value
from support.web.site_server import PASSWORD, RunningSite, send_form
from werkzeug.datastructures import MultiDict

import admin.web
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.people.users import UserChange, change_user
from admin.web.kept_forms import KEPT_SECONDS, MOST_BYTES, MOST_FORMS, SECRET_WORDS, KeptForms

DAY = 86_400_000_000
NIGHTLY = {"every": "1", "unit": "day", "hour": "2", "minute": "30", "zone": "UTC", "ends": "never"}


def token_of(client: httpx.Client, path: str) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found[1]


def send(
    client: httpx.Client, data: dict[str, str], path: str = "/domains", page: str = "/domains/new"
) -> httpx.Response:
    """Send a form of a page that was loaded before, as browsers do."""
    return client.post(path, data=data, headers={"Referer": str(client.base_url.join(page))})


def log_in(client: httpx.Client, name: str, where: str = "/login", password: str = PASSWORD) -> str:
    """Log in by the page to which the site has led, and return the path to which it leads then."""
    answer = send_form(client, where, name=name, password=password)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_what_was_typed_comes_back_after_the_login_and_is_saved_when_it_is_sent_again(
    stocked_site: RunningSite, curator: httpx.Client, clock: MovableClock
) -> None:
    token = token_of(curator, "/domains/new")
    clock.move(DAY)
    sent = send(curator, {"csrf_token": token, "name": "example.org", "comments": "two\r\nlines <b>"})
    assert sent.status_code == 303
    assert sent.headers["location"] == "/login?next=/domains/new"
    back = log_in(curator, "the-curator", sent.headers["location"])
    assert back == "/domains/new"
    shown = curator.get(back)
    tree = LexborHTMLParser(shown.text)
    name, comments = tree.css_first("input[name=name]"), tree.css_first("textarea[name=comments]")
    assert name is not None
    assert comments is not None
    assert name.attributes["value"] == "example.org"
    assert comments.text().strip().replace("\r\n", "\n") == "two\nlines <b>"
    assert "Your session had ended before the form was sent, so nothing was saved." in shown.text
    assert "example.org" not in curator.get("/domains").text
    assert curator.get("/domains/new").text.count("example.org") == 0  # it is shown once
    assert send_form(curator, "/domains/new", "/domains", name="example.org", comments="x").status_code == 303
    assert "example.org" in curator.get("/domains").text


def test_the_template_editor_keeps_its_many_fields(
    stocked_site: RunningSite, curator: httpx.Client, clock: MovableClock
) -> None:
    page = LexborHTMLParser(curator.get("/templates/new").text)
    values = {
        each.attributes["name"] or "": each.attributes.get("value") or ""
        for each in page.css("form input[name]:not([type=checkbox])")
    }
    values |= {each.attributes["name"] or "": each.text() for each in page.css("form textarea[name]")}
    values |= {"name": "mine", "view": "fields"}
    fields = [name for name in values if name.startswith("key.")]
    number = next(name for name in fields if name == "key.max_pages" or "limit" in name)
    clock.move(DAY)
    sent = send(curator, {**values, number: "4711"}, "/templates/new", "/templates/new")
    shown = LexborHTMLParser(curator.get(log_in(curator, "the-curator", sent.headers["location"])).text)
    again = shown.css_first(f'[name="{number}"]')
    assert again is not None
    assert again.attributes["value"] == "4711"


def test_a_password_that_was_changed_elsewhere_loses_no_form(stocked_site: RunningSite, curator: httpx.Client) -> None:
    token = token_of(curator, "/domains/new")
    with stocked_site.database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "the-curator", UserChange(role=Role.OPERATOR))  # ends the sessions, as a password does
        change_user(transaction, "the-curator", UserChange(role=Role.CURATOR))
    assert log_in(curator, "the-curator") == "/"  # in another window of the browser
    sent = send(curator, {"csrf_token": token, "name": "example.org"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/domains/new")
    assert 'value="example.org"' in curator.get("/domains/new").text
    assert "example.org" not in curator.get("/domains").text


def test_a_form_without_an_address_of_its_own_leads_to_the_page_that_has_it(
    stocked_site: RunningSite, clock: MovableClock
) -> None:
    with stocked_site.client(Role.ADMINISTRATOR) as browser:
        token = token_of(browser, "/fleet")
        clock.move(DAY)
        typed = {"csrf_token": token, "name": "NIGHT", "comments": "at night", "takes_snapshots": "on"}
        sent = send(browser, typed, "/fleet/channels", "/fleet?x=1")
        assert sent.headers["location"] == "/login?next=/fleet?x%3D1"
        shown = browser.get(log_in(browser, "the-administrator", sent.headers["location"])).text
        assert 'value="NIGHT"' in shown
        assert "at night" in shown
        assert browser.get("/fleet").text.count("NIGHT") == 0


@pytest.mark.parametrize("names_its_page", [True, False])
def test_a_page_whose_name_has_spaces_and_signs_gets_its_form_back(
    stocked_site: RunningSite, curator: httpx.Client, clock: MovableClock, names_its_page: bool
) -> None:
    name = "Nächte, 50 % ? %41 #1"
    assert send_form(curator, "/schedules/new", **{**NIGHTLY, "name": name}).status_code == 303
    page = f"/schedules/{quote(name)}/edit"
    typed = {**NIGHTLY, "csrf_token": token_of(curator, page), "name": name, "comments": "typed", "edition": "1"}
    clock.move(DAY)
    headers = {"Referer": str(curator.base_url.join(page))} if names_its_page else {}
    sent = curator.post(page, data=typed, headers=headers)
    shown = curator.get(log_in(curator, "the-curator", sent.headers["location"])).text
    assert 'value="typed"' in shown
    assert "Your session had ended before the form was sent, so nothing was saved." in shown


@each_value(
    ("page", "values", "said"),
    [
        ("/schedules/new", {"every": "x"}, "every-problem"),
        ("/schedules/new", {"ends": "date", "ends_at": ""}, "ends_at-problem"),
        ("/schedules/new", {"zone": "Mars/Olympus"}, "zone-problem"),
        ("/schedules/hourly/edit", {"starts": "tomorrow", "edition": "1"}, "starts-problem"),
    ],
)
def test_a_schedule_that_can_not_be_comes_back_with_what_is_wrong(
    stocked_site: RunningSite,
    curator: httpx.Client,
    clock: MovableClock,
    page: str,
    values: dict[str, str],
    said: str,
) -> None:
    token = token_of(curator, page)
    clock.move(DAY)
    sent = send(curator, {**NIGHTLY, "csrf_token": token, "name": "typed", **values}, page, page)
    shown = curator.get(log_in(curator, "the-curator", sent.headers["location"]))
    assert shown.status_code == 422
    assert 'value="typed"' in shown.text
    assert f'id="{said}"' in shown.text


def test_nobody_else_gets_the_form(stocked_site: RunningSite, curator: httpx.Client, clock: MovableClock) -> None:
    with stocked_site.client(Role.OPERATOR):
        token = token_of(curator, "/domains/new")
        clock.move(DAY)
        sent = send(curator, {"csrf_token": token, "name": "example.org"})
    log_in(curator, "the-operator", sent.headers["location"])
    with stocked_site.database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "the-operator", UserChange(role=Role.CURATOR))
    assert 'value="example.org"' not in curator.get(log_in(curator, "the-operator", "/login?next=/domains/new")).text


@pytest.mark.parametrize("csrf", ["", "made.up.token"])
def test_a_form_that_this_site_did_not_give_to_the_browser_is_not_kept(
    stocked_site: RunningSite, curator: httpx.Client, clock: MovableClock, csrf: str
) -> None:
    clock.move(DAY)
    sent = send(curator, {"csrf_token": csrf, "name": "example.org"})
    assert sent.headers["location"] == "/login"
    log_in(curator, "the-curator")
    assert 'value="example.org"' not in curator.get("/domains/new").text


def test_a_form_that_is_too_long_leads_back_and_says_so(
    stocked_site: RunningSite, curator: httpx.Client, clock: MovableClock
) -> None:
    token = token_of(curator, "/domains/new")
    clock.move(DAY)
    sent = send(curator, {"csrf_token": token, "name": "a" * 100_000})
    shown = curator.get(log_in(curator, "the-curator", sent.headers["location"])).text
    assert "too long to be kept" in shown
    assert "csrf_token" in shown


def test_the_page_that_was_asked_for_is_shown_after_the_login(curator: httpx.Client, clock: MovableClock) -> None:
    clock.move(DAY)
    led = curator.get("/domains?name=a%26b")
    assert log_in(curator, "the-curator", led.headers["location"]) == "/domains?name=a%26b"


def test_secrets_are_not_kept_and_what_is_kept_is_bounded() -> None:
    now = 0.0
    forms = KeptForms(lambda: now)
    sent = MultiDict([("name", "anna"), ("password", "geheim"), ("csrf_token", "x"), ("name", "berta")])
    kept = forms.take(forms.keep(1, "/a", sent, is_whole=True), 1, "/a")
    assert kept is not None
    assert list(kept.fields.items(multi=True)) == [("name", "anna"), ("name", "berta")]
    long = forms.take(forms.keep(1, "/a", MultiDict({"a": "x" * MOST_BYTES}), is_whole=True), 1, "/a")
    assert long is not None
    assert (not long.fields, long.is_whole) == (True, False)
    names = [forms.keep(1, "/a", sent, is_whole=True) for _ in range(MOST_FORMS + 1)]
    assert forms.take(names[0], 1, "/a") is None
    assert forms.take(names[1], 2, "/a") is None
    assert forms.take(names[1], 1, "/a") is None
    assert forms.take(names[2], 1, "/b") is None
    now = KEPT_SECONDS
    assert forms.take(names[3], 1, "/a") is None


def test_each_field_for_a_password_has_a_name_that_is_never_kept() -> None:
    folder = Path(admin.web.__file__).parent / "templates"
    kinds = re.compile(r"\{\{ m\.field\([^}]*type=\"password\"|<input[^>]*\"password\"[^>]*>")
    fields = [line for path in folder.rglob("*.html") for line in kinds.findall(path.read_text())]
    names = [found[1] for line in fields if (found := re.search(r'(?:form, |name=)"(\w+)"', line))]
    assert len(names) == len(fields) >= 6
    assert all(any(word in name for word in SECRET_WORDS) for name in names), names
