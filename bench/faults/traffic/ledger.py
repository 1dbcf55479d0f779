"""The clients of one load note their requests and responses here."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

SWITCHED: Final = 101


@dataclass(frozen=True, slots=True)
class SeenResponse:
    """A client saw the end of this response, or of a WebSocket. `at` is of time.monotonic()."""

    url: str
    status: int
    sha256: bytes
    length: int
    at: float

    @property
    def is_websocket(self) -> bool:
        """Return whether this is a WebSocket. Its end is the close frame of the origin."""
        return self.status == SWITCHED


class RequestLedger:
    """The ledger notes the requests and responses of one load."""

    def __init__(self, name: str) -> None:
        self.leaving = 0.0
        """Share of the responses and WebSockets within which a client resets the connection."""
        self.seen: list[SeenResponse] = []
        self.wrong: list[str] = []
        """Responses that were delivered as whole and differ from the origin's."""
        self.counts: Counter[str] = Counter()
        """Numbers of requests: `asked`, `broken` off, `refused` (503), `failed` otherwise, and reset by the client
        (`left`).
        """
        self.name = name
        self._numbers = iter(range(1 << 30))
        self._draw = random.Random(name)
        self._lock = threading.Lock()

    def next_request(self) -> tuple[int, float | None]:
        """Return the number of the request, and the share of the response after which the client resets, or None."""
        with self._lock:
            self.counts["asked"] += 1
            leaves = self._draw.random() < self.leaving
            return next(self._numbers), self._draw.random() if leaves else None

    def count(self, what: str) -> None:
        """Add one to the counter `what`."""
        with self._lock:
            self.counts[what] += 1

    def note(self, url: str, status: int, sha256: bytes, length: int) -> None:
        """Note that a client saw the end of a response."""
        seen = SeenResponse(url, status, sha256, length, time.monotonic())
        with self._lock:
            self.seen.append(seen)
