"""Operators steer a running job: the harvester carries their commands out and says what came of each."""

from __future__ import annotations

import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.admin.crawl_log_sums import summed
from support.admin.harvesters import Admin, RunningHarvester, Wanted, folders
from support.origins.chain_site import ChainSite
from support.processes.waiting import until
from support.stores.real_frontier import Bench

from admin.harvester.running.operator_commands import BLOCKED, NOT_RUNNING, carry_out
from admin.harvests.dispatch.listing import job_samples
from admin.harvests.dispatch.reports import PendingCommand
from admin.harvests.dispatch.steering import Verb
from admin.models.job_tables import JobStatus, StopReason
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings
from archive.warc.upkeep.check import check
from frontier.queue import Frontier


@pytest.fixture
def frontier(redis_url: str) -> Frontier:
    return Bench(redis_url).frontier("http://example.org/")


def command(verb: str, **arguments: object) -> PendingCommand:
    return PendingCommand(1, verb, arguments)


def test_each_command_does_what_it_says(frontier: Frontier) -> None:
    assert "paused" in carry_out(command("pause"), frontier).text
    assert frontier.reports.progress().paused == "paused by an operator"
    assert carry_out(command("resume"), frontier).text == "goes on"
    assert carry_out(command("resume"), frontier).text == "was not paused"
    added = carry_out(command("add-urls", urls=["http://example.org/", "http://example.org/new"]), frontier).text
    assert added == "1 of 2 URLs added; not added: http://example.org/: seen"
    assert carry_out(command("set-limits", limits={"urls": 7}), frontier).text == "limits in force: urls 7"
    assert carry_out(command("block-host", host="example.org"), frontier).text.startswith("nothing more of")
    assert frontier.controls.hosts_aside() == {"example.org": BLOCKED}
    assert carry_out(command("block-host", host="example.org"), frontier).text == "was set aside before"
    assert carry_out(command("unblock-host", host="example.org"), frontier).text == "example.org is visited again"
    assert "left out" in carry_out(command("add-reject", expression="/new$"), frontier).text
    assert carry_out(command("set-limits", limits={"urls": None}), frontier).text == "limits in force: none"
    now = carry_out(command("visit-now", urls=["http://example.org/", "http://example.org/new"]), frontier).text
    assert now == "1 of 2 URLs are visited next; not visited: http://example.org/new: excluded"
    groups = ["shop *.example.org parallel=1", "rest *.org delay=2"]
    assert carry_out(command("set-groups", groups=groups), frontier).text == "queue groups in force: shop, rest"
    assert carry_out(command("set-groups", groups=["a list:b delay=2"]), frontier).text.startswith("not carried out: ")
    assert carry_out(command("set-groups", groups=[]), frontier).text == "queue groups in force: none"


def test_a_command_that_can_not_be_carried_out_says_why(frontier: Frontier) -> None:
    assert carry_out(command("pause"), None).text == NOT_RUNNING
    assert "does not know" in carry_out(command("explode"), frontier).text
    for expression in ("(", "(" * 990 + ")" * 990):
        assert "is no regular expression" in carry_out(command("add-reject", expression=expression), frontier).text
    frontier.forget()
    assert carry_out(command("pause"), frontier).text == NOT_RUNNING


@pytest.mark.parametrize(("verb", "at_once"), [("stop-now", True), ("stop-after-page", False)])
def test_stops_are_heeded_also_while_the_crawl_is_starting(verb: str, at_once: bool) -> None:
    outcome = carry_out(command(verb), None)
    assert outcome.stops
    assert outcome.at_once is at_once


def start(settings: Settings, site: ChainSite, *flags: str, **environment: str) -> RunningHarvester:
    port = urlsplit(site.url).port
    return RunningHarvester(
        settings.home, "--resolve", f"*.example.org=127.0.0.1:{port}", "--jobs", "1", *flags, **environment
    )


