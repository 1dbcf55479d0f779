"""A person steers a browser in a page of the admin site: keys, mouse, dialogs, files, tabs, logins, isolation."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from support.archive.secret_search import files_with
from support.processes.deaf_relay import DeafRelay
from support.processes.waiting import until
from support.web.site_server import RunningSite, running_site, send_form

from admin.capture_sessions import notes, sessions
from admin.capture_sessions.process import CaptureProcess
from admin.models.capture_tables import CaptureSession, CaptureState
from admin.models.database import Database, open_database
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from browsers.engines.chromium.executable import find_chromium
from browsers.logins.profile_store import ProfileStore

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
expect.set_options(timeout=60_000)  # a slow machine is no failure
GRAVE = ("serious", "critical")
PASSWORD = "Fl1eder&Busch-9"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Tried page</title>
<style>body{margin:0;font:16px sans-serif}*{box-sizing:border-box}.at{position:absolute;width:280px;height:30px}</style>
<input id="text" class="at" style="left:10px;top:10px">
<textarea id="area" class="at" style="left:10px;top:50px"></textarea>
<select id="choice" class="at" style="left:10px;top:90px"><option>one<option>two<option>three</select>
<input id="day" type="date" class="at" style="left:10px;top:130px">
<input id="colour" type="color" class="at" style="left:10px;top:170px">
<input id="files" type="file" multiple class="at" style="left:10px;top:210px">
<button id="alert" class="at" style="left:10px;top:250px" onclick="alert('Heard?');document.title='alerted'">a</button>
<button id="confirm" class="at" style="left:10px;top:290px">confirm</button>
<button id="prompt" class="at" style="left:10px;top:330px">prompt</button>
<a id="blank" class="at" style="left:10px;top:370px" href="/other" target="_blank">new tab</a>
<button id="open" class="at" style="left:10px;top:410px" onclick="window.open('/other')">open</button>
<a id="file" class="at" style="left:10px;top:450px" href="/file">file</a>
<p id="words" class="at" style="left:310px;top:10px;width:400px">drag over these words</p>
<div id="pad" class="at" style="left:310px;top:60px;background:#cde;height:60px"></div>
<form method="post" action="/login">
<input type="password" name="kw_geheim" id="secret" class="at" style="left:310px;top:140px">
<button id="log" class="at" style="left:310px;top:180px">log in</button></form>
<div style="height:4000px"></div>
<script>
let told = 0;  // requests may overtake each other
const say = (name, value) => fetch('/note', {method: 'POST', body: JSON.stringify([Date.now(), ++told, name, value])});
const on = (id, kind, done) => document.getElementById(id).addEventListener(kind, done);
for (const id of ['text', 'area', 'choice', 'day', 'colour'])
  for (const kind of ['input', 'change']) on(id, kind, event => say(id, event.target.value));
on('files', 'change', event => say('files', [...event.target.files].map(each => each.name + each.size)));
on('pad', 'dblclick', () => say('double', 1));
on('pad', 'click', event => { say('click', event.detail); event.target.style.background = '#e33'; });
on('confirm', 'click', () => { document.title = 'confirm ' + confirm('Sure?'); });
on('prompt', 'click', () => { document.title = 'prompt ' + prompt('Name?', 'x'); });
document.addEventListener('selectionchange', () => say('selected', String(getSelection())));
addEventListener('scroll', () => say('scroll', scrollY));
addEventListener('resize', () => say('width', innerWidth));
say('width', innerWidth); say('agent', navigator.userAgent); say('webdriver', navigator.webdriver);
</script></html>"""


CLOSED_STORAGE = """Object.defineProperty(window, 'sessionStorage', {
  get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); },
});"""


