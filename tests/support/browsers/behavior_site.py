"""A web site of the pages in `tests/browsers/behaviors/pages/`, one for each feature that a behaviour has to reach.

A page names in its head what must be fetched (`expects`), what must be a link (`links`) and what must not be asked for
(`forbids`). `/hit/NAME` answers any name, after `wait` milliseconds.
"""

from __future__ import annotations

import html
import re
import threading
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

from support.places import TESTS

PAGES: Final = TESTS / "browsers" / "behaviors" / "pages"
_TYPES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".mp4": "video/mp4",
    ".mp3": "audio/mpeg",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
}


@dataclass(frozen=True)
class Feature:
    """A page of the site, and the paths with which it is judged."""

    name: str
    expects: tuple[str, ...]
    links: tuple[str, ...]
    forbids: tuple[str, ...]

    @classmethod
    def read(cls, name: str) -> Self:
        """The feature of a page."""
        text = (PAGES / f"{name}.html").read_text("utf-8")
        metas = dict(re.findall(r'<meta name="(\w+)" content="([^"]*)">', text))
        parts = {key: tuple(html.unescape(value).split()) for key, value in metas.items()}
        return cls(name, *(parts.get(key, ()) for key in ("expects", "links", "forbids")))


class FeatureSite:
    """The site on a free port of an address of its own."""

    def __init__(self, address: str = "127.0.1.77") -> None:
        self.asked: list[str] = []
        """Paths of all requests, with the queries that tell answers apart."""
        self._server = ThreadingHTTPServer((address, 0), partial(_Handler, self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, path: str) -> str:
        """The URL of a path."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}{path}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head

    def __init__(self, site: FeatureSite, *arguments: object) -> None:
        self._site = site
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._site.asked.append(parts.path)
        wait = int(parse_qs(parts.query).get("wait", ["0"])[0])
        if wait:
            self._site.closing.wait(wait / 1000)
        file = PAGES / parts.path.lstrip("/")
        if file.is_file():
            self._answer(200, file.read_bytes(), file.suffix)
        elif parts.path.startswith("/hit/"):
            self._answer(200, f"answer of {parts.path}".encode(), Path(parts.path).suffix)
        else:
            self._answer(404, b"nothing here", ".html")

    def do_POST(self) -> None:
        self._site.asked.append(urlsplit(self.path).path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(200, b"posted", ".html")

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep the output of tests clean."""

    def _answer(self, status: int, body: bytes, suffix: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", _TYPES.get(suffix, "text/plain"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
