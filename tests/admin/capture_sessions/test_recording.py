"""Capture sessions of people's own browsers, with a real recording proxy, its kill, and a site with a login."""

from __future__ import annotations

import base64
import itertools
import os
import shutil
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import httpx
import pytest
import trustme
from playwright.sync_api import Error, sync_playwright
from sqlalchemy import select
from support.archive.browsed_collection import png
from support.archive.secret_search import files_with
from support.origins.login_site import PASSWORD, USER, LoginSite
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes import machine_needs
from support.processes.removal import remove_in_use
from support.processes.unsynced_disk import VARIABLES
from support.processes.waiting import until

from admin.capture_sessions import sessions
from admin.capture_sessions.page_facts import urls_with_picture
from admin.capture_sessions.process import CaptureProcess, RunningProxy, running_proxy, tick_steadily
from admin.capture_sessions.proxy_access import CHECK_URL
from admin.capture_sessions.recording import CaptureRecording, Taken
from admin.capture_sessions.screens import Screens, socket_path
from admin.capture_sessions.sessions import CaptureAccess, CaptureSessionView, NewCaptureSession
from admin.collections.delete import ChangeRefused, delete, refusal
from admin.collections.rename import rename
from admin.models.capture_tables import CaptureDoor, CaptureSession, CaptureState
from admin.models.database import FILE_NAME, Database, database_url, open_database
from admin.models.errors import IllegalState
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings, load
from archive.warc.upkeep.check import check
from browsers.remote.framing import ScreenMessage, packed
from browsers.visit import FleetUnavailable

pytestmark = pytest.mark.timeout(300)
_NUMBERS = itertools.count(1)
NAVIGATE = {"Upgrade-Insecure-Requests": "1", "Sec-Fetch-Dest": "document"}


@dataclass
class Hand:
    """A person at work: the database, the proxy, and the recording of the capture process."""

    settings: Settings
    database: Database
    proxy: RunningProxy
    recording: CaptureRecording
    collection: str = "hand"
    """The collection of sessions that name none, which no other test has."""

    def start(self, **given: object) -> int:
        """Make a session, and let the proxy serve it."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            number = sessions.start(
                transaction, NewCaptureSession.model_validate({"collection": self.collection, **given})
            ).id
        self.recording.tick()
        return number

    def tick(self) -> None:
        """Do what the process does several times a second."""
        tick_steadily(self.recording, is_serving=self.proxy.tick())

    def do(self, step: Callable[..., object], number: int) -> None:
        """Take a step of a session, and let the process see it."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            step(transaction, number)
        self.recording.tick()

    def view(self, number: int) -> CaptureSessionView:
        """The session as the site shows it."""
        with self.database.reading(COMMAND_LINE) as reading:
            return sessions.show(reading, number)

    def access(self, number: int) -> CaptureAccess:
        """Proxy and credentials."""
        with self.database.reading(COMMAND_LINE) as reading:
            return sessions.show_access(reading, number)

    @contextmanager
    def browser(self, number: int, password: str = "", verify: ssl.SSLContext | bool = True) -> Iterator[httpx.Client]:
        """A client with the credentials of the session."""
        access = self.access(number)
        proxy = httpx.Proxy(f"http://{self.proxy.addresses.proxy}", auth=(access.user, password or access.password))
        with httpx.Client(proxy=proxy, trust_env=False, timeout=60, follow_redirects=True, verify=verify) as client:
            yield client

    def until(self, number: int, urls: int) -> CaptureSessionView:
        """The session as soon as so many URLs are counted."""

        def counted() -> CaptureSessionView | None:
            self.tick()
            found = self.view(number)
            return found if found.urls >= urls else None

        return until(counted, what=f"{urls} URLs")

    def end_all(self) -> None:
        """End the sessions that are still open, so that the next test finds none."""
        open_states = (CaptureState.OPEN, CaptureState.PAUSED)
        with self.database.transaction(COMMAND_LINE) as transaction:
            for number in transaction.session.scalars(
                select(CaptureSession.id).where(CaptureSession.state.in_(open_states))
            ):
                sessions.end(transaction, number)
        until(lambda: self.recording.tick() or not self.recording.has_live, what="the end of all sessions")