class TriedSite:
    """The site, which notes what its page tells."""

    def __init__(self) -> None:
        self.notes: list[tuple[int, int, str, Any]] = []
        """Time and number of a note on its page, its name, and what was told."""
        self.bodies: list[bytes] = []
        self.parts: list[str] = []
        """Paths of parts that pages load late."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/inside" and "Authorization" not in self.headers:
                    self._answer(401, b"no", ("WWW-Authenticate", 'Basic realm="inside"'))
                elif self.path == "/inside":
                    self._answer(200, b"<title>Inside</title>inside")
                elif self.path == "/file":
                    self._answer(200, b"the file", ("Content-Disposition", "attachment; filename=given.txt"))
                elif self.path.startswith("/attack"):
                    self._answer(200, ATTACK.encode())
                elif self.path == "/long":
                    self._answer(200, LONG.encode())
                elif self.path == "/endless":
                    self._answer(200, ENDLESS.encode())
                elif self.path.startswith("/part"):
                    site.parts.append(self.path)
                    self._answer(200, b"part")
                elif self.path == "/other":
                    self._answer(200, b"<title>Other</title>other")
                else:
                    self._answer(200, PAGE.encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                if self.path == "/note":
                    site.notes.append(tuple(json.loads(body)))
                    self._answer(200, b"")
                else:
                    site.bodies.append(body)
                    self._answer(200, b"<title>Logged in</title>in", ("Set-Cookie", "inside=yes; Max-Age=900"))

            def _answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def url(self, path: str = "/") -> str:
        """The URL of a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def last(self, name: str) -> Any:
        """What the page told last by this name; None for nothing."""
        found = [note for note in list(self.notes) if note[2] == name]
        return max(found, key=lambda note: note[:2])[3] if found else None

    def close(self) -> None:
        """End the site."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def tried() -> Iterator[TriedSite]:
    site = TriedSite()
    yield site
    site.close()


class SharedSite(RunningSite):
    """The admin site of all tests, in which a person of each role logs in once."""

    def __init__(self, address: str, database: Database, home: Path, cookies: dict[Role | None, httpx.Cookies]) -> None:
        super().__init__(address, database, home)
        self._cookies = cookies

    def at(self, address: str) -> SharedSite:
        """The same site at another address."""
        return SharedSite(address, self.database, self.home, self._cookies)

    @contextmanager
    def client(self, role: Role | None = None) -> Iterator[httpx.Client]:
        """A browser in which the person of this role is logged in."""
        known = self._cookies.get(role)
        with super().client(None if known else role) as client:
            client.cookies.update(known)
            self._cookies[role] = httpx.Cookies(client.cookies)
            yield client


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("screen") / "home"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def database(home: Path) -> Iterator[Database]:
    database = open_database(load({"home": str(home)}, environment={}))
    yield database
    database.close()


@pytest.fixture(scope="module")
def running(home: Path, database: Database) -> Iterator[SharedSite]:
    """The site, beside the capture process on a thread of the test."""
    capture = {"port": 0, "process_seconds": 0.2}
    settings = load({"home": str(home), "proxy": {"allow_private": True}, "capture": capture}, environment={})
    over = threading.Event()
    process = CaptureProcess(settings, database, print)
    thread = threading.Thread(target=process.run, args=(over.wait, over.is_set))
    thread.start()
    try:
        with running_site(database, home) as site:
            yield SharedSite(site.address, database, home, {})
    finally:
        over.set()
        thread.join()


@pytest.fixture
def admin(running: SharedSite, database: Database) -> Iterator[SharedSite]:
    """The site. The sessions of a test are ended behind the test."""
    yield running
    opened = (CaptureState.OPEN, CaptureState.PAUSED)
    with database.transaction(COMMAND_LINE) as transaction:
        numbers = [each.id for each in sessions.list_sessions(transaction).items if each.state in opened]
        for number in numbers:
            sessions.end(transaction, number)
    for number in numbers:
        until(
            lambda number=number: session_of(database, number).state is CaptureState.ENDED,  # type: ignore[misc]
            what="the end of the session", within=60,
        )  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        yield browser
        browser.close()


class Person:
    """A person in front of the page that shows the browser."""

    def __init__(self, page: Page, tried: TriedSite) -> None:
        self.page, self._tried = page, tried

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the shown page is in the person's own window."""
        return tuple(self.page.evaluate(
            "([x, y]) => { const c = document.querySelector('#screen canvas'), b = c.getBoundingClientRect();"
            " return [b.left + x * b.width / c.width, b.top + y * b.height / c.height]; }", [x, y],
        ))  # type: ignore[return-value]  # fmt: skip

    def click(self, x: float, y: float, count: int = 1) -> None:
        """Click at a point of the shown page."""
        self.page.mouse.click(*self.at(x, y), click_count=count)

    def told(self, name: str, value: Any, what: str = "") -> None:
        """Wait until the shown page has told this."""

        def same() -> bool:
            self.page.wait_for_timeout(30)
            return bool(self._tried.last(name) == value)

        try:
            until(same, what=what or f"{name} = {value!r}", within=60)
        except AssertionError as error:
            raise AssertionError(f"{error}; the page told {self._tried.last(name)!r}") from None


