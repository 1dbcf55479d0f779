"""Each part of a capture session is killed in its middle, with `ghostfleet up`: what was shown as kept is kept."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from sqlalchemy import select
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.ghostfleet_command import Command, child
from support.processes.waiting import until
from support.web.site_server import PASSWORD

from archive.settings.load import load
from archive.warc.upkeep.check import check
from browsers.engines.chromium.executable import find_chromium
from dedupdb.captures.schema import CAPTURES, open_engine, reading

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
"""Killed commands of a session are in `test_record.py`, killed browsers in `test_screen.py`."""
SECONDS = 60_000
expect.set_options(timeout=SECONDS)
FREE_PORTS = ("--port", "0", "--proxy-port", "0", "--replay-port", "0", "--view-port", "0")


@pytest.fixture
def tab() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser: Browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(SECONDS)
        yield page
        browser.close()


@pytest.fixture
def pages() -> Iterator[RoutedSite]:
    def routes(asked: Asked) -> Routed | None:
        if asked.path.startswith("/page-"):
            body = f"<!doctype html><title>Page {asked.path[6:]}</title>{asked.path}".encode()
            return Routed(body, "text/html; charset=utf-8", headers=(("Cache-Control", "no-store"),))
        return None

    with RoutedSite(routes) as site:
        yield site


class Work:
    """A person's work in the browser of a session."""

    def __init__(self, tab: Page, site: RoutedSite, admin: str, number: int) -> None:
        self.tab, self._site, self._admin, self.number = tab, site, admin, number
        self.opened: list[str] = []

    def look(self) -> None:
        """Open the page with the browser anew."""
        until(self._is_shown, what="the page with the browser", within=180)

    def _is_shown(self) -> bool:
        answer = self.tab.goto(f"{self._admin}/capture/{self.number}/screen")
        return answer is not None and answer.ok and self.tab.locator("#screen .tab button").count() > 0

    def open(self, name: str) -> None:
        """Open a page of the site, and wait until the session's page counts it as kept."""
        url = self._site.url(f"/page-{name}")
        before = self._kept()

        def arrived() -> bool:
            if "ended" in self.tab.locator("#screen .note").inner_text():
                self.look()  # the page showed a browser that was just ending
            self.tab.fill("#address", url)
            self.tab.get_by_role("button", name="Open", exact=True).click()
            self.tab.wait_for_timeout(2_000)
            return self.tab.locator(f"#screen .tab button[title='{url}']").count() > 0

        until(arrived, what=f"page {name}", within=180)
        until(lambda: self._kept() > before, what=f"page {name} among those that are kept", within=180)
        self.opened.append(url)

    def _kept(self) -> int:
        self.tab.wait_for_timeout(200)
        card = self.tab.locator("#live article", has_text="URLs").locator(".big").first.inner_text()
        return int(re.sub(r"\D", "", card))


def test_nothing_that_was_shown_as_kept_is_lost(tmp_path: Path, tab: Page, pages: RoutedSite) -> None:
    home = tmp_path / "home"
    with Command("up", "--json", *FREE_PORTS, "--allow-private", home=home) as command:
        ready = command.line(ready=True)
        tab.goto(ready["first_administrator"])
        for name, value in {"name": "eva", "zone": "UTC", "password": PASSWORD, "repeated": PASSWORD}.items():
            tab.locator(f"[name={name}]").fill(value)
        tab.get_by_role("button", name="Make the user").click()
        tab.get_by_role("heading", name="Overview").wait_for()
        tab.goto(f"{ready['admin']}/capture/start")
        tab.locator("[name=collection]").fill("hand")
        tab.get_by_role("button", name="Open the session").click()
        tab.wait_for_url(re.compile(r"/capture/\d+/screen"))
        work = Work(tab, pages, ready["admin"], int(tab.url.split("/capture/")[1].split("/")[0]))
        work.open("first")
        for name in ("the-site", "the-browser", "the-proxy", "the-capture-process"):
            kill(name, home, work.number)
            work.look()
            work.open(f"after-{name}")
        tab.goto(f"{ready['admin']}/capture/{work.number}")
        tab.get_by_role("button", name="End", exact=True).click()
        expect(tab.locator("#live [role=status]")).to_contain_text("ended", ignore_case=True)
    settings = load({"home": str(home)}, environment={})
    files = sorted(settings.archive_dir("hand").glob("*.warc.gz"))
    assert [str(each) for file in files for each in check(file)] == []
    engine = open_engine(settings.database_url)
    with reading(engine) as connection:
        kept = set(connection.execute(select(CAPTURES.c.url).where(CAPTURES.c.collection == "hand")).scalars())
    engine.dispose()
    assert [url for url in work.opened if url not in kept] == []


def kill(name: str, home: Path, session: int) -> None:
    """Kill this part of the session with -9."""
    capture = psutil.Process(child(home, "capture"))
    if name == "the-site":
        pids = [child(home, "admin")]
    elif name == "the-capture-process":
        pids = [capture.pid]
    elif name == "the-proxy":
        pids = [
            each.pid for each in capture.children(recursive=True) if "ghostfleet: proxy" in " ".join(each.cmdline())
        ]
    else:
        profile = f"--user-data-dir={home}/windows/{session}"
        pids = [each.pid for each in psutil.process_iter(["cmdline"]) if profile in (each.info["cmdline"] or [])]
    assert pids, f"{name} runs"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
