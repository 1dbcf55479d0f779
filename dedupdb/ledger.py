"""Counters of jobs on their way to Redis: each increment counts once, however often it has to be sent."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from dedupdb.command import Command, Script

type Tallies = Mapping[tuple[str, str], Mapping[str, int]]
"""Increments by (collection, job), then by the counter's name."""

_TALLY: Final = Script.load("tally.lua")


class Ledger:
    """Increments that Redis has not acknowledged. Those in doubt are sent again as they were, with their serial, so
    that they count once; others add up meanwhile. However long an outage lasts, it holds one number per counter.
    """

    def __init__(self, writer: bytes) -> None:
        self.lock = threading.Lock()
        self._field = b"\0" + writer
        self._serial = 0
        self._owed: dict[tuple[str, str], Counter[str]] = {}
        self._in_doubt: list[Command] = []

    def add(self, tallies: Tallies) -> None:
        """Owe these as well."""
        for job, increments in tallies.items():
            self._owed.setdefault(job, Counter()).update(increments)

    def due(self) -> list[Command]:
        """What to send now: what is in doubt, or else what is owed, which is in doubt from now on."""
        if not self._in_doubt:
            for job, increments in self._owed.items():
                self._serial += 1
                facts = [part for pair in increments.items() for part in pair]
                self._in_doubt.append(_TALLY.command([tally_key(*job)], [self._field, self._serial, *facts]))
            self._owed = {}
        return self._in_doubt

    def settled(self) -> None:
        """What was due has been acknowledged."""
        self._in_doubt = []


def tally_key(collection: str, job: str) -> str:
    """The key of a job's counters."""
    return f"gf:{{{collection}}}:t:{job}"
