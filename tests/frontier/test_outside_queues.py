"""Programs outside of the fleet add URLs, lease them, and end the leases by the URL alone."""

from __future__ import annotations

from collections.abc import Callable

from support.stores.real_frontier import PATIENT, Bench

from frontier.definition.job import Profile, RevisitRules
from frontier.definition.scope import Accepted, Candidate
from frontier.lease import JobFinished, Lease
from frontier.outside_queues import OutsideUrlState
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier
from frontier.seen import fingerprint

type Claim = Callable[..., Lease]

URL = "http://example.org/"


def test_a_finished_job_takes_nothing_from_outside(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    assert isinstance(frontier.add([Candidate(f"{URL}a", "L")], from_outside=True)[0], Accepted)
    for _ in range(2):
        frontier.finish(leased(frontier), VisitOutcome(200))
    assert isinstance(frontier.claim("w"), JobFinished)

    assert frontier.add([Candidate(f"{URL}b", "L")], from_outside=True) == []
    assert frontier.reports.progress().queued == 0


def test_a_lease_lasts_as_long_as_its_claim_says(bench: Bench) -> None:
    frontier = bench.frontier()
    lease = frontier.claim("w", lease_seconds=600)
    assert isinstance(lease, Lease)

    assert lease.seconds == 600
    (_, expiry), *_ = bench.client.zrange(bench.key("leases"), 0, -1, withscores=True)
    assert 590_000 < expiry - bench.now() <= 600_000


def test_the_lease_of_a_url_is_that_of_its_claim(bench: Bench) -> None:
    frontier = bench.frontier()
    lease = frontier.claim("door-1")
    assert isinstance(lease, Lease)

    held = frontier.outside.held_lease(URL, "door-")
    assert held is not None
    assert (held.id, held.token, held.worker, held.attempt) == (lease.id, lease.token, "door-1", 1)
    assert frontier.outside.held_lease(URL, "other-") is None
    assert frontier.outside.held_lease(f"{URL}none", "door-") is None
    assert frontier.finish(held, VisitOutcome(200)) is LeaseEnding.DONE
    assert frontier.outside.held_lease(URL, "door-") is None


def test_a_url_of_a_continuous_crawl_keeps_its_history(bench: Bench, leased: Claim) -> None:
    rules = RevisitRules(mode="adaptive", interval_seconds=86_400, min_seconds=60)
    frontier = bench.frontier(profile=Profile(scope="any", revisit=rules))
    frontier.finish(leased(frontier), VisitOutcome(200, digest="0" * 16))
    bench.client.hincrby(bench.key("state"), "dueshift", -86_400_000)
    claimed = leased(frontier, "door-1")

    held = frontier.outside.held_lease(URL, "door-")

    assert held is not None
    assert held.history == claimed.history is not None
    frontier.finish(held, VisitOutcome(200))
    report = frontier.reports.revisit(URL)
    assert report is not None
    assert report.history is not None
    assert report.history.visits == 2


def test_a_damaged_record_has_no_lease(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.claim("door-1")
    bench.client.hset(bench.key("u"), fingerprint(URL).id, "nonsense")

    assert frontier.outside.held_lease(URL, "door-") is None


def test_a_url_that_is_to_be_visited_again_rests_without_a_try(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    lease = leased(frontier)

    assert frontier.visit_again(lease, VisitOutcome(200), 60) is LeaseEnding.AGAIN

    (_, due), *_ = bench.client.zrange(bench.key("retry"), 0, -1, withscores=True)
    assert 50_000 < due - bench.now() <= 60_000
    bench.make_retries_due()
    assert leased(frontier).attempt == 1


def test_the_state_of_a_url(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(URL, f"{URL}failing")
    state = frontier.outside.state
    assert [state(URL), state(f"{URL}none")] == [OutsideUrlState.QUEUED, OutsideUrlState.UNKNOWN]
    lease = leased(frontier)
    assert state(URL) is OutsideUrlState.LEASED
    frontier.finish(lease, VisitOutcome(200))
    frontier.finish(leased(frontier), VisitOutcome(-7))
    assert [state(URL), state(f"{URL}failing")] == [OutsideUrlState.SEEN, OutsideUrlState.ENDED]


def test_a_host_is_brought_forward_only_when_it_can_be_visited(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(*(f"http://{name}.example/" for name in "abc"))
    forward = frontier.outside.bring_forward
    assert forward("c.example", 1)
    assert leased(frontier).host == "c.example"
    assert not forward("c.example", 1), "it is visited"
    frontier.controls.block_host("b.example", 60)
    assert not forward("b.example", 1)
    assert not forward("none.example", 1)


def test_hosts_are_listed_in_pages(bench: Bench) -> None:
    frontier = bench.frontier(*(f"http://{name}.example/" for name in "abcde"))
    frontier.controls.block_host("b.example", 60)
    frontier.controls.set_host_aside("d.example", "enough")

    due, total = frontier.outside.due_hosts(0, 10)
    assert (sorted(due), total) == ([f"{name}.example" for name in "ace"], 3)
    pages = [frontier.outside.all_hosts(start, 2) for start in (0, 2, 4, 6)]
    assert [number for _, number in pages] == [5] * 4
    assert sorted(host for hosts, _ in pages for host in hosts) == [f"{name}.example" for name in "abcde"]
    assert frontier.outside.host_counts("d.example").aside == "enough"


def test_delays_end_with_the_job(bench: Bench) -> None:
    frontier: Frontier = bench.frontier()
    frontier.outside.set_delay("", 5)
    frontier.outside.set_delay("a.example", 7.5)
    assert [frontier.outside.delay(host) for host in ("a.example", "b.example")] == [7.5, 5]
    frontier.outside.set_delay("a.example", 0)
    assert frontier.outside.delay("a.example") == 5

    frontier.forget()

    assert bench.again(bench.frontier(settings=PATIENT)).outside.delay("b.example") is None
