"""Which of several nodes serves a key: highest random weight ("rendezvous") hashing. Pure.

Everybody who knows the same nodes chooses the same one, without asking anybody; adding or removing one of n moves
about 1/n of the keys, and those only to or from that node (Thaler and Ravishankar, 1998; CARP uses the same idea).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def ranked(key: str, nodes: Iterable[str]) -> list[str]:
    """The nodes, best first for this key: when the first is down, the second is everybody's next choice.

    The order in which they are given means nothing, and a node given twice is there once.
    """
    return sorted(set(nodes), key=lambda node: (_weight(key, node), node), reverse=True)


def _weight(key: str, node: str) -> bytes:
    """Eight bytes that are evenly spread over keys and nodes; NUL is in neither, so no two pairs are one."""
    return hashlib.blake2b(f"{key}\0{node}".encode(), digest_size=8).digest()
