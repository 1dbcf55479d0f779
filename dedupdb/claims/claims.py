"""Redis (or Valkey, or Kvrocks) knows for the whole fleet which payloads are kept already. This module asks it.

Two payloads are the same when SHA-256 and length agree, within one collection and one bucket of it. The setting
`dedup.match` may ask for one URL as well. The digests of both records must have the same algorithm, because a revisit
names its original's digest, and digests of two algorithms can't be compared.

A writer calls `claim` before it keeps a payload, and `settle` afterwards. In between, no other writer gets a claim on
the same payload. The claim of a writer that has died expires. An original becomes known when it is durable, and is
never replaced.

All keys of one collection are in one hash slot:

- `gf:{collection}:o:<bucket>:<2 bytes>` has known originals. There is a hash for each value of the first two bytes of
  the SHA-256, small enough for Redis to keep it as one packed list (`hash-max-listpack-value 1024`,
  `hash-max-listpack-entries 512`; in Redis 6 `ziplist`). A field is the other 30 bytes, then the length, big-endian
  without leading zeros. `packing` describes the value.
- `gf:{collection}:c:<bucket>:<32 bytes><length>` is a live claim, which expires. Its value is 16 random bytes of its
  writer.
- In both, NUL and the name of the algorithm follow the bucket, unless the algorithm is SHA-1.
- `gf:{collection}:t:<job>` has the counters of a job by name. Under `NUL writer` it has the last serial of each writer,
  so that an increment that is sent twice counts once.
- `gf:{collection}:files` has the names of the files with originals, see `file_names`.
- `gf:{collection}:homes` has the homes of those files, where several homes share the store, see `homes`.
- `gf:{collection}:whole` marks a store that has lost nothing, see `completeness`.
- `gf:captures` is the stream of new captures, see `dedupdb.captures.stream`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import batched, chain
from typing import Any, Final, Protocol

from archive.capture import Capture, Original
from archive.digest import DEFAULT_ALGORITHM
from archive.fast_frozen import fast_frozen
from dedupdb.captures.stream import FIELD, MAX_ENTRIES, STREAM, to_entries
from dedupdb.claims.file_names import Filenames, files_key
from dedupdb.claims.packing import pack_length, pack_original, unpack_original
from dedupdb.claims.pending_counters import Increments, PendingCounters, tally_key
from dedupdb.redis_io.command import Command, RedisScript
from dedupdb.redis_io.link import RedisLink

_CLAIM: Final = RedisScript.load("claim.lua")
_CLAIM_IN: Final = RedisScript.load("claim_in.lua")
_COMMIT: Final = RedisScript.load("commit.lua")
_RELEASE: Final = RedisScript.load("release.lua")
_BATCH: Final = 500


@fast_frozen(frozen=True, slots=True)
class PayloadKey:
    """A key names a payload that a writer is about to keep. `sha256` is raw.

    `algorithm` is that of the digest in the future record. Payloads in different buckets, or with different algorithms,
    are never the same.
    """

    collection: str
    sha256: bytes
    length: int
    filled: tuple[str, ...] = ("",)
    """Buckets that are searched and that will know this payload; the empty name is the collection's own bucket."""
    searched: tuple[str, ...] = ()
    """Buckets that are only searched."""
    border: str = ""
    """The URL, or its sort key, under which an original must be; empty when any URL will do."""
    algorithm: str = DEFAULT_ALGORITHM
    url: str = field(default="", compare=False)
    """The URL of the payload. It and `digest` are for questions to other archives; neither is part of the key."""
    digest: bytes = field(default=b"", compare=False)
    """The digest of the future record: raw, by `algorithm`."""

    @property
    def is_plain(self) -> bool:
        """Return whether there is one bucket and it is filled."""
        return len(self.filled) == 1 and not self.searched

    @property
    def name(self) -> bytes:
        """Return the 32 bytes that identify the payload."""
        if not self.border:
            return self.sha256
        return hashlib.sha256(self.sha256 + self.border.encode("utf-8", "surrogatepass")).digest()

    @property
    def places(self) -> Sequence[tuple[bytes, bytes]]:
        """Return, for each bucket to fill, the key of the hash that may have the original, and the key of a claim."""
        name = self.name if self.border else self.sha256
        head, hash_key, tail = f"gf:{{{self.collection}}}:".encode(), name[:2], name + pack_length(self.length)
        if len(self.filled) == 1:  # the usual case, thousands of times a second
            bucket = self._bucket(self.filled[0])
            return ((b"%so:%s:%s" % (head, bucket, hash_key), b"%sc:%s:%s" % (head, bucket, tail)),)
        return [
            (b"%so:%s:%s" % (head, bucket, hash_key), b"%sc:%s:%s" % (head, bucket, tail))
            for bucket in map(self._bucket, self.filled)
        ]

    @property
    def searched_hashes(self) -> list[bytes]:
        """Return the keys of the hashes that are only searched."""
        head, name = f"gf:{{{self.collection}}}:".encode(), self.name
        return [b"%so:%s:%s" % (head, self._bucket(bucket), name[:2]) for bucket in self.searched]

    def _bucket(self, name: str) -> bytes:
        return name.encode() if self.algorithm == DEFAULT_ALGORITHM else f"{name}\0{self.algorithm}".encode()

    @property
    def field(self) -> bytes:
        """Return the field of the payload in its hash."""
        return (self.name if self.border else self.sha256)[2:] + pack_length(self.length)

    def overlaps(self, other: PayloadKey) -> bool:
        """Return whether a claim on one is a claim on the other: the same payload, and a bucket that both fill."""
        return replace(self, filled=(), searched=()) == replace(other, filled=(), searched=()) and not set(
            self.filled
        ).isdisjoint(other.filled)


