"""Connections to origins: opened lazily, with deadlines, kept for the next exchange when their state is certain."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from archive.capture import Origin
from archive.settings import ProxySettings
from proxy.addresses import Address, Resolver

_HIGH_WATER: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Destination:
    """An origin: what a pooled connection may be used for."""

    host: str
    port: int
    tls: bool


class UpstreamUser(Protocol):
    """Whoever is using a connection just now."""

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the origin."""

    def upstream_closed(self, error: Exception | None) -> None:
        """The origin closed (error None) or broke the connection."""

    def upstream_writable(self) -> None:
        """The connection takes more bytes again."""


class Upstream(asyncio.Protocol):
    """One connection to an origin."""

    def __init__(self) -> None:
        self.user: UpstreamUser | None = None
        self.origin = Origin()
        self.used = 0
        """Exchanges begun on this connection."""
        self.idle_since = 0.0
        self.is_full = False
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

    def describe(self, certificate_error: str | None) -> None:
        """Note whom we are connected to, for the records."""
        transport = cast(asyncio.Transport, self._transport)
        peer = transport.get_extra_info("peername")
        ip = str(peer[0]) if peer else None
        tls = transport.get_extra_info("ssl_object")
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


@dataclass(slots=True)
class _Host:
    idle: deque[Upstream] = field(default_factory=deque)
    open: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class Pool:
    """Hands out connections. All methods belong to the event loop's thread."""

    def __init__(self, settings: ProxySettings, resolver: Resolver) -> None:
        self._settings = settings
        self._resolver = resolver
        self._hosts: dict[Destination, _Host] = {}
        self._verifying = _tls_context(settings.upstream_ca)
        self._lenient = _tls_context("", verify=False)
        self._unverified: dict[Destination, str] = {}

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

        Raises OSError (NameNotFound, AddressRefused, refused, …), ssl.SSLError or TimeoutError.
        """
        while (host := self._hosts.setdefault(destination, _Host())).open >= self._settings.connections_per_host:
            if (upstream := self.idle(destination)) is not None:
                return upstream
            if host.open < self._settings.connections_per_host:
                break
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            host.waiting.append(place)
            await place
        host.open += 1
        try:
            async with asyncio.timeout(self._settings.connect_seconds):
                return await self._open(destination)
        except BaseException:
            self._gone(destination)
            raise

    def give_back(self, destination: Destination, upstream: Upstream) -> None:
        """The exchange is over and the connection stands at the border of two messages."""
        upstream.user = None
        if not upstream.is_open:
            self._gone(destination)
            return
        upstream.idle_since = asyncio.get_running_loop().time()
        host = self._hosts.setdefault(destination, _Host())
        host.idle.append(upstream)
        self._wake(host)

    def drop(self, destination: Destination, upstream: Upstream) -> None:
        """The connection can't be used again."""
        upstream.abort()
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
            place = host.waiting.popleft()
            if not place.done():
                place.set_result(None)
                return

    async def _open(self, destination: Destination) -> Upstream:
        addresses = await self._resolver.resolve(destination.host, destination.port)
        last: OSError | None = None
        for address in addresses:
            try:
                return await self._open_at(destination, address)
            except ssl.SSLError:
                raise
            except OSError as error:
                last = error
        raise last or OSError(f"no address of {destination.host} answered")

    async def _open_at(self, destination: Destination, address: Address) -> Upstream:
        """A bad certificate is fetched all the same, and flagged: an archive shows the web as it is."""
        if not destination.tls:
            return await self._dial(address, None, "", None)
        if destination not in self._unverified:
            try:
                return await self._dial(address, self._verifying, destination.host, None)
            except ssl.SSLCertVerificationError as error:
                self._unverified[destination] = error.verify_message
            except ssl.SSLError as error:
                # Old origins fail on cipher or protocol before their certificate is looked at.
                self._unverified[destination] = f"not verified: {error.reason or error}"
        return await self._dial(address, self._lenient, destination.host, self._unverified[destination])

    async def _dial(self, address: Address, context: ssl.SSLContext | None, host: str, error: str | None) -> Upstream:
        _, upstream = await asyncio.get_running_loop().create_connection(
            Upstream, address.ip, address.port, ssl=context, server_hostname=host.strip("[]") if context else None
        )
        if not upstream.is_open:
            raise ConnectionResetError(f"{address.ip} port {address.port} closed the connection at once")
        upstream.describe(error)
        return upstream


def _tls_context(extra_ca: str, *, verify: bool = True) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if extra_ca:
        context.load_verify_locations(extra_ca)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.options |= getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)
    return context
