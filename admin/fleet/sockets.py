"""Listening sockets, bound by the parent before any child starts.

So "port taken" is one clear line while nothing else has happened, and a killed child's callers wait in a backlog
that the parent keeps open until the next child takes over.
"""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import ExitStack
from typing import Final

BACKLOG: Final = 1024
SHARES_PORTS: Final = sys.platform == "linux"
"""Linux spreads connections over sockets with SO_REUSEPORT; elsewhere the processes share one socket."""


class PortError(Exception):
    """A port can't be listened on; the message names it and the remedy."""


def listen(host: str, port: int, count: int = 1, *, option: str) -> list[socket.socket]:
    """`count` listening sockets on one port, one for each process; `port` 0 picks a free one.

    `option` is the flag or setting that the message of PortError names. Without port sharing all are the same socket.
    """
    with ExitStack() as opened:
        first = opened.enter_context(_bound(host, port, option, shared=False))
        if count > 1 and SHARES_PORTS:
            # A port that others share can be joined unnoticed; only a bind without sharing tells that it is free.
            port = first.getsockname()[1]
            first.close()
            sockets = [opened.enter_context(_bound(host, port, option, shared=True)) for _ in range(count)]
        else:
            sockets = [first] * count
        for each in sockets:
            each.listen(BACKLOG)
        opened.pop_all()
    return sockets


def address(listener: socket.socket) -> str:
    """`127.0.0.1:8000`, or `[::1]:8000`."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bound(host: str, port: int, option: str, *, shared: bool) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise PortError(_explain(host, port, option, error)) from error
    return listener


def _explain(host: str, port: int, option: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken; choose another with {option}, or {option} 0 for a free one"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} needs more rights than this user has; choose one above 1023 with {option}"
    return f"can't listen on {host}:{port}: {error.strerror or error}; check {option} and the host"
