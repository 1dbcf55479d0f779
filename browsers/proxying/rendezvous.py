"""Highest random weight ("rendezvous") hashing chooses which of several nodes serves a key. Pure.

All processes that know the same nodes choose the same one without communication. Adding or removing one of n nodes
moves about 1/n of the keys, and only to or from this node (Thaler and Ravishankar, 1998).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def ranked(key: str, nodes: Iterable[str]) -> list[str]:
    """Return the nodes, best first for this key. When the first is down, all processes choose the second.

    The order of `nodes` does not matter, and a repeated node counts once.
    """
    return sorted(set(nodes), key=lambda node: (_weight(key, node), node), reverse=True)


def _weight(key: str, node: str) -> bytes:
    """Return a weight of eight bytes, evenly distributed. NUL separates key and node, which never contain it."""
    return hashlib.blake2b(f"{key}\0{node}".encode(), digest_size=8).digest()
