"""A home knows the ports on which its processes listen, and which addresses belong to this machine.

Each listener has a mark: an empty file in `run/listeners` of the home whose name is its address, its port and the id of
the process that holds it. A directory listing therefore tells every process of the home about every listener, at once
and without a server. The marks of a process that died are passed over, and the next start removes them.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_EMBEDDING: Final = tuple(map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
"""IPv6 networks whose addresses end with the IPv4 address that they stand for."""
_SEPARATOR: Final = "_"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint is an address and a port on which a process listens."""

    ip: str
    port: int

    @property
    def is_wildcard(self) -> bool:
        """Return whether the listener takes connections at every address of the machine."""
        return ipaddress.ip_address(self.ip).is_unspecified


@lru_cache(maxsize=4096)
def plain_ip(text: str) -> str:
    """Return the address in the form for comparisons: without a scope, and as IPv4 where IPv6 embeds it.

    An unspecified address is the loopback address, since a connection to it leads there. Raises ValueError for
    other text.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    # Embedded addresses come first: Python 3.13 calls "::ffff:127.0.0.1" a loopback address, and 3.12 does not.
    is_embedding = isinstance(address, ipaddress.IPv6Address) and int(address) > 1
    if is_embedding and any(address in network for network in _EMBEDDING):
        return plain_ip(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "::1"
    return str(address)


def is_here(ip: str) -> bool:
    """Return whether the address belongs to this machine. The kernel decides: only such an address can be bound."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((ip, 0))
    except OSError:
        return False
    return True


def host_and_port(host: str, port: int) -> str:
    """Return `127.0.0.1:8000`, or `[::1]:8000`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def endpoint_of(listener: socket.socket) -> Endpoint:
    """Return where a bound TCP socket listens."""
    host, port = listener.getsockname()[:2]
    return Endpoint(host.partition("%")[0], port)


class Listeners:
    """Knows the listeners of one home. Each process adds its own, and asks for those of all processes."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "run" / "listeners"
        self._mine: set[Endpoint] = set()

    def add(self, listener: socket.socket) -> None:
        """Tell every process of the home that this process listens there."""
        endpoint = endpoint_of(listener)
        self._mine.add(endpoint)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._mark(endpoint).touch(mode=0o600)
        except OSError as error:
            log.warning("can't tell the other processes of this home about listener %s: %s", endpoint, error)

    def remove(self, endpoint: Endpoint) -> None:
        """Note that this process no longer listens there."""
        self._mine.discard(endpoint)
        with suppress(OSError):
            self._mark(endpoint).unlink(missing_ok=True)

    def clear(self) -> None:
        """Note that this process no longer listens anywhere."""
        for endpoint in list(self._mine):
            self.remove(endpoint)

    def sweep(self) -> None:
        """Remove the marks of processes that have ended."""
        for name, _, pid in self._marks():
            if not _lives(pid):
                with suppress(OSError):
                    (self._folder / name).unlink(missing_ok=True)

    def all(self) -> list[Endpoint]:
        """Return every listener of a process that lives."""
        others = {endpoint for _, endpoint, pid in self._marks() if _lives(pid)}
        return sorted(self._mine | others, key=lambda endpoint: (endpoint.port, endpoint.ip))

    def covers(self, ip: str, port: int) -> bool:
        """Return whether a connection to that address and port reaches one of the listeners."""
        target = plain_ip(ip)
        if not is_here(target):
            return False
        if any(_reaches(target, port, endpoint) for endpoint in self._mine):
            return True
        return any(_reaches(target, port, endpoint) and _lives(pid) for _, endpoint, pid in self._marks(port))

    def _mark(self, endpoint: Endpoint) -> Path:
        return self._folder / _SEPARATOR.join((endpoint.ip, str(endpoint.port), str(os.getpid())))

    def _marks(self, port: int | None = None) -> Iterator[tuple[str, Endpoint, int]]:
        """Yield name, endpoint and process id of the marks of all processes, or of those for one port."""
        part = "" if port is None else f"{_SEPARATOR}{port}{_SEPARATOR}"
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return
        for name in names:
            if part not in name:
                continue
            try:
                ip, number, pid = name.split(_SEPARATOR)
                yield name, Endpoint(str(ipaddress.ip_address(ip)), int(number)), int(pid)
            except ValueError:
                continue  # the file is none of ours


def _reaches(target: str, port: int, endpoint: Endpoint) -> bool:
    return endpoint.port == port and (endpoint.is_wildcard or plain_ip(endpoint.ip) == target)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
