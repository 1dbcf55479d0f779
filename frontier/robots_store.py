"""Robots.txt files of a job: in Redis for all workers, and the latest ones parsed at hand."""

from __future__ import annotations

import time
import zlib
from collections import OrderedDict
from threading import Lock
from typing import Final

from frontier.robots import MAX_BYTES, Robots, robots_url
from frontier.store import Store

_AT_HAND: Final = 1000


class RobotsShelf:
    """Where robots.txt files are kept as long as they are believed. Safe to share between threads."""

    def __init__(self, store: Store, robots_seconds: float) -> None:
        self._store = store
        self._robots_seconds = robots_seconds
        self._at_hand: OrderedDict[str, tuple[float, Robots]] = OrderedDict()
        self._lock = Lock()

    def get(self, url: str) -> Robots | None:
        """What governs a canonical URL; None when its robots.txt must be fetched first."""
        name = robots_url(url)
        with self._lock:
            until, robots = self._at_hand.get(name, (0.0, None))
        if robots is not None and time.monotonic() < until:
            return robots
        found = self._store.run("robots", name)
        if not found:
            return None
        left_ms, status, packed = found
        return self._keep(name, Robots(status, zlib.decompress(packed)), left_ms / 1000)

    def put(self, url: str, status: int, body: bytes = b"") -> Robots:
        """Keep the robots.txt that governs `url`, as it was answered; returns what it means."""
        name = robots_url(url)
        robots = Robots(status, body[: MAX_BYTES + 1])
        seconds = robots.believed_seconds(self._robots_seconds)
        self._store.run("robots", name, seconds, status, zlib.compress(robots.body))
        return self._keep(name, robots, seconds)

    def _keep(self, name: str, robots: Robots, seconds: float) -> Robots:
        with self._lock:
            self._at_hand[name] = (time.monotonic() + seconds, robots)
            self._at_hand.move_to_end(name)
            if len(self._at_hand) > _AT_HAND:
                self._at_hand.popitem(last=False)
        return robots
