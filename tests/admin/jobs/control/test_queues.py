"""The commands `queue …` on real crawls: shown, searched, exported, imported, and changed from another terminal."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import pytest
from click.testing import CliRunner
from support.origins.chain_site import ChainSite
from support.origins.raw_origin import certificate_authority
from support.processes.ghostfleet_command import Command
from support.processes.memory import growth
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until
from support.stores.real_frontier import Bench

from admin.commands.jobs.job import job
from admin.commands.jobs.queue import queue
from admin.jobs.control import queues
from admin.jobs.control.operator_log import FILE_NAME, note_change
from admin.jobs.control.queues import MOST_PROBLEMS, export, import_file
from admin.jobs.control.steering import FoundJob
from admin.jobs.runs import resume_or_create
from archive.settings.load import Settings
from frontier.definition.job import JobError
from frontier.lease import JobFinished, Lease
from frontier.politeness import VisitOutcome
from frontier.private_redis.server import running_url

JOB = "spring"
MANY_URLS: Final = """
for number = tonumber(ARGV[1]), tonumber(ARGV[1]) + 9999 do
  local record = '["http://many.example/a/rather/long/path/' .. number .. '",2,1,"L","http://many.example/"]'
  local score = string.format('%.0f', 600 * 2 ^ 40 + number)
  redis.call('HSET', KEYS[1], number, 'many.example\\n' .. score .. '\\n' .. record)
end
"""


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(3) as started:
        yield started


def _crawl(home: Path, *more: str) -> Command:
    flags = ("--collection", "garden", "--job", JOB, "--allow-private", "--delay", "0", "--robots", "ignore", "--json")
    return Command("crawl", *more, *flags, "--workers", "1", home=home)


class Told(NamedTuple):
    """The result has the output of a command, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def _queue(home: Path, *arguments: str) -> Told:
    """Run a command in this process, as a process of its own takes seconds to start."""
    result = CliRunner().invoke(queue, [*arguments, "--home", str(home)], standalone_mode=False)
    if isinstance(result.exception, click.ClickException):
        return Told(result.exception.exit_code, result.stdout, f"{result.stderr}{result.exception.format_message()}\n")
    if result.exception is not None:
        raise result.exception
    return Told(int(result.return_value or 0), result.stdout, result.stderr)


