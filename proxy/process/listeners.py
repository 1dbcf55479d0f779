"""One recording process has these listening sockets: the main port, a port for credentials, a port for each session.

The port of a closed session can be kept for the next session of the same client (`proxy.process.session_listener`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from archive.listener_access import Clients
from archive.local_endpoints import Listeners, endpoint_of
from proxy.clients.connection import ClientConnection, ConnectionHost
from proxy.process.handover_messages import HandedOver, SessionState
from proxy.process.session_listener import BACKLOG, SessionListener
from proxy.refusal import Refused
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec

log = logging.getLogger(__name__)

_HERE: Final = "127.0.0.1"
_NOT_OF_SPEC: Final = frozenset(("port_of", "port", "id", "token"))
_ID: Final = re.compile(r"[0-9a-f]{32}")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{32,128}")
MOST_KEPT_PORTS: Final = 256
"""The most ports of closed sessions that are kept at once. Each has a descriptor."""


@dataclass(frozen=True, slots=True)
class KeptPort:
    """The port of a closed session waits for the next session of the same client, until its time is over."""

    listener: SessionListener
    end: asyncio.TimerHandle


class SessionPorts:
    """Sessions of this process listen on every n-th port of the range `first-last`, for n processes. Pure."""

    def __init__(self, span: str, index: int, processes: int) -> None:
        """`span` is the range; when it is empty, the operating system chooses ports.

        Raises ValueError when the range has no port for this process.
        """
        self._own: tuple[int, ...] = ()
        self._next = 0
        if span:
            first, _, last = span.partition("-")
            self._own = tuple(range(int(first) + index, min(int(last), 65535) + 1, processes))
            if not self._own:
                raise ValueError(
                    f"setting proxy.session_ports = {span} has no port for process {index} of {processes}; add ports"
                )

    def candidates(self) -> Iterator[int]:
        """Yield the ports to try, each once, the least recently used first; 0 is any port."""
        if not self._own:
            yield 0
            return
        start = self._next
        for step in range(len(self._own)):
            position = (start + step) % len(self._own)
            self._next = position + 1
            yield self._own[position]


class ProcessListeners:
    """Opens and closes ports; each connection that comes in becomes a `ClientConnection`."""

    def __init__(self, owner: ConnectionHost, ports: SessionPorts, listeners: Listeners, clients: Clients) -> None:
        """`clients` are the clients that the main port lets in."""
        self._owner = owner
        self._ports = ports
        self._listeners = listeners
        self._clients = clients
        self._main: asyncio.Server | None = None
        self._direct: asyncio.Server | None = None
        self._by_session: dict[str, SessionListener] = {}
        self._kept: dict[str, KeptPort] = {}
        """Ports by the sessions that had them last."""
        self._is_closed = False

    async def open(self, listener: socket.socket) -> None:
        """Serve the main port, and a port of this process alone for sessions that are chosen by credentials."""
        loop, screened = self._owner.loop, partial(ScreenedConnection, self._owner, self._clients)
        make = partial(ClientConnection, self._owner) if self._clients.is_everybody else screened
        self._listeners.add(listener)
        self._main = await loop.create_server(make, sock=listener, backlog=BACKLOG)
        if self._direct is None:
            direct = partial(ClientConnection, self._owner, self._owner.gate.by_credentials)
            self._direct = await loop.create_server(direct, _HERE, 0)
            self._listeners.add(_socket(self._direct))

    def close(self) -> None:
        """Accept no more connections; open connections stay."""
        self._is_closed = True
        for name in tuple(self._kept):
            self.give_up_port(name)
        for server in (self._main, self._direct, *self._by_session.values()):
            if server is not None:
                server.close()

    async def import_state(self, items: Sequence[HandedOver]) -> None:
        """Serve the ports that another process served before, for the same sessions. Call this before `open`."""
        for item in items:
            session = None
            if item.session is not None:
                try:
                    session = self._restored(item.session)
                except Refused as error:  # the settings may have changed
                    log.error("session %s is closed: %s", item.session.id, error)
                    continue
            if item.listener is not None:
                self._listeners.add(item.listener)
                if session is None:
                    make = partial(ClientConnection, self._owner, self._owner.gate.by_credentials)
                    self._direct = await self._owner.loop.create_server(make, sock=item.listener, backlog=BACKLOG)
                else:
                    listener = self._by_session[session.id] = SessionListener(self._owner, session)
                    await listener.take(item.listener)

    def export_state(self) -> list[HandedOver]:
        """Return all sessions and their sockets, for the next process. Call `close` afterwards."""
        assert self._direct is not None
        items = [HandedOver(None, _same(self._direct))]
        for session in self._owner.gate.sessions.values():
            listener = self._by_session.get(session.id)
            if listener is None and session.request_json.get("listen"):
                continue  # the session is being made just now; its client is sent to the next process
            state = SessionState(session.id, session.token, session.request_json, session.report())
            items.append(HandedOver(state, _same(listener.server) if listener is not None else None))
        return items

    async def open_session(self, request_json: Mapping[str, Any]) -> tuple[Session, str, int]:
        """Return a new session as a control request asks for it, and the host and port that serve it.

        With `listen` the session has a port of its own. With `port_of` this is the port of a closed session, which was
        kept. Otherwise it shares the port for sessions that are chosen by credentials. With `id` and `token`, clients
        choose it by credentials that they know already, and with `port` by a port that they know: those of a session of
        a process that has ended. Raises Refused.
        """
        listen, port_of = request_json.get("listen") is True, request_json.get("port_of")
        known = _known_credentials(request_json)
        session = self._session({name: value for name, value in request_json.items() if name not in _NOT_OF_SPEC})
        if known is not None:
            session.id, session.token = known
            if session.id in self._owner.gate.sessions:
                raise Refused(409, f"field 'id': session {session.id} is open", "id")
        if port_of is not None:
            try:
                self._by_session[session.id] = self._taken_over(port_of, session, listen=listen)
            except Refused:
                await self.close_session(session)
                raise
        self._owner.gate.adopt(session)
        if listen and port_of is None:
            try:
                self._by_session[session.id] = await self._listen_for(session, _known_port(request_json))
            except Refused:
                await self.close_session(session)
                raise
        server = self._by_session[session.id].server if listen else self._direct
        assert server is not None
        host, port = server.sockets[0].getsockname()[:2]
        return session, host, port

    async def close_session(self, session: Session, *, keep_port_seconds: float = 0.0) -> bool:
        """Close the session's port and the connections that came in by that port, and forget the session.

        With `keep_port_seconds`, the port is kept for so long when that is possible. Return whether it is kept.
        """
        listener = self._by_session.pop(session.id, None)
        may_keep = listener is not None and keep_port_seconds > 0 and len(self._kept) < MOST_KEPT_PORTS
        is_kept = False
        if listener is not None:
            is_kept = may_keep and await listener.part() and not self._is_closed
            if is_kept:
                end = self._owner.loop.call_later(keep_port_seconds, self.give_up_port, session.id)
                self._kept[session.id] = KeptPort(listener, end)
            else:
                self._listeners.remove(endpoint_of(listener.socket))
                listener.close()
        for connection in list(self._owner.connections.values()):
            if connection.listener is session:
                connection.close()
        self._owner.gate.close(session)
        if session.scripts is not None:
            session.scripts.close()
        return is_kept

    def give_up_port(self, session_id: str) -> bool:
        """Close the port that a closed session left. Return whether there was one."""
        kept = self._kept.pop(session_id, None)
        if kept is None:
            return False
        kept.end.cancel()
        self._listeners.remove(endpoint_of(kept.listener.socket))
        kept.listener.close()
        return True

    def _taken_over(self, former: object, session: Session, *, listen: bool) -> SessionListener:
        """Return the listener of a closed session, which serves this session from now on. Raises Refused."""
        if not isinstance(former, str):
            raise Refused(400, f"field 'port_of' = {str(former)[:100]!r} must be the id of a closed session")
        if not listen:
            raise Refused(400, "field 'port_of' needs 'listen' = true")
        if former in self._owner.gate.sessions:
            raise Refused(
                409,
                f"field 'port_of': session {former} is open; close it by DELETE /sessions/{former}?keep_port=SECONDS",
                "port",
            )
        kept = self._kept.get(former)
        if kept is None:
            raise Refused(
                409,
                f"field 'port_of': no port is kept of session {former[:100]!r}; make a session without 'port_of'",
                "port",
            )
        try:
            kept.listener.serve(session)
        except Refused:
            self.give_up_port(former)
            raise
        kept.end.cancel()
        del self._kept[former]
        return kept.listener

    async def _listen_for(self, session: Session, known: int | None) -> SessionListener:
        """Return a listener on the known port, or on a free one.

        When no port is free, ports that are kept are given up, the oldest first.
        """
        taken: OSError | None = None
        listener = SessionListener(self._owner, session)
        while True:
            for port in self._ports.candidates() if known is None else (known,):
                try:
                    await listener.listen(_HERE, port)
                except OSError as error:
                    taken = error
                    continue
                if not self._is_closed:
                    self._listeners.add(listener.socket)
                    return listener
                listener.close()
                raise Refused(503, "this process is being replaced; ask again", "replaced")
            if not self._kept:
                raise Refused(503, f"no port is free for the session (setting proxy.session_ports): {taken}", "ports")
            self.give_up_port(next(iter(self._kept)))

    def _restored(self, state: SessionState) -> Session:
        session = self.adopt(state.request_json, state.id, state.token)
        session.past = state.report
        return session

    def adopt(self, request_json: dict[str, Any], session_id: str, token: str) -> Session:
        """Return the session of another process, without a port of its own in this one. Raises Refused."""
        session = self._session(request_json)
        session.id, session.token = session_id, token
        return self._owner.gate.adopt(session)

    def _session(self, request_json: dict[str, Any]) -> Session:
        spec = SessionSpec.from_json(request_json)
        return Session(spec, request_json=request_json, scripts=self._owner.scripts.load(spec.scripts))


def _known_credentials(request_json: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the id and the token that a control request gives its session. Raises Refused (400)."""
    name, token = request_json.get("id"), request_json.get("token")
    if name is None and token is None:
        return None
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise Refused(400, "field 'id' must be 32 hexadecimal digits in lower case, and needs 'token'")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise Refused(400, "field 'token' must be 32 to 128 of A-Z a-z 0-9 - _, and needs 'id'")
    return name, token