def clipboard(page: Page) -> str:
    """The text of the clipboard of the person's browser."""
    text: str = page.evaluate("() => navigator.clipboard.readText()")
    return text


def opened(
    chromium: Browser, admin: SharedSite, tried: TriedSite, role: Role = Role.CURATOR, script: str = ""
) -> tuple[Person, int]:
    """A person who has opened the browser of a new session. The script runs first in each page of the person."""
    with admin.client(role) as client:
        answer = send_form(
            client, f"/capture/start?url={tried.url('/')}", collection="hand", screen="on", keeps_cookies="on"
        )
        assert answer.status_code == 303, answer.text
        number = int(answer.headers["location"].split("/")[2])
        context = logged_in(chromium, admin, client)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=admin.address)
    context.add_init_script(script)
    page = context.new_page()
    page.goto(f"/capture/{number}/screen?url={tried.url('/')}")
    until(
        lambda: tried.last("webdriver") is not None or page.wait_for_timeout(50),
        what="the page in the browser",
        within=240,
    )
    expect(page.locator("#screen canvas[data-pictures]")).to_have_count(1)
    expect(page.locator(f"#screen .tab button[title='{tried.url('/')}']")).to_have_count(1)
    return Person(page, tried), number


def logged_in(chromium: Browser, admin: SharedSite, client: httpx.Client) -> BrowserContext:
    """A context of a person's browser with the session of the client."""
    context = chromium.new_context(base_url=admin.address, viewport={"width": 1500, "height": 1300})
    context.set_default_timeout(60_000)
    for name, value in client.cookies.items():
        context.add_cookies([{"name": name, "value": value, "url": admin.address}])
    return context


