"""The way of one request to its origin: leave of its limits, the host's turn, room in the recorder's queue, a line."""

from __future__ import annotations

from typing import Final, Protocol

from proxy.delivery import Delivery
from proxy.failures import Failure, failure_to_connect
from proxy.leave import Leave
from proxy.line import Line
from proxy.order import Order
from proxy.progress import Progress, Stage
from proxy.refusal import Refused
from proxy.services import Services
from proxy.upstream import Upstream

_BACK_PRESSURE_SECONDS: Final = 0.05


class Asker(Protocol):
    """Who wants to get there. Exactly one of these is called for each attempt, unless the exchange ended before."""

    def ask(self, upstream: Upstream) -> None:
        """Here is a connection: send the request."""

    def fail(self, failure: Failure) -> None:
        """The origin can't be reached."""

    def turn_away(self, refused: Refused) -> None:
        """It may not be asked."""


class Approach:
    """Made for one exchange; nothing is sent by it."""

    __slots__ = ("_delivery", "_keeps", "_leave", "_line", "_order", "_progress", "_services")

    def __init__(
        self, order: Order, line: Line, delivery: Delivery, progress: Progress, services: Services, *, keeps: bool
    ) -> None:
        """`keeps` is whether the response is to be kept."""
        self._order = order
        self._line = line
        self._delivery = delivery
        self._progress = progress
        self._services = services
        self._keeps = keeps
        self._leave: Leave | None = None

    def begin(self, asker: Asker) -> None:
        """By a kept connection if there is one; while the writer is behind, and a client there to wait, it waits."""
        policy = self._order.policy
        if policy.refusal is not None:
            asker.turn_away(policy.refusal)
        elif policy.limits or self._pause():
            self._services.run(self._in_turn(asker))
        else:
            self._go(asker)

    async def anew(self, asker: Asker) -> None:
        """By a new connection."""
        try:
            upstream = await self._line.opened()
        except OSError as error:
            asker.fail(failure_to_connect(error))
        else:
            if self._progress.stage is Stage.CONNECTING:
                asker.ask(upstream)
            else:
                self._line.put_back(upstream)

    def end(self) -> None:
        """The exchange is over."""
        if self._leave is not None:
            self._leave.give_back()

    def _pause(self) -> float:
        """Seconds that are to pass at the host behind this request."""
        host, port = self._order.destination[:2]
        return self._services.pacing.pause(host, port, self._order.session.spec.host_delay)

    async def _in_turn(self, asker: Asker) -> None:
        """Nothing is sent to the origin before the limits allow it and its host's turn has come."""
        refused = await self._permitted() or await self._waited()
        if refused is not None:
            asker.turn_away(refused)
        elif self._progress.stage is Stage.CONNECTING:
            self._progress.wait_at_most(self._services.settings.connect_seconds)
            self._go(asker)
        else:
            self.end()

    async def _permitted(self) -> Refused | None:
        if not self._order.policy.limits:
            return None
        self._leave = Leave(self._services.admission, self._order.policy)
        self._progress.bounds.wait_longer(self._services.settings.limit_seconds)
        return await self._leave.ask()

    async def _waited(self) -> Refused | None:
        pause, settings = self._pause(), self._services.settings
        if not pause or self._progress.stage is not Stage.CONNECTING:
            return None
        self._progress.wait_at_most(settings.host_delay_wait_seconds + settings.connect_seconds)
        return await self._services.pacing.wait(self._order.destination.host, pause)

    def _go(self, asker: Asker) -> None:
        if self._progress.stage is not Stage.CONNECTING:
            return  # it has failed while it waited
        services = self._services
        if self._keeps and services.recorder.is_full and self._delivery.is_wanted:
            self._progress.wait_at_most(services.settings.connect_seconds)
            services.loop.call_later(_BACK_PRESSURE_SECONDS, self._go, asker)
            return
        kept = self._line.kept()
        if kept is None:
            services.run(self.anew(asker))
        else:
            self._line.is_kept_one = True
            asker.ask(kept)