def _done(home: Path, *arguments: str) -> str:
    told = _queue(home, *arguments)
    assert told.returncode == 0, told.stderr
    return told.stdout


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_queues_of_a_running_crawl_are_seen_and_changed(home: Path, site: ChainSite, tmp_path: Path) -> None:
    host = site.url.removeprefix("http://").rstrip("/")
    base = site.url.rstrip("/")
    site.hold("/1")
    with _crawl(home, site.url) as crawl:
        until(lambda: "/1" in site.asked, what="a request for /1", within=60)
        added = _rows(_done(home, "add", f"{base}/1?a", f"{base}/1?b", f"{base}/calendar", "--json"))
        assert [each["outcome"] for each in added] == ["queued"] * 3
        refused = _queue(home, "add", "http://elsewhere.example/", site.url, "--job", JOB)
        assert refused.returncode == 1
        assert [line.split()[0] for line in refused.stdout.splitlines()] == ["refused", "known"]

        listed = _rows(_done(home, "list", "--json"))
        assert [(each["host"], each["queued"], each["visits"]) for each in listed] == [(host, 3, 1)]
        assert _done(home, "list").splitlines()[1].split()[0] == "3"
        shown = _rows(_done(home, "show", host, "--json"))
        assert [(each["state"], each["url"]) for each in shown[:2]] == [
            ("leased", f"{base}/1"),
            ("queued", f"{base}/1?a"),
        ]
        found = _done(home, "search", "calendar|[?]b$", "--state", "queued")
        assert sorted(line.split()[4] for line in found.splitlines()) == [f"{base}/1?b", f"{base}/calendar"]
        assert _queue(home, "search", "nowhere").returncode == 1

        file = tmp_path / "queue.jsonl.gz"
        assert "4 URLs and 6 fingerprints written" in _done(home, "export", str(file), "--seen")
        assert file.stat().st_mode & 0o077 == 0
        states = [json.loads(line).get("state") for line in gzip.decompress(file.read_bytes()).splitlines()]
        assert sorted(state for state in states if state) == ["leased", "queued", "queued", "queued"]

        asked = _queue(home, "delete", "calendar")
        assert (asked.returncode, asked.stdout.count("1 queued URL of")) == (2, 1)
        assert json.loads(_done(home, "delete", "calendar", "--dry-run", "--json")) == {"matching": 1, "deleted": 0}
        assert "1 URL deleted" in _done(home, "delete", "calendar", "--yes")

        lines = tmp_path / "more.jsonl"
        lines.write_text(
            f'{{"url": "{base}/1?a"}}\nrubbish\n{{"url": "{base}/1?c", "priority": "urgent"}}\n'
            f'{{"url": "http://elsewhere.example/"}}\n{{"url": "{base}/1?d", "priority": "high"}}\n'
        )
        imported = _queue(home, "import", str(lines))
        assert imported.returncode == 1
        assert "1 URL queued, 1 known, 1 refused (scope), 2 lines can't be used" in imported.stdout
        assert [line.split(": ")[0].rpartition(" ")[2] for line in imported.stderr.splitlines()] == ["2", "3"]

        assert "is blocked for 900 s" in _done(home, "block", site.url, "--for", "15m")
        assert _rows(_done(home, "list", "--json"))[0]["blocked_seconds"] > 800
        assert "limits in force: bytes 5000000000" in _done(home, "budget", "--bytes", "5GB")
        assert json.loads(_done(home, "budget", "--bytes", "none", "--json"))["bytes"] is None
        site.let_go("/1")
        assert "is visited again" in _done(home, "unblock", host)
        assert crawl.ended() == 0, crawl.stderr
    assert {"/1?a", "/1?b", "/1?d", "/2"} <= set(site.asked)
    assert "/calendar" not in site.asked
    folder = Path(crawl.line(event="summary")["folder"])
    notes = _rows((folder / "operator.log").read_text())
    assert [note["command"] for note in notes] == [
        *("queue add", "queue add", "queue export", "queue delete", "queue import", "queue import"),
        *("queue block", "queue budget", "queue budget", "queue unblock"),
    ]
    assert notes[3] | {"expression": "calendar", "outcome": "1 URL deleted"} == notes[3]
    over = _queue(home, "list", "--job", JOB)
    assert over.returncode == 6
    assert "is not running: finished" in over.stderr


def test_the_queues_of_a_stopped_crawl_are_changed_before_it_goes_on(home: Path, site: ChainSite) -> None:
    base = site.url.rstrip("/")
    site.hold("/1")
    with _crawl(home, site.url) as crawl:
        until(lambda: "/1" in site.asked, what="a request for /1", within=60)
        assert CliRunner().invoke(job, ["stop", JOB, "--home", str(home)]).exit_code == 0
        site.let_go("/1")
        crawl.ended()
    assert _queue(home, "list").returncode == 6, "no job runs"
    waiting = _rows(_done(home, "search", ".", "--job", JOB, "--json"))
    assert f"{base}/2" in [each["url"] for each in waiting]
    assert "1 URL deleted" in _done(home, "delete", "/2$", "--yes", "--job", JOB)
    assert _done(home, "add", f"{base}/1", "--force", "--job", JOB).split()[0] == "queued"
    with _crawl(home, site.url) as again:
        assert again.ended() == 0, again.stderr
    assert site.asked.count("/1") == 2, "the visit was asked for again"
    assert "/2" not in site.asked[: site.asked.index("/1") + 1]


def test_what_can_not_be_used_is_said_in_one_line(home: Path) -> None:
    for arguments, said in (
        (("list",), "no job runs here"),
        (("show", "example.org", "--job", "nowhere"), "there is no job nowhere"),
        (("block", "no host/at all", "--job", "x"), "is no host"),
        (("budget", "--urls", "many"), "urls"),
        (("search", ".", "--state", "done"), "'done' is not one of"),
    ):
        told = _queue(home, *arguments)
        assert told.returncode in (2, 6), arguments
        assert said in told.stderr
        assert len(told.stderr.splitlines()) == 1


