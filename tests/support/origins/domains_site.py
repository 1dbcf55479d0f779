"""Many sites on one port of 127.0.0.1, told apart by their names, for tests of jobs with several domains.

The front page of a site links to its pages, `/p/0` and so on; each has 2,000 characters of its own and shows a picture
from `http://cdn.test/`, which is the same for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Final, Self

PICTURE: Final = b"\x89PNG\r\n\x1a\n" + bytes(3000)


class DomainsSite:
    """The sites; `pages` says how many pages each has besides its front page."""

    def __init__(self, pages: Mapping[str, int]) -> None:
        self.asked: list[str] = []
        """Host and path of each request."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host = self.headers.get("Host", "")
                site.asked.append(host + self.path)
                status, kind, body = _answer(host, self.path, pages.get(host.removeprefix("www."), 0))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def port(self) -> int:
        """Where all of them listen."""
        return int(self._server.server_address[1])

    def resolving(self, *names: str) -> list[str]:
        """Flags of a command that let these names lead here."""
        return [part for name in names for part in ("--resolve", f"{name}=127.0.0.1:{self.port}")]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _answer(host: str, path: str, pages: int) -> tuple[int, str, bytes]:
    if path.endswith(".png"):
        return 200, "image/png", PICTURE
    if path == "/" and pages:
        links = "".join(f"<a href='/p/{number}'>page {number}</a>" for number in range(pages))
        return 200, "text/html", f"<html>{host}{links}</html>".encode()
    number = path.removeprefix("/p/")
    if number.isdigit() and int(number) < pages:
        text = hashlib.sha256(f"{host}{path}".encode()).hexdigest() * 31
        return 200, "text/html", f"<html><img src='http://cdn.test/same.png'>{text}</html>".encode()
    return 404, "text/plain", b"no such page"
