"""Leases under long visits are renewed."""

from __future__ import annotations

import threading

import pytest
from support.processes.waiting import until

from archive.settings import FrontierSettings
from browsers.crawling.heartbeat import LeaseHeartbeat
from frontier.definition.job import Job
from frontier.lease import Lease, Pause
from frontier.queue import Frontier
from frontier.store import FrontierUnavailable


def leased(frontier: Frontier) -> Lease:
    claim = frontier.claim("first")
    assert isinstance(claim, Lease)
    return claim


@pytest.fixture
def frontier(redis_url: str) -> Frontier:
    job = Job.of("beat", "beat", ["http://site.test/"])
    frontier = Frontier(redis_url, job, FrontierSettings(lease_seconds=2, min_delay_seconds=0))
    frontier.open_job()
    return frontier


def test_a_held_lease_outlives_its_time(frontier: Frontier) -> None:
    lease = leased(frontier)
    beats = threading.Semaphore(0)

    def renew(held: Lease) -> bool:
        is_ours = frontier.renew(held)
        beats.release()
        return is_ours

    with LeaseHeartbeat(renew, 0.25) as heartbeat, heartbeat.holding(lease):
        for _ in range(16):
            assert beats.acquire(timeout=60)
        assert isinstance(frontier.claim("second"), Pause)
        assert frontier.renew(lease)
    frontier.close()


def test_a_lease_that_is_let_go_runs_out(frontier: Frontier) -> None:
    lease = leased(frontier)
    with LeaseHeartbeat(frontier.renew, 0.05) as heartbeat:
        with heartbeat.holding(lease):
            pass
        again = until(lambda: _claimed(frontier), what="the lease to run out")
    assert again.attempt == 2
    frontier.close()


def test_a_short_absence_of_redis_ends_nothing(frontier: Frontier) -> None:
    lease = leased(frontier)
    calls: list[int] = []

    def renew(_: Lease) -> bool:
        calls.append(1)
        raise FrontierUnavailable("Redis is away")

    with LeaseHeartbeat(renew, 0.01) as heartbeat, heartbeat.holding(lease):
        until(lambda: len(calls) >= 3, what="further tries")
    frontier.close()


def _claimed(frontier: Frontier) -> Lease | None:
    claim = frontier.claim("second")
    return claim if isinstance(claim, Lease) else None
