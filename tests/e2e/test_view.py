"""`ghostfleet view` with ReplayWeb.page in real browsers: a recorded site works, and nothing leaves the viewer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from demo_replay import Tripwire, tripwire
from support.archive.browsed_collection import png
from support.browsers.driven_windows import Chromium, Driven, archived, played, running_chromium
from support.browsers.finished_crawl import Harvest
from support.browsers.firefox import Firefox
from support.browsers.garden_crawl import COLLECTION
from support.browsers.running_viewer import CollectionShelf, running_viewer
from support.processes.machine_needs import free_port
from support.processes.waiting import until

from archive.settings.load import Settings, load
from bench.process import our_command

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SITE = "http://example.org"


@pytest.fixture(params=["chromium", pytest.param("firefox", marks=pytest.mark.slow)])
def browser(request: pytest.FixtureRequest) -> Iterator[Driven]:
    with running_chromium() if request.param == "chromium" else Firefox() as driven:
        yield driven


@pytest.fixture
def wire() -> Iterator[Tripwire]:
    with tripwire([free_port()]) as listening:
        yield listening


def dynamic_site(settings: Settings, port: int) -> None:
    """Keep a site of many kinds of resources, whose first page also tries to reach a server that listens on the port.

    The script notes in `seen` what worked.
    """
    shelf = CollectionShelf(settings)
    out = f"127.0.0.1:{port}"
    shelf.put(
        "/",
        f"""<!doctype html><html><head><title>First</title><link rel=stylesheet href=/style.css>
        <link rel=preconnect href=http://{out}><link rel=prefetch href=http://{out}/prefetch>
        <link rel=stylesheet href=http://{out}/out.css><script src=http://{out}/out.js></script>
        <meta http-equiv=refresh content="9999; url=http://{out}/refresh"></head>
        <body><h1>First page</h1><img id=picture src=/picture.png><img src=http://{out}/out.png>
        <iframe src=/inner.html></iframe><iframe src=http://{out}/frame.html></iframe>
        <a id=second href=/second.html>Second</a><a id=moved href=/moved>Moved</a>
        <script>window.seen = {{}};</script><script src=/script.js></script>
        <script type=module src=/module.js></script></body></html>""".encode(),
        "Set-Cookie: visited=yes; Path=/",
        "Content-Security-Policy: script-src 'self' 'unsafe-inline'",
        "Clear-Site-Data: *",
    )
    shelf.put("/style.css", b"h1 { color: rgb(1, 2, 3) }", mime="text/css")
    shelf.put("/picture.png", png(31, 17), mime="image/png")
    shelf.put("/inner.html", b"<title>Inner</title><p id=inner>inner</p>")
    script = """
      fetch('/data.json').then(r => r.json()).then(d => { seen.fetched = d.value; });
      fetch('/form', {method: 'POST', body: new URLSearchParams({a: 1})}).then(r => r.text())
        .then(t => { seen.posted = t; });
      fetch('/missing').then(r => { seen.missing = r.status; });
      fetch('/moved').then(r => r.text()).then(t => { seen.moved = t.includes('Second page'); });
      fetch('/data.json', {headers: {Range: 'bytes=1-5'}}).then(r => r.text()).then(t => { seen.part = t; });
      const request = new XMLHttpRequest();
      request.open('GET', '/data.json?by=xhr');
      request.onload = () => { seen.xhr = request.responseText; };
      request.send();
      seen.year = new Date().getFullYear();
      seen.cookie = document.cookie;
      for (const attempt of [
        () => fetch('http://OUT/fetch'), () => navigator.sendBeacon('http://OUT/beacon', 'x'),
        () => new WebSocket('ws://OUT/socket'), () => new EventSource('http://OUT/events'),
        () => { new Image().src = 'http://OUT/image'; },
        () => { const s = document.createElement('script'); s.src = 'http://OUT/s.js'; document.body.append(s); },
        () => import('http://OUT/m.js'),
        () => new Worker(URL.createObjectURL(new Blob(["fetch('http://OUT/worker'); new WebSocket('ws://OUT/w')"]))),
        () => { const f = document.createElement('iframe'); f.src = 'http://OUT/f'; document.body.append(f); },
        () => { const i = document.createElement('iframe'); i.name = 'x'; document.body.append(i);
                const f = document.createElement('form'); f.action = 'http://OUT/form'; f.target = 'x';
                document.body.append(f); f.submit(); },
        () => { const l = document.createElement('link'); l.rel = 'preload'; l.as = 'image'; l.href = 'http://OUT/l';
                document.head.append(l); },
      ]) {
        try { Promise.resolve(attempt()).catch(() => {}); } catch (error) { /* the attempt failed, as it shall */ }
      }
      seen.tried = true;
    """.replace("OUT", out)
    shelf.put("/script.js", script.encode(), mime="text/javascript")
    shelf.put("/module.js", b"import {word} from './word.js'; seen.module = word;", mime="text/javascript")
    shelf.put("/word.js", b"export const word = 'imported';", mime="text/javascript")
    shelf.put("/data.json", b'{"value": 42}', mime="application/json")
    shelf.put("/data.json?by=xhr", b"xhr", mime="application/json")
    shelf.put("/form", b"answer to a form", mime="text/plain", method="POST", sent=b"a=1")
    shelf.put(
        "/second.html",
        b"<!doctype html><title>Second</title><h1>Second page</h1><a id=home href=/>Home</a>",
    )
    shelf.put("/moved", b"", "Location: /second.html", status="302 Found")
    shelf.close()


def hosts_of(port: int, collection: str) -> set[str]:
    """The viewer's own host name, and those of a collection whose name is a label."""
    return {f"{name}:{port}" for name in ("127.0.0.1", f"view.{collection}.localhost", f"{collection}.localhost")}


