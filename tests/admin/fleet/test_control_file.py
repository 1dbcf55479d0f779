"""How a running fleet is found: by a file it holds, not by one that a dead one left."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from types import FrameType

import pytest
from support.processes.waiting import until

from admin.fleet.control_file import ControlFile, NoFleet, RestartRefused, ask_to_restart


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
