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

_BUCKET: Final = BUCKETS - 1
"""These bits of a number are its bucket."""
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
        """Add prefixes. Return the number of new ones."""
        new = 0
        for chunk in batched(prefixes, _CHUNK):
            numbers = map(_number, chunk)
            new += self._store.run("note", PREFIXES, *(part for each in numbers for part in (each & _BUCKET, each)))
            if self._answers:  # a command that opens a job has asked nothing, and looks up no prefix of a seed
                for prefix in chunk:
                    self._answers.put(prefix, True)
        return new

    def first_of(self, prefixes: Sequence[str]) -> str | None:
        """Return the first of these texts that is a prefix; None when none is."""
        answers = {prefix: self._answers.get(prefix) for prefix in prefixes}
        for prefix in prefixes:
            if (answer := answers[prefix]) is None:
                break
            if answer:
                return prefix
        unknown = [prefix for prefix, answer in answers.items() if answer is None]
        for chunk in batched(unknown, _CHUNK):
            for prefix, found in zip(chunk, self._are_known(chunk), strict=True):
                answers[prefix] = bool(found)
                self._answers.put(prefix, bool(found))
        return next((prefix for prefix in prefixes if answers[prefix]), None)

    def forget_answers(self) -> None:
        """Ask Redis again from now on, since another process may have added prefixes."""
        self._answers = BoundedMemory[bool](_MOST_ANSWERS, _MOST_CHARACTERS)

    def _are_known(self, prefixes: Sequence[str]) -> list[int]:
        with self._store.guarded():
            pipeline = self._store.client.pipeline(transaction=False)
            for number in map(_number, prefixes):
                pipeline.sismember(self._store.key(f"{PREFIXES}:{number & _BUCKET}"), number)
            return list(pipeline.execute())


def _number(prefix: str) -> int:
    return int.from_bytes(blake2b(prefix.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
