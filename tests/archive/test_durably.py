"""Files that are written once: whole, by the first, never through a link."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from archive.durably import write_once


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
