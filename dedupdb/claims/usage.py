"""This module measures the dedup store: originals and their memory in Redis, by collection and bucket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from archive.digest import DEFAULT_ALGORITHM
from dedupdb.redis_io.command import Command
from dedupdb.redis_io.link import RedisLink

_KEY: Final = re.compile(rb"gf:\{(.*?)\}:o:(.*):..", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BucketSize:
    """The originals of one bucket whose records name digests of one algorithm."""

    collection: str
    bucket: str
    """Empty for the collection's own bucket."""
    algorithm: str
    originals: int
    bytes: int
    """Memory in Redis with its overhead, without persistence and replication."""

    @property
    def bytes_each(self) -> float:
        """Return the mean number of bytes of one original."""
        return self.bytes / self.originals if self.originals else 0.0


def measure(link: RedisLink, collections: tuple[str, ...]) -> list[BucketSize]:
    """Return the size of every bucket of these collections, sorted. Raises DedupUnavailable.

    A bucket has at most 65,536 hashes. They cost Redis about a second, in small pieces.
    """
    found: dict[tuple[str, str, str], list[int]] = {}
    for name in collections:
        for keys in link.keys(f"gf:{{{_literal(name)}}}:o:*".encode()):
            for key, counts in zip(keys, _sizes(link, keys), strict=True):
                known = _KEY.fullmatch(key)
                if known is None:
                    continue
                bucket, _, algorithm = known[2].decode("utf-8", "replace").partition("\0")
                sums = found.setdefault((name, bucket, algorithm or DEFAULT_ALGORITHM), [0, 0])
                sums[0] += counts[0]
                sums[1] += counts[1]
    return [BucketSize(*bucket_key, *sums) for bucket_key, sums in sorted(found.items())]


def _sizes(link: RedisLink, keys: list[bytes]) -> Iterator[tuple[int, int]]:
    commands = [Command(name, (key,)) for key in keys for name in ("HLEN", "MEMORY USAGE")]
    replies = iter(link.run(commands, patient=True))
    return ((int(count or 0), int(size or 0)) for count, size in zip(replies, replies, strict=True))


def _literal(name: str) -> str:
    """Return a glob that matches this name only."""
    return re.sub(r"([\[\]*?\\^])", r"\\\1", name)
