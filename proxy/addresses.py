"""Which address a name stands for, and whether it may be fetched from."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CACHE_SECONDS: Final = 60.0
CACHE_ENTRIES: Final = 4096
_METADATA: Final = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "fd00:ec2::254")))
"""Cloud metadata services that lie in public or shared ranges."""
_TRANSLATED: Final = tuple(
    map(
        ipaddress.ip_network,
        ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10"),
    )
)
"""An IPv4 address in disguise (IPv4-compatible, SIIT, NAT64, Teredo, 6to4), and the old site-local addresses."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect to."""

    ip: str
    port: int


class NameNotFound(OSError):
    """No address for that name."""


class AddressRefused(OSError):
    """The address is private, link-local, multicast or a metadata service, and the settings don't allow it."""


def is_public(ip: str) -> bool:
    """Whether the address belongs to the public internet. IPv4 in IPv6 clothes is judged as what it is."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif any(address in network for network in _TRANSLATED):
            return False
    return address.is_global and not address.is_multicast and address not in _METADATA


class Resolver:
    """Turns names into allowed addresses. `table` answers before DNS does.

    Its keys are `name`, `name:port` or `*.name` (all names below), its values `address` or `address:port`.
    Addresses of the table are allowed whatever range they are in only when `allow_private` is set.
    """

    def __init__(self, table: Mapping[str, str], *, allow_private: bool) -> None:
        self._table = {name.lower(): value for name, value in table.items()}
        self._allow_private = allow_private
        self._cache: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Addresses to try, in order. Raises NameNotFound or AddressRefused."""
        known = self._from_table(host, port)
        found = [known] if known else [Address(ip, port) for ip in await self._lookup(host)]
        allowed = [address for address in found if self._allow_private or is_public(address.ip)]
        if not allowed:
            raise AddressRefused(f"{host} is at {found[0].ip}, which is not public (setting proxy.allow_private)")
        return allowed

    def _from_table(self, host: str, port: int) -> Address | None:
        if not self._table:
            return None
        labels = host.split(".")
        patterns = ["*." + ".".join(labels[start:]) for start in range(1, len(labels))]
        for pattern in (host, *patterns):
            value = self._table.get(f"{pattern}:{port}") or self._table.get(pattern)
            if value:
                return _address(value, port)
        return None

    async def _lookup(self, host: str) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        now = loop.time()
        hit = self._cache.get(host)
        if hit and hit[0] > now:
            return hit[1]
        try:
            answers = await loop.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise NameNotFound(f"{host}: {error}") from error
        addresses = tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
        if len(self._cache) >= CACHE_ENTRIES:
            self._cache.clear()
        self._cache[host] = (now + CACHE_SECONDS, addresses)
        return addresses


def _address(value: str, port: int) -> Address:
    """`address`, `address:port`, `[v6]:port` or a bare IPv6 address."""
    if value.startswith("["):
        ip, _, given = value[1:].partition("]")
        return Address(ip, int(given.lstrip(":") or port))
    if value.count(":") == 1:
        ip, _, given = value.partition(":")
        return Address(ip, int(given))
    return Address(value, port)
