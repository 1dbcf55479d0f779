"""Open the listening sockets of a fleet in the parent, before any child starts.

So a port that is in use is one clear error before anything else has happened. The parent keeps the sockets open:
clients that connect while a child is restarted wait in the backlog.
"""

from __future__ import annotations

import errno
import logging
import socket
import sys
from contextlib import ExitStack
from typing import Any, Final

from archive.listener_access import Clients
from archive.local_endpoints import host_and_port

log = logging.getLogger(__name__)

BACKLOG: Final = 1024
SHARES_PORTS: Final = sys.platform == "linux"
"""Linux distributes connections over sockets with SO_REUSEPORT. On other systems the processes share one socket."""


class PortError(Exception):
    """A port can't be used. The message names the port, the option and the remedy."""


def listen(host: str, port: int, count: int = 1, *, option: str) -> list[socket.socket]:
    """Return `count` listening sockets on one port, one for each process; `port` 0 picks a free port.

    Without SO_REUSEPORT the same socket is returned `count` times. Raises PortError; its message names `option`.
    """
    with ExitStack() as opened:
        first = opened.enter_context(_bound(host, port, option, shared=False))
        if count > 1 and SHARES_PORTS:
            # A bind with SO_REUSEPORT succeeds although another fleet has the port; a bind without it fails then.
            port = first.getsockname()[1]
            first.close()
            sockets = [opened.enter_context(_bound(host, port, option, shared=True)) for _ in range(count)]
        else:
            sockets = [first] * count
        for each in sockets:
            each.listen(BACKLOG)
        opened.pop_all()
    return sockets


def restricted(listener: socket.socket, clients: Clients) -> socket.socket:
    """Return the listening socket, which closes connections of all other clients from now on."""
    if clients.is_everybody:
        return listener
    return _RestrictedSocket(listener.detach(), clients)


class _RestrictedSocket(socket.socket):
    """The listening socket closes the connections of clients that are not allowed."""

    def __init__(self, fileno: int, clients: Clients) -> None:
        super().__init__(fileno=fileno)
        self._clients = clients

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises ConnectionAbortedError for a client that is not allowed."""
        stream, peer = super().accept()
        if self._clients.admits(str(peer[0]), str(stream.getsockname()[0])):
            return stream, peer
        stream.close()
        log.info("refused a connection from %s: the address is in no network of admin.allow_clients", peer[0])
        raise ConnectionAbortedError(errno.ECONNABORTED, "the client is not in admin.allow_clients")


def address(listener: socket.socket) -> str:
    """Return the socket's address as text: `127.0.0.1:8000` or `[::1]:8000`."""
    return host_and_port(*listener.getsockname()[:2])


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
        return f"port {port} of {host} is in use; choose another with {option}, or {option} 0 for a free port"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} needs more rights than this user has; choose a port above 1023 with {option}"
    return f"can't listen on {host}:{port}: {error.strerror or error}; check {option} and the host"
