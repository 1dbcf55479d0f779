"""Who is measured: one module for each peer, all behind `Peer`.

To add one: a module with a class that has `Peer`'s attributes and methods, and a line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from admin.bench.peers.direct import Direct
from admin.bench.peers.ours import Ghostfleet
from admin.bench.peers.peer import Peer, PeerUnavailable, Set, Started
from admin.bench.peers.pywb import Pywb
from admin.bench.peers.squid import Squid
from admin.bench.peers.warcprox import Warcprox

__all__ = ["KINDS", "Peer", "PeerUnavailable", "Set", "Started"]

KINDS: Final[dict[str, Callable[[], Peer]]] = {
    "ghostfleet": Ghostfleet,
    "warcprox": Warcprox,
    "pywb": Pywb,
    "squid": Squid,
    "direct": Direct,
}
