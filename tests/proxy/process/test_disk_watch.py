"""Whether there is room to write, and whether writing works."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.stores.few_files import room_for_few_files

from proxy.process.disk_watch import DiskWatch


def test_with_room_there_is_no_trouble(tmp_path: Path) -> None:
    assert DiskWatch(tmp_path, 0).trouble("") == ""


def test_too_little_room_is_trouble_that_names_the_setting(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free

    trouble = DiskWatch(tmp_path, 2 * free).trouble("")

    assert trouble.startswith("the disk is full: ")
    assert f"archive.min_free_bytes = {2 * free}" in trouble


def test_after_a_failure_only_a_write_that_works_proves_the_disk_well(tmp_path: Path) -> None:
    assert DiskWatch(tmp_path, 0).trouble("append failed") == ""
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_is_gone_is_trouble(tmp_path: Path) -> None:
    assert DiskWatch(tmp_path / "gone", 0).trouble("").startswith("the disk fails: ")


def test_a_home_that_can_not_be_written_is_trouble_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "home").write_bytes(b"")
    watch = DiskWatch(tmp_path / "home", 0)

    assert watch.trouble("") == ""
    assert watch.trouble("append failed").startswith("the disk is full or fails: ")


def test_room_for_few_files_is_trouble_that_names_the_setting(tmp_path: Path) -> None:
    with room_for_few_files(tmp_path / "few") as few:
        assert DiskWatch(few.folder, 0, 5).trouble("") == ""
        assert DiskWatch(few.folder, 0, 100).trouble("").endswith("archive.min_free_inodes = 100")
        few.use_up()
        trouble = DiskWatch(few.folder, 0, 5).trouble("")
        assert trouble.endswith("has room for 0 more files, fewer than archive.min_free_inodes = 5")
        assert DiskWatch(few.folder, 0, 0).trouble("") == ""


def test_a_file_system_that_counts_no_files_is_never_short_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Btrfs reports that it has no inodes, and that none is free."""
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 1000, 900, 900, 0, 0, 0, 4096, 255)))
    assert DiskWatch(tmp_path, 0, 1000).trouble("") == ""
