"""How much the dedup store knows and what it costs: originals and bytes of Redis, by collection and bucket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from archive.digest import DEFAULT_ALGORITHM
from dedupdb.command import Command
from dedupdb.redis_link import RedisLink

_KEY: Final = re.compile(rb"gf:\{(.*?)\}:o:(.*):..", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The originals of one bucket whose records name digests of one algorithm."""

    collection: str
    bucket: str
    """Empty for the collection's own."""
    algorithm: str
    originals: int
    bytes: int
    """Of memory in Redis, its own overhead included; without persistence and replication."""

    @property
    def bytes_each(self) -> float:
        """Bytes for one original."""
        return self.bytes / self.originals if self.originals else 0.0


def measure(link: RedisLink, collections: tuple[str, ...]) -> list[Shelf]:
    """Every shelf of these collections, sorted. Raises DedupUnavailable.

    There are at most 65,536 hashes for each, however many originals: a second or so of Redis's time, in small pieces.
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
    return [Shelf(*shelf, *sums) for shelf, sums in sorted(found.items())]


def _sizes(link: RedisLink, keys: list[bytes]) -> Iterator[tuple[int, int]]:
    commands = [Command(name, (key,)) for key in keys for name in ("HLEN", "MEMORY USAGE")]
    replies = iter(link.run(commands, patient=True))
    return ((int(count or 0), int(size or 0)) for count, size in zip(replies, replies, strict=True))


def _literal(name: str) -> str:
    """A name as a glob that fits nothing else."""
    return re.sub(r"([\[\]*?\\^])", r"\\\1", name)
