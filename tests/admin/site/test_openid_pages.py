"""admin/web/pages/openid.py: people log in at a real provider by the pages, with the cookie of their browser alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import oidc_provider_mock
import pytest
from support.web.openid_provider import running_provider
from support.web.site_pages import press, saved
from support.web.site_server import PASSWORD, RunningSite, running_site, send_form

from admin.models.database import Database
from admin.models.people_tables import Role
from archive.dates import now_micros

BEGIN = "/login/openid"


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A real provider on loopback, which knows two people. By http it serves with this variable alone."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    people = [
        oidc_provider_mock.User(sub="4711", claims={"preferred_username": "anna", "name": "Anna", "groups": ["web"]}),
        oidc_provider_mock.User(sub="1234", claims={"preferred_username": "bert", "groups": []}),
    ]
    with running_provider(user_claims=people, require_nonce=True) as address:
        yield address


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path, issuer: str) -> Iterator[RunningSite]:
    people = {
        "people.oidc_issuer": issuer,
        "people.oidc_client_id": "ghostfleet",
        "people.oidc_client_secret": "geheim",
        "people.oidc_name": "The <Library>",
        "people.oidc_role_claim": "groups",
        "people.oidc_roles": {"web": "curator"},
    }
    sqlite_database.clock = now_micros  # the provider's tokens have the time of this machine
    with running_site(sqlite_database, tmp_path / "home", people) as running, running.client(Role.ADMINISTRATOR):
        yield running


def at_provider(url: str, subject: str) -> str:
    """Log in at the provider as a browser does. Return the address to which the browser is sent back."""
    with httpx.Client() as browser:
        answer = browser.post(url, data={"sub": subject})
    assert answer.status_code == 302, answer.text
    return str(answer.headers["location"])


def log_in(client: httpx.Client, subject: str, path: str = BEGIN) -> httpx.Response:
    """Log in by the provider, and return the last answer of the site."""
    begun = client.get(path)
    assert begun.status_code == 303, begun.text
    return client.get(at_provider(begun.headers["Location"], subject))


def test_a_person_logs_in_by_the_button_and_comes_to_the_page_that_was_asked_for(site: RunningSite) -> None:
    with site.client() as client:
        page = client.get("/login?next=/jobs").text
        assert "Log in by The &lt;Library&gt;" in page
        path = page.partition(f'href="{BEGIN}')[2].partition('"')[0]
        answer = log_in(client, "4711", f"{BEGIN}{path}")
        assert (answer.status_code, answer.headers["Location"]) == (303, "/jobs")
        profile = client.get("/profile").text
        assert "curator" in profile
        assert 'value="Anna"' in profile
        assert client.get("/users").status_code == 403


def test_who_has_no_role_stays_outside_and_reads_why(site: RunningSite) -> None:
    with site.client() as client:
        answer = log_in(client, "1234")
        assert answer.status_code == 401
        assert "none of your groups has a role" in answer.text
        assert client.get("/profile").status_code == 303
        entered = press(client, str(answer.url), "Log in", name="the-administrator", password=PASSWORD)
        assert (entered.status_code, entered.headers["Location"]) == (303, "/")


def test_a_login_of_another_browser_and_a_second_use_are_refused(site: RunningSite) -> None:
    with site.client() as victim, site.client() as attacker:
        back = at_provider(attacker.get(BEGIN).headers["Location"], "4711")
        assert victim.get(back).status_code == 401  # without any cookie
        victim.get(BEGIN)
        assert victim.get(back).status_code == 401  # with the cookie of another login
        assert victim.get("/profile").status_code == 303
        assert attacker.get(back).status_code == 303
        assert attacker.get(back).status_code == 401


def test_a_changed_cookie_and_a_foreign_target_are_refused(site: RunningSite) -> None:
    with site.client() as client:
        begun = client.get(f"{BEGIN}?next=//evil.test/")
        back = at_provider(begun.headers["Location"], "4711")
        cookie = client.cookies["ghostfleet_openid"]
        client.cookies.delete("ghostfleet_openid")
        client.cookies.set("ghostfleet_openid", f"{cookie[:-2]}xx", domain="127.0.0.1", path=BEGIN)
        assert client.get(back).status_code == 401
    with site.client() as client:
        assert log_in(client, "4711", f"{BEGIN}?next=//evil.test/").headers["Location"] == "/"


def test_the_cookie_goes_to_the_pages_of_the_login_alone(site: RunningSite) -> None:
    with site.client() as client:
        said = client.get(BEGIN).headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Lax", f"Path={BEGIN}", "Max-Age=600"):
        assert part in said


def test_a_user_links_an_identity_at_the_profile_and_unlinks_it(site: RunningSite) -> None:
    with site.client(Role.CURATOR) as client:
        shown = client.get("/profile").text
        assert "Link your account at The &lt;Library&gt;" in shown
        left = send_form(client, "/profile", f"{BEGIN}/link")
        url = left.text.partition('role="button" href="')[2].partition('"')[0].replace("&amp;", "&")
        back = at_provider(url, "4711")
        with site.client() as other:
            assert other.get(back).status_code == 401
        assert client.get(back).headers["Location"] == "/profile"
        with site.client() as browser:
            log_in(browser, "4711")
            assert "the-curator" in browser.get("/profile").text
        saved(client, "/profile", "/profile/unlink")
        with site.client() as browser:
            log_in(browser, "4711")
            assert "the-curator" not in browser.get("/profile").text
        assert send_form(client, "/login", name="the-curator", password=PASSWORD).status_code == 303


def test_a_provider_that_is_away_is_said_and_passwords_work(sqlite_database: Database, tmp_path: Path) -> None:
    people = {"people.oidc_issuer": "http://127.0.0.1:1", "people.oidc_client_id": "x"}
    with running_site(sqlite_database, tmp_path / "home", people) as site, site.client(Role.ADMINISTRATOR) as client:
        answer = client.get(BEGIN)
        assert answer.status_code == 503
        assert "be asked at http://127.0.0.1:1" in answer.text
        entered = press(client, f"{BEGIN}?next=/jobs", "Log in", name="the-administrator", password=PASSWORD)
        assert (entered.status_code, entered.headers["Location"]) == (303, "/jobs")


def test_without_a_provider_there_is_no_button(sqlite_database: Database, tmp_path: Path) -> None:
    with running_site(sqlite_database, tmp_path / "home") as site, site.client() as client:
        assert BEGIN not in client.get("/login").text
        assert "no provider is set" in client.get(BEGIN).text
