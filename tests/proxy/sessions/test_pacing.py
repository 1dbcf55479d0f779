"""Pauses between requests to one host: in the fleet, in one process without Redis, for browsers as for crawlers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.machine_needs import chromium
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.running_proxy import credentials, request
from support.stores.redis_server import RedisServer

from dedupdb.fleet.host_turns import HostTurns
from proxy.sessions.pacing import Pacing

DELAY = 0.15
SETTINGS = {
    "proxy.host_delay": {"*.slow.test": DELAY, "*.never.test": 3600},
    "proxy.host_delay_wait_seconds": 30,
    "proxy.drain_seconds": 0.5,  # for the request that still waits at the end of a test
    "proxy.resolve": {"*.test": ADDRESS},
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[list[ProxyProcess]]:
    """Two recording processes that know of each other by Redis alone."""
    folder = tmp_path_factory.mktemp("paced")
    with ExitStack() as running:
        yield [
            running.enter_context(ProxyProcess(folder / str(number), proxy_redis.url, SETTINGS)) for number in range(2)
        ]


def named(origin: RawOrigin, host: str, path: str = "/") -> str:
    """The origin's URL by a name of the test's."""
    return origin.url(path).replace(ADDRESS, host)


def test_all_that_ask_a_host_share_its_pauses(fleet: list[ProxyProcess], origin: RawOrigin) -> None:
    urls = [named(origin, "fleet.slow.test", f"/{number}") for number in range(8)]
    began = time.monotonic()
    with ThreadPoolExecutor(8) as clients:
        replies = list(clients.map(lambda pair: fleet[pair[0] % 2].get(pair[1]), enumerate(urls)))

    assert time.monotonic() - began >= 7 * DELAY, "eight requests have seven pauses between them"
    assert len(replies) == len(origin.visits) == 8


@pytest.mark.browser
def test_a_page_in_a_browser_keeps_to_them_too(fleet: list[ProxyProcess], origin: RawOrigin) -> None:
    images = "".join(f"<img src=/{number}.gif>" for number in range(5))
    origin.script("/page", Send(response(f"<!doctype html><link rel=icon href=data:,>{images}".encode())))
    arguments = ["--no-sandbox", "--proxy-bypass-list=<-loopback>"]
    server = {"server": f"http://{fleet[0].ready['proxy']}"}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        page = browser.new_page(proxy=server)  # type: ignore[arg-type]
        began = time.monotonic()
        page.goto(named(origin, "browser.slow.test", "/page"), wait_until="load")
        took = time.monotonic() - began
        browser.close()

    assert len({visit.path for visit in origin.visits}) == 6
    assert took >= 5 * DELAY


def test_a_wait_that_is_too_long_is_refused_with_a_time_to_retry(fleet: list[ProxyProcess], origin: RawOrigin) -> None:
    url = named(origin, "one.never.test")
    assert fleet[0].get(url).status == 200

    refused = fleet[1].get(url)

    assert (refused.status, refused.header("Ghostfleet-Error")) == (503, "-5 crowded")
    assert refused.header("Retry-After") == "5"
    assert b"one.never.test gets one request every 3600 s" in refused.body
    assert len(origin.visits) == 1


def test_a_session_has_its_own(fleet: list[ProxyProcess], origin: RawOrigin) -> None:
    hasty, slow = fleet[0].session(host_delay=0), fleet[0].session(host_delay=3600)
    for _ in range(3):
        assert fleet[0].get(named(origin, "two.never.test"), credentials(hasty)).status == 200
    assert fleet[0].get(named(origin, "any.test"), credentials(slow)).status == 200
    assert fleet[0].get(named(origin, "any.test"), credentials(slow)).status == 503


def test_requests_that_wait_are_counted(fleet: list[ProxyProcess], origin: RawOrigin) -> None:
    session = fleet[0].session(host_delay=20)
    url = named(origin, "counted.test")
    fleet[0].get(url, credentials(session))
    with fleet[0].connect() as waits:
        waits.send(request("plain", url, credentials(session)))
        until(lambda: fleet[0].status()["in_line"] == 1, what="the second request to stand in line")
    assert len(origin.visits) == 1


async def test_without_redis_a_process_keeps_its_own() -> None:
    loop = asyncio.get_running_loop()
    nowhere = HostTurns("unix:///nowhere/redis.sock", longest_seconds=1, timeout_seconds=0.2)
    pacing = Pacing({"a.test": DELAY}, nowhere, loop, longest_seconds=1)
    pause = pacing.pause("a.test", 80, None)

    began = loop.time()
    answers = await asyncio.gather(*(pacing.wait("a.test", pause) for _ in range(4)))
    took = loop.time() - began
    refused = [await pacing.wait("b.test", 5.0) for _ in range(2)]
    pacing.stop()

    assert answers == [None] * 4
    assert took >= 3 * DELAY
    assert refused[0] is None
    assert refused[1] is not None
    assert refused[1].status == 503


async def test_the_most_exact_entry_says_how_long(tmp_path: Path) -> None:
    turns = HostTurns(f"unix://{tmp_path}/none.sock", longest_seconds=1, timeout_seconds=0.2)
    table = {"*": 1.0, "*.a.test": 2.0, "fast.a.test": 0.0, "a.test:8080": 3.0}
    pacing = Pacing(table, turns, asyncio.get_running_loop(), longest_seconds=1)
    found = [pacing.pause(*asked, None) for asked in (("b.test", 80), ("x.a.test", 80), ("fast.a.test", 80))]
    assert found == [1.0, 2.0, 0.0]
    assert (pacing.pause("a.test", 8080, None), pacing.pause("a.test", 80, None)) == (3.0, 1.0)
    assert (pacing.pause("x.a.test", 80, 0.0), pacing.pause("x.a.test", 80, 0.5)) == (0.0, 0.5)
    pacing.stop()
