"""Operators look into the queues of a harvest's job, and change them, over the harvester's reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.admin.harvesters import Admin, RunningHarvester, Wanted
from support.origins.chain_site import ChainSite
from support.processes.waiting import until
from support.stores.real_frontier import Bench

from admin.harvester.running import queue_questions
from admin.harvester.running.operator_commands import CommandOutcome, carry_out
from admin.harvests.dispatch.queue_answers import list_queues, show_answer, stored_answer
from admin.harvests.dispatch.reports import PendingCommand
from admin.harvests.dispatch.steering import Verb
from admin.models.job_tables import JobStatus
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings
from frontier.definition.edits import ProfileEdit, with_list_names
from frontier.definition.job import Profile, RevisitRules
from frontier.definition.scope import Candidate
from frontier.lease import Lease
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier


@pytest.fixture
def bench(redis_url: str) -> Iterator[Bench]:
    bench = Bench(redis_url)
    yield bench
    bench.close()


@pytest.fixture
def frontier(bench: Bench) -> Frontier:
    frontier = bench.frontier(profile=Profile(scope="host"))
    frontier.add(
        Candidate(f"http://example.org/{number}", "L", via="http://example.org/", depth=1) for number in range(300)
    )
    return frontier


def _outcome(frontier: Frontier, verb: Verb, **arguments: Any) -> str:
    return carry_out(PendingCommand(1, verb, arguments), frontier).text


def test_urls_are_queued_and_deleted_and_refused_ones_are_named(frontier: Frontier) -> None:
    urls = ["http://example.org/new", "http://example.org/7", "http://elsewhere.example/"]
    said = _outcome(frontier, Verb.QUEUE_URLS, urls=urls, priority="high", force=False)
    assert said == (
        "1 of 3 URLs queued; not queued: http://example.org/7: it is queued or was visited, "
        "http://elsewhere.example/: scope (host)"
    )
    assert _outcome(frontier, Verb.DELETE_URLS, expression="/1[0-9]$") == "10 queued URLs deleted"
    assert _outcome(frontier, Verb.DELETE_URLS, expression="(").startswith("not carried out: '(' is no regular")


def test_an_answer_has_the_first_urls_and_says_when_there_are_more(frontier: Frontier) -> None:
    shown = carry_out(PendingCommand(1, Verb.SHOW_QUEUE, {"host": "example.org"}), frontier)
    assert shown.text == "example.org: 301 queued, 0 being visited, 0 resting"
    assert shown.answer is not None
    assert (len(shown.answer["urls"]), shown.answer["is_whole"]) == (200, False)
    found = carry_out(PendingCommand(1, Verb.SEARCH_QUEUES, {"expression": "/29[0-9]$", "state": "queued"}), frontier)
    assert (found.text, found.answer and found.answer["is_whole"]) == ("10 URLs found", True)
    none = carry_out(PendingCommand(1, Verb.SEARCH_QUEUES, {"expression": ".", "state": "failed"}), frontier)
    assert none.text == "0 URLs found"


def test_a_search_ends_after_its_time(frontier: Frontier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_questions, "SECONDS", 0.0)
    found = carry_out(PendingCommand(1, Verb.SEARCH_QUEUES, {"expression": "nowhere", "state": ""}), frontier)
    assert found.text == "0 or more URLs found"


def test_an_edit_tells_its_change_and_a_bad_one_changes_nothing(frontier: Frontier) -> None:
    values = {"politeness": {"min_delay_seconds": 7}, "quotas": ["host urls=5"]}
    done = carry_out(PendingCommand(1, Verb.EDIT_PROFILE, {"values": values}, "mia"), frontier)
    assert done.text == 'politeness.min_delay_seconds: null → 7.0; quotas: [] → ["host urls=5"]'
    assert done.answer is not None
    assert [ProfileEdit.unpacked(each).by for each in done.answer["edits"]] == ["mia", "mia"]
    again = carry_out(PendingCommand(1, Verb.EDIT_PROFILE, {"values": values}, "mia"), frontier)
    assert (again.text, again.answer) == ("the profile has these values already", None)
    bad = carry_out(PendingCommand(1, Verb.EDIT_PROFILE, {"values": {"scope": "any"}}, "mia"), frontier)
    assert bad.text.startswith("not carried out: 'scope' can't be edited")
    limits = carry_out(PendingCommand(1, Verb.SET_LIMITS, {"limits": {"urls": 9}}, "ben"), frontier)
    assert limits.answer is not None
    assert len(limits.answer["edits"]) == 1


def test_rules_of_an_edit_name_files_of_the_home_alone(frontier: Frontier, tmp_path: Path) -> None:
    (tmp_path / "traps.txt").write_text("org,example)/trap\n")

    def given(line: str) -> CommandOutcome:
        return carry_out(
            PendingCommand(1, Verb.EDIT_PROFILE, {"values": {"rules+": line}}, "mia"), frontier, lists=tmp_path
        )

    assert "names a file outside of" in given("REJECT WatchedFileSurtPrefixed /etc/passwd").text
    assert "can't be read" in given("REJECT SurtListFile gone.txt").text
    done = given("REJECT SurtListFile traps.txt")
    assert done.answer is not None
    (edit,) = (ProfileEdit.unpacked(each) for each in done.answer["edits"])
    assert edit.after == [f"REJECT SurtListFile {tmp_path}/traps.txt"]
    assert with_list_names(edit).after == ["REJECT SurtListFile traps.txt"]


def test_the_history_of_a_url_has_its_reason(bench: Bench, settings: Settings) -> None:
    rules = RevisitRules(mode="adaptive", interval_seconds=7_200)
    frontier = bench.frontier(profile=Profile(scope="host", revisit=rules), name="again")
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)

    def history(url: str) -> CommandOutcome:
        command = PendingCommand(1, Verb.SHOW_URL, {"url": url})
        return carry_out(command, frontier, database_url=settings.database_url)

    assert history(lease.url).text.endswith(": a visit goes on")
    frontier.finish(lease, VisitOutcome(200, digest="0" * 16))
    found = history(lease.url)
    assert found.text.endswith(": the first interval is 02:00:00")
    assert found.answer is not None
    kept = stored_answer(found.answer)["history"]
    assert (kept["state"], kept["interval_seconds"], kept["recent"]) == ("waiting", 7_200, ["new"])
    assert history("http://example.org/unknown").text.endswith("is not known to the job")


def test_the_queues_of_a_running_job_are_seen_and_changed(settings: Settings, admin: Admin) -> None:
    with ChainSite(3) as site:
        job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
        site.hold("/1")
        resolve = f"*.example.org=127.0.0.1:{urlsplit(site.url).port}"
        with RunningHarvester(settings.home, "--resolve", resolve, "--jobs", "1") as harvester:
            admin.await_status(job, JobStatus.STARTED)
            until(lambda: "/1" in site.asked, what="the second page", within=100)
            urls = ("http://www.example.org/1?a", "http://www.example.org/1?b")
            assert admin.outcome(job, admin.command(job, Verb.QUEUE_URLS, urls=urls)) == "2 of 2 URLs queued"
            question = admin.command(job, Verb.SEARCH_QUEUES, expression="[?]", state="queued")
            assert admin.outcome(job, question) == "2 URLs found"
            with admin.database.transaction(COMMAND_LINE) as transaction:
                answer = show_answer(transaction, job, question)
            assert sorted(each.url for each in answer.urls) == sorted(urls)
            assert {each.priority for each in answer.urls} == {"high"}
            delete = admin.command(job, Verb.DELETE_URLS, expression="[?]b")
            assert admin.outcome(job, delete) == "1 queued URL deleted"

            def hosts() -> list[str]:
                with admin.database.transaction(COMMAND_LINE) as transaction:
                    return [each.host for each in list_queues(transaction, job) if each.queued]

            until(lambda: hosts() == ["www.example.org"], what="the report of the host", within=60)
            site.let_go("/1")
            assert admin.ended(job).status is JobStatus.DONE
            assert harvester.ended() == 0, harvester.said
        assert "/1?a" in site.asked
        assert "/1?b" not in site.asked
