"""The fleet owns these parts of the network: its listeners, and the servers that it keeps its data in.

None of these is ever a target. A page that is recorded could otherwise read the fleet's status, its index or its Redis
from the inside. Listeners of this home are known at once by their marks (`archive.local_endpoints`), those of other
machines by what their processes say in Redis every few seconds.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from archive.local_endpoints import Endpoint, Listeners, is_here, plain_ip
from archive.settings.values.cluster_url import is_cluster, named_servers
from dedupdb.fleet.registry import Member

_PORTS: Final[Mapping[str, int]] = {"redis": 6379, "rediss": 6379, "postgresql": 5432, "mysql": 3306}
"""The usual port of a server, by the scheme of its URL."""
_ELSEWHERE: Final = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))
"""Documentation addresses: the route to them tells which address this machine shows to others. Nothing is sent."""


class OwnPorts:
    """Own ports are the addresses and ports of the fleet, which are never a target."""

    def __init__(self, listeners: Listeners, servers: Iterable[str] = ()) -> None:
        """`servers` are the URLs of Redis and of the database."""
        self._listeners = listeners
        urls = [each for url in servers for each in (named_servers(url) if is_cluster(url) else [url])]
        self._servers = [place for url in urls if (place := _server(url)) is not None]
        self._far: frozenset[tuple[str, int]] = frozenset()
        self._near_servers = frozenset(found for place in self._servers for found in _literal(*place))

    def covers(self, ip: str, port: int) -> bool:
        """Return whether a connection to that address and port would reach the fleet itself."""
        target = (plain_ip(ip), port)
        return target in self._far or target in self._near_servers or self._listeners.covers(ip, port)

    def published(self) -> tuple[str, ...]:
        """Return the listeners of this home for other homes and machines, each as `address port`."""
        addresses = _own_addresses()
        return tuple(
            dict.fromkeys(
                f"{ip} {endpoint.port}"
                for endpoint in self._listeners.all()
                for ip in (addresses if endpoint.is_wildcard else (endpoint.ip,))
            )
        )

    def update(self, members: Sequence[Member]) -> None:
        """Note where the processes of the whole fleet listen. Blocks while names of servers are looked up.

        A loopback address of another machine means nothing here.
        """
        here = socket.gethostname()
        far = {
            (endpoint.ip, endpoint.port)
            for member in members
            for endpoint in map(_endpoint, member.listens)
            if endpoint is not None and (member.host == here or not _is_loopback(endpoint.ip))
        }
        for host, port in self._servers:
            with suppress(OSError, UnicodeError):
                far |= {(plain_ip(str(found[4][0])), port) for found in socket.getaddrinfo(host, port)}
        self._far = frozenset(far)


def _server(url: str) -> tuple[str, int] | None:
    """Return host and port of a server's URL; None for one that is reached by no TCP port."""
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.partition("+")[0]
        port = parts.port or _PORTS.get(scheme, 0)
        return (parts.hostname, port) if parts.hostname and port and scheme in _PORTS else None
    except ValueError:
        return None


def _literal(host: str, port: int) -> list[tuple[str, int]]:
    if host == "localhost":
        return [("127.0.0.1", port), ("::1", port)]
    try:
        return [(plain_ip(host), port)]
    except ValueError:
        return []


def _endpoint(text: str) -> Endpoint | None:
    """Return what another process said of a listener; None for what can't be read."""
    ip, _, port = text.partition(" ")
    try:
        return Endpoint(plain_ip(ip), int(port))
    except ValueError:
        return None


def _is_loopback(ip: str) -> bool:
    return ip == "::1" or ip.startswith("127.")


def _own_addresses() -> list[str]:
    """Return this machine's addresses, as far as its routes and its name tell them; the loopback ones first."""
    found = {"127.0.0.1": None, "::1": None}
    for far, family in _ELSEWHERE:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far, 9))
            found[plain_ip(probe.getsockname()[0])] = None
    with suppress(OSError, UnicodeError):
        for each in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM):
            ip = plain_ip(str(each[4][0]))
            if is_here(ip):
                found[ip] = None
    return list(found)
