"""An origin that sends many malformed answers gets its requests one after the other, with a pause between them.

A malformed answer costs the proxy up to a whole head of reading and a new connection. An origin that sends nothing else
would take the process's time from the clients of other origins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from proxy.ttl_cache import TtlCache

ENTRIES: Final = 1024
TOLERATED: Final = 8
"""Malformed answers from one origin that are tolerated."""
PAUSE_SECONDS: Final = 0.25
"""Seconds between two requests to an origin that has sent more."""
_REMEMBERED_SECONDS: Final = 60.0


class MalformedAnswers:
    """Malformed answers are counted for each origin. An origin without one for a minute is forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: TtlCache[Hashable, _Record] = TtlCache(_REMEMBERED_SECONDS, ENTRIES, clock)

    def __len__(self) -> int:
        return len(self._known)

    def note(self, origin: Hashable) -> None:
        """Note that the origin has sent a malformed answer."""
        record = self._known.get(origin) or _Record(0, 0.0)
        self._known.note(origin, _Record(record.number + 1, record.free_at))

    def rests(self, origin: Hashable) -> bool:
        """Return whether requests to the origin have to wait for their turn."""
        if not self._known:
            return False
        record = self._known.get(origin)
        return record is not None and record.number > TOLERATED

    def turn(self, origin: Hashable) -> float:
        """Take the next turn at the origin, and return the seconds until then; 0 for an origin that does not rest."""
        if not self.rests(origin):
            return 0.0
        now = self._clock()
        record = self._known.get(origin) or _Record(0, 0.0)
        start = max(now, record.free_at)
        self._known.change(origin, _Record(record.number, start + PAUSE_SECONDS))
        return start - now


class _Record(NamedTuple):
    number: int
    free_at: float
