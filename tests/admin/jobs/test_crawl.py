"""`ghostfleet crawl` from seed to reports, cut off in every way it can be: real processes, a real site."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chain_site import ChainSite
from commanding import Command, child
from redis_cluster import RedisCluster
from redis_server import RedisServer
from waiting import until

from archive.capture import Capture
from archive.cdxj import captures_of
from archive.check import check
from archive.settings import Settings

PAGES = 6
STOPPING = "stopping: 1 visit still to finish; another Ctrl-C ends now"


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(PAGES) as started:
        yield started


def _crawl(home: Path, *seeds_and_flags: str, **environment: str) -> Command:
    flags = ("--collection", "garden", "--allow-private", "--delay", "0", "--json")
    environment = {"GHOSTFLEET_FRONTIER__RETRY_SECONDS": "0", "GHOSTFLEET_FRONTIER__MAX_RETRIES": "1", **environment}
    return Command("crawl", *seeds_and_flags, *flags, home=home, **environment)


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


def test_a_job_runs_to_its_end_and_its_numbers_agree(settings: Settings, site: ChainSite) -> None:
    with _crawl(settings.home, site.url, "--workers", "2") as crawl:
        assert crawl.ended() == 0
    summary = crawl.line(event="summary")
    _whole_site_is_kept(settings, site)
    assert summary["status"] == "finished"
    assert summary["pages"] == len(site.urls)
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


def test_a_crawl_keeps_its_frontier_and_its_originals_in_a_cluster(
    settings: Settings, site: ChainSite, tmp_path: Path
) -> None:
    with RedisCluster(tmp_path) as cluster:
        for novel in (len(site.urls) - PAGES + 2, 1):
            with _crawl(settings.home, site.url, GHOSTFLEET_REDIS__URL=cluster.url) as crawl:
                assert crawl.ended() == 0, crawl.stderr
            summary = crawl.line(event="summary")
            assert (summary["pages"], summary["novel_urls"]) == (len(site.urls), novel)
    assert list(check(settings.archive_dir("garden"))) == []


def test_a_redis_that_takes_no_job_is_one_line_and_leaves_no_run(
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


def test_the_same_command_after_the_end_harvests_anew_and_keeps_revisits(settings: Settings, site: ChainSite) -> None:
    first = _summary(settings.home, site.url)
    again = _summary(settings.home, site.url)
    assert again["job"] != first["job"]
    assert again["pages"] == first["pages"]
    assert again["novel_urls"] == 1, "robots.txt is a 404, and only answers of 200 are deduplicated"
    assert again["duplicate_urls"] == len(site.urls)


def test_a_limit_ends_it_and_a_higher_one_takes_it_up_again(settings: Settings, site: ChainSite) -> None:
    first = _summary(settings.home, site.url, "--limit-pages", "3")
    assert (first["status"], first["reason"], first["pages"]) == ("limit", "3 pages", 3)
    assert first["queued"] > 0
    again = _summary(settings.home, site.url, "--limit-pages", "100")
    assert again["resumed"]
    assert again["job"] == first["job"]
    assert again["status"] == "finished"
    _whole_site_is_kept(settings, site)
    asked = Counter(site.asked)
    assert max(asked[path] for path in asked if path != "/robots.txt") == 1, "nothing was fetched twice"


def test_ctrl_c_finishes_what_is_in_flight_and_the_same_command_goes_on(settings: Settings, site: ChainSite) -> None:
    site.hold("/2")
    with _crawl(settings.home, site.url, "--workers", "1") as crawl:
        until(lambda: "/2" in site.asked, what="the third page", within=90)
        crawl.signal(signal.SIGINT)
        crawl.line(event="notice", text=STOPPING)
        site.let_go("/2")
        assert crawl.ended() == 0
    assert crawl.line(event="summary")["status"] == "stopped"
    assert f"{site.url}2" in {capture.url for capture in _captures(settings)}
    again = _summary(settings.home, site.url)
    assert again["status"] == "finished"
    assert again["resumed"]
    _whole_site_is_kept(settings, site)
    assert Counter(site.asked)["/2"] == 1


def test_a_second_ctrl_c_ends_it_now_and_nothing_is_missing_in_the_end(settings: Settings, site: ChainSite) -> None:
    site.hold("/2")
    with _crawl(settings.home, site.url, "--workers", "1", GHOSTFLEET_FRONTIER__LEASE_SECONDS="5") as crawl:
        until(lambda: "/2" in site.asked, what="the third page", within=90)
        crawl.signal(signal.SIGINT)
        crawl.line(event="notice", text=STOPPING)
        crawl.signal(signal.SIGINT)
        assert crawl.ended() == 130
    site.let_go("/2")
    assert _summary(settings.home, site.url)["status"] == "finished"
    _whole_site_is_kept(settings, site)


def test_a_crawl_that_was_killed_outright_is_taken_up(settings: Settings, site: ChainSite) -> None:
    site.hold("/2")
    with _crawl(settings.home, site.url, GHOSTFLEET_FRONTIER__LEASE_SECONDS="5") as crawl:
        until(lambda: "/2" in site.asked, what="the third page", within=90)
        crawl.signal(signal.SIGKILL)
        site.let_go("/2")
        crawl.ended()
    again = _summary(settings.home, site.url)
    assert again["resumed"]
    assert again["status"] == "finished"
    _whole_site_is_kept(settings, site)


@pytest.mark.parametrize("title", ["proxy-0", "worker-0"])
def test_a_child_killed_in_the_middle_costs_nothing(settings: Settings, site: ChainSite, title: str) -> None:
    site.hold("/2")
    with _crawl(settings.home, site.url, "--workers", "1", GHOSTFLEET_FRONTIER__LEASE_SECONDS="5") as crawl:
        until(lambda: "/2" in site.asked, what="the third page", within=90)
        os.kill(child(settings.home, title), signal.SIGKILL)
        site.let_go("/2")
        crawl.line(event="notice", text=f"{title} was killed by SIGKILL and starts again")
        assert crawl.ended() == 0
    assert crawl.line(event="summary")["status"] == "finished"
    _whole_site_is_kept(settings, site)


def test_two_commands_for_one_job_do_not_get_into_each_others_way(settings: Settings, site: ChainSite) -> None:
    site.hold("/1")
    with _crawl(settings.home, site.url) as crawl:
        until(lambda: "/1" in site.asked, what="the second page", within=90)
        with _crawl(settings.home, site.url) as second:
            assert second.ended() == 2
        assert "is being run already" in second.stderr
        site.let_go("/1")
        assert crawl.ended() == 0


def test_a_seed_that_can_not_be_reached_fails_the_job_with_the_reason(settings: Settings, port: int) -> None:
    summary = _summary(settings.home, f"http://127.0.0.1:{port}/", code=1)
    assert summary["status"] == "failed"
    assert summary["reason"].startswith("no seed could be captured: no connection (-2)")


def test_a_private_address_is_refused_unless_allowed(home: Path, site: ChainSite) -> None:
    with Command("crawl", site.url, "--json", home=home) as crawl:
        assert crawl.ended() == 1
    assert "needs --allow-private" in crawl.line(event="summary")["reason"]
    assert site.asked == []


def test_a_start_that_fails_leaves_no_job_behind(settings: Settings, port: int) -> None:
    with _crawl(settings.home, "http://example.org/", GHOSTFLEET_REDIS__URL=f"redis://127.0.0.1:{port}") as crawl:
        assert crawl.ended() == 2
    assert not list((settings.collection("garden") / "jobs").iterdir())


def test_job_list_and_show_tell_of_it(settings: Settings, site: ChainSite) -> None:
    summary = _summary(settings.home, site.url, "--limit-pages", "1", "--job", "daily")
    with Command("job", "list", "--json", home=settings.home) as jobs:
        assert jobs.ended() == 0
    assert jobs.lines[0]["name"] == summary["job"]
    with Command("job", "show", "daily", "--json", home=settings.home) as shown:
        assert shown.ended() == 0
    assert json.loads(json.dumps(shown.lines[0]))["status"] == "limit"
    with Command("job", "show", "weekly", home=settings.home) as unknown:
        assert unknown.ended() == 2
    assert "there is no job weekly" in unknown.stderr
