"""All parts of an installation tell the time by the database's clock, so that machines may have clocks that differ.

PostgreSQL may be on another machine than a harvester or the scheduler. What one part notes, such as when a harvester
was heard, another part compares with its own time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import BigInteger, Engine, cast, func, select
from sqlalchemy.exc import SQLAlchemyError

from archive.dates import Micros, now_micros

log = logging.getLogger(__name__)

_MICROS: Final = 1_000_000
_MEASURED_FOR_SECONDS: Final = 60.0
_STEP_SECONDS: Final = 1.0
"""This machine's clock was set when it moves by so much against the time that has passed."""
_TOLD_SECONDS: Final = 5.0


class DatabaseClock:
    """A database clock tells the time of PostgreSQL: this machine's time, and what the two differ by.

    The difference is measured each minute, and at once when this machine's clock was set.
    """

    def __init__(self, engine: Engine, local: Callable[[], Micros] = now_micros) -> None:
        self._engine, self._local = engine, local
        self._offset = 0
        self._measured_at = float("-inf")
        self._local_ahead = 0.0

    def __call__(self) -> Micros:
        """Return the time; that of the last measurement goes on while the database is away."""
        now = time.monotonic()
        ahead = self._local() / _MICROS - now
        if now - self._measured_at > _MEASURED_FOR_SECONDS or abs(ahead - self._local_ahead) > _STEP_SECONDS:
            self._measure()
        return self._local() + self._offset

    def _measure(self) -> None:
        try:
            with self._engine.connect() as connection:
                before = self._local()
                told = connection.scalar(
                    select(cast(func.extract("epoch", func.clock_timestamp()) * _MICROS, BigInteger))
                )
                after = self._local()
        except SQLAlchemyError as error:
            log.debug("the database's clock can't be read: %s", error)
            return
        self._measured_at = time.monotonic()
        self._local_ahead = self._local() / _MICROS - self._measured_at
        before_offset, self._offset = self._offset, (told or after) - (before + after) // 2
        if abs(self._offset - before_offset) > _TOLD_SECONDS * _MICROS:
            log.warning(
                "this machine's clock is %.0f s %s that of the database, whose time holds",
                abs(self._offset) / _MICROS,
                "behind" if self._offset > 0 else "ahead of",
            )
