"""A running crawl steered from another terminal (issue 13, item 5): real commands, a real site."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.origins.chain_site import ChainSite
from support.processes.command_lines import Ended, runner
from support.processes.ghostfleet_command import ROOT, Command
from support.processes.waiting import until

from admin.cli import ghostfleet
from archive.settings.frontier import FrontierSettings
from archive.url import host_of
from frontier.private_redis.server import running_url
from frontier.shards import frontier_of

PAGES = 5
JOB = "spring"


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(PAGES) as started:
        yield started


def _crawl(home: Path, *more: str) -> Command:
    flags = ("--collection", "garden", "--job", JOB, "--allow-private", "--delay", "0", "--robots", "ignore", "--json")
    return Command("crawl", *more, *flags, "--workers", "1", home=home)


def _job(home: Path, *arguments: str) -> Ended:
    """Run a command in this process, as a process of its own takes longer to start."""
    return runner(home, "")("job", *arguments)


def _status(home: Path) -> dict[str, Any]:
    found = _job(home, "status", JOB, "--json").json
    assert isinstance(found, dict)
    return found


def _asked(site: ChainSite, path: str) -> None:
    until(lambda: path in site.asked, what=f"a request for {path}", within=60)


def test_a_stop_finishes_visits_in_progress_and_the_same_command_resumes(home: Path, site: ChainSite) -> None:
    site.hold("/1")
    with _crawl(home, site.url) as crawl:
        _asked(site, "/1")
        stopped = _job(home, "stop", JOB, "--reason", "enough for today")
        assert stopped.code == 0, stopped.err
        assert stopped.out.endswith(" is stopping: 1 visit in progress\n")
        assert _status(home)["state"] == "stopping"
        site.let_go("/1")
        crawl.ended()
    summary = crawl.line(event="summary")
    assert (summary["status"], summary["reason"]) == ("stopped", "enough for today")
    assert "stopping: enough for today; finishing the visits in progress" in [
        line["text"] for line in crawl.lines if line["event"] == "notice"
    ]
    assert "/2" not in site.asked
    assert (Path(summary["folder"]) / "crawl-report.txt").exists()

    told = _job(home, "status", JOB)
    assert told.code == 6
    assert "is not running: stopped (enough for today); `ghostfleet crawl --home" in told.err
    with _crawl(home, site.url) as again:
        assert again.ended() == 0, again.stderr
    assert again.line(event="summary")["status"] == "finished"
    assert site.asked.count("/1") == 1


def test_a_pause_is_shown_and_lasts_until_resume_even_after_a_restart(home: Path, site: ChainSite) -> None:
    site.hold("/1")
    with _crawl(home, site.url) as crawl:
        _asked(site, "/1")
        assert _job(home, "pause", JOB, "--reason", "they asked for it").code == 0
        until(lambda: _status(home).get("paused") == "they asked for it", what="the view to say it")
        found = _status(home)
        assert (found["state"], found["reason"]) == ("paused", "they asked for it")
        assert found["since"].endswith(" UTC")
        site.let_go("/1")
        until(lambda: _status(home)["in_flight"] == 0, what="the visit to end")
        assert "paused for 00:0" in _status(home)["line"]
        crawl.signal(signal.SIGINT)
        crawl.ended()
    with _crawl(home, site.url) as again:
        assert again.line(event="progress", paused="they asked for it", in_flight=0)
        people = _job(home, "status", JOB)
        assert " paused since " in people.out
        assert "/2" not in site.asked
        assert _job(home, "resume", JOB).out.endswith(" is resumed\n")
        assert again.ended() == 0, again.stderr
    assert again.line(event="summary")["status"] == "finished"
    notices = [line["text"] for line in again.lines if line["event"] == "notice"]
    assert any(f"job resume {JOB}-" in text for text in notices)


def test_seeds_are_added_to_a_running_job_and_reported_with_it(home: Path, site: ChainSite) -> None:
    with ChainSite(2) as other:
        site.hold("/1")
        refused = f"{other.url}private"
        with _crawl(home, site.url, "--exclude", "/private$") as crawl:
            _asked(site, "/1")
            added = _job(home, "add-seed", JOB, other.url, site.url, refused)
            assert added.code == 1, added.err
            lines = added.out.splitlines()
            assert lines[0].split() == ["added", other.url]
            assert lines[1].startswith(f"known    {site.url}: it is already queued or visited")
            assert lines[2] == f"refused  {refused}: excluded (exclude /private$)"
            site.let_go("/1")
            assert crawl.ended() == 0, crawl.stderr
        summary = crawl.line(event="summary")
        assert {"/", "/1"} <= set(other.asked), "its links are in scope"
    folder = Path(summary["folder"])
    assert f"200 CRAWLED {other.url}" in (folder / "seeds-report.txt").read_text()
    assert (folder / "seeds.txt").read_text().split() == [site.url, other.url]


def test_status_watch_prints_every_second_until_the_end(home: Path, site: ChainSite) -> None:
    site.hold("/1")
    with _crawl(home, site.url) as crawl:
        _asked(site, "/1")
        with Command("job", "status", JOB, "--json", "--watch", home=home) as watch:
            watch.line(state="running")
            site.let_go("/1")
            assert crawl.ended() == 0
            assert watch.ended() == 0
    assert watch.lines[-1]["status"] == "finished"


def test_stop_can_wait_for_the_end(home: Path, site: ChainSite) -> None:
    site.hold("/1")
    with _crawl(home, site.url) as crawl:
        _asked(site, "/1")
        with Command("job", "stop", JOB, "--wait", home=home) as stop:
            crawl.line(event="notice", text="stopping: by an operator; finishing the visits in progress")
            site.let_go("/1")
            assert stop.ended() == 0, stop.stderr
        crawl.ended()


def test_a_job_that_is_not_running_is_one_line_and_a_misspelt_name_gets_a_suggestion(home: Path) -> None:
    folder = home / "collections" / "garden" / "jobs" / f"{JOB}-20310501120000"
    folder.mkdir(parents=True)
    state = {"job": JOB, "collection": "garden", "name": folder.name, "status": "finished"}
    (folder / "run.json").write_text(json.dumps(state))
    for what in ("stop", "pause", "resume", "status", "add-seed"):
        more = ["http://example.org/"] if what == "add-seed" else []
        at_rest = _job(home, what, JOB, *more)
        assert (at_rest.code, at_rest.err) == (6, f"ghostfleet: job {folder.name} is not running: finished")
        misspelt = _job(home, what, "sprin", *more)
        assert (misspelt.code, misspelt.err) == (2, f"ghostfleet: there is no job sprin; did you mean {JOB}?")


def test_names_of_jobs_are_completed_by_the_shell(home: Path) -> None:
    for job in ("spring", "summer"):
        folder = home / "collections" / "garden" / "jobs" / f"{job}-20310501120000"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"job": job, "collection": "garden", "name": folder.name}))
    words = f"ghostfleet job stop --home {home} sp"
    environment = {**os.environ, "_GHOSTFLEET_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "5"}
    told = subprocess.run(
        [sys.executable, "-m", "admin.cli"], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    assert told.stdout.split() == ["plain,spring", "plain,spring-20310501120000"]


def test_a_seed_that_is_no_url_is_one_line(home: Path) -> None:
    refused = _job(home, "add-seed", JOB, "example.org")
    assert refused.code == 2
    assert "it has no scheme; write http://example.org/" in refused.err


def test_a_running_job_is_edited_and_its_edits_are_a_patch(home: Path, site: ChainSite, tmp_path: Path) -> None:
    site.hold("/1")
    with ChainSite(30) as other, _crawl(home, site.url, other.url) as crawl:
        _asked(site, "/1")
        rules = tmp_path / "rules.yaml"
        rules.write_text(f"rules:\n  - REJECT MatchesRegex {other.url}.*\n", "utf-8")
        told = _job(
            home, "edit", JOB, "politeness.min_delay_seconds=0.5", "quotas+=host urls=3", "robots=obey",
            "rules+=REJECT OnDomains gone.test", "--file", str(rules),
        )  # fmt: skip
        assert told.code == 0, told.err
        assert "politeness.min_delay_seconds: 0.0 -> 0.5" in told.out
        refused = _job(home, "edit", JOB, "scope=any", "rules+=REJECT Nothing", "hops=-1")
        assert refused.code == 2
        assert [word in refused.err for word in ("while a job runs", "is no rule", "hops = ")] == [True] * 3
        for changes in (("politeness=1", "politeness.max_retries=2"), ("politeness.max_retries=2", "politeness=1")):
            refused = _job(home, "edit", JOB, *changes)
            assert (refused.code, "politeness" in refused.err, "Traceback" in refused.err) == (2, True, False)
        explained = runner(home, "")("scope", "explain", f"{other.url}9", "--job", JOB)
        assert "rejected as regex by rule 1" in explained.out
        before = len(other.asked)
        site.let_go("/1")
        crawl.ended()
        assert len(other.asked) == before, "queued URLs of the host are not visited any more"
    summary = crawl.line(event="summary")
    lines = (Path(summary["folder"]) / "crawl.log").read_text("utf-8").splitlines()
    rejected = [line for line in lines if "rejected:regex" in line]
    assert rejected
    assert all(" -5000 " in line and other.url in line for line in rejected)
    assert (summary["status"], summary["reason"]) == ("limit", "quotas: host urls, on 1 host")
    assert any("set aside (quotas: host urls reached)" in line for line in summary["missing"])
    log = (Path(summary["folder"]) / "operator.log").read_text("utf-8").splitlines()
    noted = {line["key"]: (line.get("from"), line["to"]) for line in map(json.loads, log)}
    assert noted["quotas"] == ([], ["host urls=3"])

    patch = tmp_path / "patch.yaml"
    patch.write_text(_job(home, "edits", JOB, "--patch").out, "utf-8")
    assert "min_delay_seconds: 0.5" in patch.read_text("utf-8")
    checked = CliRunner().invoke(ghostfleet, ["profile", "check", str(patch)])
    assert checked.exit_code == 0, checked.stderr
    asked = len(site.asked)
    assert _job(home, "edit", JOB, "quotas-=host urls=3", "--json").json["after"] == []
    with _crawl(home, site.url) as again:
        assert again.ended() == 0, again.stderr
    assert again.line(event="summary")["status"] == "finished"
    assert len(site.asked) > asked


def test_new_bytes_of_the_log_reach_the_quota(home: Path, site: ChainSite, tmp_path: Path) -> None:
    profile = tmp_path / "quota.yaml"
    profile.write_text("quotas:\n  - host new_bytes=1\n", "utf-8")
    site.hold("/1")
    with _crawl(home, site.url, "--profile", str(profile)) as crawl:
        _asked(site, "/1")

        url = running_url(home)
        assert url is not None
        with closing(frontier_of(url, _status(home)["name"], FrontierSettings())) as frontier:
            host = host_of(site.url)
            until(lambda: frontier.reports.reached_quota("host", host), what="the quota of the host", within=60)
        site.let_go("/1")
        crawl.ended()
    summary = crawl.line(event="summary")
    assert summary["status"] == "limit"
    assert summary["reason"] == "quotas: host new_bytes, on 1 host"
