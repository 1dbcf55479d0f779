"""Which run a command takes up, and what is on disk of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from admin.jobs.runs import Run, RunError, find_runs, is_locked, locked, resume_or_create
from admin.jobs.states import JobState
from archive.repairs import is_repair, repair_job


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return tmp_path / "jobs"


def _ended(jobs: Path, status: JobState, limits: dict[str, float] | None = None) -> Run:
    return resume_or_create(jobs, "garden", "daily", {}).save(status=status, limits=limits or {})


def test_a_new_run_has_a_folder_named_after_job_and_time(jobs: Path) -> None:
    run = resume_or_create(jobs, "garden", "daily", {})
    assert run.folder.name == run.state.name
    assert run.state.name.removeprefix("daily-").isdigit()
    assert not run.resumed


@pytest.mark.parametrize("job", ["repair", "repair-5"])
def test_the_captures_of_no_crawl_count_as_those_of_a_repair(jobs: Path, job: str) -> None:
    assert not is_repair(resume_or_create(jobs, "garden", job, {}).state.name)
    assert is_repair(repair_job(9_999_999_999_999))


def test_the_name_of_a_new_run_is_durable_before_anything_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = list[str](), os.fsync

    def noted(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    jobs = tmp_path / "collections" / "garden" / "jobs"
    run = resume_or_create(jobs, "garden", "daily", {})

    state = run.folder / "run.json"
    assert [each.state for each in find_runs(jobs)] == [run.state]
    assert f"{state}.new" in synced, "the content of the state"
    names = (run.folder, jobs, jobs.parent, jobs.parent.parent, tmp_path)
    assert {str(folder) for folder in names} <= set(synced), "the name of the run, and of each folder above"


@pytest.mark.parametrize("status", [JobState.RUNNING, JobState.STOPPED, JobState.INTERRUPTED, JobState.FAILED])
def test_a_run_that_was_cut_off_is_resumed(jobs: Path, status: JobState) -> None:
    first = _ended(jobs, status)
    again = resume_or_create(jobs, "garden", "daily", {})
    assert again.resumed
    assert again.folder == first.folder


@pytest.mark.parametrize("status", [JobState.FINISHED, JobState.GAPS])
def test_a_run_that_has_ended_is_not_changed(jobs: Path, status: JobState) -> None:
    first = _ended(jobs, status)
    first.folder.rename(first.folder.with_name("daily-20200101000000"))
    assert not resume_or_create(jobs, "garden", "daily", {}).resumed


def test_a_run_at_its_limit_is_resumed_only_with_higher_limits(jobs: Path) -> None:
    first = _ended(jobs, JobState.LIMIT, {"pages": 5})
    first.folder.rename(first.folder.with_name("daily-20200101000000"))
    assert resume_or_create(jobs, "garden", "daily", {"pages": 9}).resumed
    assert not resume_or_create(jobs, "garden", "daily", {"pages": 5}).resumed


def test_a_run_of_another_job_is_not_resumed(jobs: Path) -> None:
    _ended(jobs, JobState.STOPPED)
    assert not resume_or_create(jobs, "garden", "weekly", {}).resumed


def test_two_commands_never_work_on_one_run(jobs: Path) -> None:
    run = resume_or_create(jobs, "garden", "daily", {})
    with locked(run), pytest.raises(RunError, match="job daily is already running"), locked(run):
        pass


def test_a_damaged_state_is_named_with_the_remedy(jobs: Path) -> None:
    run = _ended(jobs, JobState.STOPPED)
    (run.folder / "run.json").write_text("{")
    with pytest.raises(RunError, match=r"run.json is damaged .* move its folder away"):
        resume_or_create(jobs, "garden", "daily", {})


def test_the_profile_is_written_beside_the_state(jobs: Path) -> None:
    run = resume_or_create(jobs, "garden", "daily", {})
    run.save_profile({"scope": "host"})
    run.save(status=JobState.STOPPED, seconds=2.5)
    assert json.loads((run.folder / "profile.json").read_text()) == {"scope": "host"}
    assert [found.state.seconds for found in find_runs(jobs)] == [2.5]


def test_seeds_are_only_appended_and_each_once(jobs: Path) -> None:
    run = resume_or_create(jobs, "garden", "daily", {})
    first = [f"http://example.org/{number}" for number in range(5)]
    assert run.append_seeds(first) == 5
    assert run.append_seeds(first) == 0, "the command that resumes has the same list"
    assert run.append_seeds(["http://example.org/5", *first, "http://example.org/6"]) == 2
    assert run.append_seeds(first[:2]) == 0
    assert list(run.seeds().urls()) == [*first, "http://example.org/5", "http://example.org/6"]
    assert list(run.seeds().urls(5)) == ["http://example.org/5", "http://example.org/6"]


@pytest.mark.parametrize("kept", range(40, 61))
def test_seeds_that_a_power_cut_has_torn_are_appended_whole(jobs: Path, kept: int) -> None:
    run = resume_or_create(jobs, "garden", "daily", {})
    seeds = [f"http://example.org/{number}" for number in range(4)]
    run.append_seeds(seeds[:2])
    run.append_seeds(seeds)
    os.truncate(run.folder / "seeds.txt", kept)
    run.append_seeds([*seeds, "http://example.org/4"])
    assert list(run.seeds().urls()) == [*seeds, "http://example.org/4"]


def test_a_run_is_locked_while_a_command_executes_it(jobs: Path) -> None:
    run = resume_or_create(jobs, "garden", "daily", {})
    assert not is_locked(run)
    with locked(run):
        assert is_locked(run)
    assert not is_locked(run)


def test_a_state_is_read_as_it_was_written_and_one_of_an_earlier_release_too(jobs: Path) -> None:
    run = resume_or_create(jobs, "garden", "daily", {}).save(status=JobState.GAPS, missing=("1 URL failed",), left=3)
    assert next(find_runs(jobs)).state == run.state
    old = {"job": "daily", "collection": "garden", "name": run.state.name, "status": "finished", "seconds": 2.0}
    (run.folder / "run.json").write_text(json.dumps(old))
    assert next(find_runs(jobs)).state.status is JobState.FINISHED
