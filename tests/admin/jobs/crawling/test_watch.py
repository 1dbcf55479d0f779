"""The job's time limit ends workers that are too busy to ask whether they may go on."""

from __future__ import annotations

import io
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import redis

from admin.fleet.fleet import Fleet
from admin.jobs.crawling import watch
from admin.jobs.crawling.render_lag import LagAlarm
from admin.jobs.crawling.seed_queueing import SeedQueueing
from admin.jobs.crawling.watch import JobWatch
from admin.jobs.interrupts import Interrupts
from admin.jobs.progress.display import display_for
from admin.jobs.progress.meter import Meter
from admin.jobs.progress.tally import JobTally
from archive.settings import FrontierSettings
from archive.settings.load import Settings
from frontier.definition.job import Job, Profile, SeenRules
from frontier.lease import Lease, RenderProgress
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.seen import BLOCK_BYTES


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
        meter, display = Meter("spring", tmp_path / "crawl.log", JobTally()), display_for(said, as_json=False)
        JobWatch(
            cast(Fleet, cast(Any, fleet)), frontier, meter, display, interrupts, start_render_workers=lambda _: None
        ).wait_until_over()
        display.close()

    assert "the time limit has passed" in said.getvalue()
    frontier.close()


def test_a_pause_does_not_count_for_the_time_limit(
    settings: Settings, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "OVERDUE_SECONDS", 0.0)
    profile = Profile.model_validate({"limits": {"seconds": 0.01}})
    frontier = Frontier(redis_url, Job.of("spring", "garden", ["http://example.org/"], profile), FrontierSettings())
    frontier.open_job()
    frontier.controls.pause()
    said = io.StringIO()
    turns = count()

    class Children(SimpleNamespace):
        @property
        def has_workers(self) -> bool:
            if next(turns) == 5:
                assert "the time limit has passed" not in said.getvalue()
                frontier.controls.go_on()
            return True

    fleet = Children(settings=settings, restarts=0, tick=lambda: None)
    with Interrupts() as interrupts:
        meter, display = Meter("spring", tmp_path / "crawl.log", JobTally()), display_for(said, as_json=False)
        JobWatch(
            cast(Fleet, cast(Any, fleet)), frontier, meter, display, interrupts, start_render_workers=lambda _: None
        ).wait_until_over()
        display.close()

    assert next(turns) > 5, "the watch waited while the job was paused"
    assert "the time limit has passed" in said.getvalue()
    frontier.close()


def test_render_workers_grow_to_what_an_operator_asks_for(settings: Settings, redis_url: str, tmp_path: Path) -> None:
    frontier = Frontier(redis_url, Job.of("spring", "garden", ["http://example.org/"], Profile()), FrontierSettings())
    frontier.open_job()
    frontier.renders.set_workers(settings.browsers.render_workers + 3)
    looks = iter([True] * 3)

    class Children(SimpleNamespace):
        @property
        def has_workers(self) -> bool:
            return next(looks, False)

    fleet = Children(settings=settings, restarts=0, tick=lambda: None)
    started: list[int] = []

    with Interrupts() as interrupts:
        meter, display = (
            Meter("spring", tmp_path / "crawl.log", JobTally()),
            display_for(io.StringIO(), as_json=False),
        )
        job_watch = JobWatch(
            cast(Fleet, cast(Any, fleet)), frontier, meter, display, interrupts, start_render_workers=started.append
        )
        job_watch.wait_until_over()
        display.close()

    assert started == [3]
    frontier.forget()
    frontier.close()


def test_no_further_seeds_are_queued_at_a_limit_of_the_job(settings: Settings, redis_url: str, tmp_path: Path) -> None:
    profile = Profile.model_validate({"limits": {"pages": 1}, "quotas": ["job urls=5"]})
    job = Job.of("spring", "garden", ["http://example.org/"], profile)
    frontier = Frontier(redis_url, job, FrontierSettings())
    frontier.open_job()
    fleet = SimpleNamespace(settings=settings, restarts=0, stop_workers=lambda _: None)
    seeds = SimpleNamespace(total=1, queued=1, is_held=False)
    held = []
    with Interrupts() as interrupts:
        meter, display = Meter("spring", tmp_path / "crawl.log", JobTally()), display_for(io.StringIO(), as_json=False)
        job_watch = JobWatch(
            cast(Fleet, cast(Any, fleet)),
            frontier,
            meter,
            display,
            interrupts,
            start_render_workers=lambda _: None,
            seeds=cast(SeedQueueing, cast(Any, seeds)),
        )

        def look() -> None:
            job_watch.finish_visits()
            held.append(seeds.is_held)

        look()
        lease = frontier.claim("w")
        assert isinstance(lease, Lease)
        frontier.finish(lease, VisitOutcome(200, is_document=True, urls=5))
        look()
        frontier.set_limits({"pages": 2})
        look()
        frontier.edit({"quotas": []})
        look()
        frontier.controls.stop("enough")
        look()
        display.close()
    assert held == [False, True, True, False, True], "pages, the quota of the job, and a stop"
    frontier.forget()
    frontier.close()


def test_a_bloom_filter_with_too_many_urls_is_named_once(settings: Settings, redis_url: str, tmp_path: Path) -> None:
    rules = SeenRules(method="bloom", expected_urls=1_000)
    job = Job.of("spring", "garden", ["http://example.org/"], Profile(seen=rules))
    frontier = Frontier(redis_url, job, FrontierSettings())
    frontier.open_job()
    fleet = SimpleNamespace(settings=settings, restarts=0, stop_workers=lambda _: None)
    said = io.StringIO()
    with Interrupts() as interrupts:
        meter, display = Meter("spring", tmp_path / "crawl.log", JobTally()), display_for(said, as_json=False)
        job_watch = JobWatch(
            cast(Fleet, cast(Any, fleet)), frontier, meter, display, interrupts, start_render_workers=lambda _: None
        )
        job_watch.finish_visits()
        assert "Bloom" not in said.getvalue()
        with redis.Redis.from_url(redis_url) as client:
            client.set("gf:{main}:spring:bloom:0", b"\xff" * BLOCK_BYTES)
        job_watch.finish_visits()
        job_watch.finish_visits()
        display.close()
    assert said.getvalue().count("of 1,000 expected URLs") == 1
    assert "give the next run a larger seen.expected_urls" in said.getvalue()
    frontier.forget()
    frontier.close()


def test_the_lag_alarm_speaks_at_its_begin_and_at_its_end() -> None:
    alarm = LagAlarm()

    said = [alarm.look(RenderProgress(queued=5, oldest_seconds=age)) for age in (None, 3600, 3601, 9000, 12, None)]

    assert said[:2] == ["", ""]
    assert "a page has waited for 3601 s, 5 are queued" in said[2]
    assert said[3] == said[5] == ""
    assert "caught up" in said[4]
