"""Promise 3: a proxy or a worker killed with -9 in mid-crawl costs a second visit, never a page."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from garden import GardenSite
from garden_crawl import END_SECONDS, archive_dir, crawling, fetched
from needs import redis_server
from waiting import until

from admin.bench.process import tree
from archive.check import check

QUICK = {"GHOSTFLEET_FRONTIER__LEASE_SECONDS": "3", "GHOSTFLEET_FRONTIER__RETRY_SECONDS": "0.2"}
"""What a killed worker held is handed out again soon, so that the test need not wait for it."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "visitor", ["plain", pytest.param("chromium", marks=pytest.mark.browser)], ids=["crawlers", "ghosts"]
)
def test_every_page_is_there_after_kills_in_mid_crawl(visitor: str, garden: GardenSite, home: Path) -> None:
    redis_server()
    with crawling(garden, home, "--visitor", visitor, "--workers", "2", environment=QUICK) as crawl:
        for victims in (("proxy-",), ("worker-",), ("proxy-", "worker-")):
            seen = len(garden.requests)
            until(lambda seen=seen: len(garden.requests) >= seen + 8 or crawl.poll() is not None, what="requests")
            kill9(crawl.pid, home, victims)
        code = crawl.wait(END_SECONDS)
        said = crawl.stderr.read() if crawl.stderr else ""

    assert code == 0, said[-3000:]
    kept = {capture.url for capture in fetched(home) if capture.status == 200}
    assert set(GardenSite.urls()) - kept == set()
    assert {path.suffixes[-2:] == [".warc", ".gz"] for path in archive_dir(home).iterdir()} == {True}
    assert list(check(archive_dir(home))) == []


def kill9(crawl: int, home: Path, roles: Sequence[str]) -> None:
    """Kills every child of the crawl that plays one of the roles."""
    for pid in tree(crawl, str(home)):
        with suppress(OSError):
            title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if any(f"ghostfleet: {role}" in title for role in roles):
                os.kill(pid, signal.SIGKILL)
