"""The clock of the admin's database is the machine's, or moved by the number of seconds in `database.clock_file`.

Tests of a whole installation move the clock of its processes with that file: schedules come due, sessions end and
leases of links run out at the moved time. Crawls, WARC files and the scheduler's lease keep the machine's time.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Final

from archive.dates import Micros, now_micros
from archive.settings.load import Settings

FURTHEST_SECONDS: Final = 100 * 365.25 * 86_400
"""The clock is moved by a hundred years at most."""
_MOST_BYTES: Final = 64
_LOG: Final = logging.getLogger(__name__)


def clock_of(settings: Settings) -> Callable[[], Micros]:
    """Return the clock that the setting database.clock_file asks for; without it, the machine's."""
    return MovedClock(Path(settings.database.clock_file)) if settings.database.clock_file else now_micros


class MovedClock:
    """The clock is moved by what the file says at each call.

    A file that is missing, empty or no number leaves the clock as it was. A warning names what is no number, once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._moved = 0.0
        self._refused = ""
        _LOG.warning("database.clock_file = %s: the clock can be moved, which is meant for tests only", path)

    def __call__(self) -> Micros:
        """Return the present time of this clock."""
        return now_micros() + int(self._offset() * 1_000_000)

    def _offset(self) -> float:
        text = self._text()
        try:
            found = float(text) if text else self._moved
            if not math.isfinite(found) or abs(found) > FURTHEST_SECONDS:
                raise ValueError
        except ValueError:
            if text != self._refused:
                self._refused = text
                _LOG.warning(
                    "database.clock_file = %s holds %r; write a number of seconds, at most %.0f in either direction",
                    self._path,
                    text,
                    FURTHEST_SECONDS,
                )
            return self._moved
        self._moved, self._refused = found, ""
        return found

    def _text(self) -> str:
        try:
            with self._path.open("rb") as file:
                return file.read(_MOST_BYTES).decode("ascii", "replace").strip()
        except OSError:
            return ""
