"""ReplayWeb.page as a reader uses it: its npm package and WACZ files on a local server, in a real Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from playwright.sync_api import FrameLocator, sync_playwright

from bench.peers.peer import cache_folder
from support.processes import machine_needs as needs

VERSION: Final = "2.5.3"
_TYPES: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".wacz": "application/wacz",
    ".json": "application/json",
}
_APP: Final = "<!doctype html><meta charset=utf-8><script src=./ui.js></script><replay-app-main></replay-app-main>"
"""The page in the player's own frame, until its service worker serves it."""


def player() -> Path:
    """The unpacked npm package; skips the test when it is neither in the cache nor to be had by npm."""
    folder = cache_folder(f"replaywebpage-{VERSION}")
    if (folder / "sw.js").exists():
        return folder
    npm = needs.program("npm", "it fetches ReplayWeb.page")
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(
            [npm, "pack", f"replaywebpage@{VERSION}"],
            cwd=work,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"npm can't fetch replaywebpage: {done.stderr.strip()[-200:]}")
        with tarfile.open(next(Path(work).glob("*.tgz"))) as package:
            package.extractall(work, filter="data")
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for name in ("ui.js", "sw.js"):
            shutil.copy(Path(work) / "package" / name, fresh)
        if not folder.exists():
            fresh.rename(folder)
    return folder


class _Handler(BaseHTTPRequestHandler):
    """Sends files of these folders, whole or a range of them, as a static server does."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head
    folders: tuple[Path, ...] = ()

    def do_HEAD(self) -> None:
        self._send(is_head=True)

    def do_GET(self) -> None:
        self._send(is_head=False)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _send(self, *, is_head: bool) -> None:
        path_of_url = self.path.partition("?")[0]
        name = path_of_url.rpartition("/")[2] or ("player.html" if path_of_url == "/replay/" else "index.html")
        path = next((folder / name for folder in self.folders if (folder / name).is_file()), None)
        if path is None:
            self.send_error(404)
            return
        data, status, asked = path.read_bytes(), 200, self.headers.get("Range", "")
        fields = {"Content-Type": _TYPES.get(path.suffix, "application/octet-stream"), "Accept-Ranges": "bytes"}
        if asked.startswith("bytes="):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start = int(first) if first else len(data) - int(last)
            end = min(int(last) + 1 if first and last else len(data), len(data))
            fields["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
            data, status = data[start:end], 206
        self.send_response(status)
        for field, value in fields.items():
            self.send_header(field, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if not is_head:
            self.wfile.write(data)


@contextmanager
def playing(wacz: Path, url: str, timestamp: str = "") -> Iterator[FrameLocator]:
    """The archived page in the player; the content of the page is in the frame that is given."""
    page_of_player = (
        "<!doctype html><meta charset=utf-8><script src=/ui.js></script>"
        f'<replay-web-page source="/{quote(wacz.name)}" url="{url}" ts="{timestamp}" replayBase="/replay/" '
        'embed="replayonly" style="height:600px"></replay-web-page>'
    )
    executable = needs.chromium()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index.html").write_text(page_of_player)
        (Path(folder) / "player.html").write_text(_APP)
        handler = type("Handler", (_Handler,), {"folders": (Path(folder), player(), wacz.parent)})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
                    page = browser.new_page()
                    page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
                    yield page.frame_locator("replay-web-page iframe").frame_locator("iframe")
                    browser.close()
            finally:
                server.shutdown()
