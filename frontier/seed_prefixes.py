"""The SURT prefixes of a job's seeds are stored in Redis, where all workers look them up.

A prefix takes about as much as a seen URL: eight bytes of BLAKE2b in one of many small sets, which Redis packs as
integer sets. No process has the seeds or their prefixes in memory. A worker remembers the latest answers, and a crawl
asks for few hosts again and again, so that few links of a page need a question to Redis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import batched
from typing import Final

from archive.bounded_memory import BoundedMemory
from frontier.seen import BUCKETS
from frontier.store import PREFIXES, Store

WIDER: Final = "+"
"""An entry of the list of changes of the scope that says that there are more prefixes of seeds."""
_CHUNK: Final = 1_000
_MOST_ANSWERS: Final = 50_000
"""Largest number of answers in a half of the memory (`archive.bounded_memory`)."""
_MOST_CHARACTERS: Final = 4_000_000


class StoredPrefixes:
    """The prefixes of one job. Safe to share between threads. The methods raise FrontierUnavailable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.forget_answers()

    def add(self, prefixes: Iterable[str]) -> int:
        """Add prefixes, and tell all workers of the job when one is new. Return the number of new ones.

        Each step stores some prefixes and tells of them at once, so that an outage can't come in between.
        """
        new = 0
        for chunk in batched(prefixes, _CHUNK):
            places = [part for prefix in chunk for part in _place(prefix)]
            new += int(self._store.run("scope", WIDER, *places))
            if self._answers:  # a command that opens a job has asked nothing, and looks up no prefix of a seed
                for prefix in chunk:
                    self._answers.put(prefix, True)
        return new

    def first_of(self, prefixes: Sequence[str]) -> str | None:
        """Return the first of these texts that is a prefix; None when none is."""
        memory = self._answers  # another thread may forget the answers after Redis was asked
        answers = {prefix: memory.get(prefix) for prefix in prefixes}
        for prefix in prefixes:
            if (answer := answers[prefix]) is None:
                break
            if answer:
                return prefix
        unknown = [prefix for prefix, answer in answers.items() if answer is None]
        for chunk in batched(unknown, _CHUNK):
            for prefix, found in zip(chunk, self._are_stored(chunk), strict=True):
                answers[prefix] = found
                memory.put(prefix, found)
        return next((prefix for prefix in prefixes if answers[prefix]), None)

    def forget_answers(self) -> None:
        """Ask Redis again from now on, since another process may have added prefixes."""
        self._answers = BoundedMemory[bool](_MOST_ANSWERS, _MOST_CHARACTERS)

    def _are_stored(self, prefixes: Sequence[str]) -> list[bool]:
        with self._store.guarded():
            pipeline = self._store.client.pipeline(transaction=False)
            for name, number in map(_place, prefixes):
                pipeline.sismember(self._store.key(name), number)
            return list(map(bool, pipeline.execute()))


def _place(prefix: str) -> tuple[str, int]:
    """Return the name of the set that has a prefix, and the number of the prefix there."""
    digest = blake2b(prefix.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, signed=True)
    return f"{PREFIXES}:{number & (BUCKETS - 1)}", number
