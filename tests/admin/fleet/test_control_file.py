"""How a running fleet is found: by a file it holds, not by one that a dead one left."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from support.processes.waiting import until

from admin.fleet import control_file as control_files
from admin.fleet.control_file import ControlFile, NoFleet, RestartRefused, ask_to_restart
from archive.file_lock import lock


def test_an_unlocked_control_file_is_no_fleet_and_is_removed(home: Path) -> None:
    left = home / "run" / f"{os.getpid()}.json"
    left.parent.mkdir()
    left.write_text('{"answers": 0}')

    with pytest.raises(NoFleet, match=r"no `ghostfleet proxy` runs in .*; choose another home"):
        list(ask_to_restart(home))
    assert not left.exists()


@pytest.mark.parametrize("refusal", ["", "setting proxy.via can't be used"])
def test_the_command_gets_the_fleets_answer(home: Path, refusal: str) -> None:
    asked = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        asked.set()

    before = signal.signal(signal.SIGHUP, note)
    found: list[object] = []

    def ask() -> None:
        try:
            found.extend(ask_to_restart(home))
        except RestartRefused as error:
            found.append(str(error))

    try:
        with ControlFile(home) as control_file:
            control_file.answer("of an earlier time", [])
            thread = threading.Thread(target=ask)
            thread.start()
            until(asked.is_set, what="the signal")
            control_file.answer(refusal, [1, 2])
            thread.join(30)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert found == ([f"not restarted, the fleet continues unchanged: {refusal}"] if refusal else [[1, 2]])
    assert not list((home / "run").iterdir())


def test_a_fleet_is_found_when_a_restart_has_removed_its_file_before_the_lock(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restart_and_lock(fd: int) -> None:
        monkeypatch.setattr(control_files, "lock", lock)
        with pytest.raises(NoFleet):
            list(ask_to_restart(home))
        lock(fd)

    monkeypatch.setattr(control_files, "lock", restart_and_lock)
    with _noted_signals() as came, ControlFile(home) as control_file:
        thread = threading.Thread(target=lambda: list(ask_to_restart(home)))
        thread.start()
        until(lambda: came.is_set() or not thread.is_alive(), what="the signal")
        control_file.answer("", [])
        thread.join(30)
        assert came.is_set()


def test_a_full_disk_at_the_answer_does_not_end_the_fleet(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with ControlFile(home) as control_file:
        (path,) = (home / "run").iterdir()
        before = path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr("os.pwrite", refuse)
            control_file.answer("", [1])
        assert path.read_bytes() == before
        control_file.answer("a longer text than before", [1])
        control_file.answer("", [1])
        assert path.read_text() == '{"answers": 3, "refusal": "", "pids": [1]}'


def test_no_signal_is_sent_to_the_number_of_a_fleet_that_has_ended(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / "run" / f"{os.getpid()}.json"
    path.parent.mkdir()
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    lock(fd)
    held = [fd]

    def read_after_the_end(_: Path) -> dict[str, object]:
        if held:
            os.close(held.pop())
        return {}

    monkeypatch.setattr(control_files, "_read", read_after_the_end)
    with _noted_signals() as came, pytest.raises(RestartRefused, match="the fleet ended before it had restarted"):
        list(ask_to_restart(home))
    assert not came.is_set()


@contextmanager
def _noted_signals() -> Iterator[threading.Event]:
    """Set the event when this process gets SIGHUP."""
    came = threading.Event()
    before = signal.signal(signal.SIGHUP, lambda number, frame: came.set())
    try:
        yield came
    finally:
        signal.signal(signal.SIGHUP, before)
