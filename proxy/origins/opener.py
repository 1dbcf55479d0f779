"""Opens connections to origins: name, address, egress, TLS. The opener also collects facts for the archive."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Final

from archive.settings import ProxySettings
from proxy.origins import egress as egresses
from proxy.origins.dead_hosts import DeadHosts
from proxy.origins.dial import race
from proxy.origins.egress import Egress, EgressFailed
from proxy.origins.own_addresses import OwnPorts
from proxy.origins.resolver import Address, Resolver, nothing_is_own
from proxy.origins.tls import OriginContext, TlsContexts, chain_of, forget_session
from proxy.origins.upstream import ConnectionFacts, Destination, SecureUpstream, Upstream
from proxy.ttl_cache import TtlCache

_DNS_SECONDS: Final = 300
"""How long an answer of DNS is used. The system's resolver does not tell the time to live."""
_UNVERIFIED_SECONDS: Final = 600.0
_UNVERIFIED_ENTRIES: Final = 4096


def resolver_of(settings: ProxySettings, own: OwnPorts | None = None) -> Resolver:
    """Return the resolver for these settings, which refuses the fleet's own addresses."""
    return Resolver(
        settings.resolve,
        allow_private=settings.allow_private,
        seconds=_DNS_SECONDS,
        record_table=settings.record_resolve,
        is_own=own.covers if own is not None else nothing_is_own,
    )


class Opener:
    """Makes new connections. Raises SettingsError for certificate files that can't be used."""

    def __init__(self, settings: ProxySettings, resolver: Resolver) -> None:
        self._settings = settings
        self._resolver = resolver
        self._tls_contexts = TlsContexts(settings)
        self.dead = DeadHosts(settings.dead_host_seconds)
        self._unverified: TtlCache[Destination, str] = TtlCache(_UNVERIFIED_SECONDS, _UNVERIFIED_ENTRIES)

    async def open(self, destination: Destination) -> Upstream:
        """Return a new connection, within `connect_seconds`; a host known to be dead is not tried.

        Raises OSError (DeadHost, NameNotFound, AddressRefused, EgressFailed, refused, …), ssl.SSLError or TimeoutError.
        """
        self.dead.check(destination)
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.connect_seconds):
                upstream = await self._open(destination)
        except OSError as error:
            if destination.egress is None or not isinstance(error, TimeoutError):
                self.dead.note(destination, error, time.monotonic() - began)
            raise
        self.dead.reached(destination)
        return upstream

    async def _open(self, destination: Destination) -> Upstream:
        """Return a new connection. An origin with a bad certificate is fetched as well, and its records say so."""
        addresses = await self._addresses(destination)
        if not destination.tls:
            return await self._dial(destination, addresses, None, None)
        certificate_error = self._unverified.get(destination)
        if certificate_error is None:
            try:
                return await self._dial(destination, addresses, self._context(destination, verify=True), None)
            except ssl.SSLCertVerificationError as error:
                certificate_error = error.verify_message
            except ssl.SSLError as error:
                # Old origins fail on cipher or protocol before their certificate is looked at.
                certificate_error = f"not verified: {error.reason or error}"
            self._unverified.note(destination, certificate_error)
        return await self._dial(destination, addresses, self._context(destination, verify=False), certificate_error)

    async def _addresses(self, destination: Destination) -> list[Address]:
        """Return where to connect to: the origin, or the egress that leads there."""
        egress = destination.egress
        if egress is None:
            return await self._resolver.resolve(destination.host, destination.port)
        self._resolver.check_unresolved(destination.host, destination.port)
        try:
            return await self._resolver.resolve(egress.host, egress.port, checked=False)
        except OSError as error:
            raise EgressFailed(f"{egress.name}: {error}") from error

    def _context(self, destination: Destination, *, verify: bool) -> OriginContext:
        resume = destination.egress is None
        return self._tls_contexts.context(destination.host, destination.port, verify=verify, resume=resume)

    async def _dial(
        self,
        destination: Destination,
        addresses: Sequence[Address],
        context: OriginContext | None,
        certificate_error: str | None,
    ) -> Upstream:
        try:
            if len(addresses) == 1 and destination.egress is None:
                upstream = await _handshake(destination, context, at=addresses[0])
            else:
                upstream = await self._dial_first(destination, list(addresses), context)
        except ssl.SSLError:
            if context is not None:
                forget_session(context, destination.name)
            raise
        if not upstream.is_open:
            raise ConnectionResetError(f"{destination.host} port {destination.port} closed the connection at once")
        upstream.describe(certificate_error, direct=destination.egress is None)
        upstream.facts = self._facts(destination, upstream)
        return upstream

    async def _dial_first(
        self, destination: Destination, addresses: list[Address], context: OriginContext | None
    ) -> Upstream:
        """Connect by the first address that answers; when it breaks the TLS handshake off, by the next."""
        egress = destination.egress
        while True:
            stream, address = await _race(addresses, egress)
            try:
                if egress is not None:
                    await egresses.pass_through(egress, stream, destination.host, destination.port, tls=destination.tls)
                upstream = await _handshake(destination, context, over=stream)
            except BaseException as error:
                stream.close()
                addresses.remove(address)
                if not isinstance(error, ConnectionError) or egress is not None or not addresses:
                    raise
                continue
            if egress is None and address != addresses[0]:
                self._resolver.prefer(destination.host, address.ip)
            return upstream

    def _facts(self, destination: Destination, upstream: Upstream) -> ConnectionFacts | None:
        """Return the facts about this connection that are recorded beside its exchanges; None without any."""
        if not self._settings.record_provenance:
            return None
        answer = self._resolver.answer(destination.host, destination.port) if destination.egress is None else None
        chain = chain_of(upstream.tls) if upstream.tls is not None else ()
        if answer is None and not chain:
            return None
        return ConnectionFacts(destination.host, destination.port, upstream.origin, answer, chain)


async def _race(addresses: Sequence[Address], egress: Egress | None) -> tuple[socket.socket, Address]:
    try:
        return await race(addresses)
    except OSError as error:
        if egress is None:
            raise
        raise EgressFailed(f"{egress.name} can't be reached: {error}") from error


async def _handshake(
    destination: Destination,
    context: OriginContext | None,
    *,
    at: Address | None = None,
    over: socket.socket | None = None,
) -> Upstream:
    """Connect, unless `over` is connected already, and shake hands."""
    name = destination.name if context is not None else None
    loop = asyncio.get_running_loop()
    kind = Upstream if context is None else SecureUpstream
    if over is not None:
        _, upstream = await loop.create_connection(kind, sock=over, ssl=context, server_hostname=name)
    else:
        assert at is not None
        _, upstream = await loop.create_connection(kind, at.ip, at.port, ssl=context, server_hostname=name)
    return upstream
