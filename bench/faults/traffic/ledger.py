"""What the clients of one load saw and did, noted by all of them."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

SWITCHED: Final = 101


@dataclass(frozen=True, slots=True)
class Seen:
    """A response whose end a client saw, or a WebSocket's, by its handshake; `at` is of time.monotonic()."""

    url: str
    status: int
    sha256: bytes
    length: int
    at: float

    @property
    def is_socket(self) -> bool:
        """Whether it was a WebSocket: its end is the origin's close frame."""
        return self.status == SWITCHED


class Ledger:
    """Of the load by that name."""

    def __init__(self, name: str) -> None:
        self.leaving = 0.0
        """Part of the responses and WebSockets within which a client leaves (RST)."""
        self.seen: list[Seen] = []
        self.wrong: list[str] = []
        """What was delivered as whole and is not what the origin sends."""
        self.counts: Counter[str] = Counter()
        """Requests `asked`; those `broken` off, `refused` (503) or `failed` otherwise; those whose client `left`."""
        self._numbers = iter(range(1 << 30))
        self._draw = random.Random(name)
        self._lock = threading.Lock()

    def next_request(self) -> tuple[int, float | None]:
        """Its number, and the part of the answer after which the client leaves; None when it stays."""
        with self._lock:
            self.counts["asked"] += 1
            leaves = self._draw.random() < self.leaving
            return next(self._numbers), self._draw.random() if leaves else None

    def count(self, what: str) -> None:
        """One more of these."""
        with self._lock:
            self.counts[what] += 1

    def note(self, url: str, status: int, sha256: bytes, length: int) -> None:
        """A client has seen the end of it, just now."""
        seen = Seen(url, status, sha256, length, time.monotonic())
        with self._lock:
            self.seen.append(seen)
