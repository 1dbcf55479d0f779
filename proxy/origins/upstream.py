"""Connections to origins: opened lazily, with deadlines, kept for the next exchange when their state is certain."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, cast

from archive.capture import Origin, Trailers
from archive.sections import ProxySettings
from proxy.dns import Answer
from proxy.egress import Egress
from proxy.inbox import Inbox
from proxy.trust import Chain, keep_session

_HIGH_WATER: Final = 1 << 20
_WAITING_SHARE: Final = 0.9
"""Of `connect_seconds`, in line for a connection: it ends before they do, so that it is known what took so long."""


class Destination(NamedTuple):
    """An origin: what a pooled connection may be used for. A tuple, since a pool looks it up for every exchange."""

    host: str
    port: int
    tls: bool
    egress: Egress | None = None
    """The proxy it is reached by; None is our own address."""
    http1: bool = False
    """Whether HTTP/1.1 is wanted even of an origin that speaks HTTP/2: WebSockets begin with it."""

    @property
    def name(self) -> str:
        """The host as TLS names it: IPv6 without brackets."""
        return self.host.strip("[]")

    @property
    def authority(self) -> str:
        """Host and port as in a URL."""
        return f"{self.host}:{self.port}"


@dataclass(slots=True, eq=False)
class Facts:
    """What was learned when a connection was opened. `told` is the collections that have it (see `provenance`)."""

    host: str
    port: int
    origin: Origin
    answer: Answer | None
    chain: Chain
    told: set[str] = field(default_factory=set)


class UpstreamUser(Protocol):
    """Whoever is using a connection just now."""

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the origin."""

    def upstream_closed(self, error: Exception | None) -> None:
        """The origin closed (error None) or broke the connection."""

    def upstream_writable(self) -> None:
        """The connection takes more bytes again."""


class Upstream(asyncio.BaseProtocol):
    """One connection to an origin."""

    def __init__(self) -> None:
        self.user: UpstreamUser | None = None
        self.origin = Origin()
        self.used = 0
        """Exchanges begun on this connection."""
        self.idle_since = 0.0
        self.is_full = False
        self.facts: Facts | None = None
        """What may still be told of this connection; None when there is nothing."""
        self.tls: ssl.SSLObject | None = None
        self.trailers: Trailers = ()
        """Behind the response over HTTP/2; what HTTP/1.1 has stands in the body."""
        self._session_kept = False
        self._transport: asyncio.Transport | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)

    def data_received(self, data: bytes) -> None:
        if self.user is None:
            self.abort()  # an origin that speaks unasked can't be trusted to keep step
        else:
            self.user.upstream_data(data)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        user, self.user = self.user, None
        if user is not None:
            user.upstream_closed(exc)

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self.user is not None:
            self.user.upstream_writable()

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def pause(self) -> None:
        """Read no more until `resume`: back-pressure to the origin."""
        if self.is_open:
            cast(asyncio.Transport, self._transport).pause_reading()

    def resume(self) -> None:
        if self.is_open:
            cast(asyncio.Transport, self._transport).resume_reading()

    def abort(self) -> None:
        """Close at once; whoever uses the connection is not told."""
        self.user = None
        if self._transport is not None:
            self._transport.abort()

    def describe(self, certificate_error: str | None, *, direct: bool = True) -> None:
        """Note whom we are connected to, for the records. Through an egress the origin's address is not known."""
        transport = cast(asyncio.Transport, self._transport)
        peer = transport.get_extra_info("peername") if direct else None
        ip = str(peer[0]) if peer else None
        tls = self.tls = transport.get_extra_info("ssl_object")
        if tls is None:
            self.origin = Origin(ip=ip)
            return
        version = (tls.version() or "TLSv1.0").lower().replace("tlsv", "tls/")
        cipher = tls.cipher()
        self.origin = Origin(
            ip=ip,
            protocols=("http/1.1", "tls/1.0" if version == "tls/1" else version),
            cipher_suite=cipher[0] if cipher else None,
            certificate_error=certificate_error,
        )

    def answered(self) -> None:
        """The origin has answered: from now on its TLS session can be resumed."""
        if self.tls is not None and not self._session_kept:
            self._session_kept = True
            keep_session(self.tls)


