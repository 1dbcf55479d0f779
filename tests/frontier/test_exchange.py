"""Visits end and URLs are claimed in one step, with the same rules as one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.stores.real_frontier import PATIENT, Bench

from frontier.definition.job import Limits, Profile
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.lease_queue import MOST_EXCHANGED
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier

type Links = Callable[..., list[Candidate]]

OK = VisitOutcome(200, bytes=10, is_document=True)


def claimed(frontier: Frontier, count: int) -> list[Lease]:
    """The leases that so many claims in one step get."""
    answer = frontier.exchange((), [f"w-{number}" for number in range(count)])
    return [claim for claim in answer.claims if isinstance(claim, Lease)]


def test_a_step_gives_one_url_of_each_host_that_is_free(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://a.example/1", "http://a.example/2", "http://b.example/1"))
    answer = frontier.exchange((), [f"w-{number}" for number in range(5)])
    found = [claim for claim in answer.claims if claim is not None]
    assert [isinstance(claim, Lease) for claim in answer.claims] == [True, True, True, False, False]
    assert {claim.url for claim in found if isinstance(claim, Lease)} == {
        "http://example.org/",
        "http://a.example/1",
        "http://b.example/1",
    }
    assert [claim.worker for claim in found if isinstance(claim, Lease)] == ["w-0", "w-1", "w-2"]
    assert isinstance(frontier.claim("w-9"), Pause), "the hosts are in use"


def test_a_step_gives_several_urls_of_a_host_up_to_its_visits(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(settings=PATIENT.model_copy(update={"per_host": 3}))
    frontier.add(links(*(f"http://example.org/{number}" for number in range(9))))
    assert len(claimed(frontier, 8)) == 3


def test_a_step_ends_visits_and_claims_the_next_urls_of_their_hosts(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links(*(f"http://h{host}.example/{page}" for page in range(3) for host in range(9))))
    first = claimed(frontier, 10)
    answer = frontier.exchange([(lease, OK) for lease in first], [lease.worker for lease in first])
    assert answer.endings == (LeaseEnding.DONE,) * 10
    second = [claim for claim in answer.claims if isinstance(claim, Lease)]
    assert len(second) == 9
    assert not {lease.url for lease in first} & {lease.url for lease in second}
    progress = frontier.reports.progress()
    assert (progress.done, progress.leased, progress.pages, progress.bytes) == (10, 9, 10, 100)
    assert progress.codes == {200: 10}


def test_the_last_visits_of_a_job_end_the_job_in_the_same_step(bench: Bench) -> None:
    frontier = bench.frontier("http://a.example/", "http://b.example/")
    leases = claimed(frontier, 2)
    answer = frontier.exchange([(lease, OK) for lease in leases], ["w-0", "w-1"])
    assert answer.claims == (JobFinished(), JobFinished())


def test_visits_with_different_endings_end_in_one_step(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://a.example/", "http://b.example/", "http://c.example/"))
    leases = {lease.url: lease for lease in claimed(frontier, 4)}
    stale = leases["http://c.example/"]
    bench.expire(stale)
    assert frontier.sweep() == 1
    outcomes = {
        "http://example.org/": VisitOutcome(200),
        "http://a.example/": VisitOutcome(-2),
        "http://b.example/": VisitOutcome(-9998),
        "http://c.example/": VisitOutcome(200),
    }
    answer = frontier.exchange([(leases[url], outcome) for url, outcome in outcomes.items()], ())
    assert answer.endings == (LeaseEnding.DONE, LeaseEnding.AGAIN, LeaseEnding.EXCLUDED, LeaseEnding.STALE)
    again = frontier.exchange([(leases[url], outcome) for url, outcome in outcomes.items()], ())
    assert again.endings == answer.endings, "a repeated call gets the first answers"
    progress = frontier.reports.progress()
    assert (progress.done, progress.queued, progress.excluded, progress.retries) == (1, 2, 1, 1)


@pytest.mark.parametrize("limit", ["urls", "pages"])
def test_a_step_does_not_go_beyond_a_limit(bench: Bench, links: Links, limit: str) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", limits=Limits.model_validate({limit: 12})))
    frontier.add(links(*(f"http://h{number}.example/" for number in range(60))))
    held: list[Lease] = []
    workers = [f"w-{number}" for number in range(20)]
    while True:
        answer = frontier.exchange([(lease, OK) for lease in held], workers)
        held = [claim for claim in answer.claims if isinstance(claim, Lease)]
        if any(isinstance(claim, JobStopped) for claim in answer.claims):
            break
    assert 12 <= frontier.reports.progress().done <= 13


def test_a_step_has_a_bound(bench: Bench) -> None:
    with pytest.raises(ValueError, match=str(MOST_EXCHANGED)):
        bench.frontier().exchange((), ["w"] * (MOST_EXCHANGED + 1))
    assert len(claimed(bench.frontier(), MOST_EXCHANGED)) == 1
