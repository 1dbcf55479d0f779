"""Small files are written whole or not at all, and every byte handed over is written."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from support.stores.few_files import room_for_few_files

from archive.files import drop_torn_line, free_bytes, free_inodes, replacement, write_all, write_once

MOST_AT_ONCE = os.sysconf("SC_IOV_MAX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "report"
    path.write_bytes(b"old")
    return path


@pytest.mark.parametrize("durable", [True, False])
def test_replacement_is_seen_when_it_is_whole(path: Path, durable: bool) -> None:
    with replacement(path, durable=durable) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), GeneratorExit()])
def test_failed_write_leaves_the_old_file_alone(path: Path, error: BaseException, durable: bool) -> None:
    def writes_half(file: BinaryIO) -> None:
        file.write(b"half of it")
        file.flush()
        raise error

    with pytest.raises(type(error)), replacement(path, durable=durable) as file:
        writes_half(file)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_failed_fsync_leaves_the_old_file_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(fd: int) -> None:
        raise OSError(f"no room for {fd}")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no room"), replacement(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_full_disk_leaves_the_old_file_alone(path: Path) -> None:
    """/dev/full takes no byte; the buffer's content is refused when the block has ended."""
    full = os.open("/dev/full", os.O_WRONLY)

    def writes_to_full_disk(file: BinaryIO) -> None:
        os.dup2(full, file.fileno())
        file.write(b"new")

    with pytest.raises(OSError, match="No space left"), replacement(path) as file:
        writes_to_full_disk(file)
    os.close(full)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_failed_rename_leaves_no_temporary_file(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    (folder / "content").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"), replacement(folder) as file:
        file.write(b"new")
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_killed_process_left_is_removed(path: Path) -> None:
    left = path.with_name("report.new")
    left.write_bytes(b"much longer than the new content")
    left.chmod(0o644)
    with replacement(path, mode=0o600) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_replacement_is_never_written_through_a_link(path: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"keep me")
    path.with_name("report.new").symlink_to(victim)
    with replacement(path) as file:
        file.write(b"new")
    assert victim.read_bytes() == b"keep me"
    assert path.read_bytes() == b"new"


def test_durable_replacement_syncs_content_before_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bytes]] = []
    sync = os.fsync

    def noted(fd: int) -> None:
        synced.append((Path(f"/proc/self/fd/{fd}").resolve().is_dir(), path.read_bytes()))
        sync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    with replacement(path) as file:
        file.write(b"new")
    assert synced == [(False, b"old"), (True, b"new")]
    with replacement(path, durable=False) as file:
        file.write(b"newer")
    assert len(synced) == 2


def test_first_writer_wins(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with ThreadPoolExecutor(8) as threads:
        wins = list(threads.map(lambda number: write_once(path, b"%d" % number), range(8)))
    assert sum(wins) == 1
    assert path.read_bytes() == b"%d" % wins.index(True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_empty_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch()
    assert write_once(path, b"secret", mode=0o644)
    assert path.read_bytes() == b"secret"
    assert path.stat().st_mode & 0o777 == 0o644


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    assert not write_once(tmp_path / "key", b"secret")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("count", [1, MOST_AT_ONCE, MOST_AT_ONCE + 1, 3 * MOST_AT_ONCE])
def test_all_pieces_are_written_in_order(tmp_path: Path, count: int) -> None:
    pieces = [b"%d," % number for number in range(count)]

    with (tmp_path / "file").open("wb", buffering=0) as file:
        write_all(file.fileno(), pieces)

    assert (tmp_path / "file").read_bytes() == b"".join(pieces)


def test_the_rest_of_a_short_write_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system is made to take 7,000 bytes of a million at first, as it may near a full disk."""
    pieces = [bytes([number]) * 5_000 for number in range(200)]
    monkeypatch.setattr(os, "writev", lambda fd, some: os.write(fd, b"".join(some)[:7_000]))

    with (tmp_path / "file").open("wb", buffering=0) as file:
        write_all(file.fileno(), pieces)

    assert (tmp_path / "file").read_bytes() == b"".join(pieces)


@pytest.mark.parametrize("torn", [b"", b"x", b"x" * 65_536, b"x" * 200_000, bytes(70_000)])
@pytest.mark.parametrize("whole", [b"", b"\n", b"one\ntwo\n"])
def test_a_torn_line_is_dropped_whatever_its_length(tmp_path: Path, whole: bytes, torn: bytes) -> None:
    path = tmp_path / "lines"
    path.write_bytes(whole + torn)
    drop_torn_line(path)
    assert path.read_bytes() == whole


def test_free_bytes_are_those_for_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result: Any = os.statvfs_result((4096, 1024, 1000, 900, 800, 50, 40, 30, 4096, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: result)
    assert free_bytes(tmp_path) == 800 * 1024
    assert free_inodes(tmp_path) == 30


def test_inodes_are_counted_where_the_file_system_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with room_for_few_files(tmp_path / "few") as few:
        left = free_inodes(few.folder)
        assert left is not None
        assert 0 < left < 40
        few.use_up()
        assert free_inodes(few.folder) == 0

    without = os.statvfs_result((4096, 4096, 1000, 900, 900, 0, 0, 0, 4096, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: without)
    assert free_inodes(tmp_path) is None, "btrfs reports that it has no inodes at all"
