"""`ghostfleet scheduler`, as people start it."""

from __future__ import annotations

import signal
from pathlib import Path

from support.admin.harvest_world import World
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until

from admin.models.database import Database


def test_the_command_makes_jobs_and_ends_on_a_signal(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'admin.db'}")
    database.check()
    world = World(database)
    world.domain("a.org")
    harvest_id = world.snapshot()
    with Command("scheduler", home=tmp_path) as command:
        assert command.line(ready=True)["scheduler"]
        until(lambda: world.jobs(harvest_id), what="a job", within=60)
        command.signal(signal.SIGTERM)
        assert command.ended() == 0
    assert "harvest snapshot run 0" in command.stderr
    database.close()


def test_a_database_that_can_not_be_used_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "admin.db").write_text("this is no database, whatever its name says" * 100)
    (tmp_path / "admin.db").chmod(0o600)
    with Command("scheduler", home=tmp_path) as command:
        assert command.ended() == 2
    assert len(command.stderr.strip().splitlines()) == 1
    assert "file is not a database" in command.stderr