def test_a_person_steers_the_browser(
    chromium: Browser, admin: SharedSite, database: Database, tried: TriedSite, home: Path, tmp_path: Path
) -> None:
    person, number = opened(chromium, admin, tried)
    page = person.page
    assert "Headless" not in tried.last("agent")
    assert tried.last("webdriver") is False

    person.click(100, 25)
    page.keyboard.type("Hof 7, Ü")
    person.told("text", "Hof 7, Ü")
    page.evaluate(DEAD_KEY)
    person.told("text", "Hof 7, Üé")
    page.evaluate(IME)
    person.told("text", "Hof 7, Üéあ")
    page.keyboard.insert_text("😀")
    person.told("text", "Hof 7, Üéあ😀")
    page.evaluate(GERMAN_AT)
    person.told("text", "Hof 7, Üéあ😀@ß€")
    page.evaluate(JAPANESE_YEN)
    person.told("text", "Hof 7, Üéあ😀@ß€¥")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    until(lambda: clipboard(page) == "Hof 7, Üéあ😀@ß€¥", what="the copied text")
    page.keyboard.press("Delete")
    person.told("text", "")
    page.keyboard.type("cut")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+x")
    person.told("text", "")
    until(lambda: clipboard(page) == "cut", what="the cut text")
    page.evaluate("() => navigator.clipboard.writeText('pasted: ä')")
    page.keyboard.press("Control+v")
    person.told("text", "pasted: ä")
    page.keyboard.press("Tab")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    page.keyboard.type("lines.")
    person.told("area", "two\nlines.")

    page.mouse.move(*person.at(312, 35))
    page.mouse.down()
    page.mouse.move(*person.at(400, 35), steps=5)
    page.mouse.move(*person.at(640, 35), steps=5)
    page.mouse.up()
    person.told("selected", "drag over these words")
    person.click(330, 80, 2)
    person.told("double", 1)
    person.click(360, 100, 3)
    person.told("click", 3)

    person.click(100, 105)
    page.locator(".picker option").nth(2).click()
    person.told("choice", "three")
    person.click(100, 145)
    page.locator(".picker").fill("2026-12-24")
    person.told("day", "2026-12-24")
    person.click(100, 185)
    page.locator(".picker").fill("#336699")
    person.told("colour", "#336699")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name * 2)
    person.click(60, 225)
    page.locator("dialog input[type=file]").set_input_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    page.get_by_role("button", name="Give to the page").click()
    person.told("files", ["a.txt10", "b.txt10"])

    tab = page.locator("#screen .tab button").first
    person.click(100, 265)
    page.get_by_role("button", name="OK").click()
    expect(tab).to_have_text("alerted")
    person.click(100, 305)
    page.get_by_role("button", name="Cancel").click()
    expect(tab).to_have_text("confirm false")
    person.click(100, 345)
    page.locator("dialog input").fill("Åsa")
    page.get_by_role("button", name="OK").click()
    expect(tab).to_have_text("prompt Åsa")
    for place in (385, 425):
        person.click(60, place)
        expect(page.locator("#screen .tab")).to_have_count(2)
        expect(page.locator("#screen .tab button[aria-pressed=true]")).to_have_text("Other")
        page.get_by_role("button", name="Close Other").click()
        expect(page.locator("#screen .tab")).to_have_count(1)
    with page.expect_download() as download:
        person.click(30, 465)
    assert download.value.suggested_filename == "given.txt"
    assert download.value.path().read_bytes() == b"the file"

    page.mouse.move(*person.at(500, 400))
    page.mouse.wheel(0, 300)
    until(lambda: (tried.last("scroll") or 0) > 100 or page.wait_for_timeout(30), what="the scrolled page")
    width = tried.last("width")
    page.select_option("#zoom", label="150 %")
    until(lambda: tried.last("width") < width * 0.75 or page.wait_for_timeout(30), what="the zoomed page")
    page.select_option("#zoom", label="100 %")
    page.locator("#phone").check()
    until(lambda: tried.last("width") <= 980 or page.wait_for_timeout(30), what="the phone")
    page.get_by_role("button", name="Take this page again").click()
    until(lambda: "Mobile" in tried.last("agent") or page.wait_for_timeout(30), what="the phone's name")
    page.locator("#phone").uncheck()
    page.get_by_role("button", name="Full screen").click()
    until(lambda: page.evaluate("() => !!document.fullscreenElement"), what="full screen")
    page.evaluate("() => document.exitFullscreen()")

    page.fill("#address", tried.url("/inside"))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_label("User").fill("eva")
    page.locator("dialog input[type=password]").fill("drinnen-42")
    page.get_by_role("button", name="Log in").click()
    expect(tab).to_have_text("Inside")
    page.get_by_role("button", name="Back").click()
    expect(tab).to_have_text("Tried page")
    page.fill("#address", tried.url("/?fresh"))  # the page of before has kept its place
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#screen .tab button[title$=fresh]")).to_have_count(1)
    person.click(400, 155)
    page.keyboard.type(PASSWORD)
    person.click(400, 195)
    expect(tab).to_have_text("Logged in")
    assert PASSWORD.replace("&", "%26").encode() in tried.bodies[-1]
    page.get_by_role("button", name="Save the login").click()
    page.get_by_label("Name of the login").fill("hand-login")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#screen .note")).to_contain_text("saved as hand-login")
    assert [each.name for each in ProfileStore(home).load("hand-login").cookies] == ["inside"]
    page.fill("#address", "file:///etc/passwd")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#screen .note")).to_contain_text("only addresses of the web")

    def kept() -> bool:
        with database.reading(COMMAND_LINE) as reading:
            return reading.session.get_one(CaptureSession, number).pages >= 4

    until(kept, what="the pages of the session")
    with admin.client(Role.ADMINISTRATOR) as client:
        picture = f"/capture/{number}/pages/1/picture"
        until(lambda: picture in client.get(f"/capture/{number}/pages").text, what="the picture of the page", within=60)
        assert client.get(picture).content.startswith(b"\xff\xd8\xff")
        assert client.get(f"/capture/{number}/pages/999/picture").status_code == 404
        assert send_form(client, f"/capture/{number}/end").status_code == 303
    until(lambda: session_of(database, number).state is CaptureState.ENDED, what="the end of the session", within=60)
    expect(page.locator("#screen .note")).to_contain_text("the session has ended")
    basic = base64.b64encode(b"eva:drinnen-42").decode()
    assert [
        name for secret in (PASSWORD, basic) for name in files_with(secret, home) if not name.startswith("windows/")
    ] == []
    page.context.close()


def session_of(database: Database, number: int) -> CaptureSession:
    with database.reading(COMMAND_LINE) as reading:
        found = reading.session.get_one(CaptureSession, number)
        reading.session.expunge(found)
        return found


