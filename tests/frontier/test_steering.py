"""What a command in another terminal does to a running job: pauses, seeds, and what it sees (issue 13, item 5)."""

from __future__ import annotations

import pytest
from support.stores.real_frontier import Bench

from frontier.definition.job import Profile, Seed
from frontier.definition.scope import Accepted, Candidate, Rejected
from frontier.lease import JobFinished, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.store import FrontierLost, job_names

ELSEWHERE = Seed.parse("http://elsewhere.example/a/")


def _lease(frontier: Frontier) -> Lease:
    answer = frontier.claim("w")
    assert isinstance(answer, Lease), answer
    return answer


def test_a_pause_lasts_over_a_restart_and_its_time_is_known(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.controls.pause("for the night")
    frontier.controls.pause("for the weekend")
    bench.client.hincrby(bench.key("state"), "paused_at", -60_000)
    again = bench.frontier()
    assert isinstance(again.claim("w"), Pause)
    progress = again.reports.progress()
    assert progress.paused == "for the weekend"
    assert progress.paused_seconds is not None
    assert progress.paused_seconds >= 60
    assert again.controls.go_on()
    assert not again.controls.go_on()
    assert again.reports.progress().paused_seconds is None
    assert isinstance(frontier.claim("w"), Lease)


def test_a_hold_of_the_machine_and_a_pause_of_an_operator_end_apart(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.controls.hold("disk is full")
    assert frontier.reports.progress().paused == "disk is full"
    frontier.controls.pause("by hand")
    assert frontier.controls.release()
    assert frontier.reports.progress().paused == "by hand"
    assert isinstance(frontier.claim("w"), Pause)
    frontier.controls.hold("disk is full")
    assert frontier.controls.go_on()
    assert isinstance(frontier.claim("w"), Pause), "the disk is still full"
    assert frontier.controls.release()
    assert isinstance(frontier.claim("w"), Lease)


def test_time_in_a_pause_does_not_count_for_the_limit_of_time(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile.model_validate({"scope": "any", "limits": {"seconds": 20}}))
    frontier.controls.pause("a while")
    for _ in range(3):
        assert isinstance(frontier.claim("w"), Pause)
        bench.client.hincrby(bench.key("state"), "last", -30_000)
    assert frontier.controls.go_on()
    bench.client.hset(bench.key("state"), "last", bench.now())
    assert isinstance(frontier.claim("w"), Lease)


def test_commands_to_a_job_that_is_gone_are_refused(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.forget()
    controls = frontier.controls
    for step in (controls.pause, controls.go_on, controls.resume, lambda: frontier.add_seeds([ELSEWHERE])):
        with pytest.raises(FrontierLost):
            step()
    assert bench.client.keys("gf:{main}:*") == []


def test_a_seed_added_to_a_running_job_widens_its_scope_for_every_worker(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile(scope="host"))
    worker, operator = bench.again(frontier), bench.again(frontier)
    first = _lease(worker)
    (decision,) = operator.add_seeds([ELSEWHERE])
    assert isinstance(decision, Accepted)
    worker.finish(first, VisitOutcome(200))
    lease = _lease(worker)
    assert (lease.url, lease.is_seed) == (ELSEWHERE.url, True)
    (link,) = worker.add([Candidate("http://elsewhere.example/b", "L", via=lease.url, depth=1)], lease)
    assert isinstance(link, Accepted)
    assert {seed.url for seed in frontier.reports.seeds()} == {"http://example.org/", ELSEWHERE.url}
    assert worker.reports.progress().added == 1
    assert worker.added_seeds(0) == [ELSEWHERE.url]
    assert worker.added_seeds(1) == []


def test_what_becomes_of_each_seed_is_said(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile(exclude=("/private/",)))
    known, refused = Seed.parse("http://example.org/"), Seed.parse("http://example.org/private/")
    decisions = frontier.add_seeds([known, refused, ELSEWHERE])
    assert [type(decision) for decision in decisions] == [Rejected, Rejected, Accepted]
    assert [d.reason for d in decisions if isinstance(d, Rejected)] == ["seen", "excluded"]
    assert bench.again(frontier).added_seeds(0) == [known.url, ELSEWHERE.url]


def test_a_seed_that_was_visited_is_visited_again_only_when_asked_for(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.add_seeds([ELSEWHERE])
    first = _lease(frontier)
    frontier.finish(first, VisitOutcome(200))
    known = Seed.parse(first.url)
    assert isinstance(frontier.add_seeds([known])[0], Rejected)
    assert isinstance(frontier.add_seeds([known], again=True)[0], Accepted)
    urls = [_lease(frontier).url for _ in range(2)]
    assert sorted(urls) == sorted(["http://example.org/", ELSEWHERE.url])


def test_nothing_is_added_to_a_job_whose_workers_were_told_that_it_is_finished(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.finish(_lease(frontier), VisitOutcome(200))
    assert isinstance(frontier.claim("w"), JobFinished)
    assert bench.again(frontier).add_seeds([ELSEWHERE]) == []
    assert isinstance(frontier.claim("w"), JobFinished), "nobody is left who would visit it"
    frontier.open_job()
    assert isinstance(_lease(frontier), Lease), "the seed is part of the job when it is opened again"


def test_jobs_are_listed_while_they_are_there(bench: Bench) -> None:
    spring, autumn = bench.frontier(name="spring"), bench.frontier(name="autumn")
    assert job_names(bench.url, "main", timeout_seconds=5) == ["autumn", "spring"]
    spring.forget()
    autumn.forget()
    assert job_names(bench.url, "main", timeout_seconds=5) == []


def test_what_the_command_shows_can_be_read_elsewhere(bench: Bench) -> None:
    frontier = bench.frontier()
    assert frontier.controls.stored_view() is None
    frontier.controls.store_view('{"pages": 3}')
    assert bench.again(frontier).controls.stored_view() == '{"pages": 3}'
    assert bench.client.ttl(bench.key("view")) > 0
