"""A worker that runs a job of a test to its end, over a real proxy and a real frontier."""

from __future__ import annotations

import os
import threading
from typing import Any

from archive.settings.load import Settings, load
from browsers.crawling.worker import WorkerTally, run_worker
from frontier.definition.job import Job, Profile
from frontier.queue import Frontier
from support.browsers.visits import Fleet

QUICK = {"frontier.min_delay_seconds": 0, "frontier.delay_factor": 0, "frontier.retry_seconds": 0}


def quick(fleet: Fleet, **more: Any) -> Settings:
    """Settings without politeness, since the site is ours."""
    names = {name.replace("__", "."): value for name, value in more.items()}
    return load({"home": str(fleet.home), **QUICK, **names}, environment={})


def opened(settings: Settings, redis_url: str, seeds: list[str], **profile: Any) -> Frontier:
    """The frontier of a new job with these seeds."""
    job = Job.of("harvest", f"w{os.urandom(6).hex()}", seeds, Profile(**profile))
    frontier = Frontier(redis_url, job, settings.frontier)
    frontier.open_job()
    return frontier


def harvest(settings: Settings, fleet: Fleet, redis_url: str, *, concurrency: int = 2, **more: Any) -> WorkerTally:
    """Runs a worker on the job to its end."""
    return run_worker(
        settings,
        job="harvest",
        proxy=fleet.proxy.ready["proxy"],
        controls=fleet.proxy.ready["controls"],
        redis_url=redis_url,
        name="w",
        concurrency=concurrency,
        stop=more.pop("stop", threading.Event()),
        **more,
    )
