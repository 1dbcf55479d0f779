"""Whether there is room to write, and whether writing works."""

from __future__ import annotations

import shutil
from pathlib import Path

from proxy.diskwatch import DiskWatch


def test_with_room_there_is_no_trouble(tmp_path: Path) -> None:
    assert DiskWatch(tmp_path, 0).trouble("") == ""


def test_too_little_room_is_trouble_that_names_the_setting(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free

    trouble = DiskWatch(tmp_path, 2 * free).trouble("")

    assert trouble.startswith("disk full: ")
    assert f"archive.min_free_bytes is {2 * free}" in trouble


def test_after_a_failure_only_a_write_that_works_proves_the_disk_well(tmp_path: Path) -> None:
    assert DiskWatch(tmp_path, 0).trouble("append failed") == ""
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_is_gone_is_trouble(tmp_path: Path) -> None:
    assert DiskWatch(tmp_path / "gone", 0).trouble("").startswith("disk failing: ")


def test_a_home_that_can_not_be_written_is_trouble_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "home").write_bytes(b"")
    watch = DiskWatch(tmp_path / "home", 0)

    assert watch.trouble("") == ""
    assert watch.trouble("append failed").startswith("disk full or failing: ")
