"""Have we these bytes? The answer for the whole fleet at once, kept in Redis (or Valkey, or Kvrocks).

Bytes are the same when SHA-256 and length agree, within one collection and one bucket of it, where dedup is set so
within one URL, and among records whose digests are of one algorithm: a revisit names its original's digest, which
nobody can compare with one of another algorithm. A writer asks with `claim` before it keeps a payload and answers with
`settle` after; in between, nobody else is granted those bytes, and if the writer dies its claim expires. An original
becomes known only after it is durable, and is never replaced.

Keys, all of one collection in one hash slot:

- `gf:{collection}:o:<bucket>:<2 bytes>` known originals: a hash for every first two bytes of the SHA-256, so that
  Redis can keep it as one packed list (`hash-max-listpack-value 1024`, `hash-max-listpack-entries 512`; in Redis 6
  `ziplist`). Field: the other 30 bytes, then the length, big-endian without leading zeros. Value: see `packing`.
- `gf:{collection}:c:<bucket>:<32 bytes><length>` a live claim: its writer's 16 random bytes; expires.
- In both, NUL and the algorithm's name follow the bucket's unless it is SHA-1.
- `gf:{collection}:t:<job>` counters of a job, by name; and under `NUL writer` each writer's last serial, so that an
  increment sent twice counts once.
- `gf:{collection}:files` names of the files that originals lie in, see `filenames`.
- `gf:{collection}:whole` the mark of a store that has lost nothing, see `wholeness`.
- `gf:captures` the stream of new captures, see `stream`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from itertools import batched, chain
from typing import Any, Final, Protocol

from archive.capture import Capture, Original
from archive.digest import DEFAULT_ALGORITHM
from archive.facts import fact
from dedupdb.command import Command, Script
from dedupdb.filenames import Filenames, files_key
from dedupdb.ledger import Ledger, Tallies, tally_key
from dedupdb.packing import pack_length, pack_original, unpack_original
from dedupdb.redis_link import DedupUnavailable, RedisLink
from dedupdb.stream import FIELD, MAX_ENTRIES, STREAM, to_entries

__all__ = ["Claims", "DedupUnavailable", "Granting", "Tallies", "Verdict", "Want", "mark_key"]

_CLAIM: Final = Script.load("claim.lua")
_CLAIM_IN: Final = Script.load("claim_in.lua")
_COMMIT: Final = Script.load("commit.lua")
_RELEASE: Final = Script.load("release.lua")
_BATCH: Final = 500


@fact(frozen=True, slots=True)
class Want:
    """Bytes that a writer is about to keep. `sha256` is raw, `algorithm` that of the digest which the record will name.

    Payloads in different buckets, or with different algorithms, never meet.
    """

    collection: str
    sha256: bytes
    length: int
    filled: tuple[str, ...] = ("",)
    """Buckets where an original may be, and that will know this one; the empty name is the collection's own."""
    searched: tuple[str, ...] = ()
    """Buckets where an original may be as well."""
    border: str = ""
    """The URL, or its key, within which alone bytes are the same; empty when they are everywhere."""
    algorithm: str = DEFAULT_ALGORITHM
    url: str = field(default="", compare=False)
    """Where they came from, as is `digest` for who asks an archive elsewhere: neither tells these bytes from others."""
    digest: bytes = field(default=b"", compare=False)
    """As the record will name it: raw, by `algorithm`."""

    @property
    def is_plain(self) -> bool:
        """Whether there is one bucket and it is filled."""
        return len(self.filled) == 1 and not self.searched

    @property
    def name(self) -> bytes:
        """What tells these bytes from others: 32 bytes."""
        if not self.border:
            return self.sha256
        return hashlib.sha256(self.sha256 + self.border.encode("utf-8", "surrogatepass")).digest()

    @property
    def places(self) -> Sequence[tuple[bytes, bytes]]:
        """For every bucket to fill, the hash that may know the original, and the key of a claim."""
        name = self.name if self.border else self.sha256
        head, shelf, tail = f"gf:{{{self.collection}}}:".encode(), name[:2], name + pack_length(self.length)
        if len(self.filled) == 1:  # nearly always, and asked for thousands of times a second
            bucket = self._bucket(self.filled[0])
            return ((b"%so:%s:%s" % (head, bucket, shelf), b"%sc:%s:%s" % (head, bucket, tail)),)
        return [
            (b"%so:%s:%s" % (head, bucket, shelf), b"%sc:%s:%s" % (head, bucket, tail))
            for bucket in map(self._bucket, self.filled)
        ]

    @property
    def shelves(self) -> list[bytes]:
        """The hashes that are only searched."""
        head, name = f"gf:{{{self.collection}}}:".encode(), self.name
        return [b"%so:%s:%s" % (head, self._bucket(bucket), name[:2]) for bucket in self.searched]

    def _bucket(self, name: str) -> bytes:
        return name.encode() if self.algorithm == DEFAULT_ALGORITHM else f"{name}\0{self.algorithm}".encode()

    @property
    def field(self) -> bytes:
        """The bytes' name within the hash."""
        return (self.name if self.border else self.sha256)[2:] + pack_length(self.length)

    def meets(self, other: Want) -> bool:
        """Whether a claim on one is a claim on the other: the same bytes, and a bucket that both fill."""
        return replace(self, filled=(), searched=()) == replace(other, filled=(), searched=()) and not set(
            self.filled
        ).isdisjoint(other.filled)