def test_a_running_job_is_steered_and_stopped_at_once(settings: Settings, admin: Admin, site: ChainSite) -> None:
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    site.hold("/2")
    site.hold("/4")
    with start(settings, site) as harvester:
        admin.await_status(job, JobStatus.STARTED)
        early = admin.command(job, Verb.SET_LIMITS, limits={"urls": 900})  # while the crawl is starting
        until(lambda: "/2" in site.asked, what="the third page", within=100)
        assert admin.outcome(job, early) == "limits in force: urls 900"
        pause = admin.command(job, Verb.PAUSE)
        assert admin.outcome(job, pause).startswith("paused")
        site.let_go("/2")
        until(lambda: _states(admin, job)[-1:] == ["paused"], what="the state paused")
        reject = admin.command(job, Verb.ADD_REJECT, expression="/image-3")
        urls = admin.command(job, Verb.ADD_URLS, urls=("http://www.example.org/5?extra",))
        limits = admin.command(job, Verb.SET_LIMITS, limits={"urls": 1000})
        resume = admin.command(job, Verb.RESUME)
        assert admin.outcome(job, reject).startswith("URLs in which")
        assert admin.outcome(job, urls) == "1 of 1 URLs added"
        assert admin.outcome(job, limits) == "limits in force: urls 1000"
        assert admin.outcome(job, resume) == "goes on"
        until(lambda: "/4" in site.asked, what="the fifth page", within=60)
        now = admin.command(job, Verb.STOP_NOW)
        assert admin.outcome(job, now) == "the crawl ends now"
        # On a busy machine the crawl may end before the second report.
        until(
            lambda: _is_stopping(admin, job) or admin.show(job).status is not JobStatus.STARTED,
            what="a crawl that was told to end",
        )
        site.let_go("/4")
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    assert "/5?extra" in site.asked
    assert (ended.status, ended.harvest_error, ended.exit_code) == (JobStatus.DONE, "", 130)
    assert admin.results(job)["example.org"][3] is StopReason.UNFINISHED
    assert list(check(settings.archive_dir("news"))) == []


def _states(admin: Admin, job: int) -> list[str]:
    with admin.database.transaction(COMMAND_LINE) as transaction:
        return [sample.state for sample in job_samples(transaction, job)]


def _is_stopping(admin: Admin, job: int) -> bool:
    """Return whether the crawl was told to end. The first report that says so may come before."""
    return _states(admin, job).count("stopping") >= 2


def test_a_server_that_stalls_ends_the_crawl_and_not_the_job(settings: Settings, admin: Admin, site: ChainSite) -> None:
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    site.hold("/2")
    with start(settings, site, GHOSTFLEET_HARVESTER__NO_RESPONSE_SECONDS="3") as harvester:
        admin.await_status(job, JobStatus.STARTED)
        until(lambda: _is_stopping(admin, job), what="the end of patience", within=100)
        site.let_go("/2")
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    assert (ended.status, ended.harvest_error) == (JobStatus.DONE, "")
    assert ended.report is not None
    assert ended.report["reason"] == "no bytes came for 3 s (harvester.no_response_seconds)"
    assert admin.results(job)["example.org"][3] is StopReason.UNFINISHED


def test_a_crawl_without_a_visit_for_too_long_is_ended(settings: Settings, admin: Admin, site: ChainSite) -> None:
    slow = {"politeness": {"min_delay_seconds": 600, "max_delay_seconds": 600}}
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"], profile=slow)
    with start(settings, site, GHOSTFLEET_HARVESTER__INACTIVITY_SECONDS="3") as harvester:
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    assert ended.status is JobStatus.DONE
    assert ended.exit_code in (5, 130), "a crawl that takes more than 10 s to end gets signals"
    assert ended.report is not None
    assert ended.report["cause"] == "inactivity"


def test_sigterm_closes_the_files_and_the_job_is_reported(settings: Settings, admin: Admin, site: ChainSite) -> None:
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    site.hold("/2")
    with start(settings, site) as harvester:
        admin.await_status(job, JobStatus.STARTED)
        until(lambda: "/2" in site.asked, what="the third page", within=100)
        harvester.signal(signal.SIGTERM)
        until(lambda: _is_stopping(admin, job), what="a crawl that was told to end")
        site.let_go("/2")
        assert harvester.ended() == 0, harvester.said
    ended = admin.show(job)
    assert ended.status is JobStatus.FAILED
    assert ended.harvest_error == "Crawl interrupted by shutdown of the harvester"
    *counted, reason = admin.results(job)["example.org"]
    assert counted[0] > 4
    assert reason is StopReason.UNFINISHED
    assert ended.run_name is not None
    assert tuple(counted) == summed(settings.collection("news") / "jobs" / ended.run_name, "example.org")
    assert list(check(settings.archive_dir("news"))) == []
    assert not list(settings.archive_dir("news").glob("*.open"))
    assert folders(settings.home) == []


def test_a_limit_of_time_is_the_reason_of_its_domains(settings: Settings, admin: Admin, site: ChainSite) -> None:
    slow = {"politeness": {"min_delay_seconds": 600, "max_delay_seconds": 600}}
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"], profile=slow, max_seconds=3)
    with start(settings, site) as harvester:
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    assert (ended.status, ended.exit_code) == (JobStatus.DONE, 4)
    *counted, reason = admin.results(job)["example.org"]
    assert reason is StopReason.TIME_LIMIT
    assert ended.run_name is not None
    assert tuple(counted) == summed(settings.collection("news") / "jobs" / ended.run_name, "example.org")
    assert Path(settings.archive_dir("news")).is_dir()