class ClaimVerdict(Enum):
    """The verdict says which writer keeps a payload without an original."""

    GRANTED = "granted"
    """This writer: it keeps the payload whole, then commits or releases its claim."""
    HELD = "held"
    """Another claim is alive: wait and ask again, or keep the payload whole without committing."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A settlement tells the dedup store what became of payloads that a writer claimed, and what it recorded."""

    kept: Sequence[tuple[PayloadKey, Original]] = ()
    """Claimed payloads whose records are durable, with these records as originals."""
    released: Sequence[PayloadKey] = ()
    """Claimed payloads that were not kept: another writer may claim them."""
    captures: Sequence[Capture] = ()
    """New captures, which the indexer has to hear of."""
    tallies: Increments = field(default_factory=dict[tuple[str, str], Mapping[str, int]])
    """Increments of the counters of jobs."""


class DedupStore(Protocol):
    """A dedup store answers the writer: `Claims`, or a class that wraps it."""

    def claim(self, payloads: Sequence[PayloadKey]) -> list[Original | ClaimVerdict]:
        """Return one answer for each payload."""

    def settle(self, settlement: Settlement) -> None:
        """Commit, release, announce and count."""


class Claims:
    """One writer asks and answers by this object. It is safe to share between threads; every call is one round trip."""

    def __init__(self, redis_url: str, *, claim_seconds: float, timeout_seconds: float) -> None:
        self.link = RedisLink(redis_url, timeout_seconds=timeout_seconds)
        """The link to Redis, for other commands about the same store."""
        self._writer = secrets.token_bytes(16)
        self._claim_ms = max(1, round(claim_seconds * 1000))
        self._counters = PendingCounters(self._writer)
        self._filenames = Filenames(self.link)

    def claim(self, payloads: Sequence[PayloadKey]) -> list[Original | ClaimVerdict]:
        """Return for each payload its original, or a claim on it, or HELD.

        The second of two equal payloads gets HELD, and so does a payload that this writer has claimed before. Raises
        DedupUnavailable; then the caller keeps every payload whole.
        """
        groups = _by_script(payloads)
        answers: list[Original | ClaimVerdict] = [ClaimVerdict.HELD] * len(payloads)
        replies = self.link.run([self._claim_command([payloads[place] for place in group]) for group in groups])
        for group, reply in zip(groups, replies, strict=True):
            names = self._filenames.of(
                payloads[group[0]].collection, [said for said in reply if isinstance(said, bytes)]
            )
            for place, said in zip(group, reply, strict=True):
                answers[place] = _answer(said, names)
        return answers

    def settle(self, settlement: Settlement) -> None:
        """Make durable originals known, release the other claims, announce captures and count.

        Raises DedupUnavailable. The caller repeats nothing after it: claims expire, the indexer finds the captures in
        the sidecars, and the next `settle` sends these tallies too.
        """
        commands = [
            *self._announced_files(settlement.kept),
            *self._commits(settlement.kept),
            *self._releases(settlement.released),
            *(_announce(entry) for entry in to_entries(settlement.captures)),
        ]
        with self._counters.lock:
            self._counters.add(settlement.tallies)
            self.link.run([*commands, *self._counters.due()])
            self._counters.settled()
            # After an outage, increments that were added meanwhile are still to be sent.
            self.link.run(self._counters.due())
            self._counters.settled()

    def restore(self, known: Iterable[tuple[PayloadKey, Original]]) -> int:
        """Make originals known again after a loss; the first of equal ones wins. Return how many were not known."""
        restored = 0
        for batch in batched(known, _BATCH):
            self.link.run(self._announced_files(batch), patient=True)
            restored += sum(self.link.run(self._commits(batch), patient=True))
        return restored

    def forget(self, collection: str) -> int:
        """Forget a collection's originals, not its counters and live claims. Return the number of dropped hashes."""
        self.link.run([Command("DEL", (mark_key(collection), files_key(collection)))], patient=True)
        return self.link.drop_matching(originals_pattern(collection))

    def announce(self, collection: str, original: Original) -> None:
        """Make the name of the original's file known. Raises DedupUnavailable."""
        self.link.run(self._filenames.announce([(collection, original)]))

    def tally(self, collection: str, job: str) -> dict[str, int]:
        """Return a job's counters so far. Raises DedupUnavailable."""
        (reply,) = self.link.run([Command("HGETALL", (tally_key(collection, job),))])
        pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
        return {name.decode(): int(count) for name, count in pairs if not name.startswith(b"\0")}

    def close(self) -> None:
        """Close the connections; claims that are still held expire."""
        self.link.close()

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _claim_command(self, payloads: Sequence[PayloadKey]) -> Command:
        if payloads[0].is_plain:
            keys = [key for payload in payloads for key in payload.places[0]]
            return _CLAIM.command(keys, [self._writer, self._claim_ms, *(payload.field for payload in payloads)])
        keys = [key for payload in payloads for key in (*chain.from_iterable(payload.places), *payload.searched_hashes)]
        facts = [part for payload in payloads for part in (payload.field, len(payload.filled), len(payload.searched))]
        return _CLAIM_IN.command(keys, [self._writer, self._claim_ms, *facts])

    def _announced_files(self, kept: Sequence[tuple[PayloadKey, Original]]) -> list[Command]:
        return self._filenames.announce((payload.collection, original) for payload, original in kept)

    def _commits(self, kept: Sequence[tuple[PayloadKey, Original]]) -> list[Command]:
        commands = []
        for group in _by_collection([payload for payload, _ in kept]):
            keys: list[bytes] = []
            facts: list[bytes] = []
            for place in group:
                payload, original = kept[place]
                entry = (payload.field, pack_original(original))
                for known in payload.places:
                    keys += known
                    facts += entry
            if keys:
                commands.append(_COMMIT.command(keys, [self._writer, *facts]))
        return commands

    def _releases(self, released: Sequence[PayloadKey]) -> list[Command]:
        commands = []
        for group in _by_collection(released):
            claims = [claim for place in group for _, claim in released[place].places]
            if claims:
                commands.append(_RELEASE.command(claims, [self._writer]))
        return commands


