"""The listening sockets of one recording process: the main port, a port for credentials, a port for each session."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import Final

from proxy.connection import ClientConnection, House
from proxy.gate import Session, SessionSpec
from proxy.ports import SessionPorts
from proxy.refusal import Refused

_BACKLOG: Final = 1024
_HERE: Final = "127.0.0.1"


class Doors:
    """Opens and closes ports; each connection that comes in becomes a `ClientConnection` of the house."""

    def __init__(self, house: House, ports: SessionPorts) -> None:
        self._house = house
        self._ports = ports
        self._main: asyncio.Server | None = None
        self._direct: asyncio.Server | None = None
        self._by_session: dict[str, asyncio.Server] = {}

    async def open(self, listener: socket.socket) -> None:
        """Serve the main port, and one of this process alone for sessions that are known by credentials."""
        loop = self._house.loop
        self._main = await loop.create_server(partial(ClientConnection, self._house), sock=listener, backlog=_BACKLOG)
        self._direct = await loop.create_server(partial(ClientConnection, self._house), _HERE, 0)

    def close(self) -> None:
        """Take no more connections; those that are there stay."""
        for server in (self._main, self._direct, *self._by_session.values()):
            if server is not None:
                server.close()

    async def open_session(self, spec: SessionSpec, *, listen: bool) -> tuple[Session, str, int]:
        """A new session; with `listen` on a port of its own, else on this process's, chosen by credentials."""
        scripts = self._house.scripts.load(spec.scripts)
        session = self._house.gate.open(spec)
        session.scripts = scripts
        if listen:
            try:
                self._by_session[session.id] = await self._listen_for(session)
            except Refused:
                self._house.gate.close(session)
                raise
        server = self._by_session[session.id] if listen else self._direct
        assert server is not None
        host, port = server.sockets[0].getsockname()[:2]
        return session, host, port

    async def close_session(self, session: Session) -> None:
        """Close its port, and the connections that came in by it."""
        server = self._by_session.pop(session.id, None)
        if server is not None:
            server.close()
        for connection in list(self._house.connections.values()):
            if connection.listener is session:
                connection.close()
        self._house.gate.close(session)
        if session.scripts is not None:
            session.scripts.close()

    async def _listen_for(self, session: Session) -> asyncio.Server:
        taken: OSError | None = None
        for port in self._ports.candidates():
            try:
                return await self._house.loop.create_server(
                    partial(ClientConnection, self._house, session), _HERE, port
                )
            except OSError as error:
                taken = error
        raise Refused(503, f"no port is free for the session: {taken}", "ports")
