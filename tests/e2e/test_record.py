"""`ghostfleet record` from the window to the viewer: a login is typed, the window is closed, the session goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
import trustme
from support.archive.secret_search import files_with
from support.browsers.recorded_window import ended, recording, steered
from support.origins.login_site import PASSWORD, USER, LoginSite
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.waiting import until

from bench.process import our_command, source_environment

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_login_is_recorded_in_a_window_and_resumed(home: Path) -> None:
    with LoginSite() as site:
        with recording(home, site.url("/")) as (process, ready, address):
            with steered(address) as (browser, page):
                page.fill("#user", USER)
                page.fill("#password", PASSWORD)
                page.click("#send")
                page.get_by_role("heading", name="Inside").wait_for()
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
            os.killpg(pids[0], signal.SIGKILL)  # a person closes the window
        with recording(home, site.url("/"), "--resume", str(ready["session"])) as (process, _, address):
            with steered(address) as (_, page):
                page.locator("#user").wait_for()
            process.send_signal(signal.SIGINT)
            assert ended(process)["pages"] >= 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
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
