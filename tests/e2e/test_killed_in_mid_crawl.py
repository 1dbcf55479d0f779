"""Promise 3: a proxy, a worker or a browser killed with -9 in mid-crawl costs a second visit, never a page.

The short forms are test_killed_in_mid_visit.py and test_kill_campaign.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browsers.garden_crawl import END_SECONDS, QUICK, archive_dir, crawling, fetched, kill9
from support.browsers.watched_garden import WatchedGarden
from support.processes.machine_needs import redis_server
from support.processes.waiting import until

from archive.warc.upkeep.check import check


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("visitor", "further"),
    [
        ("plain", ()),
        pytest.param("browser", (("--remote-debugging-pipe",),), marks=pytest.mark.browser),
    ],
    ids=["crawlers", "ghosts"],
)
def test_every_page_is_there_after_kills_in_mid_crawl(
    visitor: str, further: tuple[tuple[str, ...], ...], garden: WatchedGarden, home: Path
) -> None:
    redis_server()
    with crawling(garden, home, "--visitor", visitor, "--workers", "2", environment=QUICK) as crawl:
        for victims in (("proxy-",), ("worker-",), ("proxy-", "worker-"), *further):
            seen = len(garden.requests)
            until(lambda seen=seen: len(garden.requests) >= seen + 8 or crawl.poll() is not None, what="requests")
            kill9(crawl.pid, home, victims)
        code = crawl.wait(END_SECONDS)
        said = crawl.stderr.read() if crawl.stderr else ""

    assert code == 0, said[-3000:]
    kept = {capture.url for capture in fetched(home) if capture.status == 200}
    assert set(WatchedGarden.urls()) - kept == set()
    assert {path.suffixes[-2:] == [".warc", ".gz"] for path in archive_dir(home).iterdir()} == {True}
    assert list(check(archive_dir(home))) == []
