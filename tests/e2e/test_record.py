"""`ghostfleet record` from the window to the viewer: a login is typed, the window is closed, the session goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psutil
import pytest
import trustme
from support.archive.awaited_index import await_index
from support.archive.secret_search import files_with
from support.browsers.recorded_window import ended, recording, steered
from support.origins.login_site import PASSWORD, USER, LoginSite
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.waiting import until

from admin.capture_sessions import sessions
from admin.capture_sessions.page_facts import picture_of, urls_with_picture
from admin.capture_sessions.sessions import NewCaptureSession
from admin.models.capture_tables import CaptureDoor, CaptureState
from admin.models.database import open_database
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from bench.process import our_command, source_environment
from browsers.logins.profile_store import ProfileStore

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_login_is_recorded_in_a_window_and_resumed(home: Path) -> None:
    with LoginSite() as site:
        with recording(home, site.url("/")) as (process, ready, address):
            with steered(address) as (browser, page):
                page.fill("#user", USER)
                page.fill("#password", PASSWORD)
                page.click("#send")
                page.get_by_role("heading", name="Inside").wait_for()
                await_index(home, site.url("/inside"))
                browser.new_browser_cdp_session().send("Browser.close")
            last = ended(process)
        assert PASSWORD.encode() in site.bodies[0] or b"gehe1m" in site.bodies[0], "the site gets the password"
        assert [(each["url"], each["title"]) for each in last["listed_pages"]] == [
            (site.url("/"), "Log in & read"), (site.url("/inside"), "Inside"),
        ]  # fmt: skip
        assert last["state"] == "ended"
        log = (home / "collections" / "hand" / "sessions" / f"manual-{ready['session']}" / "crawl.log").read_text()
        asked = [line.split()[3] for line in log.splitlines() if line.split()[1] != "-5002"]  # blocked by a rule
        assert [url for url in asked if not url.startswith(site.url(""))] == [], "the window asks nobody else"
        profile = Path(ready["profile"])
        assert profile.stat().st_mode & 0o077 == 0
        assert [name for name in files_with(PASSWORD, home) if not name.startswith("windows/")] == []

        with recording(home, site.url("/second"), "--resume", str(ready["session"])) as (process, _, address):
            with steered(address) as (browser, _):
                opened = until(
                    lambda: next((each for each in browser.contexts[0].pages if each.url == site.url("/second")), None),
                    what="the page of the second window",
                )
                opened.get_by_role("heading", name="Second").wait_for()  # the login of the first window goes on
                await_index(home, site.url("/second"))
            process.send_signal(signal.SIGINT)
            last = ended(process)
        assert "Second page" in [each["title"] for each in last["listed_pages"]]
    checked = subprocess.run(
        our_command("check", "hand", "--home", str(home)), env=source_environment(), capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.slow
def test_a_window_of_firefox_records_https_and_asks_nobody_else(home: Path, tmp_path: Path) -> None:
    if shutil.which("firefox-esr") is None and shutil.which("firefox") is None:
        pytest.skip("no Firefox; apt-get install firefox-esr")

    def routes(asked: Asked) -> Routed | None:
        pages = {"/": "<title>Safe</title><script src=/script.js></script>", "/script.js": "fetch('/late')"}
        text = pages.get(asked.path, "late")
        return Routed(text.encode(), "text/javascript" if asked.path.endswith("js") else "text/html; charset=utf-8")

    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with RoutedSite(routes, tls=authority) as site:
        given = ("--browser", "firefox", "--upstream-ca", str(tmp_path / "ca.pem"))
        with recording(home, site.url("/"), *given) as (process, ready, _):
            log = home / "collections" / "hand" / "sessions" / f"manual-{ready['session']}" / "crawl.log"
            until(lambda: log.exists() and site.url("/late") in log.read_text(), what="the late part", within=120)
            process.send_signal(signal.SIGINT)
            last = ended(process)
        base = site.url("")
    assert [(each["url"], each["title"]) for each in last["listed_pages"]] == [(f"{base.rstrip('/')}/", "Safe")]
    asked = [line.split()[3] for line in log.read_text().splitlines()]
    assert [url for url in asked if not url.startswith(base.rstrip("/"))] == []


def test_a_killed_command_leaves_nothing_running_and_its_session_can_go_on(home: Path) -> None:
    with LoginSite() as site:
        with recording(home, site.url("/")) as (process, ready, address):
            with steered(address) as (_, page):
                page.locator("#user").wait_for()
            process.kill()
            process.wait()
            pids = [ready["browser_pid"]]
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(pids[0], signal.SIGKILL)  # a person closes the window
        with recording(home, site.url("/"), "--resume", str(ready["session"])) as (process, _, address):
            with steered(address) as (_, page):
                page.locator("#user").wait_for()
            process.send_signal(signal.SIGINT)
            assert ended(process)["pages"] >= 2


WATCHFUL = """<!doctype html><title>Watchful</title><h1 style="color: red">Watchful</h1><script>
localStorage.setItem('basket', 'ä 1');
document.cookie = 'token=yes; path=/';
const seen = [];
for (const name of ['resize', 'visibilitychange', 'blur', 'pagehide', 'freeze'])
  for (const target of [window, document]) target.addEventListener(name, () => seen.push(name), true);
