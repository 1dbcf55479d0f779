"""Which run a command takes up, and what is on disk of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from admin.runs import Run, RunError, Status, find_runs, held, take_up


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return tmp_path / "jobs"


def _ended(jobs: Path, status: Status, limits: dict[str, float] | None = None) -> Run:
    return take_up(jobs, "garden", "daily", {}).save(status=status, limits=limits or {})


def test_a_new_run_has_a_folder_named_after_job_and_time(jobs: Path) -> None:
    run = take_up(jobs, "garden", "daily", {})
    assert run.folder.name == run.state.name
    assert run.state.name.removeprefix("daily-").isdigit()
    assert not run.resumed


@pytest.mark.parametrize("status", ["running", "stopped", "failed"])
def test_a_run_that_was_cut_off_is_taken_up(jobs: Path, status: Status) -> None:
    first = _ended(jobs, status)
    again = take_up(jobs, "garden", "daily", {})
    assert again.resumed
    assert again.folder == first.folder


def test_a_finished_run_stays_as_it_is(jobs: Path) -> None:
    first = _ended(jobs, "finished")
    first.folder.rename(first.folder.with_name("daily-20200101000000"))
    assert not take_up(jobs, "garden", "daily", {}).resumed


def test_a_run_at_its_limit_goes_on_only_with_other_limits(jobs: Path) -> None:
    first = _ended(jobs, "limit", {"pages": 5})
    first.folder.rename(first.folder.with_name("daily-20200101000000"))
    assert take_up(jobs, "garden", "daily", {"pages": 9}).resumed
    assert not take_up(jobs, "garden", "daily", {"pages": 5}).resumed


def test_another_job_of_the_collection_is_not_mistaken_for_it(jobs: Path) -> None:
    _ended(jobs, "stopped")
    assert not take_up(jobs, "garden", "weekly", {}).resumed


def test_two_commands_never_work_on_one_run(jobs: Path) -> None:
    run = take_up(jobs, "garden", "daily", {})
    with held(run), pytest.raises(RunError, match="job daily is being run already"), held(run):
        pass


def test_a_damaged_state_is_named_with_the_remedy(jobs: Path) -> None:
    run = _ended(jobs, "stopped")
    (run.folder / "run.json").write_text("{")
    with pytest.raises(RunError, match=r"run.json is damaged .* move its folder away"):
        take_up(jobs, "garden", "daily", {})


def test_the_profile_as_run_is_kept_beside_the_state(jobs: Path) -> None:
    run = take_up(jobs, "garden", "daily", {})
    run.save_definition(["http://example.org/"], {"scope": "host"})
    run.save(status="stopped", seconds=2.5)
    assert json.loads((run.folder / "profile.json").read_text()) == {"scope": "host"}
    assert run.seeds() == ["http://example.org/"]
    assert [found.state.seconds for found in find_runs(jobs)] == [2.5]