type Desk = tuple[Settings, Database, RunningProxy]


@contextmanager
def _desk(home: Path, tables: Path) -> Iterator[Desk]:
    shutil.copy(tables, home / FILE_NAME)
    settings = load({"home": str(home), "proxy": {"allow_private": True}, "capture": {"port": 0}}, environment={})
    database = open_database(settings)
    with (
        # A busy machine gets enough time for each answer of the proxy, and enough looks for the title of each page.
        patch("admin.capture_sessions.process._CONTROL_SECONDS", 60.0),
        patch("admin.capture_sessions.recording._TITLE_TRIES", 1_000_000),
        running_proxy(settings, print, lambda: False, is_window=False) as proxy,
    ):
        yield settings, database, proxy
    database.close()


@pytest.fixture(scope="module")
def shared_desk(tmp_path_factory: pytest.TempPathFactory, sqlite_tables: Path) -> Iterator[Desk]:
    """A home with a recording proxy for all tests that neither kill the proxy nor keep passwords."""
    with ExitStack() as opened:
        with patch.dict(os.environ, VARIABLES):
            desk = opened.enter_context(_desk(tmp_path_factory.mktemp("desk"), sqlite_tables))
        yield desk


@pytest.fixture
def hand(shared_desk: Desk) -> Iterator[Hand]:
    settings, database, proxy = shared_desk
    number = next(_NUMBERS)
    recording = CaptureRecording(settings, database, proxy.control, f"process {number}", None)
    hand = Hand(settings, database, proxy, recording, f"hand{number}")
    yield hand
    hand.end_all()


@pytest.fixture
def lone_hand(home: Path, sqlite_tables: Path) -> Iterator[Hand]:
    """A person with a home and a proxy of their own."""
    with _desk(home, sqlite_tables) as (settings, database, proxy):
        recording = CaptureRecording(settings, database, proxy.control, "this process", None)
        yield Hand(settings, database, proxy, recording)
        recording.close()


@pytest.fixture
def chromium() -> str:
    return machine_needs.chromium()


@pytest.fixture
def site() -> Iterator[LoginSite]:
    with LoginSite() as site:
        yield site


def test_what_a_browser_of_ones_own_fetches_is_kept_until_the_end(hand: Hand, site: LoginSite) -> None:
    number = hand.start(title="By hand")
    with hand.browser(number) as browser:
        assert f"You are recording into {hand.collection}" in browser.get(CHECK_URL).text
        assert browser.get(f"{CHECK_URL}ca.pem").text.startswith("-----BEGIN CERTIFICATE")
        browser.get(site.url("/"), headers=NAVIGATE)
        browser.get(site.url("/missing"))
        found = hand.until(number, 2)
        assert (found.state, found.pages, found.novel, found.failed) == (CaptureState.OPEN, 1, 2, 0)

        hand.do(sessions.pause, number)
        assert "is paused" in browser.get(CHECK_URL).text
        browser.get(site.url("/while-paused"))
        hand.do(sessions.resume, number)
        browser.get(site.url("/"), headers=NAVIGATE)
        found = hand.until(number, 3)
        assert (found.pages, found.urls, found.known) == (2, 3, 1)

    def titled() -> bool:
        hand.tick()
        with hand.database.reading(COMMAND_LINE) as reading:
            return [page.title for page in sessions.list_pages(reading, number).items] == ["Log in & read"] * 2

    until(titled, what="the titles")
    hand.do(sessions.end, number)
    found = hand.view(number)
    assert (found.state, found.urls) == (CaptureState.ENDED, 3)
    files = sorted(path.name for path in hand.settings.archive_dir(hand.collection).iterdir())
    assert files
    assert all(name.startswith(f"{hand.collection}-manual-{number}-") and name.endswith(".warc.gz") for name in files)
    with pytest.raises(IllegalState):
        hand.access(number)
    hand.do(sessions.resume, number)
    with hand.browser(number) as browser:
        browser.get(site.url("/again"))
    assert hand.until(number, 4).state is CaptureState.OPEN