let read = 0;
const trap = new Error('x');
Object.defineProperty(trap, 'stack', {get() { read++; return ''; }});
setInterval(() => {
  console.debug(trap);
  fetch('/told?' + encodeURIComponent(JSON.stringify([navigator.webdriver, seen, read])));
}, 500);
</script>"""


@pytest.mark.parametrize(
    "left",
    [{"expires": 1}, {"created": 1}, {"state": CaptureState.ENDING}],
    ids=["expired", "idle", "ending"],
)
def test_a_session_that_is_over_goes_on_in_a_new_window(home: Path, left: dict[str, Any]) -> None:
    """Its command was killed, and nothing has ended it since."""
    with closing(open_database(load({"home": str(home)}, environment={}))) as database:
        with database.transaction(COMMAND_LINE) as transaction:
            given = NewCaptureSession(collection="hand")
            number = sessions.start(transaction, given, door=CaptureDoor.WINDOW).id
            row = sessions.find(transaction, number)
            row.worker, row.heard = "elsewhere:1:x", 1
            for name, value in left.items():
                setattr(row, name, value)
        with recording(home, "--resume", str(number)) as (process, ready, _):
            assert (ready["recording"], ready["session"]) == (True, number)
            process.send_signal(signal.SIGINT)
            assert ended(process)["error"] == ""


def test_a_session_that_the_proxy_refuses_opens_no_window(home: Path) -> None:
    opened = open_database(load({"home": str(home)}, environment={}))
    with closing(opened) as database, database.transaction(COMMAND_LINE) as transaction:
        number = sessions.start(transaction, NewCaptureSession(collection="hand"), door=CaptureDoor.WINDOW).id
        sessions.find(transaction, number).proxy_session = "no id"
    command = our_command("record", "hand", "--resume", str(number), "--headless", "--home", str(home))
    done = subprocess.run(command, env=source_environment(), capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "no window was opened" in line]
    assert f"capture session {number} is ended. The session was ended: the recording proxy refused it" in line
    assert "Traceback" not in done.stderr


def test_pictures_are_taken_unseen_and_the_login_is_saved(home: Path) -> None:
    told: list[list[Any]] = []

    def routes(asked: Asked) -> Routed | None:
        if asked.path.startswith("/told?"):
            told.append(json.loads(unquote(asked.path.partition("?")[2])))
        return Routed(WATCHFUL.encode() if asked.path == "/" else b"", "text/html; charset=utf-8")

    settings = load({"home": str(home)}, environment={})
    with RoutedSite(routes) as site:
        url = site.url("/")
        with recording(home, url, "--save-login", "of-window") as (process, _, _):
            until(lambda: urls_with_picture(settings, "hand", [url]), what="the picture", within=120)
            many = len(told)
            until(lambda: len(told) > many + 2, what="what the page has seen of it")
            process.send_signal(signal.SIGINT)
            assert ended(process)["login"] == "of-window"
        asked = [each.path for each in site.requests if each.path == "/"]
    is_automated, seen, read = told[-1]
    assert (is_automated, read) == (False, 0), "the page sees neither automation nor a console that is read"
    assert seen in ([], ["resize"]), "the window gets its size once, with and without pictures"
    login = ProfileStore(home).load("of-window")
    assert [(each.name, each.value) for each in login.cookies] == [("token", "yes")]
    assert login.storage == {url.rstrip("/"): (("basket", "ä 1"),)}
    assert asked == ["/"], "the site is not asked when the login is saved"
    picture = picture_of(settings, "hand", url, 0)
    assert picture is not None
    assert picture.startswith(b"\xff\xd8\xff")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--save-login", "a b"), "is no name of a browser profile"),
        (("--save-login", "a", "--browser", "firefox"), "--save-login needs Chromium"),
        (("--resume", "7"), "there is no capture session '7'"),
        ((), "no window can be opened"),
    ],
)
def test_bad_input_is_one_line(home: Path, arguments: tuple[str, ...], words: str) -> None:
    command = our_command("record", "hand", *arguments, *(("--headless",) if arguments else ()), "--home", str(home))
    environment = {name: value for name, value in source_environment().items() if "DISPLAY" not in name}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_session_of_ten_thousand_urls_is_interrupted_and_resumed(home: Path) -> None:
    script = (
        "async ([base, first, last]) => { for (let at = first; at < last; at += 40) await Promise.all("
        "Array.from({length: 40}, (_, plus) => fetch(`${base}/many/${at + plus}`).then(each => each.text()))); }"
    )
    with LoginSite() as site:
        most = 0
        for number, (first, last) in enumerate(((0, 6_000), (6_000, 10_000))):
            given = ("--resume", "1") if number else ()
            with recording(home, site.url("/"), *given) as (process, _, address):
                with steered(address) as (_, page):
                    page.locator("#user").wait_for()
                    page.evaluate(script, [site.url(""), first, last])
                most = max(most, *(each.memory_info().rss for each in children_of(process.pid) if is_ours(each)))
                process.send_signal(signal.SIGINT)
                assert ended(process)["urls"] >= last
    assert most < 300_000_000
    checked = subprocess.run(
        our_command("check", "hand", "--home", str(home)), env=source_environment(), capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def children_of(pid: int) -> list[psutil.Process]:
    """The command with all of its processes."""
    command = psutil.Process(pid)
    return [command, *command.children(recursive=True)]


def is_ours(process: psutil.Process) -> bool:
    """Return whether the process is neither the browser nor Redis."""
    return "python" in process.name() or "ghostfleet" in process.name()