def test_a_job_whose_redis_was_lost_is_rebuilt_and_goes_on(home: Path, site: ChainSite) -> None:
    site.hold("/1")
    with _crawl(home, site.url) as crawl:
        until(lambda: "/1" in site.asked, what="a request for /1", within=60)
        assert CliRunner().invoke(job, ["pause", JOB, "--home", str(home)]).exit_code == 0
        site.let_go("/1")
        until(lambda: [each["visits"] for each in _rows(_done(home, "list", "--json"))] == [0], what="the end of it")
        crawl.signal(signal.SIGKILL)
        crawl.ended()
    until(lambda: running_url(home) is None, what="the private Redis to end", within=60)
    refused = _queue(home, "rebuild", "--job", JOB)
    assert refused.returncode == 2
    assert "resume the job, or give --anew" in refused.stderr
    for path in (home / "redis").rglob("*.aof"):
        path.unlink()
    shutil.rmtree(home / "redis" / "appendonlydir", ignore_errors=True)
    asked = list(site.asked)
    told = json.loads(_done(home, "rebuild", "--job", JOB, "--revisit-pages", "--json"))
    assert (told["done"], told["failed"], told["again"], told["seeds"], told["damaged"]) == (3, 0, 0, 0, 0)
    assert told["links"] == told["queued"] == 2, "the links of /1"
    assert site.asked == asked, "no request was sent"
    (waiting,) = _rows(_done(home, "search", "/2$", "--job", JOB, "--state", "queued", "--json"))
    assert (waiting["url"], waiting["hop_path"], waiting["depth"]) == (f"{site.url}2", "LL", 2)
    with _crawl(home, site.url) as again:
        assert again.ended() == 0, again.stderr
    summary = again.line(event="summary")
    assert (summary["status"], summary["pages"]) == ("finished", 3)
    for path in ("/", "/1", "/image-0.png", "/image-1.png"):
        assert site.asked.count(path) == 1, path


def test_a_rebuild_without_pages_says_what_is_unknown(home: Path, site: ChainSite, tmp_path: Path) -> None:
    site.hold("/1")
    authorities = tmp_path / "authorities.pem"
    certificate_authority().cert_pem.write_to_path(str(authorities))
    further = tmp_path / "further.toml"
    further.write_text('[logs]\nlinks = "on"\n')
    reaching = ("--resolve", "a.example=127.0.0.1:81", "--upstream-ca", str(authorities))
    with _crawl(home, site.url, *reaching, "--settings", str(further)) as crawl:
        until(lambda: "/1" in site.asked, what="a request for /1", within=60)
        assert CliRunner().invoke(job, ["stop", JOB, "--home", str(home)]).exit_code == 0
        site.let_go("/1")
        crawl.ended()
    (log,) = (home / "collections").rglob("crawl.log")
    base = "2026-11-27T13:10:14.059Z {} - {} L {} text/html #000 - - - -\n"
    more = tmp_path / "more.log"
    more.write_text(
        base.format(-4, f"{site.url}late", site.url)
        + base.format(-9998, f"{site.url}forbidden", site.url)
        + base.format(-7, f"{site.url}wrong", site.url)
        + base.format(200, f"{site.url}done", f"{site.url}referrer")
        + base.format(-4, f"{site.url}done", site.url)
        + "rubbish\n"
    )
    told = _done(home, "rebuild", "--job", JOB, "--anew", "--log", str(more))
    lines = told.splitlines()
    assert lines[1].split(None, 1) == ["ended", "1 failed, 1 excluded"]
    assert "0 seeds, 1 after temporary failures, 1 referring URL, 0 links of stored pages" in lines[2]
    assert lines[3] == "damaged        1 line of the logs can't be read"
    assert "--revisit-pages" in lines[4]
    assert "`ghostfleet crawl" in lines[5]
    for option in ("--allow-private", shlex.join(reaching[:2]), shlex.join(reaching[2:]), f"--settings {further}"):
        assert option in lines[5], "the crawl was started with it"
    found = _rows(_done(home, "search", ".", "--job", JOB, "--json"))
    assert {each["url"].removeprefix(site.url): each["state"] for each in found} == {
        "late": "queued", "referrer": "queued", "forbidden": "excluded", "wrong": "failed",
    }  # fmt: skip
    assert log.exists()