def test_a_picture_stands_beside_its_page_without_the_fragment_of_the_address(hand: Hand, site: LoginSite) -> None:
    number, url = hand.start(), site.url("/")
    with hand.browser(number) as browser:
        browser.get(url, headers=NAVIGATE)
        hand.until(number, 1)
        hand.recording.keep_picture(number, f"{url}#access_token=verborgen", png())

    def pictured() -> bool:
        hand.tick()
        return urls_with_picture(hand.settings, hand.collection, [url]) == {url}

    until(pictured, what="the picture of the page")
    hand.do(sessions.end, number)
    assert files_with("verborgen", hand.settings.home) == []


def test_a_wrong_password_and_an_ended_session_are_refused(hand: Hand, site: LoginSite) -> None:
    number = hand.start()
    with hand.browser(number, "x" * 43) as browser:
        assert browser.get(site.url("/")).status_code == 407
    with httpx.Client(proxy=f"http://{hand.proxy.addresses.proxy}", trust_env=False) as client:
        assert client.get(site.url("/")).status_code == 407
        pac = client.build_request("GET", f"http://{hand.proxy.addresses.proxy}/proxy.pac")
    with httpx.Client(trust_env=False) as client:
        assert f'return "PROXY {hand.proxy.addresses.proxy}"' in client.send(pac).text
    with hand.browser(number) as browser:
        hand.do(sessions.end, number)
        told = browser.get(site.url("/"))
        assert (told.status_code, told.headers["Ghostfleet-Error"]) == (403, "0 session-ended")
        assert f"into {hand.collection} has expired, or was ended" in told.text
        assert "open the session again on its page" in browser.get(CHECK_URL).text
        with pytest.raises(httpx.ProxyError, match="403"):
            browser.get("https://example.test/")
        hand.do(sessions.resume, number)
        assert browser.get(site.url("/")).status_code == 200
        hand.do(sessions.end, number)


def test_what_a_person_types_stands_nowhere(hand: Hand, site: LoginSite) -> None:
    number = hand.start()
    with hand.browser(number) as browser:
        browser.get(site.url("/"), headers=NAVIGATE)
        browser.post(site.url("/login"), data={"user": USER, "password": PASSWORD}, headers=NAVIGATE)
        browser.post(site.url("/login"), json={"user": USER, "Password": PASSWORD})
        browser.post(site.url("/login"), files={"password": (None, PASSWORD)})
        browser.get(site.url("/inside"), auth=(USER, PASSWORD.replace("ß", "s")))
        browser.get(site.url("/nothing"), params={"passwd": PASSWORD})
    hand.until(number, 9)
    hand.do(sessions.end, number)
    assert PASSWORD.encode() in site.bodies[1] or PASSWORD.encode() in site.bodies[2], "the site gets the password"
    assert files_with(PASSWORD, hand.settings.home) == []
    basic = base64.b64encode(f"{USER}:{PASSWORD.replace('ß', 's')}".encode()).decode()
    assert files_with(basic, hand.settings.home) == []
    assert files_with(hand_token(hand, number), hand.settings.home) == [], "the proxy's own password is not recorded"


def test_a_response_that_shows_a_typed_secret_is_named(lone_hand: Hand, site: LoginSite) -> None:
    hand = lone_hand
    number = hand.start()
    with hand.browser(number) as browser:
        hand.do(sessions.pause, number)
        browser.post(site.url("/login"), data={"user": USER, "password": PASSWORD})  # nothing of this is kept
        hand.do(sessions.resume, number)
        browser.get(site.url("/inside"))
        browser.get(site.url("/profile"))  # shows what was typed
        hand.until(number, 2)
    assert hand.view(number).shown_secrets == [site.url("/profile")]
    hand.do(sessions.end, number)
    assert hand.view(number).shown_secrets == [site.url("/profile")]
    log = hand.recording.folder(hand.collection, number) / "crawl.log"
    assert PASSWORD not in log.read_text()
    assert log.read_text().count("showsSecret") == 1


def hand_token(hand: Hand, number: int) -> str:
    """The password of the session, which is not stored."""
    from admin.capture_sessions.proxy_access import token_of

    with hand.database.reading(COMMAND_LINE) as reading:
        return token_of(hand.settings, sessions.find(reading, number).proxy_session)


