"""Web applications are served by uvicorn with the same options, on sockets that are bound already."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import uvicorn

from admin.serving.connections import PATIENCE_SECONDS, BoundedConnection


def server_config(
    application: Any, *, grace_seconds: int, most_at_once: int, has_date_header: bool = True
) -> uvicorn.Config:
    """Return the options of a server for an ASGI application.

    At the end, the server waits `grace_seconds` for requests under way. With more than `most_at_once` connections or
    requests, it answers 503. The application sets all headers but the date; without `has_date_header`, that one too.
    """
    return uvicorn.Config(
        application,
        interface="asgi3",
        http=BoundedConnection,
        ws="wsproto",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=has_date_header,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_seconds,
        timeout_keep_alive=int(PATIENCE_SECONDS),
        limit_concurrency=most_at_once,
    )


def send_at_once(sockets: Iterable[socket.socket]) -> None:
    """Let the sockets send each part of an answer at once.

    asyncio sets the option only on sockets whose protocol number is not 0. Without the option an answer, which is
    written in two parts, waits 40 ms for the client's acknowledgement of the first part.
    """
    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


async def serve(server: uvicorn.Server, sockets: Sequence[socket.socket]) -> None:
    """Serve until the server is told to stop, and break the connections that outlive the grace time.

    uvicorn leaves the connection of a client that does not read its answer open.
    """
    await server.serve(sockets=list(sockets))
    for connection in list(server.server_state.connections):
        if connection.transport is not None:
            connection.transport.abort()
    await asyncio.sleep(0)  # the loop tells the connections of their end in this turn


class ServerThread:
    """A thread serves an application until it is closed."""

    def __init__(self, config: uvicorn.Config, sockets: Sequence[socket.socket], name: str) -> None:
        """Begin to serve on sockets that are bound already. `name` is the thread's."""
        send_at_once(sockets)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(serve(self._server, sockets)), name=name, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Let requests under way end within the grace time of the configuration, and return then."""
        self._server.should_exit = True
        self._thread.join()
