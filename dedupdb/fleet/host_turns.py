"""Pauses between requests to a host are kept by the whole fleet. This module gives each request its turn.

`gf:next:<host>` is the time of the host's next turn, and expires then. A request takes this turn and moves the time on
by its pause. So requests are sent in the order in which they came. A turn that is not used wastes one pause.
"""

from __future__ import annotations

from typing import Final

from dedupdb.redis_io.command import RedisScript
from dedupdb.redis_io.link import RedisLink

_TURN: Final = RedisScript.load("turn.lua")


class HostTurns:
    """Gives turns at hosts, for the whole fleet. Safe to share between threads; every call is one round trip."""

    def __init__(self, redis_url: str, *, longest_seconds: float, timeout_seconds: float) -> None:
        """Give no turn that is more than `longest_seconds` away."""
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds)
        self._longest_ms = round(longest_seconds * 1000)

    def take(self, host: str, pause_seconds: float) -> float:
        """Return the seconds until this request may be sent; more than `longest_seconds` when it got no turn.

        Raises DedupUnavailable.
        """
        pause_ms = max(1, round(pause_seconds * 1000))
        (wait_ms,) = self._link.run([_TURN.command([f"gf:next:{host}"], [pause_ms, self._longest_ms])])
        return int(wait_ms) / 1000

    def close(self) -> None:
        """Close the connections."""
        self._link.close()
