"""What a harvester keeps in its home: a name of the home, and a bounded number of folders of reported jobs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from admin.harvester.kept_folders import name_of_home, prune_old_jobs


def test_a_home_keeps_its_name_and_another_home_has_another(tmp_path: Path) -> None:
    assert name_of_home(tmp_path / "a") == name_of_home(tmp_path / "a")
    assert name_of_home(tmp_path / "a") != name_of_home(tmp_path / "b")


def test_harvesters_that_start_at_once_agree_on_the_name(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(name_of_home, [tmp_path / "harvester"] * 8))) == 1
    assert [path.name for path in (tmp_path / "harvester").iterdir()] == ["home-name"]


@pytest.mark.parametrize("damage", ["", "x", "ÿ" * 30, "two words and a slash /"])
def test_a_damaged_name_is_made_up_anew(tmp_path: Path, damage: str) -> None:
    (tmp_path / "home-name").write_text(damage)
    name = name_of_home(tmp_path)
    assert len(name) >= 16
    assert name_of_home(tmp_path) == name


@pytest.mark.parametrize(("most", "left"), [(0, []), (2, ["9_3000", "10_2000"]), (9, ["9_3000", "10_2000", "8_1000"])])
def test_the_newest_folders_of_reported_jobs_stay(tmp_path: Path, most: int, left: list[str]) -> None:
    for name in ("8_1000", "10_2000", "9_3000", "notes"):
        (tmp_path / "oldjobs" / name / "inner").mkdir(parents=True)
    assert prune_old_jobs(tmp_path, most) == 3 - len(left)
    assert {path.name for path in (tmp_path / "oldjobs").iterdir()} == {*left, "notes"}


def test_without_reported_jobs_nothing_is_removed(tmp_path: Path) -> None:
    assert prune_old_jobs(tmp_path, 0) == 0
