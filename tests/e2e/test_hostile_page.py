"""An archived page that tries everything gets nothing and reaches nobody, in the viewer and in the proxy's replay.

Servers of the test listen where the live web, the admin site and a private address would be, and for STUN. The page
also tells what it could read: neither other collections nor their tickets.
"""

from __future__ import annotations

import json
import signal
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from demo_replay import Tripwire, tripwire
from playwright.sync_api import Error as PlaywrightError
from support.browsers.driven_windows import Chromium, Driven, archived, running_chromium
from support.browsers.firefox import Firefox
from support.browsers.running_viewer import CollectionShelf, RunningViewer, running_viewer
from support.processes.ghostfleet_command import Command
from support.processes.machine_needs import free_port
from support.processes.waiting import until

from admin.replay import Window
from admin.viewing.origins import host_label
from admin.viewing.tickets import TicketKey
from archive.settings.load import Settings
from browsers.engines.chromium.trust import trusted_keys

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SITE = "http://example.org"
SECRET = "the secret of the other collection"
SCRIPT = Path(__file__).parent.parent / "hostile_page.js"
KEY = TicketKey(b"k" * 32)
ESCAPE = """
const tries = [() => fetch('OUT/escape', {mode: 'no-cors'}), () => new WebSocket('OUT/escape'.replace('http', 'ws'))];
for (const run of tries) { try { Promise.resolve(run()).catch(() => {}); } catch {} }
"""


class Outside:
    """Listens where an archived page must not come: TCP for three kinds of servers, UDP for STUN."""

    def __init__(self, wire: Tripwire) -> None:
        self.wire = wire
        self._stun = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._stun.bind(("127.0.0.1", 0))
        self._stun.setblocking(False)

    @property
    def hosts(self) -> dict[str, str]:
        """The addresses by what they stand for."""
        addresses = (f"http://127.0.0.1:{port}" for port in self.wire.ports)
        return dict(zip(("live", "admin", "private"), addresses, strict=True))

    @property
    def stun(self) -> str:
        return f"stun:127.0.0.1:{self._stun.getsockname()[1]}"

    def datagrams(self) -> int:
        """Datagrams that came since the last call."""
        count = 0
        try:
            while True:
                self._stun.recv(65_536)
                count += 1
        except BlockingIOError:
            return count

    def close(self) -> None:
        self._stun.close()


@pytest.fixture
def outside() -> Iterator[Outside]:
    with tripwire([free_port() for _ in range(3)]) as wire:
        found = Outside(wire)
        try:
            yield found
        finally:
            found.close()


@pytest.fixture(params=["chromium", pytest.param("firefox", marks=pytest.mark.slow)])
def browser(request: pytest.FixtureRequest) -> Iterator[Driven]:
    # Firefox asks no STUN server on the loopback without this preference.
    preferences = {"media.peerconnection.ice.loopback": True, "media.peerconnection.ice.link_local": True}
    with running_chromium() if request.param == "chromium" else Firefox(preferences) as driven:
        yield driven


def keep_pages(settings: Settings, outside: Outside, secrets: list[str], *, tries_webrtc: bool = True) -> None:
    hosts = {
        **{"site": SITE, "collection": "news", "other": "Other_one", "outside": outside.hosts, "stun": outside.stun},
        **{"secrets": secrets, "tries_webrtc": tries_webrtc},
    }
    shelf = CollectionShelf(settings)
    code = b64encode(SCRIPT.read_text().encode("ascii", "ignore")).decode()
    start = f"frame.contentWindow.Function('page', 'HOSTS', atob('{code}'))(window, {json.dumps(hosts)})"
    script = f"const frame = document.createElement('iframe'); document.body.append(frame); {start};"
    shelf.put("/", f"<!doctype html><title>Hostile</title><body><script>{script}</script>".encode())
    shelf.put("/sw.js", b"self.onfetch = () => {};", "Service-Worker-Allowed: /", mime="text/javascript")
    escape = ESCAPE.replace("OUT", outside.hosts["live"])
    shelf.put("/leave.js", f"location = '{outside.hosts['live']}/leave'".encode(), mime="text/javascript")
    shelf.put("/worker.js", escape.encode(), mime="text/javascript")
    shelf.put("/escape", f"<!doctype html><script>window.escaped = 'escaped, indeed';{escape}</script>".encode())
    shelf.close()
    other = CollectionShelf(settings, "Other_one")
    other.put("/secret", SECRET.encode(), "Access-Control-Allow-Origin: *", mime="text/plain")
    other.put("/", b"<!doctype html><title>Other</title><script>localStorage.setItem('s', 'stored-by-other');</script>")
    other.close()


def open_page(browser: Driven, address: str, collection: str) -> None:
    browser.go(f"{address}/c/{collection}/play?{urlencode({'url': f'{SITE}/', 'ts': '20261121081500'})}")


