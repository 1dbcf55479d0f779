"""Redis stores the robots.txt files of a job for all workers. This module keeps the latest ones parsed."""

from __future__ import annotations

import time
import zlib
from collections import OrderedDict
from threading import Lock
from typing import Final

from frontier.robots.rules import MAX_BYTES, Robots, robots_url
from frontier.store import Store

_MOST_PARSED: Final = 1000


class RobotsStore:
    """The store has the valid robots.txt files of a job. It is safe to share between threads."""

    def __init__(self, store: Store, robots_seconds: float) -> None:
        self._store = store
        self._robots_seconds = robots_seconds
        self._parsed: OrderedDict[str, tuple[float, Robots]] = OrderedDict()
        self._lock = Lock()

    def get(self, url: str) -> Robots | None:
        """Return the robots.txt of a canonical URL; None when it must be fetched."""
        name = robots_url(url)
        with self._lock:
            until, robots = self._parsed.get(name, (0.0, None))
        if robots is not None and time.monotonic() < until:
            return robots
        found = self._store.run("robots", name)
        if not found:
            return None
        left_ms, status, packed = found
        return self._keep(name, Robots(status, zlib.decompress(packed)), left_ms / 1000)

    def put(self, url: str, status: int, body: bytes = b"") -> Robots:
        """Store the answer to the robots.txt of `url`, and return its rules."""
        name = robots_url(url)
        robots = Robots(status, body[: MAX_BYTES + 1])
        seconds = robots.believed_seconds(self._robots_seconds)
        self._store.run("robots", name, seconds, status, zlib.compress(robots.body))
        return self._keep(name, robots, seconds)

    def _keep(self, name: str, robots: Robots, seconds: float) -> Robots:
        with self._lock:
            self._parsed[name] = (time.monotonic() + seconds, robots)
            self._parsed.move_to_end(name)
            if len(self._parsed) > _MOST_PARSED:
                self._parsed.popitem(last=False)
        return robots
