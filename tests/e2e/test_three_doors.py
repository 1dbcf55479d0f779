"""A site with a login is captured by each of the three doors, viewed, and judged; what was typed stands nowhere.

The quick forms are `test_record.py` and `test_screen.py`, which log in and look for what was typed, and `test_qa.py`,
which judges a page that was captured in a window.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect, sync_playwright
from support.archive.awaited_index import await_index
from support.archive.secret_search import files_with
from support.browsers.recorded_window import ended, recording, steered
from support.browsers.running_viewer import running_viewer
from support.origins.login_site import PASSWORD, USER, LoginSite
from support.processes.machine_needs import free_port
from support.processes.waiting import until
from support.web.site_server import running_site, send_form

from admin.capture_sessions import sessions
from admin.capture_sessions.page_facts import PICTURE_URN
from admin.capture_sessions.process import CaptureProcess
from admin.capture_sessions.sessions import CaptureAccess, NewCaptureSession
from admin.models.capture_tables import CaptureState
from admin.models.database import Database, open_database
from admin.models.errors import IllegalState
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from bench.process import our_command, source_environment
from browsers.engines.chromium.executable import find_chromium

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
SECONDS = 60_000
expect.set_options(timeout=SECONDS)


def log_in(page: Page) -> None:
    """Log in as a person does with the keyboard alone."""
    page.locator("#user").fill(USER)
    page.locator("#password").fill(PASSWORD)
    page.locator("#send").click()
    page.get_by_role("heading", name="Inside").wait_for(timeout=SECONDS)


def by_window(home: Path, site: LoginSite) -> int:
    """Log in in the window of `record`."""
    with recording(home, site.url("/")) as (process, ready, address):
        with steered(address) as (browser, page):
            log_in(page)
            await_picture(home, site.url("/inside"))
            browser.new_browser_cdp_session().send("Browser.close")
        ended(process)
    return int(ready["session"])


def by_own_browser(home: Path, site: LoginSite) -> int:
    """Log in in a browser that has the proxy and the credentials of a session."""
    with capture_process(home) as database:
        with database.transaction(COMMAND_LINE) as transaction:
            number = sessions.start(transaction, NewCaptureSession(collection="hand")).id
        access = until(lambda: access_of(database, number), what="the proxy that serves the session", within=60)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=find_chromium(""),
                args=["--no-sandbox", "--proxy-bypass-list=<-loopback>"],
                proxy={"server": access.proxy, "username": access.user, "password": access.password},
            )
            page = browser.new_page()
            page.goto(site.url("/"))
            log_in(page)
            browser.close()
        end(database, number)
        await_index(home, site.url("/inside"))
    return number


def access_of(database: Database, number: int) -> CaptureAccess | None:
    """Proxy and credentials of the session, as soon as the check page answers through them."""
    try:
        with database.reading(COMMAND_LINE) as reading:
            access = sessions.show_access(reading, number)
        proxy = httpx.Proxy(f"http://{access.proxy}", auth=(access.user, access.password))
        with httpx.Client(proxy=proxy, trust_env=False) as client:
            return access if client.get(access.check_url).is_success else None
    except (IllegalState, httpx.TransportError):
        return None


def by_screen(home: Path, site: LoginSite) -> int:
    """Log in in the browser of the admin page, with the keyboard alone."""
    with (
        capture_process(home) as database,
        running_site(database, home) as admin,
        admin.client(Role.CURATOR) as client,
    ):
        answer = send_form(client, "/capture/start", collection="hand", screen="on", keeps_cookies="on")
        number = int(answer.headers["location"].split("/")[2])
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
            context = browser.new_context(base_url=admin.address)
            context.set_default_timeout(SECONDS)
            for name, value in client.cookies.items():
                context.add_cookies([{"name": name, "value": value, "url": admin.address}])
            page = context.new_page()
            page.goto(f"/capture/{number}/screen?url={site.url('/')}")
            tab = page.locator("#screen .tab button[aria-pressed=true]")
            expect(tab).to_have_text("Log in & read")
            page.locator("textarea.keys").focus()
            page.keyboard.press("Tab")
            page.keyboard.type(USER)
            page.keyboard.press("Tab")
            page.keyboard.type(PASSWORD)
            page.keyboard.press("Enter")
            expect(tab).to_have_text("Inside")
            await_picture(home, site.url("/inside"))
            browser.close()
        end(database, number)
    return number


def await_picture(home: Path, url: str) -> None:
    """Wait until the page has a picture: the viewer lists pages with one, and all documents only without any."""
    await_index(home, f"{PICTURE_URN}{url}")


@contextmanager
def capture_process(home: Path) -> Iterator[Database]:
    """The capture process, on a thread of the test."""
    given = {"home": str(home), "proxy": {"allow_private": True}, "capture": {"port": free_port()}}
    settings = load(given, environment={})
    database, over = open_database(settings), threading.Event()
    process = CaptureProcess(settings, database, print)
    thread = threading.Thread(target=process.run, args=(over.wait, over.is_set))
    thread.start()
    try:
        yield database
    finally:
        over.set()
        thread.join()
        database.close()


def state_of(database: Database, number: int) -> CaptureState:
    """The state of the session."""
    with database.reading(COMMAND_LINE) as reading:
        return sessions.show(reading, number).state


def end(database: Database, number: int) -> None:
    """End the session as its owner does, and wait for the end."""
    with database.transaction(COMMAND_LINE) as transaction:
        sessions.end(transaction, number)
    until(lambda: state_of(database, number) is CaptureState.ENDED, what="the end of the session", within=90)


@pytest.mark.parametrize("capture", [by_window, by_own_browser, by_screen])
def test_a_login_is_captured_viewed_and_judged(home: Path, capture: Callable[[Path, LoginSite], int]) -> None:
    with LoginSite() as site:
        number = capture(home, site)
        assert any(PASSWORD[:6].encode() in body for body in site.bodies), "the site gets the password"
        inside = site.url("/inside")
    assert [name for name in files_with(PASSWORD, home) if not name.startswith("windows/")] == []

    settings = load({"home": str(home)}, environment={})
    with running_viewer(settings) as viewer, viewer.client() as client:
        viewer.read_all("hand")
        assert inside in client.get("/c/hand/").text, "the page behind the login is listed"

    done = subprocess.run(
        our_command("qa", "run", "hand", "--job", f"manual-{number}", "--json", "--home", str(home)),
        env=source_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counted = json.loads(done.stdout)
    assert counted["pages"] == counted["judged"] == 2
    assert counted["state"] == "done"