def _known_port(request_json: Mapping[str, Any]) -> int | None:
    """Return the port that a control request gives its session. Raises Refused (400)."""
    port = request_json.get("port")
    if port is None:
        return None
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65_535:
        raise Refused(400, "field 'port' must be a number from 1 to 65535")
    return port


class ScreenedConnection(ClientConnection):
    """A connection to the main port is closed at once unless its client is in a network that may connect."""

    def __init__(self, owner: ConnectionHost, clients: Clients) -> None:
        super().__init__(owner)
        self._clients = clients
        self._is_let_in = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the connection of a client that is let in, as the base class does."""
        peer, own = (transport.get_extra_info(name) or ("",) for name in ("peername", "sockname"))
        self._is_let_in = self._clients.admits(str(peer[0]), str(own[0]))
        if self._is_let_in:
            super().connection_made(transport)
            return
        self.owner.gate.counts["refused"] += 1
        log.info("a connection from %s is refused: the address is in no network of proxy.allow_clients", peer[0])
        cast(asyncio.Transport, transport).abort()

    def data_received(self, data: bytes) -> None:
        """Process the bytes of a client that is let in, as the base class does."""
        if self._is_let_in:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection of a client that is let in, as the base class does."""
        if self._is_let_in:
            super().connection_lost(exc)


def _socket(server: asyncio.Server) -> socket.socket:
    """Return the socket that a server listens on. Use it for its address only."""
    return server.sockets[0]


def _same(server: asyncio.Server) -> socket.socket:
    """Return a copy of the socket that a server listens on; the copy stays open when the server is closed."""
    return socket.socket(fileno=os.dup(server.sockets[0].fileno()))
