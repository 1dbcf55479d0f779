"""The clock of the admin's database, moved by a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from admin.models.clock import MovedClock, clock_of
from admin.models.database import open_database
from admin.models.transaction import COMMAND_LINE
from archive.dates import now_micros
from archive.settings.load import load

HOUR = 3_600_000_000


def test_without_the_setting_the_clock_is_the_machines(tmp_path: Path) -> None:
    assert clock_of(load({"home": str(tmp_path)}, environment={})) is now_micros


def test_transactions_have_the_time_that_the_file_gives_at_that_moment(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    settings = load({"home": str(tmp_path / "home"), "database.clock_file": str(file)}, environment={})
    database = open_database(settings)

    def hours_ahead() -> int:
        before = now_micros()
        with database.reading(COMMAND_LINE) as reading:
            return (reading.now - before) // HOUR

    assert hours_ahead() == 0
    file.write_text("7205\n")
    assert hours_ahead() == 2
    file.write_text("36005.5")
    assert hours_ahead() == 10
    database.close()


@pytest.mark.parametrize("text", ["tomorrow", "nan", "inf", "1e30", "", "\ufffd" * 50])
def test_a_file_without_a_number_leaves_the_clock_as_it_was(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "clock"
    file.write_text("7205")
    clock: Callable[[], int] = MovedClock(file)
    assert (clock() - now_micros()) // HOUR in (1, 2)
    caplog.clear()
    file.write_text(text)
    for _ in range(3):
        assert clock() - now_micros() > HOUR
    assert len(caplog.records) == (1 if text else 0)
    assert all("write a number of seconds" in record.getMessage() for record in caplog.records)