@pytest.fixture
def bench(redis_url: str) -> Iterator[Bench]:
    bench = Bench(redis_url)
    yield bench
    bench.close()


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("urls", "most_bytes"), [(50_000, 37_500_000), pytest.param(200_000, 150_000_000, marks=pytest.mark.slow)]
)
def test_many_urls_are_exported_and_imported_in_flat_memory(
    bench: Bench, settings: Settings, tmp_path: Path, urls: int, most_bytes: int
) -> None:
    frontier = bench.frontier("http://many.example/")
    for first in range(1, urls, 10_000):
        bench.client.eval(MANY_URLS, 1, bench.key("u"), first)
    target, file = FoundJob("spring", None, settings), tmp_path / "queue.jsonl"
    with growth() as memory:
        found = export(target, frontier, file, with_seen=True)
    assert (found.urls["queued"], found.seen) == (urls + 1, 1)
    assert memory.bytes < most_bytes, "far below the size of all entries"
    with file.open("rb") as lines, (tmp_path / "part.jsonl").open("wb") as part:
        part.writelines(islice(lines, 3_000))
        part.writelines(b"rubbish\n" for _ in range(2_000))
    other = bench.frontier("http://many.example/", name="summer")
    told = import_file(FoundJob("summer", None, settings), other, tmp_path / "part.jsonl", any_scope=False)
    assert (told.queued + told.known, told.unusable, len(told.problems)) == (2_999, 2_000, MOST_PROBLEMS)
    again = import_file(FoundJob("summer", None, settings), other, tmp_path / "part.jsonl", any_scope=False)
    assert (again.queued, again.known) == (0, 2_999)
    assert other.reports.progress().queued == told.queued + 1


def test_an_import_that_was_killed_stands_in_the_log_and_the_next_line_begins_on_its_own(
    redis_url: str, home: Path, settings: Settings, tmp_path: Path
) -> None:
    file, bench = tmp_path / "queue.jsonl", Bench(redis_url)
    file.write_text("".join(f'{{"url": "http://example.org/{number}"}}\n' for number in range(600)))
    run = resume_or_create(settings.collection("garden") / "jobs", "garden", JOB, {})
    frontier = bench.frontier(name=run.state.name)
    killed = f"""
import os
from pathlib import Path
from admin.jobs.control.queues import import_file, opened
from admin.jobs.control.steering import find
from archive.settings.load import load
target = find(load({{"home": {str(home)!r}, "redis.url": {redis_url!r}}}, environment={{}}), {JOB!r})
with opened(target) as frontier:
    import_file(target, frontier, Path({str(file)!r}), any_scope=False, tell=lambda _: os.kill(os.getpid(), 9))
"""
    assert subprocess.run(code_command(killed), env={**os.environ, **PLACES}).returncode == -9
    log = run.folder / FILE_NAME
    (begun,) = _rows(log.read_text())
    assert (begun["command"], begun["file"], begun["outcome"]) == ("queue import", str(file), "begun")
    log.write_text(f"{log.read_text()}{log.read_text()[:40]}")
    told = import_file(FoundJob(run.state.name, run, settings), frontier, file, any_scope=False)
    assert (told.queued, told.known) == (100, 500)
    lines = log.read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in (lines[0], *lines[2:])] == ["begun", "begun", told.line()]
    bench.close()


def test_a_note_of_a_change_brings_no_removed_folder_back(tmp_path: Path) -> None:
    note_change(tmp_path / "gone", "queue import", {}, "1 queued")
    assert not list(tmp_path.iterdir())


def test_an_export_that_breaks_off_leaves_the_older_file(
    bench: Bench, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = bench.frontier()
    file = tmp_path / "queue.jsonl"
    file.write_text("older")

    def broken(_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(queues, "url_line", broken)
    with pytest.raises(OSError, match="No space"):
        export(FoundJob("spring", None, settings), frontier, file, with_seen=False)
    assert file.read_text() == "older"
    assert list(tmp_path.glob("queue*")) == [file]


def test_nothing_is_imported_into_a_job_that_has_ended_its_work(
    bench: Bench, settings: Settings, tmp_path: Path
) -> None:
    frontier = bench.frontier()
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    frontier.finish(lease, VisitOutcome(200))
    assert isinstance(frontier.claim("w"), JobFinished)
    file = tmp_path / "late.jsonl"
    file.write_text('{"url": "http://example.org/late"}\n')
    with pytest.raises(JobError, match="has ended its work"):
        import_file(FoundJob("spring", None, settings), frontier, file, any_scope=False)
    file.with_suffix(".gz").write_bytes(b"no gzip")
    with pytest.raises(OSError, match="gzip"):
        import_file(FoundJob("spring", None, settings), frontier, file.with_suffix(".gz"), any_scope=False)
    file.with_suffix(".gz").write_bytes(gzip.compress(bytes(70_000_000)))
    with pytest.raises(OSError, match="more than 250 times its size"):
        import_file(FoundJob("spring", None, settings), frontier, file.with_suffix(".gz"), any_scope=False)
