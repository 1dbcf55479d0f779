"""How far an exchange has come, how long its next step may take, and where its time went."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from archive.sections import ProxySettings
from proxy.bounds import Bounds
from proxy.http1 import ResponseHead
from proxy.order import Order
from proxy.slow import Stopwatch


class Stage(Enum):
    """How far an exchange has come."""

    CONNECTING = "connecting"
    HEAD = "head"
    BODY = "body"
    UPGRADED = "upgraded"
    KEEPING = "keeping"
    OVER = "over"


_PHASE_OF: Final = dict(zip(Stage, ("connect", "first_byte", "body", "body", "keep", "keep"), strict=True))


class Progress:
    """Of one exchange, which began at `began` by `clock`, the event loop's, in seconds."""

    __slots__ = ("_clock", "_slow_seconds", "_watch", "bounds", "stage")

    def __init__(self, settings: ProxySettings, began: float, clock: Callable[[], float]) -> None:
        self.stage = Stage.CONNECTING
        self.bounds = Bounds(settings, began)
        self._clock = clock
        self._slow_seconds = settings.slow_seconds
        self._watch = Stopwatch(began) if self._slow_seconds else None

    @property
    def is_ending(self) -> bool:
        """Whether nothing more is fetched: what has come is being kept, or is."""
        return self.stage is Stage.KEEPING or self.stage is Stage.OVER

    def enter(self, stage: Stage) -> None:
        """The next stage begins."""
        if self._watch is not None:
            self._watch.lap(_PHASE_OF[self.stage], self._clock())
        self.stage = stage

    def wait_at_most(self, seconds: float) -> None:
        """The next step may take that long from now."""
        self.bounds.wait(self._clock(), seconds)

    def report_slow(self, exchange: str, order: Order, head: ResponseHead | None) -> None:
        """A line in the log, when it took longer than `proxy.slow_seconds`; `head` is the response's, if one came."""
        if self._watch is not None:
            self.enter(self.stage)
            status = head.status if head else None
            self._watch.report(exchange, order.head.method, order.url, status, longer_than=self._slow_seconds)
