"""`ghostfleet up --demo` shows a living system: a finished job with statistics, a collection, a harvest that waits."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.web.site_server import PASSWORD, send_form

from admin.models.database import open_database
from admin.models.domain_tables import Configuration
from admin.models.transaction import COMMAND_LINE
from admin.people.invitations import first_invitation
from admin.up.demo_home import FIRST_HARVEST, MARK, SECOND_HARVEST, SNAPSHOT, fill
from archive.settings.load import load

type Start = Callable[..., Command]

NO_BROWSER = {
    "GHOSTFLEET_BROWSERS__EXECUTABLE": "/nonexistent/browser",
    "GHOSTFLEET_FRONTIER__MAX_CRAWL_DELAY_SECONDS": "0",
}


@pytest.mark.timeout(300)
def test_the_demo_has_a_finished_job_whose_statistics_the_api_tells(start_up: Start) -> None:
    with start_up("--demo", **NO_BROWSER) as command:
        ready = command.line(ready=True)
        with httpx.Client(base_url=ready["admin"], timeout=30) as client:
            _log_in(client, ready["first_administrator"])
            for page in ("/", "/domains", "/harvests", "/schedules", "/templates", "/jobs", "/fleet", "/settings"):
                assert client.get(page).status_code == 200, page
            (job,) = _finished_jobs(client, 1)
            assert (job["status"], job["harvest_name"], job["harvest_error"]) == ("DONE", FIRST_HARVEST, "")
            results = {each["domain_name"]: each for each in _told(client, f"/jobs/{job['id']}/domains")["items"]}
            assert set(results) == {"garden.test", "meadow.test", "orchard.test"}
            assert all(each["stop_reason"] == "complete" for each in results.values())
            assert results["garden.test"]["objects"] > 15
            assert results["garden.test"]["bytes"] > 1_000_000
            harvests = {each["name"]: each for each in _told(client, "/harvests")["items"]}
            assert set(harvests) == {FIRST_HARVEST, SECOND_HARVEST, SNAPSHOT}
            assert harvests[SECOND_HARVEST]["next_run"] > harvests[FIRST_HARVEST]["next_run"] > 0
            assert not harvests[SNAPSHOT]["is_active"]
        assert list((command.home / "collections" / "demo" / "archive").glob("*.warc*"))
        until(lambda: f"job {job['id']} is DONE" in command.errors, what="the line about the job", within=30)
        command.signal(signal.SIGINT)
        assert command.ended() == 0
    settings = load({"home": str(command.home)}, environment={})
    with closing(open_database(settings)) as database:
        assert not fill(database, settings), "a second start adds nothing"
        with database.transaction(COMMAND_LINE) as transaction:
            assert first_invitation(transaction) is None
            rates = transaction.session.scalars(select(Configuration.max_rate)).all()
    assert [round(60_000 / rate) for rate in rates] == [0, 0, 0], "no domain has a pause of a millisecond"


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_harvests_the_garden_with_a_browser(start_up: Start) -> None:
    with start_up("--demo") as command:
        ready = command.line(ready=True)
        with httpx.Client(base_url=ready["admin"], timeout=30) as client:
            _log_in(client, ready["first_administrator"])
            jobs = _finished_jobs(client, 2)
        assert {job["status"] for job in jobs} == {"DONE"}
        command.signal(signal.SIGINT)
        assert command.ended() == 0


def test_the_home_of_a_real_installation_is_refused(start_up: Start, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "admin.db").touch()
    with start_up("--demo") as command:
        assert command.ended() == 2
    assert "has an installation that no demo made; choose another folder with --home" in command.stderr
    assert len(command.stderr.splitlines()) == 1
    assert not (tmp_path / "home" / MARK).exists()


def _log_in(client: httpx.Client, link: str) -> None:
    values = {"name": "first", "zone": "UTC", "password": PASSWORD, "repeated": PASSWORD}
    assert send_form(client, httpx.URL(link).path, **values).status_code == 303


def _told(client: httpx.Client, path: str) -> dict[str, Any]:
    answer = client.get(f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _finished_jobs(client: httpx.Client, count: int) -> list[dict[str, Any]]:
    """The jobs of the demo once so many have ended."""

    def ended() -> list[dict[str, Any]]:
        jobs = _told(client, "/jobs")["items"]
        done = [job for job in jobs if job["status"] in ("DONE", "FAILED")]
        return done if len(done) >= count else []

    return until(ended, what=f"{count} finished jobs", within=200)
