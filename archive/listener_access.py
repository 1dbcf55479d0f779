"""These rules decide which clients a network listener admits and which `Host` headers it answers.

They protect every HTTP listener of the fleet from two dangers. A proxy that listens on a network without a password is
an open proxy. With DNS rebinding, the name of a web page resolves to 127.0.0.1, and the page's script reads the answers
of a loopback listener; only the `Host` header shows this. The kernel is asked for the addresses of this machine; there
is no other I/O.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from archive.local_endpoints import is_here, plain_ip
from archive.settings.load import Settings

_SHOWN: Final = 100
"""Length to which a refusal cuts the refused Host header."""


TWO_LENGTHS: Final = "the request has both Content-Length and Transfer-Encoding; send one of them"


def has_two_lengths(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether the header fields of a request, with names in lower case, say in two ways where the request ends.

    A proxy in front of the listener may have taken the other way, and what follows on the connection may be a request
    that the proxy never saw. RFC 9112, section 6.1, asks for the end of the connection after the answer.
    """
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}


class Clients:
    """A listener admits these clients: those of its networks, and those of this machine."""

    def __init__(self, networks: Iterable[str]) -> None:
        """Take the networks; an empty list lets every client in. Raises ValueError for other text."""
        self._networks = tuple(ipaddress.ip_network(network) for network in networks)

    @property
    def is_everybody(self) -> bool:
        """Return whether no client is refused."""
        return not self._networks

    def admits(self, peer: str, own: str) -> bool:
        """Return whether a client at `peer` may connect to `own`; both as `getpeername` and `getsockname` return."""
        return self.is_everybody or peer == own or _is_among(peer, self._networks)


@lru_cache(maxsize=4096)
def _is_among(peer: str, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    try:
        address = ipaddress.ip_address(plain_ip(peer))
    except ValueError:
        return False  # the client closed the connection before it was accepted
    return address.is_loopback or any(address in network for network in networks)


def exposure(settings: Settings) -> str:
    """Return why the fleet must not listen with these settings, in one line with remedies; empty when it may."""
    proxy, admin = settings.proxy, settings.admin
    if not (proxy.password or proxy.allow_clients or is_loopback(proxy.host)):
        return (
            f"setting proxy.host = {proxy.host!r} would open the proxy to a network without a password; set"
            " proxy.password, or proxy.allow_clients to the networks of your clients (such as 10.20.0.0/16), or"
            " proxy.host to 127.0.0.1"
        )
    if not (admin.allow_clients or is_loopback(admin.host)):
        return (
            f"setting admin.host = {admin.host!r} would open the index server to a network; set admin.allow_clients to"
            " the networks of your clients (such as 10.20.0.0/16), or admin.host to 127.0.0.1"
        )
    return ""


def view_exposure(settings: Settings) -> str:
    """Return why the viewer must not listen with these settings, in one line with remedies; empty when it may."""
    view = settings.view
    if view.password or view.allow_clients or is_loopback(view.host):
        return ""
    return (
        f"setting view.host = {view.host!r} would open the archive to a network; set view.password, or"
        " view.allow_clients to the networks of your readers (such as 10.20.0.0/16), or view.host to 127.0.0.1"
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a listener at that address or name."""
    try:
        found = [host] if _literal(host) else [str(each[4][0]) for each in socket.getaddrinfo(host, None)]
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(ipaddress.ip_address(ip.partition("%")[0]).is_loopback for ip in found)


class HostNames:
    """A listener answers these names: loopback, the addresses of the machine, its own host, and names of a setting."""

    def __init__(self, host: str, more: Iterable[str], setting: str) -> None:
        """Take the names; `setting` is the key of the setting with further names, for the refusal."""
        self._names = frozenset(_name(one) for one in (host, *more))
        self._setting = setting

    def refusal(self, given: Sequence[str]) -> str:
        """Return why a request with these `Host` headers is refused, in one line; empty when it is answered.

        A request without the header is answered, because it can't come from a browser: browsers send one.
        """
        if not given:
            return ""
        if len(given) > 1:
            return "the request has several Host headers"
        name = _name(_without_port(given[0].strip()))
        if name and (name in self._names or _is_local_name(name) or _is_own_address(name)):
            return ""
        return (
            f"Host {given[0][:_SHOWN]!r} is not a name of this server; use its address, or list the name in the setting"
            f" {self._setting}"
        )


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host if host.count(":") > 1 else host.partition(":")[0]


def _name(host: str) -> str:
    """Return the host in the form in which names are compared."""
    text = host.lower().rstrip(".").strip("[]")
    return plain_ip(text) if _literal(text) else text


def _is_local_name(name: str) -> bool:
    """Return whether the name always resolves to loopback (RFC 6761 section 6.3), so that no page can have it."""
    return name == "localhost" or name.endswith(".localhost")


def _is_own_address(name: str) -> bool:
    return _literal(name) and (ipaddress.ip_address(name).is_loopback or is_here(name))


def _literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