def test_a_page_tells_which_of_its_fields_take_passwords(hand: Hand, site: LoginSite) -> None:
    number = hand.start()
    with hand.browser(number) as browser:
        browser.get(site.url("/odd-form"), headers=NAVIGATE)
        hand.until(number, 1)

        def learned() -> bool:
            hand.tick()
            return {"kw geheim&1", "kw-id"} <= hand.recording._secret_fields[number]

        until(learned, what="the names of the fields")
        browser.post(site.url("/login"), data={"user": USER, "kw geheim&1": PASSWORD})
        hand.until(number, 3)
    hand.do(sessions.end, number)
    assert files_with(PASSWORD, hand.settings.home) == []


def test_a_field_with_an_odd_name_is_left_out_as_well(hand: Hand, site: LoginSite) -> None:
    number = hand.start()
    hand.recording.note_secret_field(number, "kw geheim\xa01")
    hand.recording.note_secret_field(number, "\u200d")
    hand.recording.note_secret_field(number, "kw-later")
    with hand.browser(number) as browser:
        for name in ("kw geheim\xa01", "kw-later"):
            browser.post(site.url("/login"), data={"user": USER, name: PASSWORD})
    hand.until(number, 4)
    hand.recording.close()
    hand.tick()
    assert hand.view(number).state is CaptureState.OPEN, "a new session of the proxy takes the names"
    assert hand.recording.has_live
    hand.do(sessions.end, number)
    assert files_with(PASSWORD, hand.settings.home) == []


def test_names_of_fields_that_did_not_reach_the_proxy_are_told_later(hand: Hand, site: LoginSite) -> None:
    number = hand.start()
    with patch.object(hand.proxy.control, "change", side_effect=FleetUnavailable("proxy-silent")):
        hand.recording.note_secret_field(number, "kw-lost")
    hand.tick()
    with hand.browser(number) as browser:
        browser.post(site.url("/login"), data={"user": USER, "kw-lost": PASSWORD})
    hand.until(number, 2)
    hand.do(sessions.end, number)
    assert files_with(PASSWORD, hand.settings.home) == []


def test_a_session_that_the_proxy_refuses_ends_and_holds_no_other_up(hand: Hand, site: LoginSite) -> None:
    with hand.database.transaction(COMMAND_LINE) as transaction:
        given = NewCaptureSession(collection=hand.collection)
        refused, other = (sessions.start(transaction, given).id for _ in range(2))
        sessions.find(transaction, refused).proxy_session = "20261121-import"
    hand.recording.tick()
    found = hand.view(refused)
    assert found.state is CaptureState.ENDED
    assert "the recording proxy refused it (control-400: field 'id' must be" in found.error
    with hand.browser(other) as browser:
        browser.get(site.url("/"), headers=NAVIGATE)
    hand.until(other, 1)
    hand.do(sessions.end, other)


def test_a_refused_change_ends_the_session_at_the_proxy(hand: Hand) -> None:
    number = hand.start()
    refusal = FleetUnavailable("control-400", may_be_the_page=True, detail="no")
    with patch.object(hand.proxy.control, "change", side_effect=refusal):
        hand.do(sessions.pause, number)
    assert hand.view(number).state is CaptureState.ENDING
    hand.recording.tick()
    found = hand.view(number)
    assert (found.state, hand.recording.has_live) == (CaptureState.ENDED, False)
    assert found.error == "The session was ended: the recording proxy refused it (control-400: no)."


def test_a_session_whose_opening_was_not_answered_is_opened_anew(hand: Hand, site: LoginSite) -> None:
    with hand.database.transaction(COMMAND_LINE) as transaction:
        number = sessions.start(transaction, NewCaptureSession(collection=hand.collection)).id
        row = sessions.find(transaction, number)
        hand.proxy.control.open(hand.recording._request(row))
    hand.recording.tick()
    with hand.browser(number) as browser:
        browser.get(site.url("/"), headers=NAVIGATE)
    hand.until(number, 1)
    hand.do(sessions.end, number)