ATTACK = """<!doctype html><title>Attack</title><script>
const say = (name, value) => fetch('/note', {method: 'POST', body: JSON.stringify([Date.now(), 1, name, value])});
const [ports, stun] = JSON.parse(decodeURIComponent(location.search.slice(1)));
(async () => {
  const read = [];
  for (const port of ports) {
    try { read.push(await (await fetch(`http://127.0.0.1:${port}/status`)).text()); } catch { /* refused */ }
    await new Promise(done => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
      socket.onopen = () => { read.push('a WebSocket'); done(); };
      socket.onerror = done;
    });
  }
  try { read.push(await (await fetch('file:///etc/passwd')).text()); } catch { /* refused */ }
  const peer = new RTCPeerConnection({iceServers: [{urls: `stun:127.0.0.1:${stun}`}]});
  peer.createDataChannel('x');
  await peer.setLocalDescription(await peer.createOffer());
  const gathered = new Promise(done => {
    peer.onicegatheringstatechange = () => { if (peer.iceGatheringState === 'complete') done(); };
  });
  await Promise.race([gathered, new Promise(done => setTimeout(done, 5000))]);
  const found = (peer.localDescription.sdp.match(/candidate:.*/g) || []).filter(each => each.includes(' udp '));
  say('attacked', [read.filter(text => text && !text.includes('refused')), found]);
})();
</script>"""


def test_a_page_reaches_nothing_of_ours(chromium: Browser, admin: SharedSite, tried: TriedSite, home: Path) -> None:
    person, number = opened(chromium, admin, tried)
    ports = sorted({int(mark.name.split("_")[1]) for mark in (home / "run" / "listeners").iterdir()})
    assert len(ports) >= 3, "main port, control port and the session's own"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        given = quote(json.dumps([ports, stun.getsockname()[1]]))
        person.page.fill("#address", f"{tried.url('/attack')}?{given}")
        person.page.get_by_role("button", name="Open", exact=True).click()
        until(lambda: tried.last("attacked") is not None or person.page.wait_for_timeout(50), what="the end", within=60)
        assert tried.last("attacked") == [[], []]
        with pytest.raises(BlockingIOError):
            stun.recv(100)
    log = (home / "collections" / "hand" / "sessions" / f"manual-{number}" / "crawl.log").read_text()
    asked = [line.split() for line in log.splitlines() if any(f":{port}/" in line for port in ports)]
    assert len(asked) >= len(ports)
    assert {int(each[1]) for each in asked} <= {-5001, -5002, -7, 0, -2, -6, -50, -5000}, asked
    person.page.context.close()


LONG = """<!doctype html><title>Long page</title>
<button onclick="fetch('/part-tab').then(() => { document.title = 'tab shown'; })" aria-expanded="false">More</button>
<a href="/elsewhere" onclick="fetch('/part-left')">leave</a>
<button onclick="window.open('/part-window'); alert('sure?')">Show the map</button>
<div style="height:5000px"></div><p id="end">the end</p>
<script>new IntersectionObserver(seen => { if (seen.some(each => each.isIntersecting)) fetch('/part-late'); })
  .observe(document.getElementById('end'));</script>"""
ENDLESS = """<!doctype html><title>Endless page</title><div id="all"></div><script>
let count = 0;
const more = () => {
  if (innerHeight + scrollY < document.documentElement.scrollHeight - 500) return;
  document.getElementById('all').append(Object.assign(document.createElement('p'), {style: 'height:800px'}));
  fetch(`/part-${++count}`);
};
addEventListener('scroll', more); more(); more(); more();</script>"""


def test_the_autopilot_runs_and_is_stopped(chromium: Browser, admin: SharedSite, tried: TriedSite) -> None:
    person, _ = opened(chromium, admin, tried)
    page = person.page
    page.fill("#address", tried.url("/long"))
    page.get_by_role("button", name="Open", exact=True).click()
    tabs = page.locator("#screen .tab button[aria-pressed=true]")
    expect(tabs).to_have_text("Long page")
    page.get_by_role("button", name="Autopilot").click()
    expect(page.locator("#screen .note")).to_have_text("The autopilot has ended.", timeout=150_000)
    assert {"/part-late", "/part-tab", "/part-window"} <= set(tried.parts)
    expect(tabs).to_have_text("tab shown")  # the page was not left, and its window was closed again
    expect(page.locator("#screen .tab")).to_have_count(1)
    assert "/elsewhere" not in page.locator("#address").input_value()

    tried.parts.clear()
    page.fill("#address", tried.url("/endless"))
    page.get_by_role("button", name="Open", exact=True).click()
    expect(tabs).to_have_text("Endless page")
    page.get_by_role("button", name="Autopilot").click()
    until(lambda: len(tried.parts) > 10 or page.wait_for_timeout(50), what="the parts that scrolling loads", within=60)
    page.get_by_role("button", name="Stop the autopilot").click()
    expect(page.get_by_role("button", name="Autopilot", exact=True)).to_have_count(1)
    page.fill("#address", tried.url("/other"))  # the page may be left again
    page.get_by_role("button", name="Open", exact=True).click()
    expect(tabs).to_have_text("Other")
    page.context.close()


