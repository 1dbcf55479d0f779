"""What a browser asks for without us is what we keep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError
from support.browsers.finished_crawl import Harvest
from support.browsers.garden_crawl import COLLECTION, captures, fetched, without_fragment
from support.processes.machine_needs import chromium

from admin.demo.garden import GardenSite

pytestmark = pytest.mark.browser

SCROLLS = 40
KINDS = ("/", "/gallery.html", "/journal.html", "/visit.html", "/film.html")
"""Pages that ask for their parts in different ways; the others run with --slow."""
URLS = [url if urlsplit(url).path in KINDS else pytest.param(url, marks=pytest.mark.slow) for url in GardenSite.urls()]


@pytest.fixture(scope="module")
def bare_browser(harvest: Harvest) -> Iterator[Browser]:
    """Chromium as it comes, without proxy; only the site's names are led to where it listens."""
    rules = ", ".join(f"MAP {name} {address}" for name, address in harvest.site.resolve.items())
    flags = [f"--host-resolver-rules={rules}", "--disable-background-networking", "--disable-component-update"]
    flags += ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
        yield browser
        browser.close()


@pytest.mark.parametrize("url", URLS)
def test_every_url_that_a_bare_browser_asks_for_is_in_the_index(
    url: str, harvest: Harvest, bare_browser: Browser
) -> None:
    asked = asked_by(bare_browser, url)

    kept = {capture.url for capture in fetched(harvest.home)}

    assert url in asked
    assert asked - kept == set()


def test_every_page_was_shown_and_what_pages_fetched_was_not_visited_again(harvest: Harvest) -> None:
    shown = {capture.url.removeprefix("urn:pageinfo:") for capture in captures(harvest.home)}
    (log,) = (harvest.home / "collections" / COLLECTION / "jobs").glob("*/crawl.log")

    lines = [line.split() for line in log.read_text("utf-8").splitlines()]

    assert len(shown & set(GardenSite.urls())) >= len(GardenSite.urls()) - 2
    assert [line[3] for line in lines if line[3].endswith(("garden.css", "leaf.svg")) and line[4][-1:] != "E"] == []


def asked_by(browser: Browser, url: str) -> set[str]:
    """Every http(s) URL asked for while the page is loaded and scrolled through."""
    context = browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 1024})
    asked: set[str] = set()
    try:
        page = context.new_page()
        page.on("request", lambda request: asked.add(without_fragment(request.url)))
        page.goto(url, wait_until="load")
        scroll_through(page)
    finally:
        context.close()
    return {each for each in asked if each.startswith("http")}


def scroll_through(page: Page) -> None:
    """Down by a window at a time, to the end of a page that may grow."""
    for _ in range(SCROLLS):
        with suppress(PlaywrightError):  # a page that never falls silent is scrolled on
            page.wait_for_load_state("networkidle", timeout=5000)
        before = page.evaluate("[scrollY, document.body.scrollHeight].join()")
        page.mouse.wheel(0, 1000)
        page.wait_for_function(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true), 50)))"
        )
        if page.evaluate("[scrollY, document.body.scrollHeight].join()") == before:
            return
