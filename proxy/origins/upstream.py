"""Connections to origins are opened lazily, with deadlines, and kept for the next exchange when their state is
certain.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, cast

from archive.capture import Origin
from archive.settings import ProxySettings
from proxy.origins.dns import DnsAnswer
from proxy.origins.egress import Egress
from proxy.origins.tls import Chain, keep_session
from proxy.origins.tls_buffer import TlsBuffer
from proxy.protocol.read_budget import SMALL, Portions

_HIGH_WATER: Final = 1 << 20
_WAITING_SHARE: Final = 0.9
"""Share of `connect_seconds` to wait for a free connection, so that the error names this wait as the cause."""


class Destination(NamedTuple):
    """A destination is an origin: a pooled connection may be used for it. A tuple, since a pool looks it up for every
    exchange.
    """

    host: str
    port: int
    tls: bool
    egress: Egress | None = None
    """The proxy it is reached by; None is our own address."""

    @property
    def name(self) -> str:
        """The host as TLS names it: IPv6 without brackets."""
        return self.host.strip("[]")

    @property
    def authority(self) -> str:
        """Return host and port as in a URL."""
        return f"{self.host}:{self.port}"


@dataclass(slots=True, eq=False)
class ConnectionFacts:
    """These facts were learned when a connection was opened. `told` is the collections that have it (see
    `provenance`).
    """

    host: str
    port: int
    origin: Origin
    answer: DnsAnswer | None
    chain: Chain
    recorded_for: set[str] = field(default_factory=set)


class UpstreamUser(Protocol):
    """The user of a connection has these methods."""

    def upstream_data(self, data: bytes) -> None:
        """Take bytes from the origin."""

    def upstream_closed(self, error: Exception | None) -> None:
        """Note that the origin closed (error None) or broke the connection."""

    def upstream_writable(self) -> None:
        """Note that the connection takes more bytes again."""


class Upstream(asyncio.BaseProtocol):
    """An upstream is one connection to an origin."""

    def __init__(self) -> None:
        self.user: UpstreamUser | None = None
        self.origin = Origin()
        self.idle_since = 0.0
        self.is_full = False
        self.facts: ConnectionFacts | None = None
        """Facts about this connection that may still have to be recorded; None without any."""
        self.tls: ssl.SSLObject | None = None
        self._session_kept = False
        self._portions: Portions | None = None
        self._is_paused = False
        self._ended: tuple[Exception | None] | None = None
        """How the connection ended, while bytes that came before its end have not been taken yet."""
        self._transport: asyncio.Transport | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def was_used(self) -> bool:
        """Return whether it was kept from an earlier exchange: the origin may close it at any moment."""
        return self.idle_since > 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)

    @property
    def has_more(self) -> bool:
        """Return whether bytes have come that the user has not taken yet."""
        return self._portions is not None and self._portions.has_more

    def data_received(self, data: bytes) -> None:
        portions = self._portions
        if portions is None:
            if len(data) <= SMALL:
                self._take(data)
                return
            portions = self._portions = Portions(self._take, self._stop_reading, self._all_taken)
        portions.put(data)

    def _take(self, data: bytes) -> None:
        if self.user is None:
            self.abort()  # bytes without a request: later responses could be attributed wrongly
        else:
            self.user.upstream_data(data)

    def _stop_reading(self) -> None:
        if self.is_open:
            cast(asyncio.Transport, self._transport).pause_reading()

    def _all_taken(self) -> None:
        """Read on, or report the end of the connection, when the user has taken all waiting bytes."""
        if self._ended is not None:
            self._closed(self._ended[0])
        elif not self._is_paused and self.is_open:
            cast(asyncio.Transport, self._transport).resume_reading()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._portions is not None and self._portions.is_waiting and self.user is not None:
            self._ended = (exc,)
        else:
            self._closed(exc)

    def _closed(self, error: Exception | None) -> None:
        user, self.user = self.user, None
        if user is not None:
            user.upstream_closed(error)

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
        self._is_paused = True
        self._stop_reading()

    def resume(self) -> None:
        if not self._is_paused:
            return
        self._is_paused = False
        if self.is_open and not (self._portions is not None and self._portions.is_waiting):
            cast(asyncio.Transport, self._transport).resume_reading()

    def slow_down(self) -> None:
        """Read this connection more slowly: its bytes are mostly framing, and others would have to wait."""
        if self._portions is not None:
            self._portions.slow_down()

    def abort(self) -> None:
        """Close at once, without a call to the user."""
        self.user = None
        if self._portions is not None:
            self._portions.drop()
        if self._transport is not None:
            self._transport.abort()

    def describe(self, certificate_error: str | None, *, direct: bool = True) -> None:
        """Note the origin's address and TLS parameters, for the records. An egress hides the origin's address."""
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
        """Note that the origin has answered: from now on its TLS session can be resumed."""
        if self.tls is not None and not self._session_kept:
            self._session_kept = True
            keep_session(self.tls)


class SecureUpstream(Upstream, TlsBuffer):
    """The connection uses TLS."""


class PoolExhausted(OSError):
    """All connections that an origin may get are in use, and none became free in time."""


class ConnectionOpener(Protocol):
    """An opener makes new connections."""

    async def open(self, destination: Destination) -> Upstream:
        """Return a new connection. Raises OSError, ssl.SSLError or TimeoutError."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    """A request waits in line since that loop time; `is_whole` tells whether the request is all there."""

    turn: asyncio.Future[None]
    since: float
    is_whole: Callable[[], bool]


@dataclass(slots=True)
class _Host:
    idle: deque[Upstream] = field(default_factory=deque)
    open: int = 0
    uploading: int = 0
    """Places of requests whose bodies have not come completely."""
    waiting: deque[_Waiter] = field(default_factory=deque)


def always() -> bool:
    """Return whether a request without a body is all there."""
    return True


class Pool:
    """The pool hands out connections. All methods belong to the event loop's thread.

    Requests whose bodies have not come completely get at most three quarters of an origin's places. So slow uploads
    don't block all other requests.
    """

    def __init__(self, settings: ProxySettings, opener: ConnectionOpener) -> None:
        self._settings = settings
        self._opener = opener
        self._hosts: dict[Destination, _Host] = {}
        self._uploads: set[Upstream | None] = set()
        """Connections of requests whose bodies had not come completely when they got them."""
        self._upload_places = settings.connections_per_host - settings.connections_per_host // 4

    def idle(self, destination: Destination) -> Upstream | None:
        """Return the kept connection to that origin that was used last; None without any."""
        host = self._hosts.get(destination)
        while host and host.idle:
            upstream = host.idle.pop()
            if upstream.is_open:
                return upstream
            self._gone(destination)
        return None

    async def connect(
        self, destination: Destination, is_whole: Callable[[], bool] = always, *, takes_used: bool = True
    ) -> Upstream:
        """Return a new connection, waiting for a place when the origin has its share already.

        A connection that another request gives back meanwhile is handed out as well, or dropped for a new one unless
        `takes_used`. `is_whole` tells whether the request is all there. Raises PoolExhausted, and what
        `ConnectionOpener.open` raises.
        """
        since = asyncio.get_running_loop().time()
        while True:
            host = self._hosts.setdefault(destination, _Host())
            if self._may_begin(host, is_whole):
                if host.open < self._settings.connections_per_host:
                    break
                upstream = self.idle(destination)
                if upstream is not None and takes_used:
                    if not is_whole():
                        host.uploading += 1
                        self._uploads.add(upstream)
                    return upstream
                if upstream is not None:
                    upstream.abort()
                    host.open -= 1
                if host.open < self._settings.connections_per_host:
                    break
            await self._wait_for_place(destination, host, since, is_whole)
        is_upload = not is_whole()
        host.open += 1
        host.uploading += is_upload
        try:
            upstream = await self._opener.open(destination)
        except BaseException:
            host.uploading -= is_upload
            self._gone(destination)
            raise
        if is_upload:
            self._uploads.add(upstream)
        return upstream

    def upload_ended(self, destination: Destination, upstream: Upstream | None) -> None:
        """Note that the request is all there now, or given up; `upstream` is its connection if it has one."""
        host = self._hosts.get(destination)
        if host is None:
            return
        if upstream in self._uploads:
            self._uploads.discard(upstream)
            host.uploading -= 1
        self._wake(host)

    def _may_begin(self, host: _Host, is_whole: Callable[[], bool]) -> bool:
        return host.uploading < self._upload_places or is_whole()

    async def _wait_for_place(
        self, destination: Destination, host: _Host, since: float, is_whole: Callable[[], bool]
    ) -> None:
        loop, settings = asyncio.get_running_loop(), self._settings
        place = _Waiter(loop.create_future(), since, is_whole)
        host.waiting.append(place)
        patience = since + _WAITING_SHARE * settings.connect_seconds - loop.time()
        await asyncio.wait([place.turn], timeout=max(0.0, patience))
        if not place.turn.done():
            host.waiting.remove(place)
            raise PoolExhausted(
                f"all {settings.connections_per_host} connections to {destination.authority} stayed in use"
                " (setting proxy.connections_per_host)"
            )

    def wanted_since(self, time: float) -> set[Destination]:
        """Return the origins for whose connections a request has waited since that loop time."""
        hosts = self._hosts.items()
        return {origin for origin, host in hosts if any(place.since <= time for place in host.waiting)}

    def give_back(self, destination: Destination, upstream: Upstream) -> None:
        """Take back a connection after a complete exchange."""
        upstream.user = None
        if self._uploads:
            self.upload_ended(destination, upstream)
        if upstream.has_more:  # bytes after the response can't belong to the next one
            upstream.abort()
        if not upstream.is_open:
            self._gone(destination)
            return
        upstream.resume()  # The end of the response may have come behind the bytes that made the client full.
        upstream.idle_since = asyncio.get_running_loop().time()
        host = self._hosts.get(destination) or self._hosts.setdefault(destination, _Host())
        host.idle.append(upstream)
        if host.waiting:
            self._wake(host)

    def drop(self, destination: Destination, upstream: Upstream) -> None:
        """Drop a connection that can't be used again."""
        if self._uploads:
            self.upload_ended(destination, upstream)
        upstream.abort()
        self._gone(destination)

    def free_place(self, destination: Destination) -> None:
        """Free the place of a connection that is used for no more exchanges, however long it stays."""
        self._gone(destination)

    def close_idle(self, older_than: float) -> None:
        """Close what has been idle since before that loop time; forget origins without connections."""
        for destination, host in list(self._hosts.items()):
            while host.idle and (host.idle[0].idle_since < older_than or not host.idle[0].is_open):
                host.idle.popleft().abort()
                self._gone(destination)
            if not host.open and not host.waiting and not host.uploading:
                self._hosts.pop(destination, None)

    def _gone(self, destination: Destination) -> None:
        host = self._hosts.get(destination)
        if host is not None:
            host.open -= 1
            self._wake(host)

    def _wake(self, host: _Host) -> None:
        """Wake the request that has waited longest, of those that may begin."""
        if not host.waiting:
            return
        place = next((place for place in host.waiting if self._may_begin(host, place.is_whole)), None)
        if place is not None:
            host.waiting.remove(place)
            place.turn.set_result(None)
