"""The resolver says which address a name has, and whether it may be fetched from."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from archive.dates import now_micros
from proxy.host_table import HostTable
from proxy.origins.dns import DnsAnswer, only_nameserver
from proxy.ttl_cache import TtlCache

CACHE_SECONDS: Final = 300
CACHE_ENTRIES: Final = 4096
_LOOKUPS_AT_ONCE: Final = 32
"""Threads for getaddrinfo: names that hang must not make the others wait."""
_LOOPBACK: Final = ("127.0.0.1", "::1")
_METADATA: Final = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "fd00:ec2::254")))
"""Cloud metadata services that lie in public or shared ranges."""
_NOT_PUBLIC_4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",
            "100.64.0.0/10",  # shared by carrier-grade NAT
            "127.0.0.0/8",
            "169.254.0.0/16",  # link-local
            "172.16.0.0/12",
            "192.0.0.0/24",  # IETF protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays, deprecated by RFC 7526
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
"""IANA's IPv4 Special-Purpose Address Registry, without its entries that are globally reachable, and multicast.

The list stands here because `ipaddress.is_global` answers by the release of Python."""
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""All that IANA has given out of IPv6; what lies outside is reserved, local, multicast, or IPv4 in disguise."""
_NOT_PUBLIC_6: Final = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, ORCHID, DRIP
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
        ),
    )
)
"""The same registry for IPv6, within `_GLOBAL_UNICAST`."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address says where to connect to."""

    ip: str
    port: int


class NameNotFound(OSError):
    """DNS has no address for that name."""


class AddressRefused(OSError):
    """The address is the fleet's own, or it is not public and the settings don't allow that."""


def is_public(ip: str) -> bool:
    """Return whether the address belongs to the public internet. An IPv4-mapped address is judged as the IPv4
    address.
    """
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address in _METADATA:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _GLOBAL_UNICAST and not any(address in network for network in _NOT_PUBLIC_6)


def nothing_is_own(_ip: str, _port: int) -> bool:
    """Say that no address and port belong to the fleet, for a resolver that serves none."""
    return False


class Resolver:
    """Turns names into allowed addresses. `table` answers before DNS does, and DNS is believed for `seconds`.

    The table's keys are as in `proxy.host_table`, its values `address` or `address:port`, several with spaces between.
    Addresses of the table are allowed whatever range they are in only when `allow_private` is set. With
    `record_table`, `answer` gives its entries as it gives those of DNS.
    """

    def __init__(
        self,
        table: Mapping[str, str],
        *,
        allow_private: bool,
        seconds: int = CACHE_SECONDS,
        record_table: bool = False,
        is_own: Callable[[str, int], bool] = nothing_is_own,
    ) -> None:
        """`is_own` says whether an address and a port are the fleet's own, which is never a target."""
        self._is_own = is_own
        self._table = HostTable(table)
        self._allow_private = allow_private
        self._seconds = seconds
        self._record_table = record_table
        self._cache: TtlCache[str, tuple[DnsAnswer, tuple[str, ...]]] = TtlCache(seconds, CACHE_ENTRIES)
        self._table_answers: TtlCache[str, DnsAnswer] = TtlCache(seconds, CACHE_ENTRIES)
        self._lookups: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._threads = ThreadPoolExecutor(_LOOKUPS_AT_ONCE, "dns")
        self._nameserver = only_nameserver()

    async def resolve(self, host: str, port: int, *, checked: bool = True) -> list[Address]:
        """Return addresses to try, in order. Raises NameNotFound, or AddressRefused unless `checked` is off."""
        known = self._from_table(host, port)
        found = known or [Address(ip, port) for ip in await self._lookup(host)]
        allowed = [address for address in found if self._allow_private or not checked or is_public(address.ip)]
        if not allowed:
            raise AddressRefused(f"{host} is at {found[0].ip}, which is not public (setting proxy.allow_private)")
        if not checked:
            return allowed
        others = [address for address in allowed if not self._is_own(address.ip, address.port)]
        if not others:
            raise AddressRefused(_own(host, port))
        return others

    def check_unresolved(self, host: str, port: int) -> None:
        """Raise AddressRefused for a host that may not be fetched, when an egress will resolve its name."""
        is_local, literal = host == "localhost" or host.endswith(".localhost"), _literal(host)
        if not self._allow_private and (is_local or (literal and not is_public(literal))):
            raise AddressRefused(f"{host} is not public (setting proxy.allow_private)")
        known = [address.ip for address in self._from_table(host, port)]
        for ip in [*known, *([literal] if literal else _LOOPBACK if is_local else [])]:
            if self._is_own(ip, port):
                raise AddressRefused(_own(host, port))

    def answer(self, host: str, port: int) -> DnsAnswer | None:
        """Return the answer of DNS for a host that was just resolved; None for an address or a name of the table."""
        known = self._from_table(host, port)
        if not known:
            found = self._cache.get(host)
            return found[0] if found else None
        if not self._record_table:
            return None
        answer = self._table_answers.get(host)
        addresses = tuple(address.ip for address in known)
        if answer is None or answer.addresses != addresses:
            answer = DnsAnswer(host, addresses, now_micros(), self._seconds, "the setting proxy.resolve")
            self._table_answers.note(host, answer)
        return answer

    def prefer(self, host: str, ip: str) -> None:
        """Try that address first as long as the DNS answer is valid, since it answered first."""
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
            raise NameNotFound(f"{host} is never looked up in DNS (RFC 7686); set proxy.egress to a Tor proxy for it")
        task = self._lookups.get(host)
        if task is None:
            task = self._lookups[host] = asyncio.get_running_loop().create_task(self._query(host))
            task.add_done_callback(self._lookup_done)
            task.set_name(host)
        return await asyncio.shield(task)

    def _lookup_done(self, task: asyncio.Task[tuple[str, ...]]) -> None:
        self._lookups.pop(task.get_name(), None)
        if not task.cancelled():
            task.exception()  # all its waiters may have been cancelled

    async def _query(self, host: str) -> tuple[str, ...]:
        """Return the addresses from DNS, and remember them."""
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._threads, _getaddrinfo, host)
        except (socket.gaierror, UnicodeError) as error:
            raise NameNotFound(f"{host}: {error}") from error
        addresses = tuple(dict.fromkeys(answers))
        answer = DnsAnswer(host, addresses, now_micros(), self._seconds, nameserver=self._nameserver)
        self._cache.note(host, (answer, addresses))
        return addresses


def _own(host: str, port: int) -> str:
    return f"{host} port {port} belongs to the fleet itself, which is never fetched from"


def _getaddrinfo(host: str) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def _literal(host: str) -> str | None:
    """Return the host as an address, when it is written as one."""
    text = host.strip("[]")
    if ":" not in text and not text[-1:].isdigit():
        return None
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def _address(value: str, port: int) -> Address:
    """Return `address`, `address:port`, `[v6]:port` or a bare IPv6 address."""
    if value.startswith("["):
        ip, _, given = value[1:].partition("]")
        return Address(ip, int(given.lstrip(":") or port))
    if value.count(":") == 1:
        ip, _, given = value.partition(":")
        return Address(ip, int(given))
    return Address(value, port)
