"""Where the time of a slow exchange went: one line in the log for each that took longer than `proxy.slow_seconds`."""

from __future__ import annotations

import logging
from typing import Final

log = logging.getLogger(__name__)

PHASES: Final = ("connect", "first_byte", "body", "keep")
"""Until there was a connection; until the head of the response was there; until its body was; until both were kept."""


class Stopwatch:
    """Adds up the time that one exchange spends in each phase. Times are the event loop's, in seconds."""

    __slots__ = ("_began", "_last", "_seconds")

    def __init__(self, now: float) -> None:
        self._began = self._last = now
        self._seconds = dict.fromkeys(PHASES, 0.0)

    def lap(self, phase: str, now: float) -> None:
        """The time since the last lap was spent in this phase; one that is entered again goes on."""
        self._seconds[phase] += now - self._last
        self._last = now

    def report(self, exchange: str, method: str, url: str, status: int | None, *, longer_than: float) -> None:
        """Log it, when it was slow. `status` is None when there was no response."""
        total = self._last - self._began
        if total <= longer_than:
            return
        phases = {name: round(seconds, 3) for name, seconds in self._seconds.items()}
        log.warning(
            "slow: %s %s, %s, took %.3f s: %s",
            method,
            url,
            status or "no response",
            total,
            ", ".join(f"{name.replace('_', ' ')} {seconds}" for name, seconds in phases.items()),
            extra={"exchange": exchange, "seconds": round(total, 3), "phases": phases},
        )
