"""The cache keeps facts for a while. It is bounded in time and in size."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable


class TtlCache[K: Hashable, V]:
    """The cache keeps at most `entries` facts, each for `seconds` after it was noted; when full, the one noted first
    goes.
    """

    def __init__(self, seconds: float, entries: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._entries = entries
        self._clock = clock
        self._table: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._table)

    def count(self, counts: Callable[[V], bool]) -> int:
        """Return how many facts count, whether they are too old or not."""
        return sum(counts(value) for _, value in self._table.values())

    def get(self, key: K) -> V | None:
        """Return the fact, or None when it is unknown or too old."""
        found = self._table.get(key)
        if found is None:
            return None
        if found[0] <= self._clock():
            del self._table[key]
            return None
        return found[1]

    def note(self, key: K, value: V) -> None:
        """Remember the fact from now on."""
        self._table.pop(key, None)
        while len(self._table) >= self._entries:
            del self._table[next(iter(self._table))]
        self._table[key] = (self._clock() + self._seconds, value)

    def change(self, key: K, value: V) -> None:
        """Change the value of a fact that is remembered, for as long as before."""
        found = self._table.get(key)
        if found is not None:
            self._table[key] = (found[0], value)

    def forget(self, key: K) -> None:
        """Forget the fact."""
        self._table.pop(key, None)
