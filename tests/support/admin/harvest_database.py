"""The admin's database for tests, on SQLite and PostgreSQL, with a clock that tests move.

`tests/admin/conftest.py` has the fixtures `clock`, `database_url`, `tables_url` and `database`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from admin.models.database import Database
from archive.dates import Micros

START: Final = 1_800_000_000_000_000
"""2027-01-15T08:00:00Z."""
SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


@dataclass
class MovableClock:
    """A clock that stands still until a test moves it."""

    now: Micros = START

    def __call__(self) -> Micros:
        return self.now

    def move(self, micros: Micros) -> None:
        """Let this time pass; a negative number sets the clock back."""
        self.now += micros


def make_tables(url: str) -> None:
    """Give an empty database its tables, and close it, so that it can be copied."""
    database = Database(url)
    database.check()
    database.close()
