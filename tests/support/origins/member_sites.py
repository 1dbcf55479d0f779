"""Three web sites on one port of loopback, whose members log in by Basic, by Digest and in a form."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qs
from urllib.request import parse_http_list, parse_keqv_list

USER: Final = "anna maier"
REALM: Final = "Members, all of them"
MEMBERS: Final = "Only members read this"
FORM: Final = (
    "<form method=post action=/session><input type=hidden name=token value={token}>"
    "<input name=user><input type=password name=pass><button>Log in</button></form>"
)


class MemberSites:
    """The sites `basic.*`, `digest.*` and `form.*`; a context manager. Each has the pages `/members/` and below."""

    def __init__(self, password: str) -> None:
        self.password = password
        self.wrong = 0
        """How often wrong credentials came."""
        self.logouts = 0
        """How often a session was ended by its link."""
        self._nonces: dict[str, int] = {}
        self._tokens = set[str]()
        self._sessions = set[str]()
        sites = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                sites._get(self)

            def do_POST(self) -> None:
                sites._post(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def address(self) -> str:
        """HOST:PORT of the server."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _get(self, asked: BaseHTTPRequestHandler) -> None:
        kind = asked.headers.get("Host", "").partition(":")[0].split(".")[-2]
        if asked.path == "/":
            _send(asked, 200, "<a href=/members/>Members</a>")
        elif asked.path == "/login":
            token = secrets.token_hex(8)
            self._tokens.add(token)
            _send(asked, 200, FORM.format(token=token))
        elif asked.path == "/logout":
            self.logouts += 1
            self._sessions.clear()
            _send(asked, 200, "Good bye")
        elif not asked.path.startswith("/members/"):
            _send(asked, 404, "")
        elif self._is_member(asked, kind):
            more = "" if asked.path != "/members/" else "<a href=/logout>Log out</a><a href=/members/2>More</a>"
            _send(asked, 200, f"<p>{MEMBERS} {kind} {asked.path}</p>{more}")
        elif kind == "form":
            _send(asked, 302, "", Location="/login")
        else:
            _send(asked, 401, "Who are you?", **{"WWW-Authenticate": self._challenge(kind)})

    def _post(self, asked: BaseHTTPRequestHandler) -> None:
        given = parse_qs(asked.rfile.read(int(asked.headers["Content-Length"])).decode())
        fields = {name: values[0] for name, values in given.items()}
        is_ours = fields.get("token", "") in self._tokens
        if not is_ours or (fields.get("user"), fields.get("pass")) != (USER, self.password):
            self.wrong += 1
            _send(asked, 200, FORM.format(token="none"))
            return
        session = secrets.token_hex(16)
        self._sessions.add(session)
        _send(asked, 302, "", **{"Set-Cookie": f"sid={session}; HttpOnly; Path=/", "Location": "/members/"})

    def _is_member(self, asked: BaseHTTPRequestHandler, kind: str) -> bool:
        if kind == "form":
            cookie = re.search(r"sid=(\w+)", asked.headers.get("Cookie", ""))
            return cookie is not None and cookie[1] in self._sessions
        sent = asked.headers.get("Authorization", "")
        if not sent:
            return False
        is_right = self._is_basic(sent) if kind == "basic" else self._is_digest(sent, asked)
        self.wrong += not is_right
        return is_right

    def _is_basic(self, sent: str) -> bool:
        return sent == "Basic " + base64.b64encode(f"{USER}:{self.password}".encode()).decode()

    def _is_digest(self, sent: str, asked: BaseHTTPRequestHandler) -> bool:
        """Whether the answer is right for this request, and its count is a new one (RFC 7616 section 3.4)."""
        given = parse_keqv_list(parse_http_list(sent.removeprefix("Digest ")))
        nonce, count = given.get("nonce", ""), int(given.get("nc", "0"), 16)
        if given.get("uri") != asked.path or count <= self._nonces.get(nonce, count):
            return False
        self._nonces[nonce] = count

        def h(*parts: str) -> str:
            return hashlib.sha256(":".join(parts).encode()).hexdigest()

        ha1, ha2 = h(USER, REALM, self.password), h(asked.command, asked.path)
        return given["response"] == h(ha1, nonce, given["nc"], given["cnonce"], "auth", ha2)

    def _challenge(self, kind: str) -> str:
        if kind == "basic":
            return f'Negotiate, Basic realm="{REALM}", charset="UTF-8"'
        nonce = secrets.token_hex(8)
        self._nonces[nonce] = 0
        return f'Digest realm="{REALM}", qop="auth", algorithm=SHA-256, nonce="{nonce}"'


def _send(asked: BaseHTTPRequestHandler, status: int, body: str, **headers: str) -> None:
    text = f"<!doctype html><title>x</title>{body}".encode()
    asked.send_response(status)
    for name, value in {
        **headers,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": str(len(text)),
    }.items():
        asked.send_header(name, value)
    asked.end_headers()
    asked.wfile.write(text)
