"""This module drops or moves all keys of one collection. Both can be interrupted and started again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import batched
from typing import Final

from dedupdb.redis_io.command import Command
from dedupdb.redis_io.link import RedisLink

_KINDS: Final = re.compile(rb"[octr]:.*|files|homes|whole", re.DOTALL)
"""The ends of our keys, after `gf:{collection}:`; a frontier's shard of the same name has other keys."""
_AT_ONCE: Final = 200


def drop_collection(link: RedisLink, collection: str) -> int:
    """Drop originals, claims, counters and marks of a collection. Return how many keys. Raises DedupUnavailable."""
    dropped = 0
    for keys in batched(_keys(link, collection), _AT_ONCE):
        dropped += sum(map(int, link.run([Command("UNLINK", (key,)) for key in keys], patient=True)))
    return dropped


def count_keys(link: RedisLink, collection: str) -> int:
    """Return how many keys `drop_collection` would drop. Raises DedupUnavailable."""
    return sum(1 for _ in _keys(link, collection))


def move_collection(link: RedisLink, old: str, new: str) -> int:
    """Move all keys of one collection to another, which has none. Return how many keys. Raises DedupUnavailable.

    Each key is copied over this connection before it is dropped: the two names may be on two servers of a cluster.
    """
    moved, head = 0, len(_head(old))
    for keys in batched(list(_keys(link, old)), _AT_ONCE):
        dumped = link.run(
            [part for key in keys for part in (Command("DUMP", (key,)), Command("PTTL", (key,)))], patient=True
        )
        copies = [
            Command("RESTORE", (_head(new) + key[head:], max(int(left), 0), data, "REPLACE"))
            for key, data, left in zip(keys, dumped[::2], dumped[1::2], strict=True)
            if data is not None
        ]
        link.run(copies, patient=True)
        link.run([Command("UNLINK", (key,)) for key in keys], patient=True)
        moved += len(copies)
    return moved


def _keys(link: RedisLink, collection: str) -> Iterator[bytes]:
    head = _head(collection)
    for keys in link.keys(head + b"*"):
        yield from (key for key in keys if _KINDS.fullmatch(key, len(head)))


def _head(collection: str) -> bytes:
    return f"gf:{{{collection}}}:".encode()