class SecureUpstream(Upstream, Inbox):
    """One that TLS is spoken on."""


class Crowded(OSError):
    """All connections that an origin may get are in use, and none became free in time."""


class Opener(Protocol):
    """Who makes new connections."""

    async def open(self, destination: Destination) -> Upstream:
        """A new connection. Raises OSError, ssl.SSLError or TimeoutError."""


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Somebody in line, `since` that loop time."""

    turn: asyncio.Future[None]
    since: float


@dataclass(slots=True)
class _Host:
    idle: deque[Upstream] = field(default_factory=deque)
    open: int = 0
    waiting: deque[_Place] = field(default_factory=deque)


class Pool:
    """Hands out connections. All methods belong to the event loop's thread."""

    def __init__(self, settings: ProxySettings, opener: Opener) -> None:
        self._settings = settings
        self._opener = opener
        self._hosts: dict[Destination, _Host] = {}

    def idle(self, destination: Destination) -> Upstream | None:
        """A kept connection to that origin, the one used last; None when there is none."""
        host = self._hosts.get(destination)
        while host and host.idle:
            upstream = host.idle.pop()
            if upstream.is_open:
                return upstream
            self._gone(destination)
        return None

    async def connect(self, destination: Destination) -> Upstream:
        """A new connection, waiting for a place when the origin has its share already.

        Raises Crowded, and what `Opener.open` raises.
        """
        since = asyncio.get_running_loop().time()
        while (host := self._hosts.setdefault(destination, _Host())).open >= self._settings.connections_per_host:
            if (upstream := self.idle(destination)) is not None:
                return upstream
            if host.open < self._settings.connections_per_host:
                break
            await self._turn(destination, host, since)
        host.open += 1
        try:
            return await self._opener.open(destination)
        except BaseException:
            self._gone(destination)
            raise

    async def _turn(self, destination: Destination, host: _Host, since: float) -> None:
        loop, settings = asyncio.get_running_loop(), self._settings
        place = _Place(loop.create_future(), since)
        host.waiting.append(place)
        patience = since + _WAITING_SHARE * settings.connect_seconds - loop.time()
        await asyncio.wait([place.turn], timeout=max(0.0, patience))
        if not place.turn.done():
            host.waiting.remove(place)
            raise Crowded(f"all {settings.connections_per_host} connections to {destination.authority} stayed in use")

    def wanted_since(self, time: float) -> set[Destination]:
        """Origins for whose connections somebody has been waiting since that loop time."""
        hosts = self._hosts.items()
        return {origin for origin, host in hosts if any(place.since <= time for place in host.waiting)}

    def give_back(self, destination: Destination, upstream: Upstream) -> None:
        """The exchange is over and the connection stands at the border of two messages."""
        upstream.user = None
        if not upstream.is_open:
            self._gone(destination)
            return
        upstream.idle_since = asyncio.get_running_loop().time()
        host = self._hosts.get(destination) or self._hosts.setdefault(destination, _Host())
        host.idle.append(upstream)
        if host.waiting:
            self._wake(host)

    def drop(self, destination: Destination, upstream: Upstream) -> None:
        """The connection can't be used again."""
        upstream.abort()
        self._gone(destination)

    def set_apart(self, destination: Destination) -> None:
        """One of its connections is used for no more exchanges, however long it stays: its place is free."""
        self._gone(destination)

    def close_idle(self, older_than: float) -> None:
        """Close what has been idle since before that loop time; forget origins without connections."""
        for destination, host in list(self._hosts.items()):
            while host.idle and (host.idle[0].idle_since < older_than or not host.idle[0].is_open):
                host.idle.popleft().abort()
                self._gone(destination)
            if not host.open and not host.waiting:
                self._hosts.pop(destination, None)

    def _gone(self, destination: Destination) -> None:
        host = self._hosts.get(destination)
        if host is not None:
            host.open -= 1
            self._wake(host)

    @staticmethod
    def _wake(host: _Host) -> None:
        while host.waiting:
            turn = host.waiting.popleft().turn
            if not turn.done():
                turn.set_result(None)
                return
