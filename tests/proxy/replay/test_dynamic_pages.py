"""Chromium gets from the archive what it got live, from a site whose answers depend on more than their URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from support.origins.dynamic_site import DynamicSite
from support.processes.machine_needs import chromium
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ADDRESS, NAME = "127.0.1.62", "www.dynamic.test"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox"], proxy={"server": "http://127.0.0.1:9"}
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, proxy_redis: Any) -> Iterator[ProxyProcess]:
    home: Path = tmp_path_factory.mktemp("dynamic") / "home"
    with ProxyProcess(home, proxy_redis.url, {"proxy.resolve": {NAME: ADDRESS}}) as running:
        yield running


def visit(browser: Browser, session: dict[str, Any], url: str) -> dict[str, Any]:
    """What the page got, in a context of its own."""
    server = {"server": f"http://{session['host']}:{session['port']}", "bypass": "<-loopback>"}
    with browser.new_context(proxy=server) as context:
        page = context.new_page()
        page.goto(url)
        page.wait_for_function("document.title.startsWith('done')", timeout=100_000)
        found: dict[str, Any] = json.loads(page.title().removeprefix("done "))
        return found


@pytest.mark.parametrize(
    ("host", "has_page_id"),
    [
        pytest.param(ADDRESS, True, id="secure-context, page-id", marks=pytest.mark.slow),
        pytest.param(NAME, False, id="plain-http, no-page-id"),
        pytest.param(ADDRESS, False, id="secure-context, no-page-id", marks=pytest.mark.slow),
        pytest.param(NAME, True, id="plain-http, page-id", marks=pytest.mark.slow),
    ],
)
def test_a_page_gets_the_same_answers_again(
    browser: Browser, proxy: ProxyProcess, host: str, has_page_id: bool
) -> None:
    """Two visits are recorded; each date replays its own, the first one twice, and the site is not asked."""
    collection = f"dynamic-{len(host)}-{has_page_id}"
    with DynamicSite(ADDRESS) as site:
        url = f"http://{host}:{site.port}/"
        live = []
        for number in range(2):
            page_id = {"page_id": f"visit-{number}", "page_url": url} if has_page_id else {}
            session = proxy.session(collection=collection, listen=True, **page_id)
            live.append(visit(browser, session, url))
            proxy.control("DELETE", f"/sessions/{session['id']}")
        assert live[0]["polls"] == ["answer 1", "answer 2", "answer 3"]
        assert live[1]["polls"] == ["answer 4", "answer 5", "answer 6"]
        assert live[0]["socket"] == [
            *("welcome 1", "you said moss", "and again moss", "you said fern", "and again fern"),
        ]
        documents = until(
            lambda: list(proxy.records(collection, growing=True).of(url, "response", "revisit")),
            what="the documents",
        )
        dates = [(record.field("WARC-Date") or "") for record in documents]
        until(lambda: len(site.asked) == len(proxy.records(collection, growing=True).kinds("request")), what="records")
        asked = len(site.asked)
    proxy.index()

    digits = ["".join(char for char in date if char.isdigit())[:17] for date in dates]
    assert len(digits) == 2
    for date, recorded, times in zip(digits, live, (2, 1), strict=True):
        session = proxy.session(collection=collection, mode="replay", listen=True, datetime=date)
        for _ in range(times):
            assert visit(browser, session, url) == recorded
        proxy.control("DELETE", f"/sessions/{session['id']}")
    assert len(site.asked) == asked
