"""Which address a name stands for, and whether it may be fetched from."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from archive.dates import now_micros
from proxy.dns import Answer, only_nameserver
from proxy.hostpatterns import ByHost
from proxy.remembered import Remembered

CACHE_SECONDS: Final = 300
CACHE_ENTRIES: Final = 4096
_LOOKUPS_AT_ONCE: Final = 32
"""Threads for getaddrinfo: names that hang must not make the others wait."""
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
    """Turns names into allowed addresses. `table` answers before DNS does, and DNS is believed for `seconds`.

    The table's keys are as in `hostpatterns`, its values `address` or `address:port`, several parted by spaces.
    Addresses of the table are allowed whatever range they are in only when `allow_private` is set. With
    `tell_table`, `answer` gives its entries as it gives those of DNS.
    """

    def __init__(
        self, table: Mapping[str, str], *, allow_private: bool, seconds: int = CACHE_SECONDS, tell_table: bool = False
    ) -> None:
        self._table = ByHost(table)
        self._allow_private = allow_private
        self._seconds = seconds
        self._tell_table = tell_table
        self._cache: Remembered[str, tuple[Answer, tuple[str, ...]]] = Remembered(seconds, CACHE_ENTRIES)
        self._told: Remembered[str, Answer] = Remembered(seconds, CACHE_ENTRIES)
        self._asking: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._threads = ThreadPoolExecutor(_LOOKUPS_AT_ONCE, "dns")
        self._nameserver = only_nameserver()

    async def resolve(self, host: str, port: int, *, checked: bool = True) -> list[Address]:
        """Addresses to try, in order. Raises NameNotFound, or AddressRefused unless `checked` is off."""
        known = self._from_table(host, port)
        found = known or [Address(ip, port) for ip in await self._lookup(host)]
        allowed = [address for address in found if self._allow_private or not checked or is_public(address.ip)]
        if not allowed:
            raise AddressRefused(f"{host} is at {found[0].ip}, which is not public (setting proxy.allow_private)")
        return allowed

    def check_far(self, host: str) -> None:
        """What can be said of a host whose name others will resolve. Raises AddressRefused."""
        if self._allow_private:
            return
        literal = _literal(host)
        if host == "localhost" or host.endswith(".localhost") or (literal and not is_public(literal)):
            raise AddressRefused(f"{host} is not public (setting proxy.allow_private)")

    def answer(self, host: str, port: int) -> Answer | None:
        """What DNS said of a host resolved a moment ago; None for an address, and for a name of the table."""
        known = self._from_table(host, port)
        if not known:
            found = self._cache.get(host)
            return found[0] if found else None
        if not self._tell_table:
            return None
        told = self._told.get(host)
        addresses = tuple(address.ip for address in known)
        if told is None or told.addresses != addresses:
            told = Answer(host, addresses, now_micros(), self._seconds, "the setting proxy.resolve")
            self._told.note(host, told)
        return told

    def prefer(self, host: str, ip: str) -> None:
        """That address answered first: try it first as long as DNS is believed."""
        found = self._cache.get(host)
        if found is not None and ip in found[1]:
            self._cache.change(host, (found[0], (ip, *(other for other in found[1] if other != ip))))

    def _from_table(self, host: str, port: int) -> list[Address]:
        value = self._table.find(host, port)
        return [_address(one, port) for one in value.split()] if value else []

    async def _lookup(self, host: str) -> tuple[str, ...]:
        if literal := _literal(host):
            return (literal,)
        known = self._cache.get(host)
        if known is not None:
            return known[1]
        if host == "onion" or host.endswith(".onion"):
            raise NameNotFound(f"{host} is never asked of DNS (RFC 7686); setting proxy.egress leads to Tor")
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.get_running_loop().create_task(self._ask(host))
            task.add_done_callback(self._asked)
            task.set_name(host)
        return await asyncio.shield(task)

    def _asked(self, task: asyncio.Task[tuple[str, ...]]) -> None:
        self._asking.pop(task.get_name(), None)
        if not task.cancelled():
            task.exception()  # those who waited for it may all be gone

    async def _ask(self, host: str) -> tuple[str, ...]:
        """Everybody who wants the name just now waits for the same answer."""
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._threads, _getaddrinfo, host)
        except (socket.gaierror, UnicodeError) as error:
            raise NameNotFound(f"{host}: {error}") from error
        addresses = tuple(dict.fromkeys(answers))
        answer = Answer(host, addresses, now_micros(), self._seconds, nameserver=self._nameserver)
        self._cache.note(host, (answer, addresses))
        return addresses


def _getaddrinfo(host: str) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def _literal(host: str) -> str | None:
    """The host as an address, when it is written as one."""
    text = host.strip("[]")
    if ":" not in text and not text[-1:].isdigit():
        return None
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def _address(value: str, port: int) -> Address:
    """`address`, `address:port`, `[v6]:port` or a bare IPv6 address."""
    if value.startswith("["):
        ip, _, given = value[1:].partition("]")
        return Address(ip, int(given.lstrip(":") or port))
    if value.count(":") == 1:
        ip, _, given = value.partition(":")
        return Address(ip, int(given))
    return Address(value, port)
