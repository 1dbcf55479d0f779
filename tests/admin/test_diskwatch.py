"""A job and a disk that fills up."""

from __future__ import annotations

from pathlib import Path

import pytest

from admin import diskwatch
from admin.diskwatch import DiskWatch
from archive.sections import FrontierSettings
from archive.warcfile import free_bytes
from frontier.job import Job
from frontier.queue import Frontier


@pytest.fixture
def frontier(redis_url: str) -> Frontier:
    made = Frontier(redis_url, Job.of("daily", "garden", ["http://example.org/"]), FrontierSettings())
    made.open_job()
    return made


def test_a_job_pauses_below_the_threshold_and_says_so(tmp_path: Path, frontier: Frontier) -> None:
    notes: list[str] = []
    watch = DiskWatch(tmp_path, free_bytes(tmp_path) * 2, frontier, notes.append)
    watch.look()
    assert frontier.progress().paused
    assert watch.is_paused
    assert "make room, and the job goes on by itself" in notes[0]


def test_it_goes_on_by_itself_when_there_is_room_again(
    tmp_path: Path, frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([500, 1050, 1100])
    monkeypatch.setattr(diskwatch, "free_bytes", lambda _: next(free))
    monkeypatch.setattr(diskwatch, "LOOK_SECONDS", 0)
    watch = DiskWatch(tmp_path, 1000, frontier, lambda _: None)
    watch.look()
    watch.look()
    assert frontier.progress().paused, "a little room is not enough"
    watch.look()
    assert frontier.progress().paused is None


def test_with_room_enough_nothing_happens(tmp_path: Path, frontier: Frontier) -> None:
    watch = DiskWatch(tmp_path, 1, frontier, pytest.fail)
    watch.look()
    assert frontier.progress().paused is None