def test_a_title_may_have_any_characters(hand: Hand) -> None:
    title = "By\xa0hand\u200d\nand eye"
    number = hand.start(title=title)
    assert hand.recording.has_live
    assert hand.view(number).title == title
    hand.do(sessions.end, number)


def test_a_silent_proxy_is_asked_once_whatever_the_number_of_sessions(hand: Hand) -> None:
    for _ in range(3):
        hand.start()
    with (
        patch.object(hand.proxy.control, "report", side_effect=FleetUnavailable("proxy-silent")) as asked,
        pytest.raises(FleetUnavailable),
    ):
        hand.recording.tick()
    assert asked.call_count == 1
    busy = FleetUnavailable("not-accepting")
    with patch.object(hand.proxy.control, "report", side_effect=busy) as asked, pytest.raises(FleetUnavailable):
        hand.recording.tick()
    assert asked.call_count == 3


def test_a_page_may_name_any_character_set(hand: Hand) -> None:
    def page(asked: Asked) -> Routed:
        return Routed(f"<meta charset={asked.path[1:]}><title>Odd \\ud800 +2AA- \0</title>".encode())

    number = hand.start()
    with hand.browser(number) as browser, RoutedSite(page) as site:
        for charset in ("idna", "undefined", "raw_unicode_escape", "utf-7", "hex"):
            browser.get(site.url(f"/{charset}"), headers=NAVIGATE)

    def titled() -> bool:
        hand.tick()
        with hand.database.reading(COMMAND_LINE) as reading:
            titles = [page.title for page in sessions.list_pages(reading, number).items]
        return len(titles) == 5 and all(title.startswith("Odd") for title in titles)

    until(titled, what="the titles")
    hand.do(sessions.end, number)


def test_secrets_and_cookies_are_kept_or_not_as_the_person_chose(lone_hand: Hand, site: LoginSite) -> None:
    hand = lone_hand
    kept, bare = hand.start(keeps_secrets=True), hand.start(collection="bare", keeps_cookies=False)
    for number in (kept, bare):
        with hand.browser(number) as browser:
            browser.post(site.url("/login"), data={"user": USER, "password": PASSWORD})
        hand.until(number, 2)
        hand.do(sessions.end, number)
    assert next(name for name in files_with(PASSWORD, hand.settings.home) if "/archive/" in name).startswith(
        "collections/hand/"
    )
    assert not [name for name in files_with("token=yes", hand.settings.home) if "/bare/" in name]
    assert files_with("token=yes", hand.settings.home)


def test_a_killed_proxy_and_a_killed_process_lose_nothing(lone_hand: Hand, site: LoginSite) -> None:
    hand = lone_hand
    number = hand.start()
    with hand.browser(number) as browser:
        browser.get(site.url("/"), headers=NAVIGATE)
    assert hand.until(number, 1).pages == 1
    (pid,) = children_named("proxy-0", hand.settings)
    os.kill(pid, signal.SIGKILL)
    until(lambda: hand.proxy.tick() and children_named("proxy-0", hand.settings) not in ([], [pid]), what="a new proxy")

    def served() -> bool:
        hand.tick()
        try:
            with hand.browser(number) as browser:
                return browser.get(site.url("/second")).status_code == 401
        except httpx.TransportError:
            return False

    until(served, what="the session at the new proxy", within=60)
    found = hand.until(number, 2)
    assert found.pages == 1

    other = CaptureRecording(hand.settings, hand.database, hand.proxy.control, "another process", None)
    with patch("admin.capture_sessions.recording._ASLEEP_SECONDS", 10**6):  # the pause between two ticks is no sleep
        other.tick()
        assert not other.has_live, "the session has an owner that lives"
        with pytest.raises(Taken):
            CaptureRecording(hand.settings, hand.database, hand.proxy.control, "a third", number).tick()
        with hand.database.transaction(COMMAND_LINE) as transaction:
            transaction.session.get_one(CaptureSession, number).heard = 1  # as if the silence had lasted
        hand.proxy.control.finish(hand.recording._live[number].proxy, wait_seconds=30)
        other.tick()
    assert other.has_live
    again = hand.view(number)
    assert (again.urls, again.pages) == (found.urls, found.pages), "the log is counted once"
    other.close()
    hand.recording._live.clear()


