"""A web server on loopback that answers for any number of host names, some of them slowly and with many pages."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

SLOW_SECONDS: Final = 20.0
AT_ONCE: Final = 4
"""Pages of a slow host that come at once, so that a job soon has some objects."""


class ManySites:
    """Serves one page for each host, and `pages` pages for hosts whose names have `slow`.

    Most pages of such a host are slow until `hurry` is called, so that a job lasts as long as a test needs.
    """

    def __init__(self, pages: int = 16) -> None:
        sites = self
        self._hurrying = threading.Event()
        self.pages = pages
        self.count = 0
        """Pages that were asked for so far."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                sites._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """HOST:PORT of the server."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def hurry(self) -> None:
        """Answer all pages at once from now on."""
        self._hurrying.set()

    def dawdle(self) -> None:
        """Answer the pages of slow hosts slowly again."""
        self._hurrying.clear()

    def stop(self) -> None:
        """Answer nothing any more. May be called again."""
        self.hurry()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def _answer(self, asked: BaseHTTPRequestHandler) -> None:
        host = asked.headers.get("Host", "").partition(":")[0]
        if asked.path == "/robots.txt":
            self._send(asked, 404, "text/plain", b"")
            return
        self.count += 1
        links = ""
        if "slow" in host:
            number = asked.path.rpartition("/")[2]
            if number.isdecimal() and int(number) >= AT_ONCE:
                self._hurrying.wait(SLOW_SECONDS)
            links = "".join(f'<a href="/page/{number}">{number}</a> ' for number in range(self.pages))
        text = f"<!doctype html><title>{host}</title><h1>This is {host}</h1><p>{asked.path}</p>{links}"
        self._send(asked, 200, "text/html; charset=utf-8", text.encode())

    @staticmethod
    def _send(asked: BaseHTTPRequestHandler, status: int, kind: str, body: bytes) -> None:
        asked.send_response(status)
        asked.send_header("Content-Type", kind)
        asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        asked.wfile.write(body)
