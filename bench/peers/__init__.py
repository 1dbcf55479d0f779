"""Each measured peer has one module here, all behind `Peer`.

To add one: a module with a class that has `Peer`'s attributes and methods, and a line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.peers.direct import Direct
from bench.peers.ours import Ghostfleet
from bench.peers.peer import Peer, PeerSetup, PeerUnavailable, RunningPeer
from bench.peers.pywb import Pywb
from bench.peers.squid import Squid
from bench.peers.warcprox import Warcprox

__all__ = ["KINDS", "Peer", "PeerSetup", "PeerUnavailable", "RunningPeer"]

KINDS: Final[dict[str, Callable[[], Peer]]] = {
    "ghostfleet": Ghostfleet,
    "warcprox": Warcprox,
    "pywb": Pywb,
    "squid": Squid,
    "direct": Direct,
}