def test_a_session_ends_by_itself(hand: Hand) -> None:
    expired, idle = hand.start(), hand.start()
    with hand.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(CaptureSession, expired).expires = 1
        transaction.session.get_one(CaptureSession, idle).created = 1
    hand.recording.tick()
    assert [hand.view(number).state for number in (expired, idle)] == [CaptureState.ENDED] * 2
    assert "its time was over" in hand.view(expired).error
    assert "capture.idle_minutes" in hand.view(idle).error

    ended = hand.start()
    hand.recording._only = ended  # as in the process of a window, which was stopped meanwhile
    with hand.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(CaptureSession, ended).state = CaptureState.ENDED
    with pytest.raises(Taken, match="was ended by another process"):
        hand.recording.tick()
    hand.recording._only = None
    hand.recording.close()


def test_a_certificate_that_is_not_trusted_is_named_until_it_is(hand: Hand) -> None:
    number = hand.start()
    authority = trustme.CA()
    with RoutedSite(lambda _: Routed(b"safe"), tls=authority) as site:
        with hand.browser(number) as browser, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            browser.get(site.url("/"))
        told = until(lambda: hand.tick() or hand.view(number).error, what="the trouble on the session's page")
        assert told.startswith("The browser refused our certificate for 127.0.1.17."), told
        assert hand.view(number).state is CaptureState.OPEN

        trusting = ssl.create_default_context(cafile=str(hand.settings.home / "ca" / "ca.pem"))
        with hand.browser(number, verify=trusting) as browser:
            assert browser.get(site.url("/")).text == "safe"
        until(lambda: hand.tick() or not hand.view(number).error, what="the end of the trouble")


@pytest.mark.browser
@pytest.mark.parametrize("ends_later", [False, True])
def test_a_session_that_ends_while_its_browser_starts_leaves_no_browser(
    hand: Hand, chromium: str, tmp_path: Path, ends_later: bool
) -> None:
    go, pids, slow_browser = tmp_path / "go", tmp_path / "pids", tmp_path / "chromium"
    slow_browser.write_text(
        f'#!/bin/sh\necho $$ >>{pids}\nuntil [ -e {go} ]; do sleep 0.05; done\nexec {chromium} "$@"\n'
    )
    slow_browser.chmod(0o700)
    chosen = hand.settings.browsers.model_copy(update={"executable": str(slow_browser)})
    settings = hand.settings.model_copy(update={"browsers": chosen})
    number = hand.start(screen=True)
    screens = Screens(settings, hand.recording, hand.proxy.addresses.proxy)
    with ExitStack() as at_end:
        at_end.callback(screens.close)
        at_end.callback(go.touch)
        at_end.enter_context(patch.object(hand.recording, "before_end", screens.close_session))
        person = at_end.enter_context(socket.socket(socket.AF_UNIX))
        person.connect(str(socket_path(settings.home)))
        person.sendall(packed(ScreenMessage.of_json({"session": number})))
        pid = int(until(lambda: pids.exists() and pids.read_text(), what="the start of the browser"))
        with patch.object(hand.proxy.control, "finish", return_value=None) if ends_later else nullcontext():
            hand.do(sessions.end, number)
            assert hand.view(number).state is (CaptureState.ENDING if ends_later else CaptureState.ENDED)
            go.touch()
            until(lambda: not Path(f"/proc/{pid}").exists(), what="the end of the browser")
        with person.makefile("rb") as told:
            assert b"the session has ended" in told.read()
        assert pids.read_text().split() == [str(pid)]
        hand.recording.tick()
        assert hand.view(number).state is CaptureState.ENDED


@pytest.mark.browser
def test_a_browser_that_does_not_trust_our_certificate_is_told_of(hand: Hand, chromium: str) -> None:
    number = hand.start()
    access = hand.access(number)
    server = {"server": hand.proxy.addresses.proxy, "username": access.user, "password": access.password}
    with RoutedSite(lambda _: Routed(b"safe"), tls=trustme.CA()) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--proxy-bypass-list=<-loopback>"], proxy=server
        )
        page = browser.new_page()
        with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
            page.goto(site.url("/"))
        told = until(lambda: hand.tick() or hand.view(number).error, what="the trouble on the session's page")
        assert told.startswith("The browser refused our certificate for 127.0.1.17."), told
        browser.close()


