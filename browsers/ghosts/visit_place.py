"""A visit takes place in a session of the proxy, and in a browser context that is fresh or an earlier one of its site.

The session of a visit in an earlier context has the port of the last session there, which the proxy has kept. Its
requests go without the conditions of the browser's cache: few readers know to which capture a 304 belongs.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from browsers.engines.interface import Engine, KeptContext
from browsers.ghosts.site_caches import PORT_SECONDS, SiteCache, SiteCaches, SiteKey
from browsers.proxying.control_client import Control, PortNotKept, ProxySession, SessionRequest
from browsers.visit import FleetUnavailable

_CALM_SECONDS: Final = 2.0
"""Requests that outlive their page, such as beacons, may go on for so long before the browser's context is closed."""


@dataclass(slots=True)
class VisitPlace:
    """The place of one visit."""

    control: Control
    session: ProxySession
    began: float
    """Time (monotonic seconds) of the first visit in the context."""
    key: SiteKey | None = None
    """The key under which the context may be kept; None when it may not."""
    visits: int = 1
    """Number of visits in the context, with this one."""
    context: KeptContext | None = None
    """The context without a window: before the visit an earlier one, after the visit the one that may be kept."""

    @property
    def keep_port_seconds(self) -> float:
        """Return how long the proxy shall keep the port of the session; 0 when there is no context for it."""
        return PORT_SECONDS if self.context is not None else 0.0

    async def context_for(self, engine: Engine) -> KeptContext | None:
        """Take the earlier context and return it. Close it and return None when the engine can't use it."""
        context, self.context = self.context, None
        if context is None or context.is_usable_in(engine):
            return context
        await context.close()
        self.began, self.visits = time.monotonic(), 1
        return None


class VisitPlaces:
    """The places at which one visitor's visits happen. It is safe to use from several threads."""

    def __init__(self, controls: Sequence[Control], run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        """`run` returns the result of a coroutine that runs on the browser's event loop."""
        self.caches = SiteCaches(self._drop)
        self._controls = itertools.cycle(controls)
        self._run = run

    def next_control(self) -> Control:
        """Return the control port for the next visit in a fresh context."""
        return next(self._controls)

    def begin(self, request: SessionRequest, key: SiteKey | None) -> VisitPlace:
        """Return the place of a new visit, in an earlier context when one waits under the key.

        Raises FleetUnavailable.
        """
        began = time.monotonic()
        kept = self.caches.take(key) if key is not None else None
        if kept is not None:
            with suppress(PortNotKept, FleetUnavailable):
                if self._run(kept.context.settle()):
                    session = kept.control.open(replace(request, port_of=kept.session.id, unconditional=True))
                    return VisitPlace(kept.control, session, kept.began, key, kept.visits + 1, kept.context)
            self._drop(kept)
        control = self.next_control()
        return VisitPlace(control, control.open(request), began, key)

    def close_unless_calm(self, place: VisitPlace, close_seconds: float) -> None:
        """Close the context when a request that outlives the page does not end soon, as without a kept cache.

        Raises FleetUnavailable.
        """
        if place.context is None:
            return
        seconds = min(_CALM_SECONDS, close_seconds)
        if place.control.exchanges(place.session, wait_seconds=seconds).in_flight:
            self.close(place)

    def keep(self, place: VisitPlace) -> None:
        """Let the context of the place wait for the next visit of its site."""
        context, place.context = place.context, None
        if context is not None and place.key is not None:
            now = time.monotonic()
            self.caches.keep(
                SiteCache(place.key, context, place.control, place.session, place.began, place.visits, now)
            )

    def give_up(self, place: VisitPlace) -> None:
        """Close the context of the place, if there is one, and give up the port that the proxy keeps for it."""
        if place.context is not None:
            self.close(place)
            place.control.give_up_port(place.session)

    def close(self, place: VisitPlace) -> None:
        """Close the context of the place, if there is one."""
        context, place.context = place.context, None
        if context is not None:
            self._run(context.close())

    def _drop(self, kept: SiteCache) -> None:
        self._run(kept.context.close())
        kept.control.give_up_port(kept.session)
