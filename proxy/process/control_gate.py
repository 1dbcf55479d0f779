"""The control port decides at the head of a request who may speak to it, before it reads the body.

Connections that have not shown the token are few at a time, and each has little time and no memory beyond a head.
Any program on this machine can connect, and so can a page in a browser.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable
from typing import Any, Final, Self, cast

from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.httputil import (
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerRequest,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import IOStream
from tornado.web import Application

from archive.listener_access import HostNames

MAX_RECORD: Final = 256 * 1024 * 1024
"""Bytes of a record that is handed in."""
MAX_COMMAND: Final = 16 * 1024 * 1024
"""Bytes of any other body: a session may have thousands of rules."""
_MOST_UNAUTHENTICATED: Final = 32
_TOKEN_SECONDS: Final = 20.0
"""How long a connection may take to show the token."""
_MOST_AUTHENTICATED: Final = 512
"""Connections that have shown it."""
_BODY_SECONDS: Final = 300.0
_IDLE_SECONDS: Final = 600.0
_DISCARDED_BYTES: Final = 65_536
"""A refused body up to this size is read and thrown away, so that its sender surely reads the answer."""


class GatedApplication(Application):
    """Routes requests with one of our names in Host and with the token. The application refuses all others itself."""

    def __init__(self, token: str, names: HostNames, handlers: list[Any], **settings: Any) -> None:
        super().__init__(handlers, **settings)
        self._authorization = f"Bearer {token}".encode()
        self._names = names
        self.server: GatedServer | None = None

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Return the handler of a request. tornado calls this after the head and before the body."""
        connection = cast(HTTP1Connection, request.connection)
        status, why = self._refusal_of(request)
        if status:
            return _Refusal(connection, status, why)
        if self.server is not None:
            self.server.mark_authenticated(connection.stream)
        longest = MAX_RECORD if request.path.endswith("/records") else MAX_COMMAND
        if (length := _length(request.headers)) > longest:
            return _Refusal(connection, 413, f"the body has {length} bytes; this path accepts at most {longest}")
        connection.set_max_body_size(longest)
        return super().find_handler(request, **kwargs)

    def _refusal_of(self, request: HTTPServerRequest) -> tuple[int, str]:
        """Return the status that refuses the request, and the reason. The status is 0 when the request may go on."""
        if refusal := self._names.refusal(request.headers.get_list("Host")):
            return 421, refusal
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), self._authorization):
            return 401, "the header Authorization must be 'Bearer TOKEN', with the token in control.token of the home"
        return 0, ""


class _Refusal(HTTPMessageDelegate):
    """Answers one request and closes its connection."""

    def __init__(self, connection: HTTP1Connection, status: int, why: str) -> None:
        self._connection = connection
        self._status = status
        self._why = why
        self._is_answered = False

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        """Answer at once when the body is too large to be read and thrown away."""
        self._connection.set_max_body_size(_DISCARDED_BYTES)
        if _length(headers) > _DISCARDED_BYTES or "Transfer-Encoding" in headers:
            self._answer()
        return None

    def finish(self) -> None:
        """Note that the body has been read away."""
        self._answer()

    def _answer(self) -> None:
        if self._is_answered:
            return
        self._is_answered = True
        body = json.dumps({"error": self._why}).encode() + b"\n"
        fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
        self._connection.write_headers(
            ResponseStartLine("HTTP/1.1", self._status, "Refused"), HTTPHeaders(fields), body
        )
        self._connection.finish()


class GatedServer(HTTPServer):
    """The server bounds the connections of clients that have not shown the token, and of all clients."""

    _unauthenticated: dict[IOStream, asyncio.TimerHandle]
    _authenticated: set[IOStream]

    @classmethod
    def of(cls, application: GatedApplication) -> Self:
        """Return a server with bounded bodies and times."""
        server = cls(
            application,
            max_buffer_size=2 * _DISCARDED_BYTES,
            max_body_size=MAX_RECORD,
            body_timeout=_BODY_SECONDS,
            idle_connection_timeout=_IDLE_SECONDS,
        )
        server._unauthenticated, server._authenticated = {}, set()
        application.server = server
        return server

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Take a new connection (tornado's hook). When too many lack the token, close the oldest of these."""
        self._forget_closed()
        if len(self._unauthenticated) >= _MOST_UNAUTHENTICATED:
            self._close_unauthenticated(next(iter(self._unauthenticated)))
        if len(self._authenticated) >= _MOST_AUTHENTICATED:
            stream.close()
            return
        loop = asyncio.get_running_loop()
        self._unauthenticated[stream] = loop.call_later(_TOKEN_SECONDS, self._close_unauthenticated, stream)
        super().handle_stream(stream, address)

    def mark_authenticated(self, stream: IOStream) -> None:
        """Note that the connection has shown the token."""
        timer = self._unauthenticated.pop(stream, None)
        if timer is not None:
            timer.cancel()
            self._authenticated.add(stream)

    def _close_unauthenticated(self, stream: IOStream) -> None:
        timer = self._unauthenticated.pop(stream, None)
        if timer is not None:
            timer.cancel()
            stream.close()

    def _forget_closed(self) -> None:
        for stream in [stream for stream in self._unauthenticated if stream.closed()]:
            self._close_unauthenticated(stream)
        self._authenticated = {stream for stream in self._authenticated if not stream.closed()}


def _length(headers: HTTPHeaders) -> int:
    """Return the body's length as its head says; 0 when that can't be read, which tornado refuses later."""
    text = headers.get("Content-Length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