EXPECTED = {
    **{"fetched": 42, "posted": "answer to a form", "missing": 404, "moved": True, "part": '"valu', "xhr": "xhr"},
    **{"year": 2026, "cookie": "visited=yes", "tried": True, "module": "imported"},
}


def test_a_recorded_site_works_and_nothing_leaves(
    browser: Driven, settings: Settings, player: Path, wire: Tripwire
) -> None:
    dynamic_site(settings, wire.ports[0])
    chosen = settings.model_copy(update={"view": settings.view.model_copy(update={"player": str(player)})})
    with running_viewer(chosen) as viewer:
        browser.go(f"{viewer.address}/c/news/play?url={SITE}/&ts=20261121081500")
        for name, value in EXPECTED.items():
            played(browser, f"{SITE}/", f"seen.{name}", value)
        played(browser, f"{SITE}/", "document.getElementById('picture').naturalWidth", 31)
        played(browser, f"{SITE}/", "getComputedStyle(document.querySelector('h1')).color", "rgb(1, 2, 3)")
        played(browser, f"{SITE}/inner.html", "document.getElementById('inner').textContent", "inner")
        browser.evaluate(archived(browser, f"{SITE}/"), "document.getElementById('second').click()")
        played(browser, f"{SITE}/second.html", "document.title", "Second")
        browser.evaluate(archived(browser, f"{SITE}/second.html"), "document.getElementById('home').click()")
        played(browser, f"{SITE}/", "seen.fetched", 42)
        browser.evaluate(archived(browser, f"{SITE}/"), "document.getElementById('moved').click()")
        played(browser, f"{SITE}/second.html", "document.title", "Second")
        if isinstance(browser, Chromium):
            until(lambda: browser.page.locator("#address").inner_text() == f"{SITE}/second.html", what="the bar")
            assert "second.html" in (browser.page.locator("#dates").get_attribute("href") or "")
        assert wire.touched() == 0
        # A script that the player did not rewrite wants to leave: the policy of the frame refuses it. A browser may
        # open the connection before that, but it sends no request.
        second = archived(browser, f"{SITE}/second.html")
        browser.evaluate(second, f"void (location.href = 'http://127.0.0.1:{wire.ports[0]}/out')")
        browser.go(f"{viewer.address}/c/news/play?url={SITE}/second.html&ts=2026")
        played(browser, f"{SITE}/second.html", "document.title", "Second")
    assert wire.words() == b""
    if isinstance(browser, Chromium):
        out = f"http://127.0.0.1:{wire.ports[0]}/out"  # the navigation that was refused
        asked = [each for each in browser.asked if each.startswith("http") and each != out]
        assert {each.split("/")[2] for each in asked} == hosts_of(viewer.port, "news")


def test_a_reader_finds_a_crawled_page_from_the_start_page(harvest: Harvest, player: Path) -> None:
    asked = len(harvest.site.requests)
    settings = load({"home": str(harvest.home), "view.player": str(player)}, environment={})
    with running_viewer(settings) as viewer, running_chromium() as browser:
        page = browser.page
        page.goto(viewer.address)
        page.get_by_role("link", name=COLLECTION).click()
        for picture in page.locator(".cards img").all():
            picture.scroll_into_view_if_needed()
            page.wait_for_function("each => each.complete && each.naturalWidth > 0", arg=picture.element_handle())
        page.get_by_role("searchbox").fill("greenhouse hidden")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="The hidden greenhouse").first.click()
        hidden = "http://www.garden.test/hidden/greenhouse.html"
        played(browser, hidden, "document.title", "The hidden greenhouse · Linnet Hill Botanical Garden")
        page.get_by_role("link", name="All dates").click()
        page.get_by_role("link", name=": 1 capture").click()
        page.get_by_role("region", name="Captures").get_by_role("link").first.click()
        played(browser, hidden, "[...document.images].every(each => each.complete && each.naturalWidth > 0)", True)
        hosts = {each.split("/")[2] for each in browser.asked if each.startswith("http")}
        assert hosts == hosts_of(viewer.port, COLLECTION)
    assert len(harvest.site.requests) == asked


def test_without_the_player_the_document_is_shown_and_its_links_lead_nowhere(
    settings: Settings, wire: Tripwire
) -> None:
    dynamic_site(settings, wire.ports[0])
    with running_viewer(settings) as viewer, running_chromium() as browser:
        browser.page.goto(f"{viewer.address}/c/news/play?url={SITE}/&ts=20261121081500")
        frame = browser.page.frame_locator("iframe.raw")
        frame.get_by_role("heading", name="First page").wait_for()
        assert "--fetch-player" in browser.page.get_by_role("status").inner_text()
        frame.get_by_role("link", name="Second").click()
        until(lambda: not any("id_/" in each for each in browser.frames()), what="the frame to end")
    assert wire.words() == b""  # a `preconnect` of the document opens a connection, and sends nothing


def test_the_command_says_where_it_is_and_ends_in_order(harvest: Harvest, player: Path) -> None:
    home = str(harvest.home)
    command = our_command("view", "--home", home, "--port", "0", "--collection", COLLECTION, "--json")
    environment = {**os.environ, "GHOSTFLEET_VIEW__PLAYER": str(player)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            assert ready["player"] == "2.5.3"
            found = httpx.get(f"{ready['view']}w/{COLLECTION}/2026id_/http://www.garden.test/", timeout=30)
            assert "A garden on the hill" in found.text
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