def test_a_client_that_breaks_handshakes_is_named(hand: Hand) -> None:
    number = hand.start()
    host, _, port = hand.proxy.addresses.proxy.rpartition(":")
    access = hand.access(number)
    credentials = base64.b64encode(f"{access.user}:{access.password}".encode()).decode()
    for _ in range(2):
        with socket.create_connection((host, int(port))) as pinned:
            pinned.sendall(
                f"CONNECT pinned.test:443 HTTP/1.1\r\nProxy-Authorization: Basic {credentials}\r\n\r\n".encode()
            )
            assert b" 200 " in pinned.recv(1000)
            client = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = ssl.create_default_context().wrap_bio(*client, server_hostname="pinned.test")
            with pytest.raises(ssl.SSLWantReadError):
                tls.do_handshake()
            pinned.sendall(client[1].read())
            assert pinned.recv(100_000)
    told = until(lambda: hand.tick() or hand.view(number).error, what="the trouble on the session's page")
    assert "for pinned.test" in told
    assert "pinning" in told


def test_a_collection_that_is_removed_by_hand_ends_its_session(hand: Hand, site: LoginSite) -> None:
    number = hand.start()
    folder = hand.settings.collection(hand.collection)
    with hand.browser(number) as browser:
        browser.get(site.url("/"), headers=NAVIGATE)
        hand.until(number, 1)
        remove_in_use(folder)
        browser.get(site.url("/second"))
    until(lambda: hand.tick() or hand.view(number).state is CaptureState.ENDED, what="the end", within=100)
    assert f"the folder of collection {hand.collection} was removed" in hand.view(number).error
    hand.do(sessions.resume, number)
    with hand.browser(number) as browser:
        browser.get(site.url("/again"))
    hand.until(number, 1)
    hand.do(sessions.end, number)
    assert not hand.view(number).error
    assert [str(each) for file in hand.settings.archive_dir(hand.collection).iterdir() for each in check(file)] == []


def test_a_collection_with_an_open_session_is_not_deleted_or_renamed(hand: Hand, site: LoginSite) -> None:
    number, name = hand.start(), hand.collection
    with hand.browser(number) as browser:
        browser.get(site.url("/"), headers=NAVIGATE)
    hand.until(number, 1)
    for state in (CaptureState.OPEN, CaptureState.PAUSED):
        assert hand.view(number).state is state
        assert f"capture session {number} of command line is open" in refusal(hand.settings, name, force=False)
        with pytest.raises(ChangeRefused, match=f"capture session {number}"):
            delete(hand.settings, name)
        with pytest.raises(ChangeRefused, match=f"session end {number}"):
            rename(hand.settings, name, f"{name}-other")
        assert hand.settings.collection(name).is_dir()
        if state is CaptureState.OPEN:
            hand.do(sessions.pause, number)
    hand.do(sessions.end, number)
    assert refusal(hand.settings, name, force=False) == ""
    delete(hand.settings, name)
    assert not hand.settings.collection(name).exists()


def test_a_log_that_is_longer_than_one_look_is_read_again_to_its_end(hand: Hand, site: LoginSite) -> None:
    """Pages behind the first look were listed a second time, which the database refused."""
    number = hand.start()
    with hand.browser(number) as browser:
        for _ in range(6):
            browser.get(site.url("/"), headers=NAVIGATE)
    before = hand.until(number, 6)
    hand.recording.close()
    with patch("admin.capture_sessions.session_log._MOST_LINES", 2):
        hand.recording.tick()
        hand.do(sessions.end, number)
    found = hand.view(number)
    assert (found.state, found.urls, found.pages) == (CaptureState.ENDED, before.urls, before.pages)


