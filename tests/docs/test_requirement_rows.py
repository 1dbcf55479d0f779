"""Pages with a row for each requirement name files and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs" / "netarchivesuite.md").read_text("utf-8")
CRAWLS = (TOP / "docs" / "crawl-rows.md").read_text("utf-8")


class Row(NamedTuple):
    """A requirement, its place and its tests."""

    name: str
    place: str
    tests: tuple[tuple[str, str], ...]


def rows(page: str) -> list[Row]:
    """Return the rows of the tables of a page whose names are of requirements or of bad input."""
    found = []
    for line in page.splitlines():
        if not re.match(r"\| [NJHB]\d+ \|", line):
            continue
        name, _, place, tests, *_ = (cell.strip() for cell in line.strip("| ").split(" | ", 4))
        named = re.findall(r"`([^`]+)` ([^;]+)", tests)
        found.append(Row(name, place.strip("`"), tuple((path, said.strip()) for path, said in named)))
    return found


def test_each_requirement_has_one_row_in_order() -> None:
    assert [row.name for row in rows(PAGE)] == [f"N{number}" for number in range(1, 77)]
    assert [row.name for row in rows(CRAWLS)] == [f"J{number}" for number in (*range(14, 37), 40, 42, 45)] + [
        f"H{number}" for number in (*range(1, 15), *range(18, 22))
    ] + [f"B{number}" for number in range(1, 13)]


def test_the_files_and_tests_of_each_row_are_there() -> None:
    for row in [*rows(PAGE), *rows(CRAWLS)]:
        assert (TOP / row.place).exists(), (row.name, row.place)
        assert row.tests, row.name
        for path, said in row.tests:
            function = f"def test_{said.replace(' ', '_')}("
            assert function in (TOP / "tests" / path).read_text("utf-8"), f"{row.name}: {path}: {function}"


def test_the_settings_that_are_named_are_settings() -> None:
    known = (TOP / "docs" / "reference" / "settings.md").read_text("utf-8")
    named = set(re.findall(r"`((?:generation|harvester)\.\w+)`", PAGE))
    assert len(named) > 10
    assert [name for name in named if f"`{name}`" not in known] == []
