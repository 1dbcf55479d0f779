"""Addresses and networks, as groups, sheets and rules name them. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

type IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
type IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


class NetworkTable[T]:
    """The table has a value for each of its networks. A look-up takes one step for each length that a prefix has."""

    def __init__(self) -> None:
        self._values: dict[tuple[int, int], dict[int, T]] = {}

    def put(self, network: IPNetwork, value: T) -> None:
        """Store the value of a network, unless the network has one already."""
        length = network.prefixlen
        prefix = int(network.network_address) >> (network.max_prefixlen - length)
        self._values.setdefault((network.version, length), {}).setdefault(prefix, value)

    def values(self) -> Iterator[T]:
        """Yield the values of all networks."""
        return (value for prefixes in self._values.values() for value in prefixes.values())

    def found(self, text: str) -> Iterator[tuple[int, T]]:
        """Yield the length of the prefix and the value of each network that has an address.

        Nothing is yielded for a text that is no address.
        """
        if (address := read_address(text)) is None:
            return
        number, bits = int(address), address.max_prefixlen
        for (version, length), prefixes in self._values.items():
            if version == address.version and (value := prefixes.get(number >> (bits - length))) is not None:
                yield length, value


def read_network(text: str) -> IPNetwork | None:
    """Return the network of a text such as 192.0.2.0/24; None for a text of another kind. Raises ValueError."""
    address, slash, length = text.partition("/")
    if read_address(address) is None or (slash and not length.isdecimal()):
        return None
    try:
        return ipaddress.ip_network(text.strip("[]"))
    except ValueError as error:
        raise ValueError(f"{text[:100]!r} is no network: {error}; write for example 192.0.2.0/24") from error


def read_address(text: str) -> IPAddress | None:
    """Return the address of a text; None for a text of another kind. An IPv4 address in IPv6 form is one of IPv4."""
    if not text[-1:].isdigit() and ":" not in text:  # most hosts have names
        return None
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address


def without_port(host: str) -> str:
    """Return a host without its port."""
    name, _, port = host.rpartition(":")
    return name if name and port.isdecimal() and (":" not in name or name.endswith("]")) else host
