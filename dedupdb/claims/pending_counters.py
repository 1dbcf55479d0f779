"""Increments of job counters wait here until Redis has them. Each counts once, however often it is sent."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from dedupdb.redis_io.command import Command, RedisScript

type Increments = Mapping[tuple[str, str], Mapping[str, int]]
"""Increments by (collection, job), then by the counter's name."""

_TALLY: Final = RedisScript.load("tally.lua")


class PendingCounters:
    """Holds the increments that Redis has not acknowledged.

    Increments that were sent without an answer are sent again unchanged, with their serial, so that they count once.
    Later increments are added up meanwhile. So memory holds one number for each counter, however long an outage lasts.
    """

    def __init__(self, writer: bytes) -> None:
        self.lock = threading.Lock()
        self._field = b"\0" + writer
        self._serial = 0
        self._unsent: dict[tuple[str, str], Counter[str]] = {}
        self._unacknowledged: list[Command] = []

    def add(self, tallies: Increments) -> None:
        """Add these increments to those that are due."""
        for job, increments in tallies.items():
            self._unsent.setdefault(job, Counter()).update(increments)

    def due(self) -> list[Command]:
        """Return the commands to send now: those without an answer, or else new ones with all increments since."""
        if not self._unacknowledged:
            for job, increments in self._unsent.items():
                self._serial += 1
                facts = [part for pair in increments.items() for part in pair]
                self._unacknowledged.append(_TALLY.command([tally_key(*job)], [self._field, self._serial, *facts]))
            self._unsent = {}
        return self._unacknowledged

    def settled(self) -> None:
        """Note that Redis has acknowledged the commands of `due`."""
        self._unacknowledged = []


def tally_key(collection: str, job: str) -> str:
    """Return the key of a job's counters."""
    return f"gf:{{{collection}}}:t:{job}"
