"""Whose turn it is at a host: pauses between requests that hold across the fleet.

`gf:next:<host>` says when the host may be asked next, and expires then. Whoever wants to ask it takes the next place,
and pushes the time on by the pause it wants behind itself; so requests are answered in the order in which they came,
and a place that nobody uses after all is one pause lost.
"""

from __future__ import annotations

from typing import Final

from dedupdb.command import Script
from dedupdb.redis_link import RedisLink

_TURN: Final = Script.load("turn.lua")


class Turns:
    """The fleet's hosts. Safe to share between threads; every call is one round trip."""

    def __init__(self, redis_url: str, *, longest_seconds: float, timeout_seconds: float) -> None:
        """Nobody gets a place that is more than `longest_seconds` away."""
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds)
        self._longest_ms = round(longest_seconds * 1000)

    def take(self, host: str, pause_seconds: float) -> float:
        """Seconds until this request may be sent; more than the longest there may be when it got no place.

        Raises DedupUnavailable.
        """
        pause_ms = max(1, round(pause_seconds * 1000))
        (wait_ms,) = self._link.run([_TURN.command([f"gf:next:{host}"], [pause_ms, self._longest_ms])])
        return int(wait_ms) / 1000

    def close(self) -> None:
        """Let the connections go."""
        self._link.close()
