"""The frontier on a real Redis: add, claim, finish, give back, lease and politeness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

import pytest
from support.stores.real_frontier import PATIENT, Bench

from archive.settings import FrontierSettings
from frontier import store
from frontier.definition.job import Job, JobError, Limits, PolitenessOverrides, Profile
from frontier.definition.scope import Accepted, Candidate, Priority, Rejected
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier
from frontier.store import FrontierLost

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]

OK = VisitOutcome(200, bytes=100, duration_ms=50, is_document=True)
RESTS = FrontierSettings(min_delay_seconds=600, max_delay_seconds=600)
"""A host rests for longer than any test takes."""


def drain(frontier: Frontier, most: int = 10_000) -> list[str]:
    """Visit everything that can be visited, but no more than `most` URLs; the URLs in order."""
    visited: list[str] = []
    while len(visited) < most and isinstance(lease := frontier.claim("w"), Lease):
        visited.append(lease.url)
        assert frontier.finish(lease, OK) is LeaseEnding.DONE
    return visited


# -- adding


def test_a_url_is_taken_in_once(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    decisions = frontier.add(links("http://example.org/a", "http://example.org/a#top", "http://example.org/a"))
    assert [type(decision) for decision in decisions] == [Accepted, Rejected, Rejected]
    assert isinstance(decisions[1], Rejected)
    assert decisions[1].reason == "seen"
    assert frontier.add(links("http://example.org/a"))[0] == Rejected(links("http://example.org/a")[0], "seen")
    assert frontier.reports.progress().queued == 2


def test_thousands_of_links_go_in_at_once_and_in_order(bench: Bench, links: Links) -> None:
    frontier = bench.frontier("http://example.org/0")
    urls = [f"http://example.org/{number}" for number in range(3000)]
    decisions = frontier.add(links(*urls))
    assert [isinstance(decision, Accepted) for decision in decisions] == [False] + [True] * 2999
    assert frontier.reports.progress().queued == 3000
    assert drain(frontier, 5) == urls[:5]


def test_every_rejected_link_keeps_its_reason_and_rule(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=Profile(scope="host", hops=1))
    frontier.add(links("http://elsewhere.example/", "mailto:x@example.org"))
    frontier.add([Candidate("http://example.org/deep", "LL", via="http://example.org/a", depth=2)])
    assert frontier.reports.progress().rejected == {"scope": 1, "scheme": 1, "hops": 1}
    noted = {(link.url, link.reason, link.rule) for link in frontier.reports.rejected()}
    assert ("http://elsewhere.example/", "scope", "host") in noted
    assert ("http://example.org/deep", "hops", "hops 1") in noted


def test_one_page_gives_so_many_links_and_no_more(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", max_links=3))
    lease = leased(frontier)
    decisions = frontier.add([lease.candidate(f"http://example.org/{number}", "L") for number in range(5)], lease)
    assert [getattr(decision, "reason", "") for decision in decisions] == ["", "", "", *["too-many-links"] * 2]


def test_a_url_that_a_page_fetched_along_is_not_queued_any_more(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.mark_seen(["http://example.org/style.css"])
    assert frontier.add(links("http://example.org/style.css"))[0] == Rejected(
        links("http://example.org/style.css")[0], "seen"
    )


def test_a_url_can_be_visited_again_when_forced_to(bench: Bench) -> None:
    frontier = bench.frontier()
    drain(frontier)
    again = Candidate("http://example.org/", force=True)
    assert isinstance(frontier.add([again])[0], Accepted)
    assert isinstance(frontier.add([again])[0], Rejected), "it is queued already"
    assert drain(frontier) == ["http://example.org/"]
    assert frontier.reports.progress().accepted == 2


def test_a_failed_url_that_is_forced_is_no_longer_failed(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.finish(leased(frontier), VisitOutcome(-7))
    assert frontier.reports.progress().failed == 1
    frontier.add([Candidate("http://example.org/", force=True)])
    progress = frontier.reports.progress()
    assert (progress.failed, progress.queued, progress.accepted) == (0, 1, 1)


# -- order


def test_a_host_is_visited_by_priority_then_depth_then_age(bench: Bench) -> None:
    frontier = bench.frontier("http://example.org/seed")
    frontier.add(
        [
            Candidate("http://example.org/deep", "LL", depth=2),
            Candidate("http://example.org/first", "L", depth=1),
            Candidate("http://example.org/second", "L", depth=1),
            Candidate("http://example.org/system", priority=Priority.SYSTEM),
            Candidate("http://example.org/high", priority=Priority.HIGH),
        ]
    )
    order = [url.rpartition("/")[2] for url in drain(frontier)]
    assert order == ["system", "high", "seed", "first", "second", "deep"]


def test_lower_priorities_are_served_now_and_then(bench: Bench) -> None:
    frontier = bench.frontier("http://example.org/low")
    frontier.add(Candidate(f"http://example.org/{number}", priority=Priority.HIGH) for number in range(20))
    assert drain(frontier).index("http://example.org/low") == 4


def test_an_urgent_url_of_a_new_host_goes_before_hosts_that_wait_longer(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links(*(f"http://host{number}.example/" for number in range(50))))
    frontier.add([Candidate("http://now.example/", priority=Priority.HIGH)])
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    assert lease.url == "http://now.example/"


def test_hosts_take_turns_after_each_url_however_long_their_queues_are(bench: Bench, links: Links) -> None:
    hosts = ["long.example", *(f"host{number}.example" for number in range(5))]
    settings = PATIENT.model_copy(update={"min_delay_seconds": 0.001})
    frontier = bench.frontier(*(f"http://{host}/" for host in hosts), settings=settings)
    frontier.add(links(*(f"http://long.example/{number}" for number in range(40))))
    frontier.add(links(*(f"http://{host}/{number}" for number in range(3) for host in hosts[1:])))
    visited = Counter[str]()
    while not isinstance(claim := frontier.claim("w"), JobFinished):
        if isinstance(claim, Lease):
            visited[claim.host] += 1
            frontier.finish(claim, OK)
            fewest = min((visited[host] for host in hosts[1:] if visited[host] < 4), default=40)
            assert visited[claim.host] <= fewest + 2, "hosts of one millisecond have no order"
    assert visited == {"long.example": 41, **dict.fromkeys(hosts[1:], 4)}


# -- leases


def test_a_lease_tells_all_about_its_url(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    seed = leased(frontier)
    assert (seed.url, seed.hop_path, seed.is_seed, seed.attempt, seed.host) == (
        *("http://example.org/", "", True, 1, "example.org"),
    )
    frontier.add([seed.candidate("http://example.org/x", "L")], seed)
    frontier.finish(seed, OK)
    lease = leased(frontier)
    assert (lease.url, lease.hop_path, lease.via, lease.source, lease.depth, lease.is_seed) == (
        *("http://example.org/x", "L", "http://example.org/", "http://example.org/", 1, False),
    )


def test_one_visit_of_a_host_at_a_time(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/a", "http://example.com/"))
    hosts = {leased(frontier, "w1").host, leased(frontier, "w2").host}
    assert hosts == {"example.org", "example.com"}
    assert frontier.claim("w3") == Pause(1.0, "busy")


def test_more_visits_of_a_host_at_a_time_when_asked_for(bench: Bench, links: Links, leased: Claim) -> None:
    profile = Profile(scope="any", politeness=PolitenessOverrides(per_host=2))
    frontier = bench.frontier(profile=profile)
    frontier.add(links("http://example.org/a", "http://example.org/b"))
    first, _ = leased(frontier, "w1"), leased(frontier, "w2")
    assert isinstance(frontier.claim("w3"), Pause)
    frontier.finish(first, OK)
    assert leased(frontier, "w3").url == "http://example.org/b"


def test_what_is_known_of_a_host_is_kept_while_it_is_visited_every_day(
    bench: Bench, links: Links, leased: Claim
) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/1", "http://example.org/2"))
    host, day, passed = "gf:{main}:@example.org", 86_400_000, 90_000_000
    frontier.finish(leased(frontier), VisitOutcome(200))
    for _ in range(2):
        bench.client.pexpire(host, bench.client.pttl(host) - passed)
        if bench.client.hexists(host, "x"):
            bench.client.hincrby(host, "x", -passed)
        lease = leased(frontier)
        assert bench.client.pttl(host) > day
        frontier.finish(lease, VisitOutcome(200))


def test_a_lease_that_ran_out_is_given_to_another(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    late = leased(frontier, "late")
    bench.expire(late)
    assert frontier.sweep() == 1
    second = leased(frontier, "second")
    assert (second.url, second.attempt) == (late.url, 2)
    assert second.token != late.token
    assert frontier.reports.progress().swept == 1


def test_a_claim_sweeps_on_its_way(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    late = leased(frontier, "late")
    bench.expire(late)
    assert leased(frontier, "second").url == late.url


def test_a_late_worker_can_change_nothing(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    late = leased(frontier, "late")
    bench.expire(late)
    second = leased(frontier, "second")
    before = frontier.reports.progress()
    assert frontier.finish(late, OK) is LeaseEnding.STALE
    assert frontier.give_back(late, "too late") is LeaseEnding.STALE
    assert not frontier.renew(late)
    assert frontier.add([late.candidate("http://example.org/x", "L")], late) == []
    assert frontier.reports.progress() == before
    assert frontier.finish(second, OK) is LeaseEnding.DONE
    assert frontier.finish(late, OK) is LeaseEnding.STALE


def test_a_renewed_lease_does_not_run_out(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    lease = leased(frontier)
    bench.expire(lease)
    assert frontier.renew(lease)
    assert frontier.sweep() == 0
    assert frontier.finish(lease, OK) is LeaseEnding.DONE


def test_a_lease_tells_how_many_workers_were_lost_with_its_url(bench: Bench, leased: Claim) -> None:
    """T2: the worker that gets such a lease ends the URL without a visit."""
    frontier = bench.frontier(settings=FrontierSettings(min_delay_seconds=0, delay_factor=0, max_retries=0))
    for lost in range(3):
        lease = leased(frontier)
        assert (lease.lost, lease.attempt) == (lost, lost + 1)
        bench.expire(lease)


def test_a_url_whose_worker_was_lost_is_visited_after_the_others_of_its_host(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier("http://example.org/poison", "http://example.org/honest")
    bench.expire(leased(frontier))
    honest = leased(frontier)
    frontier.finish(honest, OK)
    assert (honest.url, leased(frontier).url) == ("http://example.org/honest", "http://example.org/poison")


def test_a_url_that_every_worker_dies_of_fails_in_the_end(bench: Bench, leased: Claim) -> None:
    settings = FrontierSettings(min_delay_seconds=0, delay_factor=0, max_retries=2)
    frontier = bench.frontier(settings=settings)
    for _ in range(5):
        bench.expire(leased(frontier))
        frontier.sweep()
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.reports.progress().codes == {-5: 1}


def test_a_finish_said_twice_counts_once_and_gets_the_same_answer(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    lease = leased(frontier)
    assert frontier.finish(lease, OK) is LeaseEnding.DONE
    before = frontier.reports.progress()
    assert frontier.finish(lease, OK) is LeaseEnding.DONE
    assert frontier.finish(lease, VisitOutcome(-7)) is LeaseEnding.DONE, "what was said first holds"
    assert frontier.reports.progress() == before


def test_a_claim_whose_answer_was_lost_gets_it_again(bench: Bench) -> None:
    frontier = bench.frontier()
    first = frontier._store.run("claim", 1000, 1, 3, 5, "w", "0123456789abcdef")
    second = frontier._store.run("claim", 1000, 1, 3, 5, "w", "0123456789abcdef")
    assert first == second
    assert frontier.reports.progress().leased == 1


def test_unknown_leases_change_nothing(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    lease = leased(frontier)
    frontier.give_back(lease, "stopping", counts=False)
    before = frontier.reports.progress()
    forged = Lease("12345", "feed", "w", "http://x.example/", "", None, None, 0, False, Priority.STANDARD, 1, 0, 1.0)
    assert frontier.finish(forged, OK) is LeaseEnding.STALE
    assert not frontier.renew(forged)
    assert frontier.reports.progress() == before


def test_many_workers_visit_each_url_once_and_no_host_twice_at_a_time(bench: Bench, links: Links) -> None:
    frontier = bench.frontier("http://host0.example/")
    urls = [f"http://host{number % 7}.example/{number}" for number in range(300)]
    frontier.add(links(*urls))
    visited, busy, clashes, lock = Counter[str](), set[str](), list[str](), Lock()

    def work(worker: str) -> None:
        while not isinstance(answer := frontier.claim(worker), JobFinished):
            if isinstance(answer, Lease):
                with lock:
                    visited[answer.url] += 1
                    if answer.host in busy:
                        clashes.append(answer.host)
                    busy.add(answer.host)
                with lock:
                    busy.discard(answer.host)
                frontier.finish(answer, OK)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [f"w{number}" for number in range(4)]))
    assert set(visited) == {*urls, "http://host0.example/"}
    assert set(visited.values()) == {1}
    assert clashes == []
    assert frontier.reports.progress().done == 301


# -- politeness


def test_after_a_visit_its_host_rests_by_the_formula(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings())
    frontier.add(links("http://example.org/a"))
    lease = leased(frontier)
    before = bench.now()
    frontier.finish(lease, VisitOutcome(200, duration_ms=5_000))
    assert before + 25_000 <= bench.host("example.org")["d"] <= bench.now() + 25_000
    assert frontier.claim("w") == Pause(1.0, "politeness")
    progress = frontier.reports.progress()
    assert progress.hosts_waiting == 1
    assert progress.next_due_seconds is not None
    assert 0 < progress.next_due_seconds <= 25
    bench.make_due("example.org")
    assert leased(frontier).url == "http://example.org/a"


def test_crawl_delay_counts_above_the_longest_delay(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings())
    lease = leased(frontier)
    before = bench.now()
    frontier.finish(lease, VisitOutcome(200, duration_ms=200, crawl_delay_seconds=60))
    assert before + 60_000 <= bench.host("example.org")["d"] <= bench.now() + 60_000


@pytest.mark.parametrize(("per_host", "expected"), [(1, 30_000), (2, 60_000)])
def test_the_least_delay_of_a_domain_is_cut_by_no_rule(
    bench: Bench, leased: Claim, per_host: int, expected: int
) -> None:
    polite = PolitenessOverrides(max_delay_seconds=3, max_crawl_delay_seconds=0, per_host=per_host)
    frontier = bench.frontier(
        settings=FrontierSettings(), profile=Profile(politeness=polite, least_delays={"example.org": 30})
    )
    lease = leased(frontier)
    before = bench.now()
    frontier.finish(lease, VisitOutcome(200, duration_ms=200))
    assert before + expected <= bench.host("example.org")["d"] <= bench.now() + expected


def test_delays_hold_for_all_jobs_together(bench: Bench, leased: Claim) -> None:
    one = bench.frontier(settings=RESTS, name="one")
    two = bench.frontier("http://example.org/two", settings=RESTS, name="two")
    lease = leased(one)
    assert isinstance(two.claim("w"), Pause), "the other job visits the host right now"
    one.finish(lease, VisitOutcome(200))
    bench.make_due(job="two")
    bench.client.zadd(bench.key("ready", "two"), {"example.org": 0})
    assert isinstance(two.claim("w"), Pause), "the host rests from the other job's visit"
    bench.make_due("example.org", job="two")
    assert leased(two).url == "http://example.org/two"


def test_a_refusing_host_rests_longer_each_time(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings())
    for rest in (30_000, 60_000, 120_000):
        lease = leased(frontier)
        before = bench.now()
        assert frontier.finish(lease, VisitOutcome(503)) is LeaseEnding.AGAIN
        assert before + rest <= bench.host("example.org")["d"] <= bench.now() + rest
        bench.make_due("example.org")


def test_retry_after_is_heeded(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings())
    lease = leased(frontier)
    before = bench.now()
    frontier.finish(lease, VisitOutcome(429, retry_after_seconds=500))
    assert before + 500_000 <= bench.host("example.org")["d"] <= bench.now() + 500_000


def test_a_url_that_timed_out_waits_alone(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings(min_delay_seconds=0))
    frontier.add(links("http://example.org/a"))
    slow = leased(frontier)
    assert frontier.finish(slow, VisitOutcome(-4)) is LeaseEnding.AGAIN
    assert leased(frontier).url == "http://example.org/a"
    assert frontier.reports.progress().queued == 1
    bench.make_retries_due()
    bench.expire(slow)
    assert isinstance(frontier.claim("w"), Pause), "its host is being visited"


def test_retries_end_in_failure_with_the_code(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    attempts = []
    for _ in range(4):
        lease = leased(frontier)
        attempts.append((lease.attempt, frontier.finish(lease, VisitOutcome(-2))))
    assert attempts == [(1, LeaseEnding.AGAIN), (2, LeaseEnding.AGAIN), (3, LeaseEnding.AGAIN), (4, LeaseEnding.FAILED)]
    progress = frontier.reports.progress()
    assert (progress.failed, progress.retries, progress.errors) == (1, 3, {-2: 1})
    assert [report.code for report in frontier.reports.urls("failed")] == [-2]


def test_a_host_that_fails_too_often_is_set_aside_until_woken(bench: Bench, links: Links, leased: Claim) -> None:
    settings = FrontierSettings(min_delay_seconds=0, delay_factor=0, retry_seconds=0, host_failures=3)
    frontier = bench.frontier(settings=settings)
    frontier.add(links(*(f"http://example.org/{number}" for number in range(5))))
    for _ in range(3):
        frontier.finish(leased(frontier), VisitOutcome(503))
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.controls.hosts_aside() == {"example.org": "failing"}
    assert frontier.reports.progress().excluded == 6
    assert len(list(frontier.reports.urls("excluded"))) == 6
    assert frontier.controls.wake_host("example.org")
    assert frontier.reports.progress().excluded == 0
    assert len(drain(frontier)) == 6


def test_a_success_forgets_a_host_s_failures(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/a"))
    frontier.finish(leased(frontier), VisitOutcome(503))
    lease = leased(frontier)
    assert lease.host_failures == 1
    frontier.finish(lease, OK)
    assert leased(frontier).host_failures == 0


def test_what_robots_txt_excludes_is_excluded_at_no_delay(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings())
    frontier.add(links("http://example.org/a"))
    assert frontier.finish(leased(frontier), VisitOutcome(-9998)) is LeaseEnding.EXCLUDED
    assert leased(frontier).url == "http://example.org/a"
    assert frontier.reports.progress().excluded == 1
    assert [report.code for report in frontier.reports.urls("excluded")] == [-9998]


# -- giving back


def test_trouble_of_our_own_is_a_try_and_waits(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=RESTS)
    assert frontier.give_back(leased(frontier), "keeping failed") is LeaseEnding.AGAIN
    assert isinstance(frontier.claim("w"), Pause)
    assert frontier.reports.progress().queued == 1
    bench.make_retries_due()
    assert isinstance(frontier.claim("w"), Pause), "the visit may have asked the host before it was broken off"
    bench.make_due("example.org")
    lease = leased(frontier)
    assert (lease.attempt, lease.host_failures) == (2, 0)


def test_a_worker_that_is_stopped_gives_back_without_a_try(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=RESTS)
    frontier.give_back(leased(frontier), "stopping", counts=False)
    assert isinstance(frontier.claim("w"), Pause), "the visit may have asked the host before it was broken off"
    bench.make_due("example.org")
    assert leased(frontier).attempt == 1


def test_what_is_given_back_too_often_fails(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    endings = [frontier.give_back(leased(frontier), "keeping failed") for _ in range(4)]
    assert endings == [*[LeaseEnding.AGAIN] * 3, LeaseEnding.FAILED]


# -- limits


def test_a_limit_of_pages_is_kept_exactly(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=Limits(pages=3)))
    frontier.add(links(*(f"http://host{number}.example/" for number in range(10))))
    leases = [leased(frontier, f"w{number}") for number in range(3)]
    assert frontier.claim("w") == Pause(0.25, "busy")
    frontier.finish(leases[0], VisitOutcome(-7))
    leases.append(leased(frontier))
    for lease in leases[1:]:
        frontier.finish(lease, OK)
    assert frontier.claim("w") == JobStopped("limit-pages")
    assert frontier.reports.progress().done == 3


def test_a_limit_of_bytes_stops_the_job(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=Limits(bytes=150)))
    frontier.add(links("http://example.org/a", "http://example.org/b"))
    assert len(drain(frontier)) == 2
    assert frontier.claim("w") == JobStopped("limit-bytes")


@pytest.mark.parametrize(
    ("limits", "visit", "most"),
    [
        (Limits(bytes=100_000), VisitOutcome(200, bytes=9_000), 100_000 + 9_000),
        (Limits(bytes=100_000), VisitOutcome(200, bytes=70_000), 100_000 + 70_000),
        (Limits(urls=10), VisitOutcome(200), 10),
        (Limits(urls=10), VisitOutcome(200, urls=8), 10 + 8),
    ],
)
def test_many_workers_go_beyond_a_limit_by_one_visit(
    bench: Bench, links: Links, limits: Limits, visit: VisitOutcome, most: int
) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=limits))
    frontier.add(links(*(f"http://host{number}.example/" for number in range(40))))

    while leases := [lease for n in range(4) if isinstance(lease := frontier.claim(f"w{n}"), Lease)]:
        for lease in leases:
            frontier.finish(lease, visit)

    progress = frontier.reports.progress()
    got = progress.bytes if limits.bytes else progress.done + progress.fetched_along
    assert (limits.bytes or limits.urls or 0) <= got <= most


def test_a_high_limit_holds_no_worker_up(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=Limits(bytes=10**9, urls=10**6)))
    frontier.add(links(*(f"http://host{number}.example/" for number in range(8))))
    assert all(isinstance(frontier.claim(f"w{number}"), Lease) for number in range(8))


def test_a_limit_of_time_counts_time_at_work_only(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=Limits(seconds=100)))
    state = bench.key("state")
    bench.client.hset(state, mapping={"active": 99_000, "last": bench.now() - 3_600_000})
    assert isinstance(frontier.claim("w"), Lease), "an hour's standstill does not count"
    bench.client.hset(state, mapping={"active": 99_000, "last": bench.now() - 2_000})
    assert frontier.claim("w") == JobStopped("limit-seconds")


def test_a_host_at_its_limit_is_set_aside_without_the_worker_knowing(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=Limits(host_pages=2)))
    frontier.add(links("http://example.org/a", "http://example.org/b", "http://example.com/"))
    assert len(drain(frontier)) == 3
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.controls.hosts_aside() == {"example.org": "limit-host-pages"}
    assert frontier.reports.progress().excluded == 1
    frontier.add(links("http://example.org/c"))
    assert frontier.reports.progress().excluded == 2


# -- opening and resuming


def test_the_same_job_asked_again_resumes(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/a"))
    again = bench.frontier(opened=False)
    assert again.open_job() is True
    assert again.reports.progress().queued == 2


def test_a_new_job_is_no_resumed_one(bench: Bench) -> None:
    assert bench.frontier(opened=False).open_job() is False


def test_another_process_needs_only_the_name(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile(scope="domain", hops=2))
    assert bench.again(frontier).job == frontier.job.model_copy(update={"seeds": ()})


def test_a_resumed_job_may_raise_its_limits_and_goes_on(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=Limits(pages=1, host_pages=1)))
    frontier.add(links("http://example.org/a", "http://example.com/"))
    assert len(drain(frontier)) == 1
    raised = bench.frontier(profile=Profile(scope="any", limits=Limits(pages=2, host_pages=1)), opened=False)
    assert raised.open_job()
    assert len(drain(raised)) == 1
    assert bench.frontier().reports.progress().queued + frontier.reports.progress().excluded == 1
    assert len(drain(bench.again(frontier))) == 1


def test_a_resumed_job_may_not_change_its_scope_while_unfinished(bench: Bench) -> None:
    bench.frontier()
    changed = bench.frontier(profile=Profile(scope="page"), opened=False)
    with pytest.raises(JobError, match="profile scope = 'any', not 'page'"):
        changed.open_job()


def test_a_finished_job_may_start_over_with_another_profile(bench: Bench) -> None:
    drain(bench.frontier())
    changed = bench.frontier(profile=Profile(scope="page"), opened=False)
    assert changed.open_job() is False
    assert drain(changed) == ["http://example.org/"]


def test_a_stopped_job_goes_on_when_opened_again_and_a_paused_one_stays_paused(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.controls.stop("interrupted")
    frontier.controls.pause()
    assert frontier.claim("w") == JobStopped("interrupted")
    frontier.open_job()
    assert frontier.claim("w") == Pause(0.25, "paused")


def test_nothing_is_handed_out_or_finished_until_the_seeds_are_in(bench: Bench) -> None:
    frontier = bench.frontier(opened=False)
    assert frontier._store.run("open", "", frontier.job.model_dump_json()) == 1
    assert frontier.claim("w") == Pause(0.25, "opening")
    frontier.open_job()
    assert isinstance(frontier.claim("w"), Lease)


def test_a_job_unknown_to_redis_is_lost_and_never_finished(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    lease = leased(frontier)
    bench.client.flushall()
    for step in (
        lambda: frontier.claim("w"),
        lambda: frontier.finish(lease, OK),
        lambda: frontier.renew(lease),
        lambda: frontier.add([lease.candidate("http://example.org/x", "L")], lease),
        frontier.reports.progress,
        frontier.sweep,
    ):
        with pytest.raises(FrontierLost, match="has no job spring"):
            step()
    with pytest.raises(FrontierLost):
        bench.again(frontier)


@pytest.mark.parametrize("most_scanned", [store.MOST_SCANNED, -1])
def test_forgetting_a_job_leaves_nothing_of_it(
    bench: Bench, links: Links, leased: Claim, monkeypatch: pytest.MonkeyPatch, most_scanned: int
) -> None:
    monkeypatch.setattr(store, "MOST_SCANNED", most_scanned)
    other = bench.frontier(name="other")
    frontier = bench.frontier("http://forgotten.example/")
    frontier.add(links("http://a.example/", "http://forgotten.example/x"))
    leased(frontier)
    frontier.set_robots("http://a.example/", 404)
    frontier.controls.set_host_aside("a.example", "unwanted")
    frontier.forget()
    left = [key.decode() for key in bench.client.scan_iter("gf:{main}:spring*")]
    assert left == []
    assert other.reports.progress().queued == 1


def test_a_seed_that_comes_while_the_job_is_dropped_leaves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = bench.frontier("http://a.example/")
    other, named = bench.again(frontier), frontier._store._sets

    def meanwhile() -> Iterator[bytes | str]:
        yield from list(named())
        with suppress(FrontierLost):
            other.mark_seen(["http://late.example/"])
        with suppress(FrontierLost):
            other.claim("w")

    monkeypatch.setattr(frontier._store, "_sets", meanwhile)
    frontier.forget()
    assert list(bench.client.scan_iter("gf:{main}:spring*")) == []


def test_a_job_begins_without_what_a_killed_drop_has_left(bench: Bench, links: Links) -> None:
    assert isinstance(bench.frontier().add(links("http://a.example/"))[0], Accepted)
    bench.client.set(bench.key("dropping"), 1)
    bench.client.unlink(bench.key("")[:-1])  # the drop begins with this key
    again = bench.frontier()
    assert isinstance(again.add(links("http://a.example/"))[0], Accepted)
    assert again.reports.progress().queued == 2
    again.forget()
    assert list(bench.client.scan_iter("gf:{main}:spring*")) == []


# -- seeds


def test_where_a_seed_redirects_to_becomes_a_seed_for_all_workers(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(profile=Profile(scope="host"))
    other = bench.again(frontier)
    assert isinstance(other.add(links("http://example.com/x"))[0], Rejected)
    seed = leased(frontier)
    frontier.add([seed.candidate("https://www.example.com/", "R")], seed)
    frontier.finish(seed, VisitOutcome(301, redirect="https://www.example.com/"))
    redirected = leased(other)
    assert redirected.is_seed
    assert isinstance(other.add(links("http://example.com/x"))[0], Accepted)
    assert [(seed.url, seed.code, seed.redirect) for seed in frontier.reports.seeds()] == [
        ("http://example.org/", 301, "https://www.example.com/")
    ]


def test_a_browser_that_followed_a_seed_s_redirect_can_say_so(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=Profile(scope="host"))
    frontier.follow_seed("http://example.com/")
    assert isinstance(frontier.add(links("http://example.com/x"))[0], Accepted)


def test_a_warning_names_a_seed_that_the_profile_excludes(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", exclude=("example",)))
    assert "seed http://example.org/ was rejected: excluded (exclude example)" in caplog.text
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.reports.progress().rejected == {"excluded": 1}


# -- damage


@pytest.mark.parametrize("damage", [b"", b"not a record", b"example.org\n562949953421312\n{broken"])
def test_a_damaged_record_fails_and_the_queue_moves_on(bench: Bench, links: Links, damage: bytes) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/a"))
    records = bench.key("u")
    seed = next(id for id, record in bench.client.hgetall(records).items() if b'example.org/"' in record)
    bench.client.hset(records, seed, damage)
    assert drain(frontier) == ["http://example.org/a"]
    progress = frontier.reports.progress()
    assert (progress.done, progress.failed, progress.queued) == (1, 1, 0)
    assert [report.candidate for report in frontier.reports.urls("failed")] == [None]


def test_a_job_of_an_earlier_release_with_tries_among_its_records_goes_on(bench: Bench) -> None:
    frontier = bench.frontier()
    [seed] = bench.client.hkeys(bench.key("u"))
    bench.client.hset(bench.key("u"), mapping={b"t:" + seed: 2, b"l:" + seed: 1})
    assert [report.candidate is not None for report in frontier.reports.urls("queued")] == [True]
    assert drain(frontier) == ["http://example.org/"]
    assert list(frontier.reports.urls("queued")) == []


def test_a_lost_record_fails_and_the_queue_moves_on(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/a"))
    lease = leased(frontier)
    bench.client.hdel(bench.key("u"), lease.id)
    assert frontier.finish(lease, OK) is LeaseEnding.FAILED
    assert drain(frontier) == ["http://example.org/a"]


def test_scripts_that_redis_forgot_are_sent_again(bench: Bench) -> None:
    frontier = bench.frontier()
    bench.client.script_flush()
    assert drain(frontier) == ["http://example.org/"]


def test_a_job_is_the_same_after_a_round_through_redis(bench: Bench) -> None:
    frontier = bench.frontier()
    stored = Job.model_validate_json(bench.client.get("gf:{main}:spring"))
    assert stored == frontier.job.model_copy(update={"seeds": ()})
