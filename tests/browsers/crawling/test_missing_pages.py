"""Pages that look like the answer to a URL that does not exist are flagged, for one more request to each folder."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.browsers.visits import Fleet, page
from support.origins.raw_origin import RawOrigin, Send, Step

from admin.jobs.progress.tally import JobTally
from archive.crawl_log import LogLine, parse
from archive.settings.load import load
from browsers.crawling.worker import run_worker
from frontier.definition.job import Job, Profile
from frontier.queue import Frontier

QUICK = {
    "frontier.min_delay_seconds": 0,
    "frontier.delay_factor": 0,
    "browsers.sandbox": False,
    "browsers.behaviors": "",
    "browsers.page_records": "text",
}
MENU = "<nav>Start News Contact Search Imprint</nav>"
REAL = {
    "/": "Welcome to the pond <a href=/about>a</a><a href=/old>o</a><a href=/news/one>1</a><a href=/news/gone>2</a>",
    "/about": "The pond was dug in the year of the great flood by eleven farmers and one miller of the parish.",
    "/news/one": "Newts were counted at the southern bank: nineteen of them, before the rain came down in the evening.",
}


def sorry(path: str) -> str:
    return f"We looked for {path} everywhere, and the heron has not seen it. Begin again at the start, or ask a keeper."


class SoftSite:
    """A site that answers every URL with status 200, or by scripts in the browser alone."""

    def __init__(self, origin: RawOrigin, *, by_script: bool = False) -> None:
        self._by_script = by_script
        origin.otherwise(self._answer)

    def _answer(self, asked: bytes) -> Sequence[Step]:
        path = asked.split()[1].decode()
        if path == "/robots.txt":
            return (page("none", status="404 Not Found"),)
        text = REAL.get(path) or sorry(path)
        if self._by_script:
            shown = json.dumps({**REAL, "": sorry("{}")}).replace("<", "\\u003c")
            script = f"const all = {shown}; document.body.innerHTML = all[location.pathname] ||"
            text = f"<script>{script} all[''].replace('{{}}', location.pathname)</script>"
        return (page(MENU + text if not self._by_script else text, head="<title>The pond</title>"),)


def crawled(fleet: Fleet, redis_url: str, origin: RawOrigin, visitor: str, **profile: Any) -> list[LogLine]:
    """Crawl the site, and return the lines of crawl.log."""
    settings = load({"home": str(fleet.home), **QUICK}, environment={})
    name = f"s{os.urandom(6).hex()}"
    job = Job.of("harvest", name, [origin.url("/")], Profile(visitor=visitor, **profile))
    log_dir = fleet.home / "logs" / name
    frontier = Frontier(redis_url, job, settings.frontier)
    frontier.open_job()
    run_worker(
        settings,
        job="harvest",
        proxy=fleet.proxy.ready["proxy"],
        controls=fleet.proxy.ready["controls"],
        redis_url=redis_url,
        name="w",
        concurrency=1,
        stop=threading.Event(),
        log_dir=str(log_dir),
    )
    frontier.close()
    return [parse(line) for line in Path(log_dir, "crawl.log").read_text("utf-8").splitlines()]


def flagged(lines: Sequence[LogLine], origin: RawOrigin) -> set[str]:
    return {
        line.url.removeprefix(origin.url("/")[:-1])
        for line in lines
        if "page:soft-404:like-missing" in line.annotations
    }


@pytest.mark.parametrize("visitor", ["plain", pytest.param("browser", marks=pytest.mark.browser)])
def test_a_page_that_looks_like_a_missing_one_is_flagged(
    fleet: Fleet, redis_url: str, origin: RawOrigin, visitor: str
) -> None:
    SoftSite(origin, by_script=visitor == "browser")

    lines = crawled(fleet, redis_url, origin, visitor, soft_404_check="on")

    assert flagged(lines, origin) == {"/old", "/news/gone"}
    checks = [line for line in lines if "soft-404-check" in line.annotations]
    known = {*REAL, "/old", "/news/gone", "/robots.txt", "/favicon.ico"}
    asked = {seen.path for seen in origin.visits} - known
    assert {line.url.removeprefix(origin.url("/")[:-1]) for line in checks} == asked
    assert sorted(path.rpartition("/")[0] for path in asked) == ["", "/news"]
    assert {line.hop_path[-1:] for line in checks} == {"P"}
    tally = JobTally()
    for line in lines:
        tally.add(line)
    assert tally.page_flaws == {"soft-404": 2}


def test_without_the_setting_nothing_more_is_asked(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    SoftSite(origin)

    lines = crawled(fleet, redis_url, origin, "plain")

    assert flagged(lines, origin) == set()
    assert {seen.path for seen in origin.visits} == {*REAL, "/old", "/news/gone", "/robots.txt"}


def test_pages_that_scripts_fill_are_not_flagged_by_the_plain_crawler(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    SoftSite(origin, by_script=True)

    assert flagged(crawled(fleet, redis_url, origin, "plain", soft_404_check="on"), origin) == set()


def test_a_folder_that_robots_txt_forbids_is_not_asked(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    SoftSite(origin)
    rules = b"User-agent: *\nDisallow: /\nAllow: /old\nAllow: /$"
    origin.script("/robots.txt", Send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(rules), rules)))

    crawled(fleet, redis_url, origin, "plain", soft_404_check="on")

    assert {seen.path for seen in origin.visits} == {"/robots.txt", "/", "/old"}
