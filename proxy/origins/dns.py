"""A record keeps an answer of DNS under a `dns:` URI (RFC 4501), in a block of type text/dns (RFC 4027).

The form is Heritrix's: the date in 14 digits on the first line, then the answer as a zone file has it. The system's
resolver (getaddrinfo) returns addresses only, without TTL, intermediate names and name server. The seconds for which
the proxy believes the answer stand in place of the TTL, and a comment says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archive.dates import Micros, timestamp14

CONTENT_TYPE: Final = "text/dns"
_RESOLV_CONF: Final = Path("/etc/resolv.conf")


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """The addresses of a name at a moment. `seconds` is how long the proxy believes them."""

    name: str
    addresses: tuple[str, ...]
    date: Micros
    seconds: int
    source: str = "the system's resolver, which tells no TTL"
    nameserver: str | None = None
    """IP address of the name server, when the machine has only one."""

    @property
    def uri(self) -> str:
        """`dns:` and the name."""
        return f"dns:{self.name}"

    def block(self) -> bytes:
        """Return the date, one line per address, and a comment that says where the answer and its seconds come from."""
        lines = [timestamp14(self.date)]
        for address in self.addresses:
            kind = "AAAA" if ":" in address else "A"
            lines.append(f"{self.name}.\t{self.seconds}\tIN\t{kind}\t{address}")
        lines.append(f"; from {self.source}; believed for {self.seconds} s")
        return "".join(f"{line}\n" for line in lines).encode("ascii", "backslashreplace")


def only_nameserver(path: Path = _RESOLV_CONF) -> str | None:
    """Return the name server of this machine; None when there are several, or none is known."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    servers = [words[1] for words in map(str.split, lines) if len(words) > 1 and words[0] == "nameserver"]
    return servers[0] if len(servers) == 1 else None
