"""Looking after a job while it is worked on: children, disk, Redis, the display, and Ctrl-C."""

from __future__ import annotations

import time
from typing import Final

from admin.diskwatch import DiskWatch
from admin.fleet import Fleet
from admin.interrupts import Interrupts
from admin.meter import Meter
from admin.progress import Display
from frontier.lease import Progress
from frontier.queue import Frontier
from frontier.store import FrontierUnavailable

TICK_SECONDS: Final = 0.25
REDIS_SECONDS: Final = 60.0
"""How long Redis may be away before the job is given up for now."""
NOTHING_YET: Final = Progress(0, 0, 0, 0, 0, 0, 0, None, 0, 0, 0, {}, {}, None, None)


class Vigil:
    """Keeps watch over one sitting. `progress` is what the frontier said last."""

    def __init__(
        self, fleet: Fleet, frontier: Frontier, meter: Meter, display: Display, interrupts: Interrupts
    ) -> None:
        archive = fleet.settings.archive
        self.progress = NOTHING_YET
        self._fleet = fleet
        self._frontier = frontier
        self._meter = meter
        self._display = display
        self._interrupts = interrupts
        self._disk = DiskWatch(fleet.settings.home, archive.min_free_bytes, frontier, display.note)
        self._looked = 0.0
        self._away_since: float | None = None

    def until_over(self) -> None:
        """Return when the workers have left by themselves, or a signal came.

        Raises GaveUp or StartError when the fleet can't be kept alive, FrontierUnavailable when Redis stays away.
        """
        while self._fleet.has_workers and not self._interrupts.wait(TICK_SECONDS):
            self._fleet.tick()
            self._look()

    def finish_visits(self) -> None:
        """End the workers: visits going on are finished, unless a second signal comes."""
        if self._interrupts.asked_to_stop:
            self._look(now=True)
            count = self.progress.leased
            visits = "1 visit" if count == 1 else f"{count} visits"
            self._display.note(f"stopping: {visits} still to finish; another Ctrl-C ends now")
        self._fleet.stop_workers(self._look_and_hurry)
        self._look(now=True)

    def _look_and_hurry(self) -> bool:
        self._look()
        return self._interrupts.in_haste()

    def _look(self, *, now: bool = False) -> None:
        """See where things stand and show it, a few times a second."""
        if not now and time.monotonic() - self._looked < TICK_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            self._disk.look()
            self.progress, self._away_since = self._frontier.progress(), None
        except FrontierUnavailable as error:
            self._bear(error)
        view = self._meter.view(self.progress, restarts=self._fleet.restarts, stopping=self._interrupts.asked_to_stop)
        self._display.show(view)

    def _bear(self, error: FrontierUnavailable) -> None:
        """Redis is away: say so once, and wait for it for a while."""
        if self._away_since is None:
            self._away_since = time.monotonic()
            self._display.note(f"waiting for Redis: {error}")
        if time.monotonic() - self._away_since > REDIS_SECONDS:
            raise error
