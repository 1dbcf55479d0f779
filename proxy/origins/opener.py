"""Opens connections to origins: name, address, egress, TLS; and tells what was learned on the way."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from archive.sections import ProxySettings
from proxy import egress as egresses
from proxy.addresses import Address, Resolver
from proxy.deadhosts import DeadHosts
from proxy.dial import race
from proxy.egress import Egress, EgressFailed
from proxy.h2lines import EarlyUpstream
from proxy.remembered import Remembered
from proxy.trust import OriginContext, Trust, chain_of, forget_session
from proxy.upstream import Destination, Facts, SecureUpstream, Upstream

_UNVERIFIED_SECONDS: Final = 600.0
_UNVERIFIED_ENTRIES: Final = 4096


def resolver_of(settings: ProxySettings) -> Resolver:
    """The resolver these settings ask for."""
    return Resolver(
        settings.resolve,
        allow_private=settings.allow_private,
        seconds=settings.dns_seconds,
        tell_table=settings.record_resolve,
    )


class Opener:
    """Makes new connections. Raises SettingsError for certificate files that can't be used."""

    def __init__(self, settings: ProxySettings, resolver: Resolver) -> None:
        self._settings = settings
        self._resolver = resolver
        self._trust = Trust(settings)
        self.dead = DeadHosts(settings.dead_host_seconds)
        self._unverified: Remembered[Destination, str] = Remembered(_UNVERIFIED_SECONDS, _UNVERIFIED_ENTRIES)

    async def open(self, destination: Destination) -> Upstream:
        """A new connection, within `connect_seconds`; a host known to be dead is not tried.

        Raises OSError (DeadHost, NameNotFound, AddressRefused, EgressFailed, refused, …), ssl.SSLError or TimeoutError.
        """
        self.dead.check(destination)
        try:
            async with asyncio.timeout(self._settings.connect_seconds):
                return await self._open(destination)
        except OSError as error:
            if destination.egress is None or not isinstance(error, TimeoutError):
                self.dead.note(destination, error)
            raise

    async def _open(self, destination: Destination) -> Upstream:
        """A bad certificate is fetched all the same, and flagged: an archive shows the web as it is."""
        addresses = await self._addresses(destination)
        if not destination.tls:
            return await self._dial(destination, addresses, None, None)
        doubt = self._unverified.get(destination)
        if doubt is None:
            try:
                return await self._dial(destination, addresses, self._context(destination, verify=True), None)
            except ssl.SSLCertVerificationError as error:
                doubt = error.verify_message
            except ssl.SSLError as error:
                # Old origins fail on cipher or protocol before their certificate is looked at.
                doubt = f"not verified: {error.reason or error}"
            self._unverified.note(destination, doubt)
        return await self._dial(destination, addresses, self._context(destination, verify=False), doubt)

    async def _addresses(self, destination: Destination) -> list[Address]:
        """Where to connect to: the origin, or the egress that leads there."""
        egress = destination.egress
        if egress is None:
            return await self._resolver.resolve(destination.host, destination.port)
        self._resolver.check_far(destination.host)
        try:
            return await self._resolver.resolve(egress.host, egress.port, checked=False)
        except OSError as error:
            raise EgressFailed(f"{egress.name}: {error}") from error

    def _context(self, destination: Destination, *, verify: bool) -> OriginContext:
        resume, h2 = destination.egress is None, self._settings.http2_origins and not destination.http1
        return self._trust.context(destination.host, destination.port, verify=verify, resume=resume, h2=h2)

    async def _dial(
        self, destination: Destination, addresses: Sequence[Address], context: OriginContext | None, doubt: str | None
    ) -> Upstream:
        try:
            if len(addresses) == 1 and destination.egress is None:
                upstream = await _speak(destination, context, at=addresses[0])
            else:
                upstream = await self._dial_first(destination, list(addresses), context)
        except ssl.SSLError:
            if context is not None:
                forget_session(context, destination.name)
            raise
        if not upstream.is_open:
            raise ConnectionResetError(f"{destination.host} port {destination.port} closed the connection at once")
        upstream.describe(doubt, direct=destination.egress is None)
        upstream.facts = self._facts(destination, upstream)
        return upstream

    async def _dial_first(
        self, destination: Destination, addresses: list[Address], context: OriginContext | None
    ) -> Upstream:
        """By the first address that answers; when it breaks the TLS handshake off, by the next."""
        egress = destination.egress
        while True:
            stream, address = await _race(addresses, egress)
            try:
                if egress is not None:
                    await egresses.pass_through(egress, stream, destination.host, destination.port, tls=destination.tls)
                upstream = await _speak(destination, context, over=stream)
            except BaseException as error:
                stream.close()
                addresses.remove(address)
                if not isinstance(error, ConnectionError) or egress is not None or not addresses:
                    raise
                continue
            if egress is None and address != addresses[0]:
                self._resolver.prefer(destination.host, address.ip)
            return upstream

    def _facts(self, destination: Destination, upstream: Upstream) -> Facts | None:
        """What the archive wants to know of this connection beside its exchanges."""
        if not self._settings.record_provenance:
            return None
        answer = self._resolver.answer(destination.host, destination.port) if destination.egress is None else None
        chain = chain_of(upstream.tls) if upstream.tls is not None else ()
        if answer is None and not chain:
            return None
        return Facts(destination.host, destination.port, upstream.origin, answer, chain)


async def _race(addresses: Sequence[Address], egress: Egress | None) -> tuple[socket.socket, Address]:
    try:
        return await race(addresses)
    except OSError as error:
        if egress is None:
            raise
        raise EgressFailed(f"{egress.name} is not to be reached: {error}") from error


async def _speak(
    destination: Destination,
    context: OriginContext | None,
    *,
    at: Address | None = None,
    over: socket.socket | None = None,
) -> Upstream:
    """Connect, unless `over` is connected already, and shake hands."""
    name = destination.name if context is not None else None
    loop = asyncio.get_running_loop()
    kind = Upstream if context is None else EarlyUpstream if context.offers_h2 else SecureUpstream
    if over is not None:
        _, upstream = await loop.create_connection(kind, sock=over, ssl=context, server_hostname=name)
    else:
        assert at is not None
        _, upstream = await loop.create_connection(kind, at.ip, at.port, ssl=context, server_hostname=name)
    return upstream