class Verdict(Enum):
    """Whose turn it is to keep bytes that no original has yet."""

    GRANTED = "granted"
    """Ours: keep them whole, then commit or release."""
    HELD = "held"
    """Another claim is alive: wait and ask again, or keep them whole without committing."""


class Granting(Protocol):
    """What keeping takes: `Claims`, or what stands before them."""

    def claim(self, wants: Sequence[Want]) -> list[Original | Verdict]:
        """One answer for each want."""

    def settle(
        self,
        kept: Sequence[tuple[Want, Original]],
        released: Sequence[Want],
        captures: Sequence[Capture],
        tallies: Tallies,
    ) -> None:
        """Commit, release, announce and count."""


class Claims:
    """One writer's view of what the fleet has. Safe to share between threads; every call is one round trip."""

    def __init__(self, redis_url: str, *, claim_seconds: float, timeout_seconds: float) -> None:
        self.link = RedisLink(redis_url, timeout_seconds=timeout_seconds)
        """For further questions about the same store."""
        self._writer = secrets.token_bytes(16)
        self._claim_ms = max(1, round(claim_seconds * 1000))
        self._ledger = Ledger(self._writer)
        self._filenames = Filenames(self.link)

    def claim(self, wants: Sequence[Want]) -> list[Original | Verdict]:
        """For each want its original, or a claim on it, or HELD.

        The second of two equal wants gets HELD, for the first one's claim is alive; so does a want whose claim this
        very writer holds already. Raises DedupUnavailable: then keep everything whole.
        """
        groups = _by_script(wants)
        answers: list[Original | Verdict] = [Verdict.HELD] * len(wants)
        replies = self.link.run([self._claim_command([wants[place] for place in group]) for group in groups])
        for group, reply in zip(groups, replies, strict=True):
            names = self._filenames.of(wants[group[0]].collection, [said for said in reply if isinstance(said, bytes)])
            for place, said in zip(group, reply, strict=True):
                answers[place] = _answer(said, names)
        return answers

    def settle(
        self,
        kept: Sequence[tuple[Want, Original]],
        released: Sequence[Want],
        captures: Sequence[Capture],
        tallies: Tallies,
    ) -> None:
        """Make what is durable known, give up the claims on what is not, announce captures, count.

        Raises DedupUnavailable, and nothing needs to be repeated after it: claims expire, the indexer finds captures
        in the sidecars, and the tallies are remembered and sent with the next `settle` (do not pass them again).
        """
        commands = [
            *self._announced_files(kept),
            *self._commits(kept),
            *self._releases(released),
            *(_announce(entry) for entry in to_entries(captures)),
        ]
        with self._ledger.lock:
            self._ledger.add(tallies)
            self.link.run([*commands, *self._ledger.due()])
            self._ledger.settled()
            # Only after an outage is there more: what was added while others were in doubt.
            self.link.run(self._ledger.due())
            self._ledger.settled()

    def restore(self, known: Iterable[tuple[Want, Original]]) -> int:
        """Make originals known again, after a loss; the first of equal ones wins. How many were not known."""
        restored = 0
        for batch in batched(known, _BATCH):
            self.link.run(self._announced_files(batch), patient=True)
            restored += sum(self.link.run(self._commits(batch), patient=True))
        return restored

    def forget(self, collection: str) -> int:
        """Forget a collection's originals; counters and live claims stay. How many hashes were dropped."""
        self.link.run([Command("DEL", (mark_key(collection), files_key(collection)))], patient=True)
        return self.link.drop_matching(f"gf:{{{collection}}}:o:*".encode())

    def tally(self, collection: str, job: str) -> dict[str, int]:
        """A job's counters so far. Raises DedupUnavailable."""
        (reply,) = self.link.run([Command("HGETALL", (tally_key(collection, job),))])
        pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
        return {name.decode(): int(count) for name, count in pairs if not name.startswith(b"\0")}

    def close(self) -> None:
        """Let the connections go; claims still held expire."""
        self.link.close()

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _claim_command(self, wants: Sequence[Want]) -> Command:
        if wants[0].is_plain:
            keys = [key for want in wants for key in want.places[0]]
            return _CLAIM.command(keys, [self._writer, self._claim_ms, *(want.field for want in wants)])
        keys = [key for want in wants for key in (*chain.from_iterable(want.places), *want.shelves)]
        facts = [part for want in wants for part in (want.field, len(want.filled), len(want.searched))]
        return _CLAIM_IN.command(keys, [self._writer, self._claim_ms, *facts])

    def _announced_files(self, kept: Sequence[tuple[Want, Original]]) -> list[Command]:
        return self._filenames.announce((want.collection, original) for want, original in kept)

    def _commits(self, kept: Sequence[tuple[Want, Original]]) -> list[Command]:
        commands = []
        for group in _by_collection([want for want, _ in kept]):
            keys: list[bytes] = []
            facts: list[bytes] = []
            for place in group:
                want, original = kept[place]
                fact = (want.field, pack_original(original))
                for known in want.places:
                    keys += known
                    facts += fact
            if keys:
                commands.append(_COMMIT.command(keys, [self._writer, *facts]))
        return commands

    def _releases(self, released: Sequence[Want]) -> list[Command]:
        commands = []
        for group in _by_collection(released):
            claims = [claim for place in group for _, claim in released[place].places]
            if claims:
                commands.append(_RELEASE.command(claims, [self._writer]))
        return commands


def _answer(reply: Any, names: Mapping[bytes, str]) -> Original | Verdict:
    if isinstance(reply, bytes):
        return unpack_original(reply, names)
    return Verdict.GRANTED if reply == 1 else Verdict.HELD


def _announce(entry: bytes) -> Command:
    return Command("XADD", (STREAM, "MAXLEN", "~", MAX_ENTRIES, "*", FIELD, entry))


def mark_key(collection: str) -> str:
    """The key of the mark that a collection's originals are all known."""
    return f"gf:{{{collection}}}:whole"


def _by_script(wants: Sequence[Want]) -> list[list[int]]:
    """Places of the wants that one run of one script can answer."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for place, want in enumerate(wants):
        groups.setdefault((want.collection, want.is_plain), []).append(place)
    return list(groups.values())


def _by_collection(wants: Sequence[Want]) -> list[list[int]]:
    """Places of the wants, those of one collection together: a script may touch one hash slot only."""
    groups: dict[str, list[int]] = {}
    for place, want in enumerate(wants):
        groups.setdefault(want.collection, []).append(place)
    return list(groups.values())
