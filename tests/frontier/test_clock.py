"""T16: the clock of Redis is set back while a job runs. To Redis that is the same as stored times further ahead."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.stores.real_frontier import PATIENT, Bench

from archive.settings import FrontierSettings
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, Lease, Pause
from frontier.politeness import LeaseEnding, VisitOutcome

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]

HOUR_MS = 3_600_000
OK = VisitOutcome(200)


def test_a_job_goes_on_when_the_clock_is_set_back_an_hour(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links(*(f"http://host{number % 5}.example/{number}" for number in range(20))))
    for _ in range(5):
        frontier.finish(leased(frontier), OK)
    bench.set_clock_back(HOUR_MS)
    visited = 0
    while not isinstance(answer := frontier.claim("w"), JobFinished):
        assert isinstance(answer, Lease), f"nothing is handed out: {answer}"
        frontier.finish(answer, OK)
        visited += 1
    assert visited == 16


def test_politeness_holds_when_the_clock_is_set_back(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings(min_delay_seconds=20))
    frontier.add(links("http://example.org/a"))
    frontier.finish(leased(frontier), OK)
    bench.set_clock_back(HOUR_MS)
    assert isinstance(frontier.claim("w"), Pause), "the host was visited a moment ago"
    left = bench.host("example.org")["d"] - bench.now()
    assert 0 < left <= 20_000
    progress = frontier.reports.progress()
    assert progress.next_due_seconds is not None
    assert progress.next_due_seconds <= 20


def test_leases_last_as_long_as_before(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    lease = leased(frontier)
    bench.set_clock_back(HOUR_MS)
    assert isinstance(frontier.claim("other"), Pause)
    (score,) = (score for _, score in bench.client.zrange(bench.key("leases"), 0, -1, withscores=True))
    assert bench.now() < score <= bench.now() + 1000 * PATIENT.lease_seconds
    assert frontier.finish(lease, OK) is LeaseEnding.DONE


def test_a_url_that_rests_is_tried_again_and_not_an_hour_later(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings(min_delay_seconds=0, delay_factor=0))
    frontier.finish(leased(frontier), VisitOutcome(-4))
    bench.set_clock_back(HOUR_MS)
    assert leased(frontier).attempt == 2


@pytest.mark.parametrize("ms", [5_000, HOUR_MS, 30 * 24 * HOUR_MS])
def test_a_dead_job_does_not_hold_a_host_for_as_long_as_the_clock_was_set_back(
    bench: Bench, leased: Claim, ms: int
) -> None:
    dead, alive = bench.frontier(name="dead"), bench.frontier("http://example.org/alive", name="alive")
    leased(dead)
    assert isinstance(alive.claim("w"), Pause)
    bench.set_clock_back(ms, "dead", "alive")
    assert isinstance(alive.claim("w"), Pause)
    assert bench.host("example.org")["l"] - bench.now() <= 1000 * PATIENT.lease_seconds


def test_a_robots_txt_that_was_kept_before_is_asked_for_again(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.set_robots("http://example.org/", 503)
    bench.set_clock_back(HOUR_MS)
    assert bench.again(frontier).robots("http://example.org/") is None
