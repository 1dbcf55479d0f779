"""A site with a login form, a login by JSON and a login by HTTP, whose pages are seen with the cookie alone."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

USER = "karla"
PASSWORD = "gehe1m-Zuckerwatte&9ß"
_FORM = """<!doctype html><html lang="en"><title>Log in &amp; read</title>
<form method="post" action="/login"><input name="user" id="user"><input type="password" name="password" id="password">
<button id="send">Log in</button></form></html>"""
_INSIDE = '<!doctype html><html lang="en"><title>Inside</title><h1>Inside</h1><a href="/second">second</a></html>'
_SECOND = '<!doctype html><html lang="en"><title>Second page</title><h1>Second</h1></html>'


class LoginSite:
    """The site, on a free port of 127.0.0.1; a context manager."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        """The bodies of POST requests as the site got them."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head

            def do_GET(self) -> None:
                is_inside = "token=yes" in self.headers.get("Cookie", "") or "Authorization" in self.headers
                if self.path == "/":
                    self._answer(200, _FORM)
                elif self.path == "/odd-form":
                    self._answer(
                        200, '<title>Odd</title><input id=x><INPUT id=kw-id TYPE="Password" name="kw geheim&amp;1">'
                    )
                elif self.path == "/profile":
                    self._answer(200, site.bodies[-1].decode())
                elif self.path in ("/inside", "/second"):
                    page = _INSIDE if self.path == "/inside" else _SECOND
                    self._answer(200 if is_inside else 401, page if is_inside else "no", ("WWW-Authenticate", "Basic"))
                else:
                    self._answer(404, "none")

            def do_POST(self) -> None:
                site.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
                self._answer(303, "", ("Set-Cookie", "token=yes; Path=/"), ("Location", "/inside"))

            def _answer(self, status: int, text: str, *headers: tuple[str, str]) -> None:
                body = text.encode()
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def url(self, path: str = "/") -> str:
        """The URL of a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
