"""admin/site and admin/web: login, rights, headers, jobs' pages, live streams, over real sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.web.site_pages import press
from support.web.site_server import PASSWORD, RunningSite, running_site, send_form

import admin.web
from admin.harvests.dispatch.harvesters import Registration, announce, register
from admin.harvests.dispatch.queue import claim_job, submit_jobs
from admin.harvests.dispatch.reports import report_progress
from admin.models.database import Database
from admin.models.job_tables import HarvesterState, JobCommand
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.web.page import SESSION_COOKIE

HOSTILE = '"><script>alert(1)</script>\u202e'


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def running_job(sqlite_database: Database) -> tuple[int, str]:
    """A started job with some progress; its number and its token."""
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        add_job(transaction, add_harvest(transaction, add_channel(transaction), HOSTILE))
        register(transaction, Registration("h1", "FOCUSED", "machine", 1))
        announce(transaction, "h1", HarvesterState.READY)
        submit_jobs(transaction)
        job = claim_job(transaction, "h1")
        assert job is not None
        hosts = [{"host": HOSTILE, "queued": 7, "why": "pause of 3 s"}]
        for urls in (1, 5, 9):
            progress = {"urls": urls, "bytes": urls * 1000, "queued": 7, "errors": {HOSTILE: 2}}
            report_progress(transaction, job.id, job.token, "running", progress, hosts)
    return job.id, job.token


def test_nobody_sees_a_page_before_a_login_and_the_login_leads_back(site: RunningSite) -> None:
    with site.client() as client:
        answer = client.get("/jobs?status=FAILED")
        assert answer.status_code == 303
        assert answer.headers["Location"] == "/login?next=/jobs?status%3DFAILED"
    with site.client(Role.ADMINISTRATOR) as client:
        client.cookies.delete("ghostfleet_session")
        answer = send_form(client, "/login?next=/jobs", name="the-administrator", password=PASSWORD)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/jobs")
        assert client.get("/jobs").status_code == 200


@pytest.mark.parametrize(
    "path", ["/harvests/Weekly%20news", "/harvests/bl%C3%A5b%C3%A6r/edit", "/harvests/100%25%3F?after=a%20b&search=%26"]
)
def test_the_login_leads_back_to_any_path_and_query(site: RunningSite, path: str) -> None:
    with site.client(Role.ADMINISTRATOR) as client:
        client.cookies.delete("ghostfleet_session")
        login = client.get(path).headers["Location"]
        answer = press(client, login, "Log in", name="the-administrator", password=PASSWORD)
        assert (answer.status_code, answer.headers["Location"]) == (303, path)


@pytest.mark.parametrize("path", ["/capture/1/screen?url=http://x.test/", "/login?next=/capture/1/screen?url=x.test"])
def test_another_site_does_not_choose_the_query_of_the_page_after_the_login(site: RunningSite, path: str) -> None:
    with site.client() as client:
        for sent, is_kept in (("cross-site", False), ("none", True)):
            shown = client.get(path, headers={"Sec-Fetch-Site": sent}, follow_redirects=True)
            action = re.search(r'<form method="post" action="(/login[^"]+)"', shown.text)
            assert action is not None
            assert httpx.URL(action[1]).params["next"].startswith("/capture/1/screen")
            assert ("x.test" in action[1]) is is_kept


def test_a_wrong_password_is_said_without_telling_whether_there_is_such_a_user(site: RunningSite) -> None:
    with site.client(Role.ADMINISTRATOR) as client:
        client.cookies.clear()
        answers = [
            send_form(client, "/login", name=name, password="wrong password").text
            for name in ("the-administrator", "nobody")
        ]
    shown = [re.search(r'role="alert">([^<]+)<', text) for text in answers]
    assert shown[0] is not None
    assert shown[1] is not None
    assert shown[0][1] == shown[1][1]


def test_a_link_works_once(site: RunningSite) -> None:
    path = site.link()
    values = {"name": "anna", "password": PASSWORD, "repeated": PASSWORD, "zone": "UTC"}
    with site.client() as first, site.client() as second:
        assert send_form(first, path, **{**values, "repeated": "another"}).status_code == 200
        assert send_form(first, path, **values).status_code == 303
        assert second.get(path).status_code == 410


def test_a_form_without_its_token_is_refused(site: RunningSite, running_job: tuple[int, str]) -> None:
    with site.client(Role.ADMINISTRATOR) as client:
        assert client.post(f"/jobs/{running_job[0]}/command", data={"verb": "pause"}).status_code == 400
        answer = client.post(f"/api/v1/jobs/{running_job[0]}/commands", json={"verb": "pause"})
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:ghostfleet:problem:forbidden")


def test_every_answer_has_the_headers_that_keep_the_site_to_itself(site: RunningSite) -> None:
    with site.client() as client:
        for path in ("/login", "/none", "/static/site.css", "/api/v1/jobs"):
            headers = client.get(path).headers
            policy = headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert headers["X-Content-Type-Options"] == "nosniff"


def test_another_host_name_is_refused(site: RunningSite) -> None:
    with site.client() as client:
        assert client.get("/login", headers={"Host": "evil.test"}).status_code == 421


def test_jobs_pages_show_hostile_texts_as_texts(site: RunningSite, running_job: tuple[int, str]) -> None:
    number = running_job[0]
    with site.client(Role.ADMINISTRATOR) as client:
        for path in (
            "/jobs",
            f"/jobs/{number}",
            f"/jobs/{number}/live",
            f"/jobs/{number}/domains",
            f"/jobs/{number}/setup",
        ):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert "<script>alert" not in answer.text
            assert "style=" not in answer.text.replace("style-src", "")


def test_a_command_from_the_page_reaches_the_job(site: RunningSite, running_job: tuple[int, str]) -> None:
    number = running_job[0]
    with site.client(Role.ADMINISTRATOR) as client:
        to = f"/jobs/{number}/command"
        assert send_form(client, f"/jobs/{number}", to, verb="block-host", host="www.example.org").status_code == 303
        wrong = send_form(client, f"/jobs/{number}", to, verb="add-reject", expression="(")
        assert wrong.status_code == 422
        assert "is no regular expression" in wrong.text
        assert 'value="("' in wrong.text
    with site.database.reading(COMMAND_LINE) as transaction:
        assert [row.verb for row in transaction.session.query(JobCommand)] == ["block-host"]


def test_a_reader_sees_no_actions_and_may_not_use_them(site: RunningSite, running_job: tuple[int, str]) -> None:
    number = running_job[0]
    with site.client(Role.ADMINISTRATOR), site.client(Role.READER) as client:
        text = client.get(f"/jobs/{number}").text
        assert "Stop now" not in text
        token = re.search(r'name="csrf_token" value="([^"]+)"', text)
        assert token is not None
        answer = client.post(f"/jobs/{number}/command", data={"csrf_token": token[1], "verb": "pause"})
        assert answer.status_code == 403


def test_a_page_hears_of_a_change_by_its_stream(site: RunningSite, running_job: tuple[int, str]) -> None:
    number, token = running_job
    with site.client() as client:
        assert client.get(f"/live/jobs/{number}").status_code == 401
    with site.client(Role.ADMINISTRATOR) as client, client.stream("GET", f"/live/jobs/{number}") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == "retry: 5000"
        changed = False
        for line in lines:
            if line.startswith("event: changed"):
                changed = True
                break
            if not changed:
                with site.database.transaction(COMMAND_LINE) as transaction:
                    report_progress(transaction, number, token, "running", {"urls": 11, "bytes": 1})
        assert changed


def test_a_button_has_the_name_of_no_other_field_of_its_form() -> None:
    wrong = []
    for path in (Path(admin.web.__file__).parent / "templates").rglob("*.html"):
        for form in re.findall(r"<form\b.*?</form>", path.read_text(), re.DOTALL):
            buttons = set(re.findall(r'<button\b[^>]*\bname="(\w+)"', form))
            fields = set(re.findall(r'(?:<(?:input|select|textarea)\b[^>]*\bname=|m\.\w+\(form, )"(\w+)"', form))
            wrong += [f"{path.name}: {name}" for name in buttons & fields]
    assert wrong == []  # a browser sends both, and a page takes the first one


def test_another_program_of_the_host_may_have_any_cookie(site: RunningSite, running_job: tuple[int, str]) -> None:
    with site.client(Role.ADMINISTRATOR) as client:
        session = f"{SESSION_COOKIE}={client.cookies[SESSION_COOKIE]}".encode()
    for other in (b"theme=dark", b'prefs={"theme":"dark"}', b"a b=1", b"name=\xff", b"="):
        headers = {b"Cookie": other + b"; " + session}
        with site.client() as client:
            assert client.get("/jobs", headers=headers).status_code == 200, other
            with client.stream("GET", f"/live/jobs/{running_job[0]}", headers=headers) as stream:
                assert stream.status_code == 200, other


def test_the_api_takes_the_session_of_the_site(site: RunningSite, running_job: tuple[int, str]) -> None:
    with site.client(Role.ADMINISTRATOR) as client:
        assert client.get("/api/v1/jobs").json()["items"][0]["id"] == running_job[0]
        assert client.get("/api/v1/none").headers["Content-Type"] == "application/problem+json"


def test_a_logout_ends_the_session(site: RunningSite) -> None:
    with site.client(Role.ADMINISTRATOR) as client:
        cookie = client.cookies["ghostfleet_session"]
        assert send_form(client, "/jobs", "/logout").status_code == 303
        client.cookies.set("ghostfleet_session", cookie)
        assert client.get("/jobs").status_code == 303
