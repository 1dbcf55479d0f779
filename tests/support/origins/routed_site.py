"""A site whose answers a function of the test computes, for chains without end and for answers that cookies change."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import trustme


@dataclass(frozen=True)
class Routed:
    """An answer. `headers` may have several values of a name, as a list of pairs."""

    body: bytes = b""
    content_type: str = "text/html"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Asked:
    """A request as the site got it."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def cookie(self) -> str:
        """The field Cookie."""
        return self.headers.get("Cookie", "")


type Routes = Callable[[Asked], Routed | None]


class RoutedSite:
    """The site, on a free port of an address of the loopback; a context manager. None is answered with 404."""

    def __init__(
        self, routes: Routes, address: str = "127.0.1.17", tls: trustme.CA | None = None, port: int = 0
    ) -> None:
        """With `tls`, the site speaks https with a certificate of this authority."""
        self.requests: list[Asked] = []
        self._scheme = "http" if tls is None else "https"
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head

            def do_GET(self) -> None:
                asked = Asked(self.path, dict(self.headers.items()))
                site.requests.append(asked)
                answer = routes(asked) or Routed(b"none", status=404)
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer((address, port), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.issue_cert(address).configure_cert(context)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def url(self, path: str = "/") -> str:
        """The URL of a path."""
        address, port = self._server.server_address[:2]
        return f"{self._scheme}://{address!s}:{port}{path}"

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, without robots.txt."""
        return [asked.path for asked in self.requests if asked.path != "/robots.txt"]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
