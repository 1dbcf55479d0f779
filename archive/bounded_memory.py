"""A bounded memory keeps the latest answers to a question whose answer does not change.

The memory has two halves. Answers go to the young half. When this half is full, it becomes the old half, and the former
old half is dropped. An answer that is found in the old half moves to the young half. So an answer that is asked for all
the time stays, and a look-up costs as much as one in a dict.
"""

from __future__ import annotations

from threading import Lock


class BoundedMemory[T]:
    """A memory by text. It is safe to share between threads."""

    def __init__(self, most: int, most_characters: int) -> None:
        """Keep at most so many answers, and so many characters of their keys, in each half."""
        self._most, self._most_characters = most, most_characters
        self._young: dict[str, T] = {}
        self._old: dict[str, T] = {}
        self._characters = 0
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of answers, of which those in both halves count twice."""
        return len(self._young) + len(self._old)

    def get(self, key: str) -> T | None:
        """Return the answer; None when the memory has none."""
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: str, answer: T) -> None:
        """Keep an answer that is not None."""
        with self._lock:
            if len(self._young) >= self._most or self._characters + len(key) > self._most_characters:
                self._old, self._young, self._characters = self._young, {}, 0
            self._young[key] = answer
            self._characters += len(key)
