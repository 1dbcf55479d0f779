"""T5: what workers held that are gone, be it only they, their command, or the whole job."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.stores.real_frontier import PATIENT, Bench

from archive.settings import FrontierSettings
from frontier.definition.job import PolitenessOverrides, Profile
from frontier.definition.scope import Candidate
from frontier.lease import Lease, Pause, Wait, WaitKind
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]
OWN_DELAYS = {
    "Crawl-delay": Profile(),
    "a sheet": Profile(sheets=("example.org min_delay_seconds=60",)),
    "a rate": Profile(politeness=PolitenessOverrides(max_crawl_delay_seconds=0), least_delays={"example.org": 60}),
}
"""The profiles of jobs in which a host has a delay of a minute, by what says so."""


def asked_by(delay: str) -> float | None:
    """The Crawl-delay of the host's robots.txt."""
    return 60.0 if delay == "Crawl-delay" else None


def test_the_leases_of_workers_that_are_gone_are_taken_back_at_once(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://a.example/", "http://b.example/"))
    gone, other, late = leased(frontier, "worker-0-0"), leased(frontier, "worker-0-1"), leased(frontier, "else-0")
    assert frontier.take_back("worker-0-", counts=False) == 2
    assert frontier.finish(gone, VisitOutcome(200)) is LeaseEnding.STALE
    assert frontier.finish(late, VisitOutcome(200)) is LeaseEnding.DONE, "another worker's lease is its own"
    again = {leased(frontier, "w").url: 1 for _ in range(2)}
    assert set(again) == {gone.url, other.url}


def test_a_command_s_end_is_no_try_of_its_urls_but_a_worker_s_death_is(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    leased(frontier, "worker-0-0")
    frontier.take_back("worker-", counts=False)
    assert leased(frontier, "worker-0-0").attempt == 1
    frontier.take_back("worker-", counts=True)
    assert leased(frontier, "worker-0-0").attempt == 2


def test_a_host_rests_after_the_leases_of_a_gone_worker_were_taken_back(bench: Bench, leased: Claim) -> None:
    """The worker may have asked the host right before it was killed."""
    minute = FrontierSettings(min_delay_seconds=60, max_delay_seconds=60)
    frontier = bench.frontier("http://a.example/", "http://b.example/", settings=minute)
    for host in ("a.example", "b.example"):
        leased(frontier, f"worker-{host}")
    assert frontier.take_back("worker-a", counts=True) == 1
    assert frontier.sweep(all_leases=True) == 1
    for _ in range(2):
        assert isinstance(frontier.claim("w"), Pause)
        frontier = Frontier.of(bench.url, "spring", minute)  # the delay is that of the host and not of a process
    bench.make_due("a.example", "b.example")
    assert {leased(frontier, f"w{number}").host for number in range(2)} == {"a.example", "b.example"}
    frontier.close()


@pytest.mark.parametrize("delay", OWN_DELAYS)
@pytest.mark.parametrize("broken_off", ["taken back", "swept", "given back"])
def test_a_host_rests_for_its_own_delay_after_a_visit_was_broken_off(
    bench: Bench, links: Links, leased: Claim, broken_off: str, delay: str
) -> None:
    """The delay is known from the visit before."""
    frontier = bench.frontier(profile=OWN_DELAYS[delay])
    seed = leased(frontier)
    frontier.add(links("http://example.org/next"), seed)
    frontier.finish(seed, VisitOutcome(200, crawl_delay_seconds=asked_by(delay)))
    bench.make_due("example.org")
    lease = leased(frontier, "worker-0")
    match broken_off:
        case "taken back":
            frontier.take_back("worker-", counts=False)
        case "swept":
            frontier.sweep(all_leases=True)
        case _:
            frontier.give_back(lease, "stopping", counts=False)
    assert isinstance(frontier.claim("w"), Pause)
    bench.make_due("example.org")
    assert leased(frontier).url == "http://example.org/next"


@pytest.mark.parametrize("delay", OWN_DELAYS)
def test_the_delay_of_a_host_is_known_before_its_first_visit_ends(bench: Bench, leased: Claim, delay: str) -> None:
    frontier = bench.frontier(profile=OWN_DELAYS[delay])
    lease = leased(frontier, "worker-0")
    frontier.note_delay(lease, asked_by(delay))
    frontier.take_back("worker-", counts=False)
    assert isinstance(frontier.claim("w"), Pause)
    frontier.note_delay(lease, 90.0)
    assert bench.client.hget("gf:{main}:@example.org", "p") == b"60000", "the lease is over"


def test_a_host_is_free_for_other_jobs_as_soon_as_a_lease_is_taken_back(bench: Bench, leased: Claim) -> None:
    one, two = bench.frontier(name="one"), bench.frontier("http://example.org/two", name="two")
    leased(one, "worker-0-0")
    assert isinstance(two.claim("w"), Pause)
    one.take_back("worker-", counts=False)
    bench.make_due(job="two")
    bench.client.zadd(bench.key("ready", "two"), {"example.org": 0})
    assert leased(two).url == "http://example.org/two"


def _let_the_lease_run_out(bench: Bench, lease: Lease, job: str) -> None:
    bench.expire(lease, job)
    bench.client.hset(f"gf:{{main}}:@{lease.host}", mapping={"s": 1, "l": 2})


def test_a_job_whose_workers_all_died_does_not_block_a_host_for_other_jobs(bench: Bench, leased: Claim) -> None:
    """Nobody claims in the dead job any more, so that nobody would sweep there."""
    dead, alive = bench.frontier(name="dead"), bench.frontier("http://example.org/alive", name="alive")
    _let_the_lease_run_out(bench, leased(dead), "dead")
    assert leased(alive).url == "http://example.org/alive"
    progress = dead.reports.progress()
    assert (progress.queued, progress.leased, progress.swept) == (1, 0, 1)


def test_no_host_gets_two_visits_after_more_leases_ran_out_than_one_claim_takes_back(
    bench: Bench, links: Links
) -> None:
    hosts = [f"h{number}.example" for number in range(220)]
    frontier = bench.frontier("http://h0.example/")
    frontier.add(links(*(f"http://{host}/{number}" for host in hosts for number in range(2))))
    for lease in frontier.exchange((), [f"gone-{number}" for number in range(220)]).claims:
        assert isinstance(lease, Lease)
        _let_the_lease_run_out(bench, lease, "spring")
    visited: list[str] = []
    for step in range(5):
        bench.make_due(*hosts)
        claims = frontier.exchange((), [f"w-{step}-{number}" for number in range(220)]).claims
        visited += [lease.host for lease in claims if isinstance(lease, Lease)]
    assert sorted(visited) == sorted(hosts)
    assert {bench.host(host)["n"] for host in hosts} == {1}


def test_a_host_of_a_dead_job_with_many_leases_is_free_when_its_own_lease_was_taken_back(
    bench: Bench, links: Links, leased: Claim
) -> None:
    dead, alive = bench.frontier(name="dead"), bench.frontier("http://example.org/alive", name="alive")
    last = leased(dead)
    dead.add(links(*(f"http://h{number}.example/" for number in range(220))))
    for lease in dead.exchange((), [f"gone-{number}" for number in range(220)]).claims:
        assert isinstance(lease, Lease)
        _let_the_lease_run_out(bench, lease, "dead")
    _let_the_lease_run_out(bench, last, "dead")
    bench.client.zadd(bench.key("leases", "dead"), {last.id: 2})
    while not isinstance(alive.claim("w"), Lease):
        bench.make_due("example.org", job="alive")
    dead.sweep()
    assert bench.host("example.org")["n"] == 1


def test_a_job_that_was_dropped_while_it_held_a_host_does_not_block_it(bench: Bench, leased: Claim) -> None:
    gone, alive = bench.frontier(name="gone"), bench.frontier("http://example.org/alive", name="alive")
    lease = leased(gone)
    bench.client.delete(*bench.client.keys("gf:{main}:gone*"))
    _let_the_lease_run_out(bench, lease, "gone")
    assert leased(alive).url == "http://example.org/alive"


def test_a_renewed_lease_goes_on_to_hold_its_host(bench: Bench, leased: Claim) -> None:
    one, two = bench.frontier(name="one"), bench.frontier("http://example.org/two", name="two")
    lease = leased(one)
    _let_the_lease_run_out(bench, lease, "one")
    assert one.renew(lease)
    assert isinstance(two.claim("w"), Pause)
    assert one.finish(lease, VisitOutcome(200)) is LeaseEnding.DONE


def test_progress_names_the_job_that_holds_a_host(bench: Bench, leased: Claim) -> None:
    one, two = bench.frontier(name="one"), bench.frontier("http://example.org/two", name="two")
    leased(one)
    two.claim("w")
    assert two.reports.progress().waits == (Wait("example.org", WaitKind.HELD, job="one"),)


def test_progress_tells_how_long_a_host_rests_and_after_what(bench: Bench, leased: Claim) -> None:
    from archive.settings import FrontierSettings

    frontier = bench.frontier("http://nosuch.example/", settings=FrontierSettings(dns_retry_seconds=600))
    frontier.finish(leased(frontier), VisitOutcome(-6))
    (wait,) = frontier.reports.progress().waits
    assert (wait.what, wait.kind, wait.code) == ("nosuch.example", WaitKind.RETRY, -6)
    assert 0 < wait.seconds <= 600
    frontier.controls.block_host("nosuch.example", 3_600)
    assert frontier.reports.progress().waits[0].kind is WaitKind.BLOCKED


def test_progress_tells_of_urls_that_rest_alone_and_of_hosts_that_are_visited(
    bench: Bench, links: Links, leased: Claim
) -> None:
    from archive.settings import FrontierSettings

    frontier: Frontier = bench.frontier(settings=FrontierSettings(min_delay_seconds=0, delay_factor=0))
    frontier.finish(leased(frontier), VisitOutcome(-4))
    assert [(wait.what, wait.kind) for wait in frontier.reports.progress().waits] == [
        ("http://example.org/", WaitKind.RETRY)
    ]
    frontier.add(links("http://example.org/a", "http://example.org/b"))
    leased(frontier)
    frontier.claim("w2")
    waits = {(wait.what, wait.kind) for wait in frontier.reports.progress().waits}
    assert ("example.org", WaitKind.VISITED) in waits


def test_several_visits_of_a_host_are_counted_rightly_after_one_was_taken_back(
    bench: Bench, links: Links, leased: Claim
) -> None:
    profile = Profile(scope="any", politeness=PolitenessOverrides(per_host=2))
    frontier = bench.frontier(profile=profile, settings=PATIENT)
    frontier.add(links(*(f"http://example.org/{number}" for number in range(4))))
    leased(frontier, "worker-0-0")
    leased(frontier, "worker-1-0")
    frontier.take_back("worker-0-", counts=True)
    assert bench.host("example.org")["n"] == 1
    leased(frontier, "worker-0-0")
    assert isinstance(frontier.claim("w"), Pause)
