"""The server of the site is uvicorn: a thread pool runs the Flask pages, and live streams run on the event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

import uvicorn
from flask import Flask

from admin.collections.tasks.worker import TaskWorker
from admin.serving.request_bodies import RequestBodies
from admin.serving.web_server import send_at_once, serve, server_config
from admin.serving.wsgi_threads import WsgiThreads
from admin.site.forwarding import Forwarding
from admin.site.live import PREFIX, LiveStreams, Receive, Scope, Send
from admin.site.screens import ScreenSockets
from archive.listener_access import TWO_LENGTHS, Clients, has_two_lengths
from archive.settings.admin import AdminSettings

WORKERS: Final = 16
_GRACE_SECONDS: Final = 5


class _Server(uvicorn.Server):
    """The server ends live streams first when it stops; it would wait for them otherwise."""

    def __init__(self, streams: Sequence[LiveStreams | ScreenSockets], config: uvicorn.Config) -> None:
        super().__init__(config)
        self._streams = streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, streams first."""
        for each in self._streams:
            each.stop()
        await super().shutdown(sockets)


class SiteServer:
    """Serves the site on sockets that are bound already, until it is told to stop."""

    def __init__(
        self,
        app: Flask,
        body_limit: Callable[[Any], int],
        live: LiveStreams,
        screens: ScreenSockets,
        tasks: TaskWorker,
        admin: AdminSettings,
    ) -> None:
        """Make the server, which is not started yet. `admin` says who may connect, and by which proxies.

        `body_limit` returns how long the body of a request, given as an ASGI scope, may be. `tasks` works as long as
        the server runs.
        """
        self._tasks = tasks
        self._pages: Any = RequestBodies(WsgiThreads(app, WORKERS), body_limit)
        self._live = live
        self._screens = screens
        self._clients = Clients(admin.allow_clients)
        self._forwarded = Forwarding(self._served, admin)
        self._server = _Server(
            (live, screens),
            server_config(self._application, grace_seconds=_GRACE_SECONDS, most_at_once=1000),
        )

    def run(self, sockets: list[socket.socket]) -> None:
        """Serve until `stop` is called, or a signal comes that uvicorn handles itself."""
        send_at_once(sockets)
        self._tasks.start()
        try:
            asyncio.run(serve(self._server, sockets))
        finally:
            self._tasks.stop()

    def stop(self) -> None:
        """Let the server end: open streams end at once, requests within the grace time. Safe to call from anywhere."""
        self._server.should_exit = True

    async def _application(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        peer, own = scope.get("client") or ("", 0), scope.get("server") or ("", 0)
        if not self._clients.admits(str(peer[0]), str(own[0])):
            if scope["type"] == "http":
                await _refuse(send, 403, "this client's address is not allowed here")
            return
        if scope["type"] == "websocket":
            await self._forwarded(scope, receive, send)
            return
        if has_two_lengths(scope["headers"]):
            await _refuse(send, 400, TWO_LENGTHS)
            return
        await self._forwarded(scope, receive, send)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._screens(scope, receive, send)
        elif scope["path"].startswith(PREFIX):
            await self._live(scope, receive, send)
        else:
            await self._pages(scope, receive, send)


async def _refuse(send: Send, status: int, why: str) -> None:
    """Answer with one line, and close the connection, so that nothing that follows on it is taken for a request."""
    headers = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})
