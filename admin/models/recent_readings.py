"""Many people look at the same lists and totals; what was read for one is shown to the others for a second."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import Actor, Transaction
from archive.dates import Micros

LONGEST_SECONDS: Final = 1.0
"""Nothing that is shown is older."""
_MICROS: Final = 1_000_000
_MOST_KEPT: Final = 200


@dataclass(slots=True)
class _Place:
    """The place keeps one result; `lock` lets one reader at a time read it anew."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Any = None
    begun: float = float("-inf")
    """When the reading began, by a clock that is never set."""
    moment: Micros = 0
    """The same by the clock of the database, which may be set forward or back."""
    changes: int = -1


class RecentReadings:
    """Recent readings are kept results of use cases that only read. Safe to share between threads.

    A result is used again for readers of the same role until it is a second old, or until this program has changed the
    database: people see their own changes at once. A result must be the same for all people of a role.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep results of readings from this database. `clock` tells seconds."""
        self._database, self._clock = database, clock
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()
        self._lock = threading.Lock()

    def read[T](self, actor: Actor, name: str, use_case: Callable[[Transaction], T], *arguments: Hashable) -> T:
        """Return what the use case returned for a reader of this role, or returns now.

        `name` and `arguments` say what is read. Of readers who come at the same time, one reads and the others wait.
        Raises what the use case raises; that is not kept.
        """
        place = self._place((actor.role, name, *arguments))
        with place.lock:
            changes, now, moment = self._database.changes, self._clock(), self._database.clock()
            is_old = now - place.begun >= LONGEST_SECONDS or abs(moment - place.moment) >= LONGEST_SECONDS * _MICROS
            if place.changes != changes or is_old:
                with self._database.reading(actor) as transaction:
                    value = use_case(transaction)
                place.value, place.begun, place.moment, place.changes = value, now, moment, changes
            return cast(T, place.value)

    def _place(self, key: tuple[Role, str, *tuple[Hashable, ...]]) -> _Place:
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            if len(self._places) > _MOST_KEPT:
                self._places.popitem(last=False)
            return place
