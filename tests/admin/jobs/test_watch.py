"""The job's time limit ends workers that are too busy to ask whether they may go on."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from admin.fleet.fleet import Fleet
from admin.jobs import watch
from admin.jobs.interrupts import Interrupts
from admin.jobs.meter import Meter
from admin.jobs.progress import display_for
from admin.jobs.tally import JobTally
from admin.jobs.watch import JobWatch
from archive.settings import FrontierSettings
from archive.settings.load import Settings
from frontier.job import Job, Profile
from frontier.queue import Frontier


def test_the_time_limit_ends_workers_that_do_not_end(
    settings: Settings, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "OVERDUE_SECONDS", 0.0)
    profile = Profile.model_validate({"limits": {"seconds": 0.1}})
    frontier = Frontier(redis_url, Job.of("spring", "garden", ["http://example.org/"], profile), FrontierSettings())
    frontier.open_job()
    fleet = SimpleNamespace(settings=settings, has_workers=True, restarts=0, tick=lambda: None)
    said = io.StringIO()

    with Interrupts() as interrupts:
        meter, display = Meter("spring", tmp_path / "crawl.log", JobTally([])), display_for(said, as_json=False)
        JobWatch(cast(Fleet, cast(Any, fleet)), frontier, meter, display, interrupts).wait_until_over()
        display.close()

    assert "the time limit has passed" in said.getvalue()
    frontier.close()
