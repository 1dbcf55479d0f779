"""What a harvester shows of a running job: hosts with what each waits for, the end of crawl.log, pictures of ghosts."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import func, select
from support.admin.harvesters import Admin, RunningHarvester, Wanted
from support.origins.chain_site import ChainSite
from support.processes.waiting import until
from support.stores.real_frontier import Bench

from admin.harvester.running.host_notes import HostNotes
from admin.harvester.running.job_observer import JobObserver
from admin.harvester.running.operator_commands import BLOCKED, QUOTA, carry_out
from admin.harvests.dispatch.listing import job_samples
from admin.harvests.dispatch.observations import (
    MOST_TAIL_BYTES,
    JobLogView,
    list_pictures,
    picture_bytes,
    picture_type,
    show_log,
)
from admin.harvests.dispatch.reports import PendingCommand
from admin.harvests.dispatch.steering import Verb
from admin.jobs.progress.display import wait_text
from admin.models.job_tables import JobLog, JobPicture, JobStatus
from admin.models.transaction import COMMAND_LINE
from archive import crawl_log
from archive.crawl_log import CrawlLog
from archive.settings.load import Settings
from frontier.definition.job import Profile

NOW = 1_800_000_000_000_000


def start(settings: Settings, site: ChainSite, *flags: str, **environment: str) -> RunningHarvester:
    port = urlsplit(site.url).port
    return RunningHarvester(
        settings.home, "--resolve", f"*.example.org=127.0.0.1:{port}", "--jobs", "1", *flags, **environment
    )


def line(url: str, code: int) -> crawl_log.LogLine:
    return crawl_log.LogLine(NOW, code, 10, url)


def test_each_host_says_why_it_waits(redis_url: str) -> None:
    bench = Bench(redis_url)
    hosts = ("a.test", "blocked.test", "dead.test", "limit.test", "slow.test", "aside.test")
    frontier = bench.frontier(*(f"http://{host}/" for host in hosts))
    frontier.controls.block_host("blocked.test", 600)
    frontier.controls.set_host_aside("dead.test", "failing")
    frontier.controls.set_host_aside("limit.test", f"{QUOTA} limit.test")
    frontier.controls.set_host_aside("aside.test", BLOCKED)
    bench.client.hset("gf:{main}:@slow.test", mapping={"d": bench.now() + 90_000, "f": 2, "e": -4})
    notes = HostNotes()
    for url, code in (("http://a.test/x", 200), ("http://a.test/y", -9998), ("http://gone.test/", -6)):
        notes.add(line(url, code))
    queues = frontier.reports.longest_queues(100)
    rows = {str(row["host"]): row for row in notes.rows(queues, job="spring", paused="")}
    assert {host: row["kind"] for host, row in rows.items()} == {
        "a.test": "ready",
        "blocked.test": "blocked",
        "dead.test": "dead",
        "limit.test": "limit",
        "slow.test": "retry",
        "aside.test": "blocked",
        "gone.test": "nothing-queued",
    }
    assert rows["a.test"]["why"] == "can be visited now; robots.txt forbids 1 of its URLs"
    assert rows["a.test"]["objects"] == 1
    assert str(rows["slow.test"]["why"]).startswith("2 failed visits in a row (timed out (-4)); the next try is in ")
    assert rows["limit.test"]["why"] == "the limit of the domain limit.test is reached"
    assert rows["gone.test"]["why"] == "no URL is queued; the last failure: name not found (-6)"
    paused = {str(row["host"]): row["kind"] for row in notes.rows(queues, job="spring", paused="for tea")}
    assert (paused["a.test"], paused["blocked.test"]) == ("paused", "blocked")


def test_a_host_that_waits_for_its_group_says_so(redis_url: str) -> None:
    profile = Profile(scope="any", groups=("shop *.shop.test parallel=1",))
    frontier = Bench(redis_url).frontier(*(f"http://{host}.shop.test/" for host in "abc"), profile=profile)
    for worker in ("w1", "w2"):
        frontier.claim(worker)
    rows = HostNotes().rows(frontier.reports.longest_queues(100), job="spring", paused="")
    assert {(row["kind"], row["why"]) for row in rows} == {("group", "waits for its turn in the queue group shop")}
    assert len(rows) == 2
    [wait] = frontier.reports.progress().waits
    assert wait_text(wait).startswith("queue group shop: next visit in ")


def test_a_host_of_a_domain_at_its_limit_is_not_called_visited_again(redis_url: str) -> None:
    frontier = Bench(redis_url).frontier("http://example.org/")
    frontier.controls.set_host_aside("example.org", f"{QUOTA} example.org")
    outcome = carry_out(PendingCommand(1, "unblock-host", {"host": "example.org"}), frontier)
    assert outcome.text == "not carried out: the limit of the domain example.org is reached"
    assert "example.org" in frontier.controls.hosts_aside()


def test_the_end_of_a_long_log_is_shown_once_and_begins_with_a_whole_line(tmp_path: Path) -> None:
    path = tmp_path / crawl_log.FILE_NAME
    path.write_text("".join(f"{number:09d} {'x' * 90}\n" for number in range(5000)) + "torn")
    observer = JobObserver(tmp_path / "none", "1-1-")
    seen = observer.look(tmp_path).log
    assert seen is not None
    assert seen.size == path.stat().st_size
    assert MOST_TAIL_BYTES - 200 < len(seen.text) <= MOST_TAIL_BYTES
    lines = seen.text.splitlines()
    assert lines[-1].startswith("000004999")
    assert {len(each) for each in lines} == {100}
    assert observer.look(tmp_path).log is None
    observer.show_log_again()
    assert observer.look(tmp_path).log == seen


def test_a_running_job_shows_hosts_log_and_rates_and_its_commands_arrive(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    site.hold("/2")
    with start(settings, site) as harvester:
        admin.await_status(job, JobStatus.STARTED)
        until(lambda: "/2" in site.asked, what="the third page", within=100)
        figures = {"new_bytes", "urls_per_second", "bytes_per_second", "limits", "queued"}

        def shown() -> bool:
            """Return whether the newest sample is whole. The first sample of a job can have no rates."""
            with admin.database.reading(COMMAND_LINE) as transaction:
                samples = job_samples(transaction, job)
            return bool(
                samples
                and samples[-1].hosts
                and figures <= samples[-1].progress.keys()
                and _log(admin, job, "/1").found
            )

        until(shown, what="hosts, log and rates of the running job")
        with admin.database.reading(COMMAND_LINE) as transaction:
            newest = job_samples(transaction, job)[-1]
        assert [row["host"] for row in newest.hosts] == ["www.example.org"]
        assert newest.hosts[0]["why"]
        assert _log(admin, job, r"no\.such\.host").found == 0
        block = admin.command(job, Verb.BLOCK_HOST, host="www.example.org")
        assert admin.outcome(job, block) == "nothing more of www.example.org is visited"
        until(lambda: _kinds(admin, job) == {"blocked"}, what="the host as blocked")
        unblock = admin.command(job, Verb.UNBLOCK_HOST, host="www.example.org")
        assert admin.outcome(job, unblock) == "www.example.org is visited again"
        limits = admin.command(job, Verb.SET_LIMITS, limits={"bytes": 5_000_000_000})
        assert admin.outcome(job, limits) == "limits in force: bytes 5000000000"
        until(lambda: _progress(admin, job).get("limits") == {"bytes": 5e9}, what="the new limit")
        site.let_go("/2")
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    assert ended.status is JobStatus.DONE
    assert 0 < ended.new_bytes <= ended.bytes
    with admin.database.reading(COMMAND_LINE) as transaction:
        assert transaction.session.scalar(select(func.count(JobLog.job_id))) == 0


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_pictures_of_ghosts_arrive_while_the_job_runs(settings: Settings, admin: Admin, site: ChainSite) -> None:
    job = admin.job(
        [Wanted("example.org")], ["http://www.example.org/"], profile={"visitor": "browser", "behaviors": []}
    )
    site.hold("/3")
    with start(settings, site) as harvester:
        admin.await_status(job, JobStatus.STARTED)

        def pictures() -> list[str]:
            with admin.database.reading(COMMAND_LINE) as transaction:
                return [each.url for each in list_pictures(transaction, job)]

        until(lambda: "http://www.example.org/1" in pictures(), what="the picture of the second page", within=200)
        with admin.database.reading(COMMAND_LINE) as transaction:
            newest = list_pictures(transaction, job)[0]
            assert picture_type(picture_bytes(transaction, job, newest.id)) == "image/jpeg"
        site.let_go("/3")
        assert admin.ended(job, within=200).status is JobStatus.DONE
        assert harvester.ended() == 0, harvester.said
    with admin.database.reading(COMMAND_LINE) as transaction:
        assert transaction.session.scalar(select(func.count(JobPicture.id))) == 0


def _log(admin: Admin, job: int, pattern: str) -> JobLogView:
    with admin.database.reading(COMMAND_LINE) as transaction:
        return show_log(transaction, job, pattern=pattern)


def _progress(admin: Admin, job: int) -> dict[str, object]:
    with admin.database.reading(COMMAND_LINE) as transaction:
        return job_samples(transaction, job)[-1].progress


def _kinds(admin: Admin, job: int) -> set[object]:
    with admin.database.reading(COMMAND_LINE) as transaction:
        return {row["kind"] for row in job_samples(transaction, job)[-1].hosts}


def test_end_of_a_rotated_log_begins_in_an_earlier_part(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, rotate_bytes=1)
    for number in range(5):
        log.append([f"line {number}"])
    observer = JobObserver(tmp_path / "none", "1-1-")
    first = observer.look(tmp_path).log
    assert first is not None
    assert first.text.splitlines() == [f"line {number}" for number in range(5)]
    assert observer.look(tmp_path).log is None
    log.append(["line 5"])
    again = observer.look(tmp_path).log
    assert again is not None
    assert again.size == 42
    assert again.text.endswith("line 4\nline 5\n")