def report_of(browser: Driven) -> dict[str, str]:
    """What the page could read, when all of its attempts have ended."""
    until(lambda: _evaluate(browser, "window.done"), what="the hostile page to end", within=90)
    found = _evaluate(browser, "window.report")
    assert isinstance(found, dict)
    return found


def _evaluate(browser: Driven, expression: str) -> Any:
    frame = archived(browser, f"{SITE}/")
    return None if frame is None else browser.evaluate(frame, expression)


@contextmanager
def viewer_of(settings: Settings, key: TicketKey | None) -> Iterator[tuple[RunningViewer, str, str]]:
    """A viewer, with the beginnings of the paths of the two collections."""
    with running_viewer(settings, key) as running:
        roots = [f"/s/{key.issue(name, time.time(), 3600)}" if key else "" for name in ("news", "Other_one")]
        yield running, roots[0], roots[1]


@pytest.mark.parametrize("shown_by", ["guarded", pytest.param("free", marks=pytest.mark.slow)])
def test_a_hostile_page_in_the_viewer_gets_nothing(
    browser: Driven, settings: Settings, outside: Outside, player: Path, shown_by: str
) -> None:
    """Both viewers run, the free one and the one that asks for tickets, and one of them shows the page."""
    chosen = settings.model_copy(update={"view": settings.view.model_copy(update={"player": str(player)})})
    with viewer_of(chosen, None) as (free, *_), viewer_of(chosen, KEY) as (guarded, own, others):
        secret = f"/w/Other_one/2026id_/{SITE}/secret"
        hosts = ("127.0.0.1", "localhost", "view.news.localhost", label_host("Other_one"))
        places = [f"http://{host}:{free.port}{secret}" for host in hosts]
        places += [f"http://127.0.0.1:{guarded.port}{root}{secret}" for root in ("", own)]
        keep_pages(settings, outside, places)
        viewer, root, root_of_other = (guarded, own, others) if shown_by == "guarded" else (free, "", "")
        open_page(browser, f"{viewer.address}{root_of_other}", "Other_one")
        until(lambda: _evaluate(browser, "document.title") == "Other", what="the other page", within=60)
        open_page(browser, f"{viewer.address}{root}", "news")
        report = report_of(browser)
        browser.evaluate(archived(browser, f"{SITE}/"), "void window.leave()")
        open_page(browser, f"{viewer.address}{root_of_other}", "Other_one")
        until(lambda: _evaluate(browser, "document.title") == "Other", what="the other page again", within=60)
        check(report, f"news.localhost:{viewer.port}")
        assert others not in json.dumps(report)
        assert outside.datagrams() == 0
        assert outside.wire.words() == b""
    if isinstance(browser, Chromium):
        hosts_asked = {each.split("/")[2] for each in browser.asked if each.startswith("http")}
        asked = {host for host in hosts_asked if host.endswith(f":{guarded.port}")}
        collections = ("news.localhost", label_host("Other_one"))
        known = ("127.0.0.1", *collections, *(f"view.{host}" for host in collections))
        assert asked <= {f"{host}:{guarded.port}" for host in known}


def label_host(collection: str) -> str:
    return f"{host_label(collection)}.localhost"


def check(report: dict[str, str], host: str) -> None:
    """Check what the page could read."""
    text = json.dumps(report, indent=1)
    for word in (SECRET, "stored-by-other", '"escaped', "registered"):
        assert word not in text, text
    assert report["workers"], text
    assert all(scope.startswith(f"http://{host}/") for scope in report["workers"].split()), text
    assert "planted" not in report["cookies"], text


def test_a_hostile_page_in_the_replay_of_the_proxy_reaches_nobody(settings: Settings, outside: Outside) -> None:
    keep_pages(settings, outside, [f"{SITE}/secret"])
    with Command("replay", "news", "--port", "0", home=settings.home) as replay:
        proxy = replay.line(ready=True, collection="news")["proxy"]
        trusted = trusted_keys(settings.home, proxy)
        window = Window("news", proxy, settings.home / "ca" / "ca.pem", trusted)
        flags = [flag for flag in window.chromium_flags(Path("unused")) if not flag.startswith("--user-data-dir")]
        with running_chromium(flags) as browser:
            browser.go(f"{SITE}/")
            frame = browser.frames()[f"{SITE}/"]
            until(lambda: browser.evaluate(frame, "window.done"), what="the hostile page to end", within=90)
            report = browser.evaluate(frame, "window.report")
            browser.evaluate(frame, "void window.leave()")

            def is_elsewhere() -> bool:
                with suppress(PlaywrightError):  # a navigation of the page itself is under way
                    browser.go(f"{SITE}/leave.js")
                    return True
                return False

            until(is_elsewhere, what="the hostile page to be left", within=60)
        replay.signal(signal.SIGINT)
        assert replay.ended() == 0
    for word in (SECRET, "stored-by-other"):
        assert word not in json.dumps(report), report
    assert outside.datagrams() == 0
    assert outside.wire.touched() == 0