def test_a_note_is_written_by_keys_and_an_open_browser_goes_to_a_page(
    chromium: Browser, admin: SharedSite, database: Database, tried: TriedSite
) -> None:
    person, number = opened(chromium, admin, tried)
    page = person.page
    person.click(400, 600)  # the keys go to the page that is captured
    page.keyboard.press("F9")
    dialog = page.locator("#screen dialog")
    expect(dialog).to_contain_text(f"About {tried.url('/')}")
    assert [each["id"] for each in Axe().run(page).response["violations"] if each["impact"] in GRAVE] == []
    page.keyboard.type("The menu <b>is cut</b>.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#screen .note")).to_have_text("The note was kept.")
    expect(page.locator("#live .notes").first).to_contain_text("The menu <b>is cut</b>.")
    assert page.evaluate("document.activeElement.className") == "keys", "the keys go to the page again"
    page.get_by_role("button", name="Note").press("Enter")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator("#screen .note")).to_have_text("note: is empty; write a text")
    page.get_by_role("button", name="Note").press("Enter")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    with database.reading(COMMAND_LINE) as reading:
        found = notes.list_notes(reading, number).items
    assert [(each.text, each.url) for each in found] == [("The menu <b>is cut</b>.", tried.url("/"))]
    page.goto(f"/capture/{number}/screen?url={tried.url('/?second')}")
    address = page.locator("#address")
    expect(address).to_have_value(tried.url("/?second"))
    page.fill("#address", tried.url("/?third"))
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#screen .tab button[title$=third]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/screen$"))
    page.reload()
    expect(page.locator("#screen canvas[data-pictures]")).to_have_count(1)
    expect(address).to_have_value(tried.url("/?third"))
    page.context.close()


def nobody_else_sees_the_browser(chromium: Browser, admin: SharedSite, number: int) -> None:
    with admin.client(Role.OPERATOR) as client:
        context = logged_in(chromium, admin, client)
    other = context.new_page()
    answer = other.goto(f"/capture/{number}/screen")
    assert answer is not None
    assert answer.status == 403
    closed = other.evaluate(
        """path => new Promise(done => {
          const socket = new WebSocket(path.replace(/^http/, 'ws'));
          socket.onclose = event => done(event.code);
          socket.onmessage = () => done('a message');
        })""",
        f"{admin.address}/capture/{number}/screen/live",
    )
    assert closed in (1006, 4403)
    context.close()


def test_a_killed_browser_is_started_again(
    chromium: Browser, admin: SharedSite, database: Database, tried: TriedSite, home: Path
) -> None:
    person, number = opened(chromium, admin, tried)
    person.page.fill("#address", tried.url("/?second"))
    person.page.get_by_role("button", name="Open", exact=True).click()
    expect(person.page.locator("#screen .tab button[title$=second]")).to_have_count(1)
    kept = until(lambda: session_of(database, number).urls, what="the first URLs")
    for pid in processes_with(f"--user-data-dir={home}/windows/{number}"):
        with suppress(ProcessLookupError):  # it has ended with the others
            os.kill(pid, signal.SIGKILL)
    expect(person.page.locator("#screen .note")).to_contain_text("the browser has ended")
    tried.notes.clear()
    person.page.reload()
    until(
        lambda: tried.last("width") is not None or person.page.wait_for_timeout(50), what="the new browser", within=60
    )
    expect(person.page.locator("#address")).to_have_value(tried.url("/?second"))
    until(lambda: session_of(database, number).urls > kept, what="more URLs")
    person.page.context.close()


KEEP_NOTES = """() => {
  const note = document.querySelector('#screen .note');
  window.said = [];
  new MutationObserver(() => window.said.push(note.textContent)).observe(note, {childList: true});
}"""


