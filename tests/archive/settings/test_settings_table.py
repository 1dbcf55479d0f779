"""docs/reference/settings.md says what archive/settings/load.py does."""

from __future__ import annotations

from pathlib import Path

from archive.settings.load import names
from docs.settings_table import TARGET, document


def test_the_table_of_settings_is_up_to_date() -> None:
    remedy = "run .venv/bin/python docs/settings_table.py"
    assert TARGET.read_text("utf-8") == document(), remedy


def test_every_setting_has_a_row_of_its_own() -> None:
    rows = [line for line in Path(TARGET).read_text("utf-8").splitlines() if line.startswith("| `") and "." in line]

    assert [row.split("`")[1] for row in rows if not row.startswith("| `ghostfleet.toml")] == [n for n, _, _ in names()]


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, _, meaning in names() if not meaning] == []
