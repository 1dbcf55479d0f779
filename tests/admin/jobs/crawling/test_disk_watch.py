"""A job and a disk that fills up."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stores.few_files import room_for_few_files
from support.stores.redis_server import RedisServer

from admin.jobs.crawling import disk_watch
from admin.jobs.crawling.disk_watch import JobDiskWatch
from archive.files import free_bytes
from archive.settings import FrontierSettings
from frontier.definition.job import Job
from frontier.queue import Frontier
from frontier.store import FrontierUnavailable


@pytest.fixture
def frontier(redis_url: str) -> Frontier:
    made = Frontier(redis_url, Job.of("daily", "garden", ["http://example.org/"]), FrontierSettings())
    made.open_job()
    return made


def test_a_job_pauses_below_the_threshold_and_says_so(tmp_path: Path, frontier: Frontier) -> None:
    notes: list[str] = []
    watch = JobDiskWatch(tmp_path, free_bytes(tmp_path) * 2, frontier.controls, notes.append)
    watch.look()
    assert frontier.reports.progress().paused
    assert watch.is_paused
    assert "the job resumes when there is more" in notes[0]


def test_a_paused_job_resumes_when_there_is_space_again(
    tmp_path: Path, frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([500, 1050, 1100])
    monkeypatch.setattr(disk_watch, "free_bytes", lambda _: next(free))
    monkeypatch.setattr(disk_watch, "LOOK_SECONDS", 0)
    watch = JobDiskWatch(tmp_path, 1000, frontier.controls, lambda _: None)
    watch.look()
    watch.look()
    assert frontier.reports.progress().paused, "a little room is not enough"
    watch.look()
    assert frontier.reports.progress().paused is None


def test_what_fails_without_redis_is_done_at_the_next_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [500]
    monkeypatch.setattr(disk_watch, "free_bytes", lambda _: free[0])
    monkeypatch.setattr(disk_watch, "LOOK_SECONDS", 0)
    with RedisServer(tmp_path, append_only=True) as server:
        frontier = Frontier(server.url, Job.of("daily", "garden", ["http://example.org/"]), FrontierSettings())
        frontier.open_job()
        watch = JobDiskWatch(tmp_path, 1000, frontier.controls, lambda _: None)
        for free[0], is_held in ((500, True), (1100, False)):
            server.stop()
            with pytest.raises(FrontierUnavailable):
                watch.look()
            server.start()
            watch.look()
            assert bool(frontier.reports.progress().paused) is is_held
        frontier.close()


def test_a_job_is_not_paused_with_enough_space(tmp_path: Path, frontier: Frontier) -> None:
    watch = JobDiskWatch(tmp_path, 1, frontier.controls, pytest.fail)
    watch.look()
    assert frontier.reports.progress().paused is None


def test_a_job_pauses_when_inodes_are_short(tmp_path: Path, frontier: Frontier) -> None:
    notes: list[str] = []
    with room_for_few_files(tmp_path / "few") as few:
        JobDiskWatch(few.folder, 0, frontier.controls, pytest.fail, min_free_inodes=5).look()
        few.use_up()
        watch = JobDiskWatch(few.folder, 0, frontier.controls, notes.append, min_free_inodes=5)
        watch.look()
    assert watch.is_paused
    assert frontier.reports.progress().paused
    assert notes[0].startswith("paused: only 0 free inodes left in ")
