"""The demo's second half: replay served with the site gone, looked at with Chromium, and a wire across its ports."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from playwright.sync_api import BrowserContext, ViewportSize, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from browsers.engines.chromium.executable import find_chromium
from browsers.engines.chromium.flags import NOWHERE, launch_flags
from browsers.engines.chromium.trust import trusted_keys

PLAYWRIGHTS: Final = frozenset({"--headless", "--no-startup-window", "--remote-debugging-pipe", "--proxy-server"})
QUIET_SECONDS: Final = 10
"""How long to wait for a page to stop asking for things."""


class Tripwire:
    """Listens where the site did, and answers nobody: whoever connects is counted."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = tuple(ports)
        self._listeners = [_listen(port) for port in ports]

    def touched(self) -> int:
        """Connections that were made since the start."""
        return sum(_pending(listener) for listener in self._listeners)

    def words(self) -> bytes:
        """What was sent on the connections that were made since the last call."""
        return b"".join(word for listener in self._listeners for word in _heard(listener))

    def close(self) -> None:
        """Gives the ports back."""
        for listener in self._listeners:
            listener.close()


@contextmanager
def tripwire(ports: Sequence[int]) -> Iterator[Tripwire]:
    """A Tripwire for as long as the block runs."""
    wire = Tripwire(ports)
    try:
        yield wire
    finally:
        wire.close()


@contextmanager
def replaying(command: Sequence[str], folder: Path, resolve: Mapping[str, str]) -> Iterator[str]:
    """Runs a `ghostfleet replay` command in a folder; gives the address of its proxy.

    It is told where the site was and that it may go there, so that only its being a replay keeps it from going.
    """
    away = {
        "GHOSTFLEET_PROXY__RESOLVE": ",".join(f"{name}={address}" for name, address in resolve.items()),
        "GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true",
    }
    environment = {**os.environ, **away}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"demo: replay ended with exit code {process.wait()} before it was ready")
            yield str(json.loads(line)["proxy"])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def playwright_flags(trusted: Sequence[str]) -> list[str]:
    """A ghost's command line without the flags that Playwright sets by itself."""
    flags = launch_flags(trusted, ["127.0.0.1"], "en", sandbox=os.geteuid() != 0)
    return [flag for flag in flags if flag.partition("=")[0] not in PLAYWRIGHTS]


@contextmanager
def browsing(proxy: str, home: Path, size: tuple[int, int]) -> Iterator[Callable[[], BrowserContext]]:
    """A Chromium that reaches nothing but the proxy and trusts only its certificates; gives what opens a new context.

    A context for each page, as in the crawl: for a picture with several sizes, Chromium takes a larger one than it
    needs when an earlier page left that in its memory.
    """
    flags = playwright_flags(trusted_keys(home, proxy))
    chosen = os.environ.get("GHOSTFLEET_BROWSERS__EXECUTABLE", "")
    with ExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        playwright = stack.enter_context(sync_playwright())
        root = playwright.chromium.launch_persistent_context(
            profile, executable_path=find_chromium(chosen), args=flags, proxy={"server": NOWHERE}
        )
        stack.callback(root.close)
        browser = root.browser
        assert browser is not None
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        yield lambda: browser.new_context(proxy={"server": f"http://{proxy}"}, viewport=viewport)


def visit_page(new_context: Callable[[], BrowserContext], url: str) -> bytes:
    """A screenshot of the page once it is quiet; empty when it can't be opened."""
    with new_context() as context:
        page = context.new_page()
        try:
            page.goto(url, wait_until="load")
        except PlaywrightError:
            return b""
        with suppress(PlaywrightError):  # a page that never falls silent is looked at as it is
            page.wait_for_load_state("networkidle", timeout=QUIET_SECONDS * 1000)
        return page.screenshot()


def _listen(port: int) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", port))
    listener.setblocking(False)
    return listener


def _heard(listener: socket.socket) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        while True:
            stream = listener.accept()[0]
            stream.setblocking(False)
            with stream, suppress(BlockingIOError):
                yield stream.recv(65_536)


def _pending(listener: socket.socket) -> int:
    count = 0
    with suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count
