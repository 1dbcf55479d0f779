"""The listening sockets of one recording process: the main port, a port for credentials, a port for each session."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from proxy.connection import ClientConnection, House
from proxy.gate import Past, Session, SessionSpec
from proxy.handover import Heirloom
from proxy.ports import SessionPorts
from proxy.refusal import Refused

log = logging.getLogger(__name__)

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
        self._is_closed = False

    async def open(self, listener: socket.socket) -> None:
        """Serve the main port, and one of this process alone for sessions that are known by credentials."""
        loop = self._house.loop
        self._main = await loop.create_server(partial(ClientConnection, self._house), sock=listener, backlog=_BACKLOG)
        if self._direct is None:
            self._direct = await loop.create_server(partial(ClientConnection, self._house), _HERE, 0)

    def close(self) -> None:
        """Take no more connections; those that are there stay."""
        self._is_closed = True
        for server in (self._main, self._direct, *self._by_session.values()):
            if server is not None:
                server.close()

    async def inherit(self, heirlooms: Sequence[Heirloom]) -> None:
        """Serve the ports that another process served before, for the same sessions; before `open`."""
        for heirloom in heirlooms:
            try:
                session = self._known_again(heirloom.facts)
            except Refused as error:  # by the settings as they are now
                log.error("session %s is closed: %s", heirloom.facts["id"], error)
                continue
            if heirloom.listener is not None:
                make = partial(ClientConnection, self._house, session)
                server = await self._house.loop.create_server(make, sock=heirloom.listener, backlog=_BACKLOG)
                if session is None:
                    self._direct = server
                else:
                    self._by_session[session.id] = server

    def bequeath(self) -> list[Heirloom]:
        """Everything for the next process, which gets the sockets themselves; then `close`."""
        assert self._direct is not None
        given = [Heirloom({"direct": True}, _same(self._direct))]
        for session in self._house.gate.sessions.values():
            server = self._by_session.get(session.id)
            if server is None and session.given.get("listen"):
                continue  # it is being made just now; who asked for it is sent to the next process
            facts = {"id": session.id, "token": session.token, "given": session.given, "report": session.told()}
            given.append(Heirloom(facts, _same(server) if server is not None else None))
        return given

    async def open_session(self, given: dict[str, Any]) -> tuple[Session, str, int]:
        """A new session as a control request asks for it; with `listen` on a port of its own.

        Without, it is on this process's, chosen by credentials. Raises Refused.
        """
        listen = given.get("listen") is True
        session = self._house.gate.adopt(self._session(given))
        if listen:
            try:
                self._by_session[session.id] = await self._listen_for(session)
            except Refused:
                await self.close_session(session)
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
        make = partial(ClientConnection, self._house, session)
        for port in self._ports.candidates():
            try:
                server = await self._house.loop.create_server(make, _HERE, port)
            except OSError as error:
                taken = error
                continue
            if not self._is_closed:
                return server
            server.close()
            raise Refused(503, "this process is being replaced; ask again", "replaced")
        raise Refused(503, f"no port is free for the session: {taken}", "ports")

    def _known_again(self, facts: dict[str, Any]) -> Session | None:
        """The session as its last process knew it; None for the port of sessions without one."""
        if "id" not in facts:
            return None
        session = self.adopt(facts["given"], facts["id"], facts["token"])
        session.past = Past.of(facts["report"])
        return session

    def adopt(self, given: dict[str, Any], name: str, token: str) -> Session:
        """The session of another process, without a port of its own in this one. Raises Refused."""
        session = self._session(given)
        session.id, session.token = name, token
        return self._house.gate.adopt(session)

    def _session(self, given: dict[str, Any]) -> Session:
        spec = SessionSpec.from_json(given)
        return Session(spec, given=given, scripts=self._house.scripts.load(spec.scripts))


def _same(server: asyncio.Server) -> socket.socket:
    """The socket a server listens on, which stays open when the server is closed."""
    return socket.socket(fileno=os.dup(server.sockets[0].fileno()))
