"""A site whose pages form a chain, for tests that stop or kill a crawl at a chosen page.

`/` links to `/1`, that to `/2`, and so on; each page embeds an image that is the same for all. A page can be held:
its answer then waits until it is let go.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

IMAGE: Final = b"\x89PNG\r\n\x1a\n" + bytes(2000)
_HOLD_SECONDS: Final = 60.0


class ChainSite:
    """The site, on a free port of 127.0.0.1; a context manager."""

    def __init__(self, pages: int) -> None:
        self.asked: list[str] = []
        """Paths in the order in which they were asked for."""
        self._pages = pages
        self._held: dict[str, threading.Event] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head

            def do_GET(self) -> None:
                site.asked.append(self.path)
                if gate := site._held.get(self.path):
                    gate.wait(_HOLD_SECONDS)
                body, kind = site._answer(self.path)
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """The first page."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    @property
    def urls(self) -> set[str]:
        """Everything that a whole crawl fetches, robots.txt left out."""
        return {self._url(number) for number in range(self._pages)} | {
            f"{self.url}image-{number}.png" for number in range(self._pages)
        }

    def hold(self, path: str) -> None:
        """Let whoever asks for it wait."""
        self._held[path] = threading.Event()

    def let_go(self, path: str) -> None:
        """Answer those who wait, and from now on everybody."""
        self._held[path].set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for gate in self._held.values():
            gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _url(self, number: int) -> str:
        return self.url + (str(number) if number else "")

    def _answer(self, path: str) -> tuple[bytes, str]:
        if path.startswith("/image-"):
            return IMAGE, "image/png"
        number = int(path[1:] or 0) if path[1:].isdigit() or path == "/" else self._pages
        if number >= self._pages:
            return b"", "text/plain"
        link = f"<a href='/{number + 1}'>next</a>" if number + 1 < self._pages else ""
        return f"<html><img src='/image-{number}.png'><p>page {number}</p>{link}</html>".encode(), "text/html"
