"""archive/rotated_log.py: many processes write and rotate one log, and readers lose nothing."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from support.processes.waiting import until

from archive.rotated_log import (
    LONGEST_LINE,
    LogPlace,
    NewestFirst,
    RotatedLog,
    log_size,
    open_log,
    removed_parts,
    renamed_parts,
)

FORK = multiprocessing.get_context("fork")


def _write(path: Path, name: str, count: int) -> None:
    log = RotatedLog(path, rotate_bytes=5_000)
    for number in range(count):
        log.append([f"{name}-{number}-{part}" for part in range(3)])


def _write_forever(path: Path, name: str) -> None:
    log, number = RotatedLog(path, rotate_bytes=2_000), 0
    while True:
        log.append([f"{name}-{number}"])
        number += 1


def _whole(path: Path) -> list[str]:
    with open_log(path) as file:
        return file.read().decode().splitlines()


def _backward(path: Path, **given: object) -> list[str]:
    return [line.decode() for _, line in NewestFirst(path, **given)]  # type: ignore[arg-type]


def test_full_log_is_renamed_and_read_as_one_file(tmp_path: Path) -> None:
    log = RotatedLog(tmp_path / "a.log", rotate_bytes=10)
    for text in ("first line", "second line", "third line"):
        log.append([text])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.log", "a.log.0001", "a.log.0002"]
    assert (tmp_path / "a.log.0001").read_text() == "first line\n"
    assert _whole(log.path) == ["first line", "second line", "third line"]
    assert log_size(log.path) == sum(path.stat().st_size for path in tmp_path.iterdir())
    with open_log(log.path) as file:
        file.seek(11)
        assert file.readline() == b"second line\n"
        assert file.seek(-11, io.SEEK_END)
        assert file.read() == b"third line\n"


def test_log_without_parts_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_log(tmp_path / "a.log")
    assert _backward(tmp_path / "a.log") == []


def test_several_processes_rotate_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    writers = [FORK.Process(target=_write, args=(path, name, 300)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = _whole(path)
    assert Counter(lines) == {
        f"{name}-{number}-{part}": 1 for name in "abcd" for number in range(300) for part in range(3)
    }
    assert len(renamed_parts(path)) > 4
    assert all(part.stat().st_size >= 5_000 and part.read_bytes().endswith(b"\n") for _, part in renamed_parts(path))
    for name in "abcd":  # the lines of one writer stay in order over all parts
        own = [line for line in lines if line.startswith(name)]
        assert own == [f"{name}-{number}-{part}" for number in range(300) for part in range(3)]
    assert _backward(path) == lines[::-1]


def test_follower_sees_each_line_once_while_the_log_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    writers = [FORK.Process(target=_write, args=(path, name, 300)) for name in "ab"]
    for writer in writers:
        writer.start()
    seen, at = list[bytes](), 0

    def follow() -> None:
        nonlocal at
        try:
            with open_log(path) as file:
                file.seek(at)
                for line in file:
                    if line.endswith(b"\n"):
                        seen.append(line)
                        at += len(line)
        except FileNotFoundError:
            return

    while any(writer.is_alive() for writer in writers):
        follow()
    for writer in writers:
        writer.join()
    follow()
    assert [line.decode().rstrip() for line in seen] == _whole(path)
    assert len(seen) == len(set(seen)) == 2 * 300 * 3


def test_killed_writers_leave_whole_lines_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    for turn in range(8):
        writers = [FORK.Process(target=_write_forever, args=(path, f"{turn}{name}")) for name in "abc"]
        for writer in writers:
            writer.start()
        parts = len(renamed_parts(path))
        until(lambda parts=parts: len(renamed_parts(path)) > parts + 2, what="the log is rotated")  # type: ignore[misc]
        for writer in writers:
            assert writer.pid
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
    RotatedLog(path).append(["the end"])
    lines = _whole(path)
    assert lines[-1] == "the end"
    assert len(lines) == len(set(lines))
    for writer_name in {line.partition("-")[0] for line in lines[:-1]}:
        numbers = [int(line.partition("-")[2]) for line in lines[:-1] if line.startswith(f"{writer_name}-")]
        assert numbers == list(range(len(numbers)))


def test_torn_line_is_ended_before_the_log_is_renamed(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    path.write_bytes(b"one\ntorn by a power cut")
    RotatedLog(path, rotate_bytes=5).append(["two"])
    assert (tmp_path / "crawl.log.0001").read_bytes() == b"one\ntorn by a power cut\n"
    assert path.read_bytes() == b"two\n"


def test_log_that_cannot_be_renamed_grows_on(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    log = RotatedLog(path, rotate_bytes=3)
    log.append(["one"])
    (tmp_path / "crawl.log.0001").mkdir()  # a folder has the name of the first part
    (tmp_path / "crawl.log.0001" / "x").touch()
    (tmp_path / "crawl.log.0002").mkdir()
    (tmp_path / "crawl.log.0003").symlink_to("nowhere")
    log.append(["two"])
    assert (tmp_path / "crawl.log.0004").read_bytes() == b"one\n"


def test_oldest_part_is_removed_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "links.log"
    log = RotatedLog(path, rotate_bytes=8, most_parts=2)
    for number in range(6):
        log.append([f"line {number}", f"more {number}"])
    assert [part.name for _, part in renamed_parts(path)] == ["links.log.0004", "links.log.0005"]
    assert [(each.file, each.lines, each.bytes) for each in removed_parts(path)] == [
        ("links.log.0001", 2, 14),
        ("links.log.0002", 2, 14),
        ("links.log.0003", 2, 14),
    ]


def test_newest_lines_are_read_from_the_end_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    log = RotatedLog(path, rotate_bytes=700_000)
    lines = [f"{number} {'x' * (number * 37 % 5_000)}" for number in range(1_000)]
    for line in lines:
        log.append([line])
    with path.open("ab") as file:
        file.write(b"not whole yet")
    assert _backward(path) == lines[::-1]
    found = [(place, line.decode()) for place, line in NewestFirst(path)]
    for at in (0, 1, 500, 998):  # each place is where the reading can go on
        assert _backward(path, before=found[at][0]) == lines[::-1][at + 1 :]
    assert LogPlace.read(str(found[3][0])) == found[3][0]
    with pytest.raises(ValueError, match="is no place"):
        LogPlace.read("3")


def test_reading_that_was_ended_goes_on_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    log = RotatedLog(path, rotate_bytes=600_000)
    lines = [f"{number} {'x' * 900}" for number in range(2_000)]
    for line in lines:
        log.append([line])
    found, place, turns = list[str](), None, 0
    while True:
        reader = NewestFirst(path, before=place, is_over=lambda: True)
        found += [line.decode() for _, line in reader]
        turns += 1
        if (place := reader.reached) is None:
            break
    assert found == lines[::-1]
    assert turns > 5


def test_long_line_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    with path.open("wb") as file:
        file.write(b"first\n" + b"y" * (3 * LONGEST_LINE + 17) + b"\nlast\n")
    assert _backward(path) == ["last", "first"]


def test_blocks_without_the_searched_bytes_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    lines = [f"{number} http://host{number % 7}.example/{'x' * 300}" for number in range(5_000)]
    lines[17] += " NEEDLE.example"
    RotatedLog(path).append(lines)
    found = _backward(path, needle=b"needle.example")
    assert lines[17] in found
    assert len(found) < 1_000
