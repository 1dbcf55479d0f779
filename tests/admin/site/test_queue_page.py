"""The page of a job's queues: hosts, questions with their answers, and changes that are asked about first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.each_value import each_value
from support.web.site_pages import press
from support.web.site_server import RunningSite, running_site, send_form

from admin.harvests.dispatch.harvesters import Registration, announce, register
from admin.harvests.dispatch.queue import claim_job, submit_jobs
from admin.harvests.dispatch.queue_answers import MOST_URLS
from admin.harvests.dispatch.reports import report_command, report_progress
from admin.models.database import Database
from admin.models.job_tables import HarvesterState, JobCommand
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from frontier.definition.edits import edited, edits_between
from frontier.definition.job import Profile
from frontier.definition.yaml_document import read_document

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.ADMINISTRATOR) as client:
        yield client


@pytest.fixture
def job(sqlite_database: Database) -> tuple[int, str]:
    """A started job whose harvester has reported; its number and its token."""
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        add_job(transaction, add_harvest(transaction, add_channel(transaction)), ("example.org",))
        register(transaction, Registration("h1", "FOCUSED", "machine", 1))
        announce(transaction, "h1", HarvesterState.READY)
        submit_jobs(transaction)
        found = claim_job(transaction, "h1")
        assert found is not None
        hosts = [
            {"host": HOSTILE, "queued": 7, "objects": 1, "failed": 0, "kind": "politeness", "why": HOSTILE},
            {"host": "dead.test", "queued": 0, "objects": 0, "failed": 9, "kind": "dead", "why": "given up"},
        ]
        report_progress(transaction, found.id, found.token, "running", {"urls": 4}, hosts)
    return found.id, found.token


def _give(client: httpx.Client, number: int, **values: str) -> httpx.Response:
    return send_form(client, f"/jobs/{number}/queues", f"/jobs/{number}/command", **values)


def _answer(database: Database, job: tuple[int, str], outcome: str, urls: list[dict[str, Any]]) -> int:
    with database.transaction(COMMAND_LINE) as transaction:
        newest = transaction.session.scalars(select(JobCommand.id).order_by(JobCommand.id.desc())).first()
        assert newest is not None
        report_command(transaction, *job, newest, outcome, {"urls": urls, "is_whole": False})
    return newest


def test_hosts_are_shown_with_their_actions(client: httpx.Client, job: tuple[int, str]) -> None:
    text = client.get(f"/jobs/{job[0]}/queues").text
    assert "2 hosts of the last report" in text
    assert "dead.test" in text
    assert "<script>alert" not in text
    assert f'href="/jobs/{job[0]}/queues"' in client.get(f"/jobs/{job[0]}").text


def test_a_question_is_answered_with_the_next_report(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    told = _give(client, job[0], verb="search-queues", expression="/page", state="queued")
    assert (told.status_code, told.headers["Location"]) == (303, f"/jobs/{job[0]}/queues")
    waiting = client.get(f"/jobs/{job[0]}/queues").text
    assert "the answer comes with the next report" in waiting
    assert 'hx-trigger="every 5s"' in waiting
    url = {
        "url": f"http://example.org/page{HOSTILE}",
        "state": "queued",
        "priority": "high",
        "hop_path": "LL",
        "tries": 2,
    }
    number = _answer(sqlite_database, job, "1 URLs found", [url, *([{"url": "http://example.org/more"}] * 500)])
    text = client.get(f"/jobs/{job[0]}/queues/answer").text
    assert "http://example.org/page" in text
    assert "<script>alert" not in text
    assert "every 5s" not in text
    found = client.get(f"/api/v1/jobs/{job[0]}/queues/answers/{number}").json()
    assert (len(found["urls"]), found["is_whole"], found["urls"][0]["tries"]) == (MOST_URLS, False, 2)
    assert client.get(f"/api/v1/jobs/{job[0]}/queues/answers/{number + 1}").status_code == 404
    hosts = client.get(f"/api/v1/jobs/{job[0]}/queues").json()["items"]
    assert [host["queued"] for host in hosts] == [7, 0]


def test_each_button_of_the_form_gives_its_own_command(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    page = f"/jobs/{job[0]}/queues"
    assert "Delete the queued URLs of job" in press(client, page, "Delete the queued ones …", expression="/page").text
    assert press(client, page, "Search", expression="/page").headers["Location"] == page
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        assert list(transaction.session.scalars(select(JobCommand.verb))) == ["search-queues"]


def test_the_history_of_a_url_is_shown_with_its_captures(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    url = "http://example.org/news"
    assert _give(client, job[0], verb="show-url", url=url).headers["Location"] == f"/jobs/{job[0]}/queues"
    capture = {"time": "2026-11-21T08:15:00Z", "status": 200, "kind": "response", "mime": HOSTILE, "file": "a.warc.gz"}
    history = {
        "url": url, "state": "waiting", "due_seconds": 3600.0, "since_seconds": 60.0, "interval_seconds": 3660,
        "reason": "the URL had changed, so that the interval became 20% shorter: 01:01:00", "visits": 3, "changes": 2,
        "unchanged_in_a_row": 0, "digest": "", "recent": ["new", "changed", "changed"], "problem": "",
        "captures": [{**capture, "offset": 7}],
    }  # fmt: skip
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        newest = transaction.session.scalars(select(JobCommand.id).order_by(JobCommand.id.desc())).first()
        assert newest is not None
        report_command(transaction, *job, newest, "told", {"history": history})
    text = client.get(f"/jobs/{job[0]}/queues/answer").text
    for wanted in ("20% shorter", "new changed changed", "a.warc.gz:7", "3, with 2 changes"):
        assert wanted in text
    assert "<script>alert" not in text
    found = client.get(f"/api/v1/jobs/{job[0]}/queues/answers/{newest}").json()
    assert found["history"]["captures"][0]["file"] == "a.warc.gz"


def test_edits_are_asked_for_listed_and_exported(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    profile = "robots: ignore\npoliteness:\n  min_delay_seconds: 10\nsheets:\n  - org,example)/shop max_links=5\n"
    profile += "rules+:\n  - REJECT MatchesRegex .*/print/.*\n"
    assert _give(client, job[0], verb="edit-profile", profile=profile).status_code == 303
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.scalars(select(JobCommand).order_by(JobCommand.id.desc())).first()
        assert row is not None
        assert row.arguments["values"]["politeness"] == {"min_delay_seconds": 10}
        after = edited(Profile(), row.arguments["values"])
        edits = edits_between(Profile(), after, by=row.created_by, time=1_790_000_000_000_000)
        report_command(transaction, *job, row.id, "done", {"edits": [each.packed() for each in edits]})
    text = client.get(f"/jobs/{job[0]}/edits").text
    assert "politeness.min_delay_seconds" in text
    explained = client.get(f"/jobs/{job[0]}/scope", params={"urls": "http://example.org/print/1"}).text
    assert "rule 1: REJECT MatchesRegex" in explained, "the rules in force are those after the edit"
    assert f'href="/jobs/{job[0]}/edits"' in client.get(f"/jobs/{job[0]}").text
    found = client.get(f"/api/v1/jobs/{job[0]}/edits").json()
    assert {each["key"]: (each["before"], each["after"]) for each in found["edits"]}["robots"] == (None, "ignore")
    patch = client.get(f"/jobs/{job[0]}/edits.yaml").text
    assert patch == found["patch"]
    assert edited(Profile(), read_document(patch).values()) == after


def test_a_deletion_is_asked_first_and_all_changes_are_audited(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    asked = _give(client, job[0], verb="delete-urls", expression="/calendar/")
    assert "Delete the queued URLs of job" in asked.text
    told = _give(client, job[0], verb="delete-urls", expression="/calendar/", confirmed="yes")
    assert told.status_code == 303
    urls = "http://example.org/a\nhttp://example.org/b"
    assert _give(client, job[0], verb="queue-urls", urls=urls, priority="system", force="on").status_code == 303
    assert (
        _give(client, job[0], verb="block-host", host="example.org", page="queues")
        .headers["Location"]
        .endswith("queues")
    )
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        given = {row.verb: row.arguments for row in transaction.session.scalars(select(JobCommand))}
        audited = set(transaction.session.scalars(select(AuditEntry.action)))
    assert given["queue-urls"] == {"urls": urls.split(), "priority": "system", "force": True}
    assert {"job.delete-urls", "job.queue-urls", "job.block-host"} <= audited


@each_value(
    ("values", "said"),
    [
        ({"verb": "search-queues", "expression": "("}, "is no regular expression"),
        ({"verb": "delete-urls", "expression": "(a+)+$"}, "takes too long"),
        ({"verb": "queue-urls", "urls": "no url"}, "no url"),
        ({"verb": "queue-urls"}, "0 URLs were given"),
        ({"verb": "show-queue", "host": "a b"}, "is no host"),
        ({"verb": "search-queues", "expression": "x", "state": "done"}, "state"),
        ({"verb": "show-url", "url": "no url"}, "no url"),
    ],
)
def test_what_can_not_be_used_stands_beside_its_field(
    client: httpx.Client, job: tuple[int, str], values: dict[str, str], said: str
) -> None:
    answer = _give(client, job[0], **values)
    assert answer.status_code == 422
    assert said in answer.text
    assert "Queues of" in answer.text


def test_a_reader_sees_the_hosts_and_changes_nothing(site: RunningSite, job: tuple[int, str]) -> None:
    with site.client(Role.READER) as reader:
        text = reader.get(f"/jobs/{job[0]}/queues").text
        assert "dead.test" in text
        assert "Show its URLs" not in text


@each_value(
    ("profile", "said"),
    [
        ("scope: any", "be edited while a job runs"),
        ("robots: [1", "problem"),
        ("- robots", "no table of keys and values"),
        ("", "no keys of a profile"),
        ("quotas:\n  - hosts urls=1", "write for example"),
        ("robots: ignore\nrules+:\n  - REJECT All\n  - REJECT Nothing\nhops: -1", "rules+.1 = "),
        ("rules-: REJECT SurtListFile /etc/passwd", "names a file outside of"),
        (f"sheets:\n  - 'example.org robots={HOSTILE}'", "is no value of robots"),
    ],
)
def test_an_edit_that_can_not_be_used_stands_beside_its_field(
    client: httpx.Client, job: tuple[int, str], profile: str, said: str
) -> None:
    answer = send_form(client, f"/jobs/{job[0]}", f"/jobs/{job[0]}/command", verb="edit-profile", profile=profile)
    assert answer.status_code == 422
    assert said in answer.text
    assert "<script>alert" not in answer.text
    assert "Change the running job" in answer.text
