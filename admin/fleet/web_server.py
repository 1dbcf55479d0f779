"""The admin site and the viewer are served by uvicorn with the same options, on sockets that are bound already."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any, Final

import uvicorn

_KEEP_ALIVE_SECONDS: Final = 30


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
        ws="wsproto",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=has_date_header,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_seconds,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        limit_concurrency=most_at_once,
    )


def send_at_once(sockets: Iterable[socket.socket]) -> None:
    """Let the sockets send each part of an answer at once.

    asyncio sets the option only on sockets whose protocol number is not 0. Without the option an answer, which is
    written in two parts, waits 40 ms for the client's acknowledgement of the first part.
    """
    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
