"""A crawl with Firefox records each request of its pages, under the page's name, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.archive.warc_reader import Archive
from support.browsers.browser_engines import firefox
from support.browsers.garden_crawl import END_SECONDS, archive_dir, crawling, fetched
from support.browsers.watched_garden import WatchedGarden
from support.processes.machine_needs import redis_server

from archive.warc.upkeep.check import check


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_pages_of_firefox_are_whole_and_nothing_else_is_recorded(garden: WatchedGarden, home: Path) -> None:
    redis_server()
    firefox()
    environment = {"GHOSTFLEET_BROWSERS__ENGINE": "firefox", "GHOSTFLEET_BROWSERS__SANDBOX": "false"}
    options = ("--visitor", "browser", "--workers", "1", "--limit-pages", "2")
    with crawling(garden, home, *options, environment=environment) as crawl:
        code = crawl.wait(END_SECONDS)
        said = crawl.stderr.read() if crawl.stderr else ""

    assert code == 4, said[-3000:]  # a limit ended the crawl
    asked = Counter((request.method, request.url) for request in garden.requests)
    assert asked == Counter((capture.method, capture.url) for capture in fetched(home))
    archive = Archive.read(archive_dir(home))
    by_browser = {request.url for request in garden.requests if "Firefox/" in request.headers["user-agent"]}
    assert len(by_browser) > 4
    infos = [record for record in archive.kinds("resource") if record.url.startswith("urn:pageinfo:")]
    assert infos
    pages = {record.field("WARC-Page-ID") for record in infos}
    for url in by_browser:
        assert {record.field("WARC-Page-ID") for record in archive.of(url)} & pages, url
    for record in archive.kinds("resource"):
        assert record.field("WARC-Page-ID") in pages, record.url
    for record in infos:
        info = json.loads(record.block)
        assert info["browser"].startswith("Firefox/")
        assert info["proxy"]["counts"] == {}, info["proxy"]
        urn = record.url.removeprefix("urn:pageinfo:")
        assert archive.of(f"urn:view:{urn}")
        assert archive.of(f"urn:dom:{urn}")
    assert list(check(archive_dir(home))) == []
