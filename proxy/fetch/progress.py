"""The progress of an exchange is its stage, the deadlines of its steps, and the time that each phase took.

Times are the event loop's, in seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import Final

from archive.settings import ProxySettings
from proxy.fetch.order import Order
from proxy.protocol.http1 import ResponseHead

log = logging.getLogger(__name__)


class FetchStage(Enum):
    """The stage says how far an exchange has come."""

    CONNECTING = "connecting"
    HEAD = "head"
    BODY = "body"
    UPGRADED = "upgraded"
    KEEPING = "keeping"
    OVER = "over"


TRANSITIONS: Final = {
    FetchStage.CONNECTING: frozenset((FetchStage.HEAD, FetchStage.KEEPING)),
    # Back to CONNECTING: a kept connection turned out to be dead (RFC 9112 section 9.3.1).
    FetchStage.HEAD: frozenset((FetchStage.CONNECTING, FetchStage.BODY, FetchStage.KEEPING)),
    FetchStage.BODY: frozenset((FetchStage.UPGRADED, FetchStage.KEEPING)),
    FetchStage.UPGRADED: frozenset((FetchStage.KEEPING,)),
    FetchStage.KEEPING: frozenset((FetchStage.OVER,)),
    FetchStage.OVER: frozenset[FetchStage](),
}
"""The stages that may follow each stage."""

PHASES: Final = ("connect", "first_byte", "body", "keep")
"""Until there was a connection; until the head of the response was there; until its body was; until both were kept."""
_PHASE_OF: Final = dict(zip(FetchStage, ("connect", "first_byte", "body", "body", "keep", "keep"), strict=True))


class IllegalTransition(RuntimeError):
    """A stage was to follow one that `TRANSITIONS` does not let it follow: an error of this program."""


class Deadlines:
    """Holds the deadlines and the size limit of one exchange. `now` is its start; the first deadline is
    `connect_seconds`.
    """

    __slots__ = ("_settings", "_step", "_total", "longest")

    def __init__(self, settings: ProxySettings, now: float) -> None:
        self._settings = settings
        self._step = now + settings.connect_seconds
        self._total = now + settings.total_seconds
        self.longest = settings.max_body_bytes
        """Bytes of a body that are read; 0 is no limit."""

    def wait(self, now: float, seconds: float) -> None:
        """Allow the next step that many seconds from now."""
        self._step = now + seconds

    def wait_longer(self, seconds: float) -> None:
        """Allow the present step that many seconds more."""
        self._step += seconds

    def limit_orphan(self, now: float, so_far: int) -> None:
        """Limit an exchange whose client has left, with `so_far` bytes of the body here, to the limits of orphans."""
        settings = self._settings
        self._total = min(self._total, now + settings.orphan_seconds)
        if settings.orphan_bytes:
            most = so_far + settings.orphan_bytes
            self.longest = min(self.longest or most, most)

    def has_passed(self, now: float) -> bool:
        """Return whether the present step, or the whole exchange, has taken too long."""
        return now >= self._step or now >= self._total

    def total_has_passed(self, now: float) -> bool:
        """Return whether the whole exchange has taken too long."""
        return now >= self._total


class Stopwatch:
    """Adds up the time that one exchange spends in each phase."""

    __slots__ = ("_began", "_last", "_seconds")

    def __init__(self, now: float) -> None:
        self._began = self._last = now
        self._seconds = dict.fromkeys(PHASES, 0.0)

    def lap(self, phase: str, now: float) -> None:
        """Add the time since the last lap to this phase; a phase that is entered again goes on."""
        self._seconds[phase] += now - self._last
        self._last = now

    def report(self, exchange: str, method: str, url: str, status: int | None, *, longer_than: float) -> None:
        """Write a line to the log for a slow exchange. `status` is None when there was no response."""
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


class ExchangeProgress:
    """Follows one exchange, which began at `began` by `clock`."""

    __slots__ = ("_clock", "_slow_seconds", "_watch", "deadlines", "stage")

    def __init__(self, settings: ProxySettings, began: float, clock: Callable[[], float]) -> None:
        self.stage = FetchStage.CONNECTING
        self.deadlines = Deadlines(settings, began)
        self._clock = clock
        self._slow_seconds = settings.slow_seconds
        self._watch = Stopwatch(began) if self._slow_seconds else None

    @property
    def is_ending(self) -> bool:
        """Return whether nothing more is fetched: what has come is being kept, or has been."""
        return self.stage is FetchStage.KEEPING or self.stage is FetchStage.OVER

    def enter(self, stage: FetchStage) -> None:
        """Enter the next stage. Raises IllegalTransition."""
        if stage not in TRANSITIONS[self.stage]:
            raise IllegalTransition(f"an exchange in stage {self.stage.value} can't enter stage {stage.value}")
        self._lap()
        self.stage = stage

    def wait_at_most(self, seconds: float) -> None:
        """Allow the next step that many seconds from now."""
        self.deadlines.wait(self._clock(), seconds)

    def report_slow(self, exchange: str, order: Order, head: ResponseHead | None) -> None:
        """Write a line to the log when the exchange took longer than `proxy.slow_seconds`; `head` is the response's, if
        one came.
        """
        if self._watch is not None:
            self._lap()
            status = head.status if head else None
            self._watch.report(exchange, order.head.method, order.url, status, longer_than=self._slow_seconds)

    def _lap(self) -> None:
        if self._watch is not None:
            self._watch.lap(_PHASE_OF[self.stage], self._clock())
