"""A crawl that gets no bytes, or in which no visit goes on, for too long is at its end. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from admin.harvester.job_folder import StopCause


@dataclass(slots=True)
class Stillness:
    """Stillness is judged by two time-outs. Times are seconds of any one clock.

    Both begin when the crawl has begun, and again when a pause ends: a paused crawl is not expected to do anything.
    """

    no_response_seconds: float
    inactivity_seconds: float
    _bytes: int = -1
    _bytes_since: float = 0.0
    _active_since: float = 0.0

    def look(self, now: float, *, got_bytes: int, visits: int, is_paused: bool) -> StopCause:
        """Return which time-out has come; NONE as long as the crawl is well."""
        if is_paused or self._bytes < 0:
            self._bytes, self._bytes_since, self._active_since = max(got_bytes, 0), now, now
            return StopCause.NONE
        if got_bytes != self._bytes:
            self._bytes, self._bytes_since = got_bytes, now
        if visits > 0:
            self._active_since = now
        if now - self._bytes_since > self.no_response_seconds:
            return StopCause.NO_RESPONSE
        if now - self._active_since > self.inactivity_seconds:
            return StopCause.INACTIVITY
        return StopCause.NONE

    def reason(self, cause: StopCause) -> str:
        """Return the sentence that people are told."""
        if cause is StopCause.NO_RESPONSE:
            return f"no bytes came for {self.no_response_seconds:.0f} s (harvester.no_response_seconds)"
        return f"no visit went on for {self.inactivity_seconds:.0f} s (harvester.inactivity_seconds)"
