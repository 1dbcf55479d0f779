"""The port of a session can serve another session later, when the client asked for this.

A browser keeps its cache only as long as the address of its proxy stays the same, so that two pages share a port. No
request of the first page may come in by the session of the second. Between the two sessions the port refuses each
connection and counts it. A port that was asked for meanwhile is not given to another session.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import Final, cast

from proxy.clients.connection import ClientConnection, ConnectionHost
from proxy.refusal import Refused
from proxy.sessions.session import Session

BACKLOG: Final = 1024
_BREAK_SECONDS: Final = 5.0
"""Broken connections have ended within this time, or the port is given up."""
_PAUSE_SECONDS: Final = 0.002


class SessionListener:
    """The listener makes a connection of its present session for each client, and refuses clients without a session."""

    def __init__(self, owner: ConnectionHost, session: Session) -> None:
        self._owner = owner
        self._session: Session | None = session
        self._refused = 0
        """Number of connections that came while there was no session."""
        self._server: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> None:
        """Listen on the port. Raises OSError."""
        self._server = await self._owner.loop.create_server(self._connection, host, port)

    async def take(self, listener: socket.socket) -> None:
        """Listen on a socket of an earlier process."""
        self._server = await self._owner.loop.create_server(self._connection, sock=listener, backlog=BACKLOG)

    @property
    def server(self) -> asyncio.Server:
        """Return the server. Call `listen` or `take` before."""
        assert self._server is not None
        return self._server

    @property
    def socket(self) -> socket.socket:
        """Return the socket. Use it for its address only."""
        return self.server.sockets[0]

    def close(self) -> None:
        """Accept no more connections; open connections stay."""
        self.server.close()

    async def part(self) -> bool:
        """End the session's use of the port: break its connections, and refuse further ones until `serve`.

        Return whether no exchange was in progress, and all connections have ended. Otherwise close the port.
        """
        session, self._session = self._session, None
        assert session is not None
        is_calm = session.in_flight == 0
        deadline = self._owner.loop.time() + _BREAK_SECONDS
        for connection in self._connections_of(session):
            is_calm = is_calm and connection.stream is None
            connection.abort()
        while self._connections_of(session) and self._owner.loop.time() < deadline:
            await asyncio.sleep(_PAUSE_SECONDS)
        return is_calm and not self._connections_of(session)

    def serve(self, session: Session) -> None:
        """Serve this session from now on. Raises Refused (409) when a client came since the last session."""
        self._refuse_waiting()
        if self._refused:
            port = self.socket.getsockname()[1]
            raise Refused(
                409,
                f"port {port} was asked for {self._refused} times since its last session was closed; make a session"
                " without 'port_of'",
                "port",
            )
        self._session = session

    def _connection(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        if self._session is not None:
            return ClientConnection(self._owner, self._session)
        self._refused += 1
        return _RefusedConnection()

    def _refuse_waiting(self) -> None:
        """Refuse the connections that the kernel holds for us. Nothing else runs meanwhile."""
        with socket.socket(fileno=os.dup(self.socket.fileno())) as listener:
            listener.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    self._refused += 1

    def _connections_of(self, session: Session) -> list[ClientConnection]:
        return [found for found in self._owner.connections.values() if found.listener is session]


class _RefusedConnection(asyncio.Protocol):
    """A connection that came while the port had no session is broken at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Break the connection."""
        cast(asyncio.Transport, transport).abort()
