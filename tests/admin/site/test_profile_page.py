"""admin/web/pages/profile*.py, users.py and help.py: one's own profile, users for administrators, the API browser."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.web.axe_pages import opened_tab, serious_on_pages
from support.web.site_pages import HOSTILE, LONG, NUL, csrf_of, edition_of, refused, saved
from support.web.site_server import PASSWORD, RunningSite, running_site, send_form

from admin.models.database import Database
from admin.models.people_tables import Role


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.ADMINISTRATOR) as client:
        yield client


def test_a_person_changes_the_own_profile(client: httpx.Client) -> None:
    edition = edition_of(client, "/profile")
    wrong = refused(
        client,
        "/profile",
        'id="full_name-problem"',
        'id="email-problem"',
        'id="zone-problem"',
        full_name=LONG,
        email=HOSTILE,
        zone="Mars/Olympus",
        edition=edition,
    )
    assert LONG in wrong.text
    assert 'value="Mars/Olympus"' in wrong.text
    refused(client, "/profile", 'id="full_name-problem"', full_name=NUL, edition=edition)
    name = HOSTILE[:-1]
    saved(client, "/profile", full_name=name, email="me@bücher.example", zone="Asia/Tokyo", edition=edition)
    shown = client.get("/profile").text
    assert "me@xn--bcher-kva.example" in shown
    assert "times in Asia/Tokyo" in shown
    assert "<script>alert" not in shown
    late = refused(client, "/profile", "Both versions", full_name="Mine", zone="UTC", email="", edition=edition)
    assert 'value="Mine"' in late.text
    assert html.escape(name, quote=False).replace('"', "&#34;") in late.text


def test_a_new_password_needs_the_present_one_and_ends_other_sessions(site: RunningSite, client: httpx.Client) -> None:
    path, new = "/profile/password", "another long password"
    with httpx.Client(base_url=site.address) as other:
        send_form(other, "/login", name="the-administrator", password=PASSWORD)
        assert other.get("/profile").status_code == 200
        answers = (
            refused(client, path, present="wrong", password=new, repeated=new),
            refused(client, path, "differ", present=PASSWORD, password=new, repeated=f"{new}!"),
            refused(client, path, 'id="password-problem"', present=PASSWORD, password="short", repeated="short"),
        )
        for answer in answers:
            assert new not in answer.text
            assert f'value="{PASSWORD}"' not in answer.text
        assert saved(client, path, present=PASSWORD, password=new, repeated=new) == "/profile"
        assert client.get("/profile").status_code == 200
        assert other.get("/profile").status_code == 303
        assert send_form(other, "/login", name="the-administrator", password=PASSWORD).status_code == 401


def test_a_person_sees_the_own_sessions_and_ends_others(site: RunningSite, client: httpx.Client) -> None:
    with httpx.Client(base_url=site.address) as first, httpx.Client(base_url=site.address) as second:
        for each in (first, second):
            headers = {"User-Agent": f"Browser {HOSTILE}"}
            each.headers.update(headers | {"User-Agent": headers["User-Agent"].encode("ascii", "ignore").decode()})
            send_form(each, "/login", name="the-administrator", password=PASSWORD)
        shown = client.get("/profile/sessions").text
        assert "<script>alert" not in shown
        assert shown.count("this one") == 1
        ends = re.findall(r'action="(/profile/sessions/[0-9a-f]+/end)"', shown)
        assert len(ends) == 2
        saved(client, "/profile/sessions", ends[0])
        assert sorted(each.get("/profile").status_code for each in (first, second)) == [200, 303]
        saved(client, "/profile/sessions", "/profile/sessions/end-others")
        assert [each.get("/profile").status_code for each in (first, second)] == [303, 303]
        assert client.get("/profile").status_code == 200
        assert send_form(client, "/profile/sessions", "/profile/sessions/0123456789abcdef/end").status_code == 404


def test_a_token_is_shown_once_works_and_is_revoked(site: RunningSite, client: httpx.Client) -> None:
    path = "/profile/tokens"
    refused(client, path, 'id="name-problem"', name="", role="reader", days="30")
    refused(client, path, 'id="days-problem"', name="kept", role="reader", days="9999")
    refused(client, path, 'id="role-problem"', name="kept", role="king", days="1")
    made = send_form(client, path, name=HOSTILE[:-1], role="reader", days="30")
    assert "<script>alert" not in made.text
    token = re.search(r"<code>(gf_[^<]+)</code>", made.text)
    assert token is not None
    assert token[1] not in client.get(path).text
    with httpx.Client(base_url=site.address, headers={"Authorization": f"Bearer {token[1]}"}) as program:
        assert program.get("/api/v1/profile").json()["name"] == "the-administrator"
        assert program.post("/api/v1/domains", json={"name": "example.org"}).status_code == 403
        saved(client, path, f"{path}/1/revoke")
        assert program.get("/api/v1/profile").status_code == 401
    assert send_form(client, path, f"{path}/1/revoke").status_code == 404


def test_a_person_chooses_of_which_events_to_hear(site: RunningSite, client: httpx.Client) -> None:
    path = "/profile/notifications"
    assert "You hear of no events." in client.get(path).text
    refused(client, path, "no e-mail", event="job.failed", way="email")
    wrong = refused(client, path, 'id="target-problem"', event="job.failed", way="webhook", target="nowhere")
    assert 'value="job.failed" checked' in wrong.text
    refused(
        client, path, 'id="harvest-problem"', event="job.failed", way="webhook", target="http://a/", harvest=HOSTILE
    )
    token = csrf_of(client)
    sent = {"csrf_token": token, "way": "webhook", "target": "http://127.0.0.1:1/hook", "harvest": ""}
    assert client.post(path, data={**sent, "event": ["job.failed", "job.ended"]}).status_code == 303
    shown = client.get(path).text
    assert shown.count("<td>job.") == 2
    assert "whsec_" in shown
    saved(client, path, f"{path}/1/test")
    assert "This is a test message" in client.get(path).text
    saved(client, path, f"{path}/1/remove")
    assert client.get(path).text.count("<td>job.") == 1
    assert client.post(path, data=sent).status_code == 422


def test_a_reader_has_a_profile_and_no_webhooks(site: RunningSite, client: httpx.Client) -> None:
    with site.client(Role.READER) as reader:
        for path in ("", "/password", "/sessions", "/tokens", "/notifications"):
            assert reader.get(f"/profile{path}").status_code == 200
        assert 'name="target"' not in reader.get("/profile/notifications").text
        sent = {"event": "job.failed", "way": "webhook", "target": "http://127.0.0.1:1/"}
        assert send_form(reader, "/profile/notifications", **sent).status_code == 403
        refused(reader, "/profile/tokens", 'id="role-problem"', name="more", role="curator", days="1")
        for path in ("/users", "/users/new", "/users/the-administrator"):
            assert reader.get(path).status_code == 403
            assert reader.post(path, data={"csrf_token": csrf_of(reader), "role": "reader"}).status_code == 403


def test_an_administrator_makes_changes_and_deactivates_users(site: RunningSite, client: httpx.Client) -> None:
    refused(client, "/users/new", 'id="name-problem"', 'value="kept"', name=HOSTILE, full_name="kept", role="reader")
    made = send_form(client, "/users/new", name="anna", full_name=HOSTILE[:-1], role="curator", zone="UTC")
    link = re.search(r"<code>[^<]*(/welcome/[^<]+)</code>", made.text)
    assert link is not None
    assert "no password yet" in made.text
    with httpx.Client(base_url=site.address) as anna:
        assert send_form(anna, link[1], password=PASSWORD, repeated=PASSWORD).status_code == 303
        shown = client.get("/users/anna").text
        assert "<script>alert" not in shown
        assert "End all sessions" in shown
        saved(client, "/users/anna", "/users/anna/end_sessions")
        assert anna.get("/profile").status_code == 303
        send_form(anna, "/login", name="anna", password=PASSWORD)
        send_form(anna, "/profile/tokens", name="report", role="reader", days="")
        saved(client, "/users/anna", "/users/anna/tokens/1/revoke")
        edition = edition_of(client, "/users/anna")
        saved(client, "/users/anna", role="reader", full_name="Anna", email="", zone="UTC", edition=edition)
        assert anna.get("/profile").status_code == 303, "a change of the role ends sessions"
        late = {"role": "operator", "full_name": "Anna B", "zone": "UTC", "email": "", "edition": edition}
        refused(client, "/users/anna", "Both versions", "reader", **late)
        for action in ("release", "deactivate"):
            saved(client, "/users/anna", f"/users/anna/{action}")
        assert send_form(anna, "/login", name="anna", password=PASSWORD).status_code == 401
        saved(client, "/users/anna", "/users/anna/activate")
        reset = send_form(client, "/users/anna", "/users/anna/reset_password").text
        assert "/welcome/" in reset
        assert "the password of anna" in reset
        revoke = re.search(r'action="(/users/invitations/\d+/revoke)"', reset)
        assert revoke is not None
        saved(client, "/users", revoke[1])
    assert "anna" not in client.get("/users?role=operator").text.partition("<table>")[2].partition("</table>")[0]
    assert "/users/anna" in client.get("/users?begins_with=an&active=yes").text
    own = client.get("/users/the-administrator").text
    assert "last administrator" in send_form(client, "/users", "/users/the-administrator/deactivate").text
    assert own
    assert client.get("/users", params={"after": NUL, "begins_with": LONG}).status_code == 200


PAGES = ("/profile", "/profile/tokens", "/profile/notifications", "/users/the-administrator")
OTHERS = ("/profile/password", "/profile/sessions", "/users", "/users/new", "/api")
"""Pages with the form or the table of another one, and the API browser, whose code is not ours."""


@pytest.mark.browser
@pytest.mark.timeout(600)
@pytest.mark.parametrize("paths", [PAGES, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["all kinds", "others"])
def test_axe_finds_nothing_serious_on_pages_of_people(
    site: RunningSite, client: httpx.Client, paths: tuple[str, ...]
) -> None:
    sent = {"event": "job.failed", "way": "webhook", "target": "http://127.0.0.1:1/"}
    saved(client, "/profile/notifications", **sent)
    send_form(client, "/profile/tokens", name="report", role="reader", days="")
    send_form(client, "/users", role="reader")
    assert serious_on_pages(site.address, client, paths) == []


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(300)
def test_the_api_browser_sends_requests_with_the_session(site: RunningSite, client: httpx.Client) -> None:
    with opened_tab(site.address, client) as tab:
        tab.goto("/api")
        tab.locator(".opblock-tag", has_text="profile").first.click()
        operation = tab.locator('[id^="operations-profile-token"][id$="create"]')
        operation.locator(".opblock-summary-control").click()
        operation.get_by_role("button", name="Try it out").click()
        operation.locator("textarea").fill('{"name": "from the browser", "role": "reader", "days": 1}')
        operation.get_by_role("button", name="Execute").click()
        operation.locator(".live-responses-table .response-col_status", has_text="201").wait_for()
    assert "from the browser" in client.get("/profile/tokens").text
