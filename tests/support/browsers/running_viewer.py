"""A viewer that runs on a free port of the loopback, a collection that it shows, and the player that npm gave."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from admin.viewing.player import PACKAGE, VERSION
from admin.viewing.server import ViewServer
from admin.viewing.tickets import TicketKey
from archive.capture import Capture, Context, Original
from archive.settings.load import Settings
from support.archive.browsed_collection import Shelf
from support.archive.exchanges import DATE, exchange, keep, request, response
from support.processes.machine_needs import program
from support.processes.waiting import until

_NPM_SECONDS = 200


class CollectionShelf(Shelf):
    """Writes captures with bodies of the test's own."""

    def put(
        self,
        path: str,
        body: bytes,
        *headers: str,
        mime: str = "text/html",
        status: str = "200 OK",
        date: int = DATE,
        method: str = "GET",
        original: Original | None = None,
        url: str = "",
        sent: bytes = b"",
    ) -> Capture:
        """Keep one response of http://example.org, or of the URL."""
        answer = response(body, *headers, status=status, mime=mime)
        context = Context(self.name, job="daily-20261121081500", page_id="page-1")
        more: dict[str, Any] = {"url": url} if url else {}
        if sent:
            more["request"] = request(path, method, sent, "Content-Type: application/x-www-form-urlencoded")
        kept = exchange(path, answer, started=date, context=context, method=method, **more)
        return keep(self.writer, kept, original)


class RunningViewer:
    """A viewer that runs. `address` has no slash at its end."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"http://127.0.0.1:{port}"

    def client(self) -> httpx.Client:
        """A program that follows no redirects and undoes no content coding of its own accord."""
        return httpx.Client(base_url=self.address, timeout=120, headers={"Accept-Encoding": "identity"})

    def read_all(self, collection: str) -> None:
        """Wait until its list of pages is whole; one request reads for half a second only."""
        with self.client() as client:
            page = f"/c/{collection}/"
            until(lambda: "still being read" not in client.get(page).text, what=f"all pages of {collection}")


@contextmanager
def running_viewer(
    settings: Settings, key: TicketKey | None = None, only: str | None = None
) -> Iterator[RunningViewer]:
    """Run the viewer until the end of the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = ViewServer(settings, key, only)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield RunningViewer(listening.getsockname()[1])
    finally:
        server.stop()
        thread.join(30)
        listening.close()
    assert not thread.is_alive()


def player_tarball(folder: Path) -> Path:
    """The npm package of the player as npm gives it. Skips the test when npm or its registry is missing or slow."""
    npm = program("npm", "the player comes from npm")
    try:
        done = subprocess.run(
            [npm, "pack", "--ignore-scripts", "--silent", f"{PACKAGE}@{VERSION}"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_NPM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not give {PACKAGE} {VERSION} within {_NPM_SECONDS} s")
    found = list(folder.glob("*.tgz"))
    if done.returncode or not found:
        pytest.skip(f"npm did not give {PACKAGE} {VERSION}: {done.stderr.strip()[-200:]}")
    return found[0]
