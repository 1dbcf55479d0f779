"""What operators change of a running job: its limits, what it rejects, and what they see of its queues."""

from __future__ import annotations

import pytest
from support.stores.real_frontier import Bench

from frontier.definition.job import JobError, Profile, Seed
from frontier.definition.scope import Candidate, Rejected
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.store import FrontierLost


def _lease(frontier: Frontier, worker: str = "w") -> Lease:
    answer = frontier.claim(worker)
    assert isinstance(answer, Lease), answer
    return answer


def _links(frontier: Frontier, *urls: str) -> None:
    frontier.add(Candidate(url, "L", depth=1) for url in urls)


def _limited(bench: Bench, **limits: float) -> Frontier:
    return bench.frontier(profile=Profile.model_validate({"scope": "any", "limits": limits}))


def test_a_limit_that_is_raised_holds_for_workers_that_know_nothing_of_it(bench: Bench) -> None:
    frontier = _limited(bench, urls=1)
    worker = bench.again(frontier)
    _links(frontier, "http://example.org/a", "http://example.org/b")
    worker.finish(_lease(worker), VisitOutcome(200))
    operator = bench.again(frontier)
    assert operator.set_limits({"urls": 2}).urls == 2
    worker.finish(_lease(worker), VisitOutcome(200))
    assert isinstance(worker.claim("w"), JobStopped)
    operator.set_limits({"urls": None})
    assert isinstance(_lease(worker), Lease)
    assert bench.again(frontier).job.profile.limits.urls is None, "also in a later sitting"


def test_a_limit_can_be_given_to_a_job_that_had_none(bench: Bench) -> None:
    frontier = bench.frontier()
    _links(frontier, "http://example.org/a")
    frontier.finish(_lease(frontier), VisitOutcome(200))
    bench.again(frontier).set_limits({"urls": 1, "seconds": 90})
    assert frontier.claim("w") == JobStopped("limit-urls")
    assert frontier.reports.limits()["seconds"] == 90


def test_hosts_beyond_a_limit_of_pages_are_visited_again_when_it_is_raised(bench: Bench) -> None:
    frontier = _limited(bench, pages=1)
    seed = _lease(frontier)
    _links(frontier, "http://example.org/a", "http://elsewhere.example/")
    frontier.finish(seed, VisitOutcome(200, is_document=True))
    assert isinstance(frontier.claim("w"), JobStopped)
    queues = {queue.host: queue.is_beyond for queue in frontier.reports.longest_queues(5)}
    assert queues == {"example.org": True, "elsewhere.example": True}
    assert frontier.reports.limits() == {"pages": 1}
    frontier.set_limits({"pages": 3})
    hosts = {_lease(frontier, f"w{number}").host for number in range(2)}
    assert hosts == {"example.org", "elsewhere.example"}


def test_hosts_set_aside_at_their_limit_are_woken_when_it_is_raised(bench: Bench) -> None:
    frontier = _limited(bench, host_pages=1)
    _links(frontier, "http://example.org/a")
    frontier.finish(_lease(frontier), VisitOutcome(200, is_document=True))
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.controls.hosts_aside() == {"example.org": "limit-host-pages"}
    frontier.set_limits({"host_pages": 2})
    assert _lease(frontier).url == "http://example.org/a"


def test_a_block_holds_when_the_limit_of_its_host_is_raised(bench: Bench) -> None:
    frontier = _limited(bench, host_pages=1)
    _links(frontier, "http://example.org/a")
    frontier.finish(_lease(frontier), VisitOutcome(200, is_document=True))
    assert isinstance(frontier.claim("w"), JobFinished)
    frontier.controls.block_host("example.org")
    frontier.set_limits({"host_pages": 2})
    assert frontier.controls.hosts_aside() == {}
    assert isinstance(frontier.claim("w"), Pause)


def test_a_limit_that_can_not_be_used_changes_nothing(bench: Bench) -> None:
    frontier = _limited(bench, urls=5)
    for changes in ({"urls": 0}, {"colour": 3}, {"seconds": -1}):
        with pytest.raises(JobError, match="limits"):
            frontier.set_limits(changes)
    assert bench.again(frontier).job.profile.limits.urls == 5
    frontier.forget()
    with pytest.raises(FrontierLost):
        frontier.set_limits({"urls": 7})


def test_what_an_operator_rejects_is_neither_taken_in_nor_visited_though_it_was_queued(bench: Bench) -> None:
    frontier = bench.frontier()
    worker = bench.again(frontier)
    _links(worker, "http://example.org/calendar/1", "http://example.org/calendar/2", "http://example.org/about")
    bench.again(frontier).add_reject(r"/calendar/")
    seed = _lease(worker)
    (decision,) = worker.add([Candidate("http://example.org/calendar/3", "L", depth=1)], seed)
    assert isinstance(decision, Rejected)
    assert (decision.reason, decision.rule) == ("excluded", "reject /calendar/")
    worker.finish(seed, VisitOutcome(200))
    last = _lease(worker)
    assert last.url == "http://example.org/about"
    worker.finish(last, VisitOutcome(200))
    assert isinstance(worker.claim("w"), JobFinished)
    progress = frontier.reports.progress()
    assert (progress.done, progress.excluded, progress.queued) == (2, 2, 0)
    assert progress.codes[-5000] == 2


def test_a_reject_holds_for_seeds_and_after_a_restart_and_beside_new_seeds(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile(scope="host"))
    frontier.add_reject(r"^http://example\.org/$")
    again = bench.again(frontier)
    again.add_seeds([Seed.parse("http://elsewhere.example/")])
    again.open_job()
    assert _lease(again).url == "http://elsewhere.example/"
    assert isinstance(again.claim("w2"), Pause)


def test_a_reject_that_blows_up_costs_a_moment_and_rejects_nothing(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.add_reject(r"(a|a)*(a|aa)*(b|b)*$!")
    _links(frontier, "http://example.org/" + "a" * 3000)
    assert _lease(frontier).url in ("http://example.org/", "http://example.org/" + "a" * 3000)
    with pytest.raises(JobError, match="is no regular expression"):
        frontier.add_reject("(")


def test_the_longest_queues_come_first_and_say_when_they_are_due(bench: Bench) -> None:
    frontier = bench.frontier()
    _links(
        frontier, *(f"http://example.org/{number}" for number in range(5)), "http://b.example/1", "http://b.example/2"
    )
    _links(frontier, *(f"http://c.example/{number}" for number in range(3)))
    frontier.controls.set_host_aside("c.example", "quota")
    frontier.controls.block_host("b.example", 60)
    first, second, third = frontier.reports.longest_queues(3)
    assert (first.host, first.queued, first.aside) == ("example.org", 6, "")
    assert (second.host, second.queued, second.aside) == ("c.example", 3, "quota")
    assert (third.host, third.queued) == ("b.example", 2)
    assert third.due_seconds > 50
    assert [queue.host for queue in frontier.reports.longest_queues(1)] == ["example.org"]
    assert set(frontier.reports.waiting_hosts()) == {"example.org", "b.example"}