def test_sessions_stay_and_end_while_their_proxy_starts_again(hand: Hand) -> None:
    number, expired = hand.start(), hand.start()
    with hand.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(CaptureSession, number).heard = 1  # a proxy may repair its files for minutes
        transaction.session.get_one(CaptureSession, expired).expires = 1
    tick_steadily(hand.recording, is_serving=False)
    other = CaptureRecording(hand.settings, hand.database, hand.proxy.control, "another process", None)
    other.tick()
    assert not other.has_live
    assert [hand.view(each).state for each in (number, expired)] == [CaptureState.OPEN, CaptureState.ENDING]
    hand.tick()
    assert hand.view(expired).state is CaptureState.ENDED
    hand.do(sessions.end, number)


def test_a_process_that_slept_takes_no_session_of_others_at_once(hand: Hand) -> None:
    """A laptop that is opened again wakes all processes; the one that is first may not end the work of the rest."""
    with hand.database.transaction(COMMAND_LINE) as transaction:
        number = sessions.start(transaction, NewCaptureSession(collection=hand.collection), door=CaptureDoor.WINDOW).id
    clock = [hand.database.clock()]
    database = Database(database_url(hand.settings), lambda: clock[0], hand.settings)
    other = CaptureRecording(hand.settings, database, hand.proxy.control, "another process", None)
    with hand.database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.get_one(CaptureSession, number)
        row.worker, row.heard = "elsewhere:1:x", clock[0]
    other.tick()
    clock[0] += 900_000_000
    other.tick()
    assert hand.view(number).state is CaptureState.OPEN, "the command gets a moment to say that it lives"
    for _ in range(5):
        clock[0] += 8_000_000
        other.tick()
    assert "was killed" in hand.view(number).error
    database.close()


def children_named(title: str, settings: Settings) -> list[int]:
    """Process ids of the children of this home with the title."""
    from support.processes.ghostfleet_command import processes_of

    return [pid for pid, text in processes_of(settings.home).items() if text == f"ghostfleet: {title}"]


@contextmanager
def _capture_process(home: Path, tables: Path) -> Iterator[tuple[Database, CaptureProcess]]:
    """A capture process that does not run yet."""
    shutil.copy(tables, home / FILE_NAME)
    settings = load({"home": str(home), "proxy": {"allow_private": True}, "capture": {"port": 0}}, environment={})
    with closing(open_database(settings)) as database:
        yield database, CaptureProcess(settings, database, print)


def _run_until_ended(database: Database, process: CaptureProcess, number: int) -> CaptureSessionView:
    """Let the process run until the session has ended."""
    over = threading.Event()
    thread = threading.Thread(target=process.run, args=(over.wait, over.is_set))
    thread.start()

    def view() -> CaptureSessionView:
        with database.reading(COMMAND_LINE) as reading:
            return sessions.show(reading, number)

    try:
        until(lambda: view().state is CaptureState.ENDED, what="the end of the session", within=60)
    finally:
        over.set()
        thread.join()
    return view()


def test_the_capture_process_ends_what_a_killed_command_left(home: Path, sqlite_tables: Path) -> None:
    with _capture_process(home, sqlite_tables) as (database, process):
        with database.transaction(COMMAND_LINE) as transaction:
            given = NewCaptureSession(collection="hand")
            number = sessions.start(transaction, given, door=CaptureDoor.WINDOW).id
            row = transaction.session.get_one(CaptureSession, number)
            row.worker, row.heard = "elsewhere:1:x", transaction.now
        assert not process._has_work(), "the command works on it"
        with database.transaction(COMMAND_LINE) as transaction:
            transaction.session.get_one(CaptureSession, number).heard = 1
        assert process._has_work()
        assert "was killed" in _run_until_ended(database, process, number).error


def test_the_capture_process_ends_a_window_that_a_person_ends_and_no_command_records(
    home: Path, sqlite_tables: Path
) -> None:
    with _capture_process(home, sqlite_tables) as (database, process):
        with database.transaction(COMMAND_LINE) as transaction:
            given = NewCaptureSession(collection="hand")
            number = sessions.start(transaction, given, door=CaptureDoor.WINDOW).id
        assert not process._has_work(), "its command has just made it"
        with database.transaction(COMMAND_LINE) as transaction:
            sessions.end(transaction, number)
        _run_until_ended(database, process, number)
