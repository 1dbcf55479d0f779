"""What operators do: in force at the next claim, and after a restart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.processes.waiting import until
from support.stores.real_frontier import Bench

from archive.settings import FrontierSettings
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]


def test_a_paused_job_hands_out_nothing_but_takes_what_is_finished(bench: Bench, leased: Claim, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.com/"))
    lease = leased(frontier)
    frontier.controls.pause("disk is full")
    frontier.controls.pause("disk is full")
    assert frontier.claim("w") == Pause(0.25, "paused")
    assert frontier.reports.progress().paused == "disk is full"
    assert frontier.finish(lease, VisitOutcome(200)) is LeaseEnding.DONE
    other = bench.again(frontier)
    assert isinstance(other.claim("w"), Pause), "another process knows too"
    other.controls.resume()
    assert isinstance(frontier.claim("w"), Lease)


def test_a_stopped_job_tells_its_workers_to_leave_until_resumed(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.controls.stop("enough")
    assert bench.again(frontier).claim("w") == JobStopped("enough")
    assert frontier.reports.progress().stopped == "enough"
    frontier.controls.resume()
    assert isinstance(frontier.claim("w"), Lease)


def test_a_blocked_host_waits_and_its_urls_stay_queued(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.com/"))
    frontier.controls.block_host("example.org")
    visited = []
    while isinstance(lease := frontier.claim("w"), Lease):
        visited.append(lease.host)
        frontier.finish(lease, VisitOutcome(200))
    assert visited == ["example.com"]
    assert frontier.claim("w") == Pause(1.0, "politeness"), "it is not finished"
    assert frontier.controls.wake_host("example.org")
    assert isinstance(frontier.claim("w"), Lease)


def test_a_block_holds_for_a_visit_that_goes_on(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/a"))
    lease = leased(frontier)
    frontier.controls.block_host("example.org", 60)
    frontier.finish(lease, VisitOutcome(200))
    assert isinstance(frontier.claim("w"), Pause)


def test_a_block_holds_for_all_jobs(bench: Bench) -> None:
    one = bench.frontier(name="one")
    two = bench.frontier("http://example.org/two", name="two")
    one.controls.block_host("example.org", 60)
    assert isinstance(two.claim("w"), Pause)


@pytest.mark.parametrize("ended", ["finished", "taken back"])
def test_a_shorter_block_replaces_a_longer_one_in_all_jobs(
    bench: Bench, links: Links, leased: Claim, ended: str
) -> None:
    frontier, other = bench.frontier(), bench.frontier("http://example.org/other", name="other")
    frontier.add(links("http://example.org/a"))
    lease = leased(frontier, "worker-0")
    frontier.controls.block_host("example.org")
    if ended == "finished":
        frontier.finish(lease, VisitOutcome(200))
    else:
        frontier.take_back("worker-", counts=False)
    assert {type(each.claim("w")) for each in (frontier, other)} == {Pause}
    frontier.controls.block_host("example.org", 0.001)
    visit = until(lambda: _lease_of(other), what="the end of the shorter block")
    assert visit
    other.finish(visit, VisitOutcome(200))
    assert until(lambda: _lease_of(frontier), what="the turn of the first job")


def test_a_woken_host_is_visited_by_all_jobs_that_waited_for_it(bench: Bench, leased: Claim) -> None:
    one, two = bench.frontier(name="one"), bench.frontier("http://example.org/two", name="two")
    one.controls.block_host("example.org")
    assert isinstance(two.claim("w"), Pause)
    assert one.controls.wake_host("example.org")
    assert leased(two).url == "http://example.org/two"


def _lease_of(frontier: Frontier) -> Lease | None:
    answer = frontier.claim("w")
    return answer if isinstance(answer, Lease) else None


def test_a_delay_that_is_longer_than_a_block_holds_after_the_block(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier("http://example.org/", "http://example.org/2", settings=FrontierSettings())
    frontier.finish(leased(frontier), VisitOutcome(200))
    bench.client.hset("gf:{main}:@example.org", "d", bench.now() + 60_000)
    for _ in range(2):
        frontier.controls.block_host("example.org", 0.001)
        until(lambda: bench.now() > bench.host("example.org")["b"], what="the end of the block")
        assert isinstance(frontier.claim("w"), Pause)


def test_a_host_set_aside_counts_as_excluded_and_the_job_can_finish(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    assert frontier.controls.set_host_aside("example.org", "asked us to stay away")
    assert not frontier.controls.set_host_aside("example.org", "again")
    assert isinstance(frontier.claim("w"), JobFinished)
    frontier.add(links("http://example.org/later"))
    assert frontier.reports.progress().excluded == 2
    assert frontier.controls.hosts_aside() == {"example.org": "asked us to stay away"}
    assert frontier.controls.wake_host("example.org")
    assert not frontier.controls.wake_host("example.org")
    assert frontier.reports.progress().queued == 2


def test_waking_a_host_keeps_its_delay(bench: Bench, leased: Claim, links: Links) -> None:
    frontier: Frontier = bench.frontier(settings=FrontierSettings(min_delay_seconds=600, max_delay_seconds=600))
    frontier.add(links("http://example.org/a"))
    frontier.finish(leased(frontier), VisitOutcome(200))
    frontier.controls.wake_host("example.org")
    assert isinstance(frontier.claim("w"), Pause)