def test_a_connection_that_is_cut_comes_back_to_the_same_browser(
    chromium: Browser, admin: SharedSite, database: Database, tried: TriedSite
) -> None:
    """The person's browser keeps nothing for sites, so that its session storage is closed."""
    with DeafRelay(urlsplit(admin.address).port or 0) as relay:
        there = admin.at(f"http://127.0.0.1:{relay.port}")
        person, number = opened(chromium, there, tried, script=CLOSED_STORAGE)
        kept = until(lambda: session_of(database, number).urls, what="the first URLs")
        person.click(100, 25)
        person.page.keyboard.type("before")
        person.told("text", "before")
        for _ in range(2):
            person.page.evaluate(KEEP_NOTES)  # the note may be gone before it is looked at
            relay.cut()
            until(
                lambda: "is opened again. The browser goes on" in " ".join(person.page.evaluate("window.said")),
                what="the note that the connection is opened again", within=60,
            )  # fmt: skip
            expect(person.page.locator("#screen .note")).to_have_text("")
        person.page.locator(".keys").focus()
        person.page.keyboard.type(", after")
        person.told("text", "before, after", "the field of the same page in the same browser")
        assert session_of(database, number).urls >= kept
        person.page.context.close()


def test_a_second_page_of_the_owner_takes_the_browser_over_and_nobody_else_sees_it(
    chromium: Browser, admin: SharedSite, database: Database, tried: TriedSite
) -> None:
    person, number = opened(chromium, admin, tried)
    nobody_else_sees_the_browser(chromium, admin, number)
    person.click(100, 25)
    person.page.keyboard.type("first")
    person.told("text", "first")
    second = person.page.context.new_page()
    second.goto(f"/capture/{number}/screen")
    expect(second.locator("#screen canvas[data-pictures]")).to_have_count(1)
    note = person.page.locator("#screen .note")
    expect(note).to_have_text("the session was opened in another page")
    second.locator(".keys").focus()
    second.keyboard.type(", second")
    person.told("text", "first, second", "the field of the same page in the same browser")
    person.page.locator(".keys").focus()
    person.page.keyboard.type("nobody hears this")
    second.keyboard.type("!")
    person.told("text", "first, second!")
    expect(note).to_have_text("the session was opened in another page")
    assert len(processes_with(f"--user-data-dir={admin.home}/windows/{number}")) > 0
    person.page.reload()
    expect(second.locator("#screen .note")).to_have_text("the session was opened in another page")
    person.page.context.close()


def processes_with(argument: str) -> list[int]:
    """Process ids of the browser with this argument."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and argument.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


DEAD_KEY = """() => {
  const keys = document.querySelector('.keys');
  keys.dispatchEvent(new KeyboardEvent('keydown', {key: 'Dead', code: 'Equal', bubbles: true, cancelable: true}));
  keys.dispatchEvent(new CompositionEvent('compositionstart', {data: ''}));
  keys.dispatchEvent(new CompositionEvent('compositionupdate', {data: '´'}));
  keys.dispatchEvent(new CompositionEvent('compositionend', {data: 'é'}));
}"""
IME = """() => {
  const keys = document.querySelector('.keys');
  keys.dispatchEvent(new KeyboardEvent('keydown', {key: 'Process', code: 'KeyA', keyCode: 229, bubbles: true}));
  keys.dispatchEvent(new CompositionEvent('compositionstart', {data: ''}));
  for (const data of ['ａ', 'あ']) keys.dispatchEvent(new CompositionEvent('compositionupdate', {data}));
  keys.dispatchEvent(new CompositionEvent('compositionend', {data: 'あ'}));
}"""
GERMAN_AT = """() => {
  const keys = document.querySelector('.keys');
  const press = (key, code, keyCode, isGraph) => {
    const held = {ctrlKey: isGraph, altKey: isGraph, modifierAltGraph: isGraph};
    for (const kind of ['keydown', 'keyup'])
      keys.dispatchEvent(new KeyboardEvent(kind, {key, code, keyCode, ...held, bubbles: true, cancelable: true}));
  };
  press('@', 'KeyQ', 81, true);
  press('ß', 'Minus', 219, false);
  press('€', 'KeyE', 69, true);
}"""
JAPANESE_YEN = """() => {
  const keys = document.querySelector('.keys');
  for (const kind of ['keydown', 'keyup']) keys.dispatchEvent(new KeyboardEvent(kind, {
    key: '¥', code: 'IntlYen', keyCode: 220, bubbles: true, cancelable: true}));
}"""