def _answer(reply: Any, names: Mapping[bytes, str]) -> Original | ClaimVerdict:
    if isinstance(reply, bytes):
        return unpack_original(reply, names)
    return ClaimVerdict.GRANTED if reply == 1 else ClaimVerdict.HELD


def _announce(entry: bytes) -> Command:
    return Command("XADD", (STREAM, "MAXLEN", "~", MAX_ENTRIES, "*", FIELD, entry))


def mark_key(collection: str) -> str:
    """Return the key of the mark by which Redis knows all originals of a collection."""
    return f"gf:{{{collection}}}:whole"


def originals_pattern(collection: str) -> bytes:
    """Return the glob for the hashes of a collection's originals. No other key matches it."""
    return f"gf:{{{collection}}}:o:*".encode()


def _by_script(payloads: Sequence[PayloadKey]) -> list[list[int]]:
    """Return groups of places in `payloads`; one run of one script can answer each group."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for place, payload in enumerate(payloads):
        groups.setdefault((payload.collection, payload.is_plain), []).append(place)
    return list(groups.values())


def _by_collection(payloads: Sequence[PayloadKey]) -> list[list[int]]:
    """Return places in `payloads`, grouped by collection: a script may use the keys of one hash slot only."""
    groups: dict[str, list[int]] = {}
    for place, payload in enumerate(payloads):
        groups.setdefault(payload.collection, []).append(place)
    return list(groups.values())
