"""A request needs a reservation of its limits, its host's turn, room in the recorder's queue, and a connection."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from proxy.delivery.delivery import Delivery
from proxy.fetch.failures import Failure, failure_to_connect
from proxy.fetch.order import Order
from proxy.fetch.origin_line import OriginLine
from proxy.fetch.progress import ExchangeProgress, FetchStage
from proxy.fetch.services import Services
from proxy.origins.upstream import Upstream
from proxy.refusal import Refused
from proxy.sessions.admission import PATIENCE_SECONDS
from proxy.sessions.reservation import Reservation

_BACK_PRESSURE_SECONDS: Final = 0.05


class ConnectCallbacks(Protocol):
    """The owner of the request is told of the connection. Exactly one of these is called for each attempt, unless the
    exchange ended before.
    """

    def ask(self, upstream: Upstream) -> None:
        """Send the request over this connection."""

    def fail(self, failure: Failure) -> None:
        """Fail: the origin can't be reached."""

    def turn_away(self, refused: Refused) -> None:
        """Turn the request away: it may not be sent."""


class Connecting:
    """Made for one exchange; nothing is sent by it."""

    __slots__ = ("_delivery", "_keeps", "_line", "_order", "_progress", "_reservation", "_services")

    def __init__(
        self,
        order: Order,
        line: OriginLine,
        delivery: Delivery,
        progress: ExchangeProgress,
        services: Services,
        *,
        keeps: bool,
    ) -> None:
        """Begin nothing; `keeps` is whether the response is to be kept."""
        self._order = order
        self._line = line
        self._delivery = delivery
        self._progress = progress
        self._services = services
        self._keeps = keeps
        self._reservation: Reservation | None = None

    def begin(self, owner: ConnectCallbacks) -> None:
        """Begin with a kept connection if there is one; while the writer is behind, and a client there to wait,
        wait.
        """
        policy = self._order.policy
        if self._order.session.spec.mode == "replay":
            # No such request comes here. If one ever does, it ends before a name is looked up.
            owner.turn_away(Refused(500, "a replay never asks the live web", "replay"))
        elif policy.refusal is not None:
            owner.turn_away(policy.refusal)
        elif policy.limits or self._pause() or self._services.malformed.rests(self._order.destination):
            self._services.run(self._in_turn(owner))
        else:
            self._go(owner)

    async def reconnect(self, owner: ConnectCallbacks) -> None:
        """Begin with a connection from the pool, which may have to be waited for."""
        try:
            upstream = await self._line.opened()
        except OSError as error:
            owner.fail(failure_to_connect(error))
        else:
            if self._progress.stage is FetchStage.CONNECTING:
                owner.ask(upstream)
            else:
                self._line.put_back(upstream)

    def end(self) -> None:
        """End: the exchange is over."""
        if self._reservation is not None:
            self._reservation.release()

    def _pause(self) -> float:
        """Return seconds that are to pass at the host behind this request."""
        host, port = self._order.destination[:2]
        return self._services.pacing.pause(host, port, self._order.session.spec.host_delay)

    async def _in_turn(self, owner: ConnectCallbacks) -> None:
        """Send nothing to the origin before the limits allow it and its host's turn has come."""
        await self._rested()
        refused = await self._permitted() or await self._waited()
        if refused is not None:
            owner.turn_away(refused)
        elif self._progress.stage is FetchStage.CONNECTING:
            self._progress.wait_at_most(self._services.settings.connect_seconds)
            self._go(owner)
        else:
            self.end()

    async def _rested(self) -> None:
        """Wait for a turn at an origin that has sent many malformed answers."""
        seconds = self._services.malformed.turn(self._order.destination)
        if seconds:
            settings = self._services.settings
            self._progress.wait_at_most(seconds + settings.connect_seconds)
            await asyncio.sleep(seconds)

    async def _permitted(self) -> Refused | None:
        if not self._order.policy.limits:
            return None
        self._reservation = Reservation(self._services.admission, self._order.policy)
        self._progress.deadlines.wait_longer(PATIENCE_SECONDS)
        return await self._reservation.reserve()

    async def _waited(self) -> Refused | None:
        pause, settings = self._pause(), self._services.settings
        if not pause or self._progress.stage is not FetchStage.CONNECTING:
            return None
        self._progress.wait_at_most(settings.host_delay_wait_seconds + settings.connect_seconds)
        return await self._services.pacing.wait(self._order.destination.host, pause)

    def _go(self, owner: ConnectCallbacks) -> None:
        if self._progress.stage is not FetchStage.CONNECTING:
            return  # it has failed while it waited
        services = self._services
        if self._keeps and services.recorder.is_full and self._delivery.is_wanted:
            self._progress.wait_at_most(services.settings.connect_seconds)
            services.loop.call_later(_BACK_PRESSURE_SECONDS, self._go, owner)
            return
        kept = self._line.kept()
        if kept is None:
            services.run(self.reconnect(owner))
        else:
            owner.ask(kept)
