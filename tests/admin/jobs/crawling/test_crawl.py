"""`ghostfleet crawl` from seed to reports, cut off in every way it can be: real processes, a real site."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import ROOT, Command, child
from support.processes.waiting import until
from support.stores.redis_cluster import RedisCluster
from support.stores.redis_server import RedisServer

from archive.capture import Capture
from archive.settings.load import Settings
from archive.warc.cdxj import captures_of
from archive.warc.upkeep.check import check

PAGES = 6
STOPPING = "stopping: finishing 1 visit in progress; another Ctrl-C stops at once"


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(PAGES) as started:
        yield started


def _crawl(home: Path, *seeds_and_flags: str, **environment: str) -> Command:
    flags = ("--collection", "garden", "--allow-private", "--delay", "0", "--json")
    usual = {
        "GHOSTFLEET_BROWSERS__WORKERS": "1",
        "GHOSTFLEET_FRONTIER__RETRY_SECONDS": "0",
        "GHOSTFLEET_FRONTIER__MAX_RETRIES": "1",
    }
    return Command("crawl", *seeds_and_flags, *flags, home=home, **{**usual, **environment})


def _summary(home: Path, *seeds_and_flags: str, code: int = 0) -> dict[str, Any]:
    with _crawl(home, *seeds_and_flags) as crawl:
        assert crawl.ended() == code, crawl.stderr
    return crawl.line(event="summary")


def _captures(settings: Settings) -> list[Capture]:
    files = sorted(settings.archive_dir("garden").glob("*.warc.gz"))
    return [capture for file in files for capture in captures_of(file, "garden")]


def _whole_site_is_kept(settings: Settings, site: ChainSite) -> None:
    assert {capture.url for capture in _captures(settings)} - {f"{site.url}robots.txt"} == site.urls
    assert list(check(settings.archive_dir("garden"))) == []
    assert not list(settings.archive_dir("garden").glob("*.open"))


def test_a_job_runs_to_its_end_and_its_numbers_agree_and_the_next_run_writes_revisits(
    settings: Settings, site: ChainSite
) -> None:
    with _crawl(settings.home, site.url, "--workers", "2") as crawl:
        assert crawl.ended() == 0
    summary = crawl.line(event="summary")
    _whole_site_is_kept(settings, site)
    assert summary["status"] == "finished"
    assert (summary["pages"], summary["missing"], summary["left"]) == (PAGES, [], 0)
    kinds = Counter(capture.kind for capture in _captures(settings))
    assert (summary["novel_urls"], summary["duplicate_urls"]) == (kinds["response"], kinds["revisit"])
    assert summary["duplicate_urls"] == PAGES - 1, "all images but the first"
    assert summary["replay"] == f"ghostfleet replay garden --home {settings.home}"
    folder = Path(summary["folder"])
    reports = {f"{name}-report.txt" for name in ("crawl", "seeds", "hosts", "mimetype", "responsecode")}
    assert {path.name for path in folder.iterdir()} >= {"crawl.log", "profile.json", "seeds.txt", "run.json", *reports}
    assert (folder / "seeds-report.txt").read_text().splitlines()[1] == f"200 CRAWLED {site.url}"
    assert f"URI successes: {summary['urls']}" in (folder / "crawl-report.txt").read_text()
    assert any(line["event"] == "progress" for line in crawl.lines)
    assert "Z CRAWL ENDED - " in (folder / "progress-statistics.log").read_text()

    again = _summary(settings.home, site.url)
    assert again["job"] != summary["job"]
    assert again["pages"] == PAGES
    assert again["novel_urls"] == 1, "robots.txt is a 404, and only answers of 200 are deduplicated"
    assert again["duplicate_urls"] == len(site.urls)


def test_a_crawl_stores_its_frontier_and_originals_in_a_redis_cluster(
    settings: Settings, site: ChainSite, tmp_path: Path
) -> None:
    with RedisCluster(tmp_path) as cluster:
        for novel in (len(site.urls) - PAGES + 2, 1):
            with _crawl(settings.home, site.url, GHOSTFLEET_REDIS__URL=cluster.url) as crawl:
                assert crawl.ended() == 0, crawl.stderr
            summary = crawl.line(event="summary")
            assert (summary["pages"], summary["novel_urls"]) == (PAGES, novel)
    assert list(check(settings.archive_dir("garden"))) == []


def test_a_redis_that_refuses_a_job_is_one_line_and_leaves_no_run(
    settings: Settings, site: ChainSite, tmp_path: Path
) -> None:
    with (
        RedisServer(tmp_path, "--maxmemory", "1", append_only=True) as server,
        _crawl(settings.home, site.url, GHOSTFLEET_REDIS__URL=server.url) as crawl,
    ):
        assert crawl.ended() == 2
    (line,) = [line for line in crawl.stderr.splitlines() if "used memory > 'maxmemory'" in line]
    assert line.startswith(f"ghostfleet: Redis at {server.url}: ")
    assert "Traceback" not in crawl.stderr
    assert not list((settings.collection("garden") / "jobs").glob("*"))


def test_a_limit_ends_a_job_and_a_higher_limit_resumes_it(settings: Settings, site: ChainSite) -> None:
    first = _summary(settings.home, site.url, "--limit-pages", "3", code=4)
    assert (first["status"], first["reason"], first["pages"]) == ("limit", "3 pages", 3)
    assert first["missing"] == ["1 URL not visited: the limit of 3 pages was reached"]
    assert sum(path.endswith(".png") for path in site.asked) == 3, "T18: each of the pages has its image"
    again = _summary(settings.home, site.url, "--limit-pages", "100")
    assert again["resumed"]
    assert again["job"] == first["job"]
    assert again["status"] == "finished"
    _whole_site_is_kept(settings, site)
    asked = Counter(site.asked)
    assert max(asked[path] for path in asked if path != "/robots.txt") == 1, "nothing was fetched twice"


def test_ctrl_c_finishes_visits_in_progress_and_the_same_command_resumes(settings: Settings, site: ChainSite) -> None:
    site.hold("/2")
    with _crawl(settings.home, site.url) as crawl:
        until(lambda: "/2" in site.asked, what="the third page", within=90)
        crawl.signal(signal.SIGINT)
        crawl.line(event="notice", text=STOPPING)
        site.let_go("/2")
        assert crawl.ended() == 130
    assert crawl.line(event="summary")["status"] == "interrupted"
    assert f"{site.url}2" in {capture.url for capture in _captures(settings)}
    again = _summary(settings.home, site.url)
    assert again["status"] == "finished"
    assert again["resumed"]
    _whole_site_is_kept(settings, site)
    assert Counter(site.asked)["/2"] == 1


def test_a_continuous_crawl_that_is_interrupted_between_two_visits_goes_on_where_it_was(
    settings: Settings, site: ChainSite, tmp_path: Path
) -> None:
    profile = tmp_path / "again.toml"
    profile.write_text('[revisit]\nmode = "fixed"\ninterval_seconds = 86400\n')
    names = []
    for _ in range(2):
        with _crawl(settings.home, site.url, "--profile", str(profile)) as crawl:
            crawl.line(event="progress", pages=PAGES, queued=0, in_flight=0)
            crawl.signal(signal.SIGINT)
            assert crawl.ended() == 130, crawl.stderr
        summary = crawl.line(event="summary")
        assert (summary["status"], summary["missing"], summary["left"]) == ("interrupted", [], 0)
        names.append(summary["job"])
    assert names[0] == names[1]
    assert summary["resumed"]
    assert Counter(site.asked)["/2"] == 1, "no URL was due again"


def test_a_killed_crawl_is_resumed(settings: Settings, site: ChainSite) -> None:
    site.hold("/2")
    with _crawl(settings.home, site.url, GHOSTFLEET_FRONTIER__LEASE_SECONDS="600") as crawl:
        until(lambda: "/2" in site.asked, what="the third page", within=90)
        crawl.signal(signal.SIGKILL)
        crawl.ended()
        site.let_go("/2")
    (listed,) = _told(settings.home, "list", "--json")
    assert listed["status"] in ("cut off", "running"), "until its workers have ended"
    assert listed["urls"] > 0
    again = _summary(settings.home, site.url)
    assert again["resumed"]
    assert again["status"] == "finished"
    _whole_site_is_kept(settings, site)


@pytest.mark.parametrize("title", ["proxy-0", "worker-0"])
def test_a_killed_child_process_loses_no_data(settings: Settings, site: ChainSite, title: str) -> None:
    site.hold("/2")
    with _crawl(settings.home, site.url, GHOSTFLEET_FRONTIER__LEASE_SECONDS="600") as crawl:
        until(lambda: "/2" in site.asked, what="the third page", within=90)
        os.kill(child(settings.home, title), signal.SIGKILL)
        site.let_go("/2")
        crawl.line(event="notice", text=f"{title} was killed by SIGKILL and is restarted")
        assert crawl.ended() == 0
    assert crawl.line(event="summary")["status"] == "finished"
    _whole_site_is_kept(settings, site)


def test_a_second_command_for_a_running_job_is_refused(settings: Settings, site: ChainSite) -> None:
    site.hold("/1")
    with _crawl(settings.home, site.url) as crawl:
        until(lambda: "/1" in site.asked, what="the second page", within=90)
        with _crawl(settings.home, site.url) as second:
            assert second.ended() == 2
        assert "is already running" in second.stderr
        site.let_go("/1")
        assert crawl.ended() == 0


def test_a_seed_that_can_not_be_reached_fails_the_job_with_the_reason(settings: Settings, port: int) -> None:
    summary = _summary(settings.home, f"http://127.0.0.1:{port}/", code=1)
    assert summary["status"] == "failed"
    assert summary["reason"].startswith("no seed could be captured: no connection (-2)")


def test_a_private_address_is_refused_unless_allowed(home: Path, site: ChainSite) -> None:
    with Command("crawl", site.url, "--json", home=home) as crawl:
        assert crawl.ended() == 1
    assert "need --allow-private" in crawl.line(event="summary")["reason"]
    assert site.asked == []


def test_a_start_that_fails_leaves_no_job_behind(settings: Settings, port: int) -> None:
    with _crawl(settings.home, "http://example.org/", GHOSTFLEET_REDIS__URL=f"redis://127.0.0.1:{port}") as crawl:
        assert crawl.ended() == 2
    assert not list((settings.collection("garden") / "jobs").iterdir())


def test_job_list_and_show_have_the_numbers_of_the_summary_and_print_text_for_people(
    settings: Settings, site: ChainSite
) -> None:
    """T42."""
    assert "there are no jobs in" in _said(settings.home, "list")
    first = _summary(settings.home, site.url, "--limit-pages", "1", "--job", "daily", code=4)
    (listed,) = _told(settings.home, "list", "--json")
    (shown,) = _told(settings.home, "show", "daily", "--json")
    for told in (listed, shown):
        assert (told["name"], told["status"], told["pages"]) == (first["job"], "limit", 1)
        assert told["missing"] == first["missing"]
        assert first["started"] == told["started"] < told["ended"] == first["ended"]
    assert [(seed["url"], seed["state"], seed["urls"]) for seed in shown["seeds"]] == [(site.url, "answered", 3)]
    assert sum(shown["files"].values()) == 3
    assert shown["exit_code"] == first["exit_code"] == 4

    table = _said(settings.home, "list").splitlines()
    assert table[0].split()[:4] == ["STATE", "STARTED", "TIME", "PAGES"]
    assert table[1].startswith("limit")
    assert first["started"][:19].replace("T", " ") in table[1]
    text = _said(settings.home, "show", "garden")
    assert text.splitlines()[1].split(maxsplit=1) == ["missing", first["missing"][0]], "first what is missing"
    assert f"crawl started: {first['started']}" in text
    assert ".warc.gz" in text
    second = _summary(settings.home, f"{site.url}5", "--scope", "page", "--job", "weekly")
    both = _said(settings.home, "show", "garden")
    assert both.index(first["job"]) < both.index(f"{second['job']} finished; all URLs in scope were visited")
    with Command("job", "show", "yearly", home=settings.home) as unknown:
        assert unknown.ended() == 2
    assert "there is no job and no collection yearly" in unknown.stderr


def _told(home: Path, *arguments: str) -> list[dict[str, Any]]:
    with Command("job", *arguments, home=home) as command:
        assert command.ended() == 0, command.stderr
    return command.lines


def _said(home: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "admin.cli", "job", *arguments, "--home", str(home)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return run.stdout + run.stderr


def test_a_crawl_with_gaps_has_them_in_all_reports(home: Path, site: ChainSite) -> None:
    """T6: one seed answers, and one does not."""
    missing = f"{site.url}nowhere"
    summary = _summary(home, site.url, missing, code=3)
    assert summary["status"] == "gaps"
    assert summary["missing"] == [f"seed {missing} answered Not Found (404)"]
    (shown,) = _told(home, "show", "garden", "--json")
    assert shown["missing"] == summary["missing"]
    report = (Path(summary["folder"]) / "crawl-report.txt").read_text()
    assert f"missing: {summary['missing'][0]}" in report


def test_a_host_at_its_limit_is_no_finished_crawl(home: Path, site: ChainSite, tmp_path: Path) -> None:
    """T6: with limits.host_pages reached, the report had URLs remaining and the summary said finished."""
    profile = tmp_path / "profile.toml"
    profile.write_text("[limits]\nhost_pages = 2\n")
    first = _summary(home, site.url, "--profile", str(profile), code=4)
    host = site.url.split("/")[2]
    assert first["missing"] == [f"host {host} was set aside (limits.host_pages reached): 1 URL left"]
    assert (first["status"], first["pages"], first["left"]) == ("limit", 2, 1)
    profile.write_text("[limits]\nhost_pages = 100\n")
    again = _summary(home, site.url, "--profile", str(profile))
    assert (again["job"], again["resumed"], again["status"]) == (first["job"], True, "finished")


def test_a_limit_of_urls_counts_images_too(home: Path, site: ChainSite) -> None:
    summary = _summary(home, site.url, "--limit-urls", "3", code=4)
    assert (summary["reason"], summary["pages"]) == ("3 URLs", 2)


def test_a_second_ctrl_c_stops_at_once_and_releases_the_host_and_the_resumed_job_is_complete(
    settings: Settings, site: ChainSite
) -> None:
    """T5: every other crawl of that host waited until the lease was over."""
    site.hold("/2")
    long = {"GHOSTFLEET_FRONTIER__LEASE_SECONDS": "600"}
    with RedisServer(settings.home) as server:
        shared = {"GHOSTFLEET_REDIS__URL": server.url, **long}
        with _crawl(settings.home, site.url, "--job", "first", **shared) as crawl:
            until(lambda: "/2" in site.asked, what="the third page", within=90)
            with _crawl(settings.home, f"{site.url}5", "--scope", "page", "--job", "other", **shared) as other:
                held = other.line(event="progress", hosts_waiting=1)
                until(lambda: any("in use by job first-" in str(line.get("waits")) for line in other.lines), what="why")
                assert "status" not in held
                crawl.signal(signal.SIGINT)
                crawl.line(event="notice", text=STOPPING)
                crawl.signal(signal.SIGINT)
                assert crawl.ended() == 130
                assert other.ended() == 0, "the host was free as soon as the first command had ended"
        site.let_go("/2")
        assert other.line(event="summary")["status"] == "finished"
        with _crawl(settings.home, site.url, "--job", "first", **shared) as again:
            assert again.ended() == 0
        summary = again.line(event="summary")
    assert (summary["status"], summary["resumed"]) == ("finished", True)
    _whole_site_is_kept(settings, site)


def test_a_seed_with_an_unknown_host_fails_soon(home: Path) -> None:
    """T17: three retries came after 30, 60 and 120 s."""
    few = {"GHOSTFLEET_FRONTIER__DNS_RETRIES": "1", "GHOSTFLEET_FRONTIER__DNS_RETRY_SECONDS": "0"}
    with _crawl(home, "http://nosuch.invalid/", **few) as crawl:
        assert crawl.ended() == 1
    assert "no seed could be captured: name not found (-6)" in crawl.line(event="summary")["reason"]


def test_the_progress_shows_the_wait_for_a_host_whose_name_is_not_found(home: Path) -> None:
    """T17: the line never changed."""
    wait = "nosuch.invalid: name not found (-6), next try in "
    with _crawl(home, "http://nosuch.invalid/", GHOSTFLEET_FRONTIER__DNS_RETRY_SECONDS="600") as crawl:
        until(lambda: any(wait in str(line.get("waits")) for line in crawl.lines), what="the wait", within=90)
        crawl.signal(signal.SIGINT)
        assert crawl.ended() == 130
