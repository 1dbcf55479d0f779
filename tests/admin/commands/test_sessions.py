"""`ghostfleet record`: a session never stays open without a window."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from support.processes.command_lines import Run

from admin.capture_sessions import sessions
from admin.models.capture_tables import CaptureState
from admin.models.database import open_database
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load


@pytest.mark.timeout(300)
def test_a_window_that_can_not_be_opened_ends_the_session(home: Path, sqlite_run: Run) -> None:
    """The profile of the window can't be made, because a file has the name of its folder."""
    (home / "windows").write_bytes(b"")
    ended = sqlite_run("record", "hand", "--headless", GHOSTFLEET_BROWSERS__EXECUTABLE="/bin/true")
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith("ghostfleet: the recording ended early: ")
    opened = open_database(load({"home": str(home)}, environment={}))
    with closing(opened) as database, database.reading(COMMAND_LINE) as reading:
        found = sessions.show(reading, 1)
    assert found.state is CaptureState.ENDED
    assert f"{home}/windows" in found.error
    assert ended.err.endswith(found.error.removeprefix("The session was ended: "))
