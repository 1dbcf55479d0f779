"""A job whose hosts are spread over several slots of Redis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.stores.real_frontier import PATIENT, Bench
from support.stores.redis_cluster import RedisCluster

from archive.settings import FrontierSettings
from archive.url import host_of
from frontier.definition.job import Job, JobError, Profile
from frontier.definition.scope import Accepted, Candidate
from frontier.lease import Claim, JobFinished, JobStopped, Lease, Pause
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier
from frontier.queues.desk import RestoredUrl
from frontier.shards import ShardedFrontier, frontier_for, frontier_of, reports_of, shard_names, shard_of
from frontier.store import FrontierUnavailable

type Make = Callable[..., ShardedFrontier]

OK = VisitOutcome(200, bytes=1, is_document=True)
THREE = PATIENT.model_copy(update={"shards": 3})
HOSTS = tuple(f"site{number}.test" for number in range(12))
URLS = tuple(f"http://{host}/" for host in HOSTS)


@pytest.fixture
def make(bench: Bench) -> Make:
    def made(
        *seeds: str, name: str = "spring", settings: FrontierSettings = THREE, **profile: Any
    ) -> ShardedFrontier:
        job = Job.of(name, "garden", seeds or ["http://site0.test/"], Profile(**{"scope": "any", **profile}))
        frontier = frontier_for(bench.url, job, settings)
        bench.keep(frontier)
        frontier.open_job()
        assert isinstance(frontier, ShardedFrontier)
        return frontier

    return made


def _emptied(frontier: Frontier, worker: str = "w", most: int = 1_000) -> tuple[list[str], Claim]:
    """Visit all URLs without links. Return them, and the claim after the last one."""
    visited = []
    for _ in range(most):
        claim = frontier.claim(worker)
        if isinstance(claim, JobFinished | JobStopped):
            return visited, claim
        if isinstance(claim, Lease):
            visited.append(claim.url)
            assert frontier.finish(claim, OK) is LeaseEnding.DONE
    raise AssertionError("the job does not end")


def _of_shard(number: int, shards: int = 3) -> str:
    return next(host for host in HOSTS if shard_of(host, shards) == number)


def _links(*hosts: str, path: str = "a") -> list[Candidate]:
    return [Candidate(f"http://{host}/{path}", "L", via="http://seed.test/", depth=1) for host in hosts]


def test_a_domain_lies_in_one_shard_and_the_shards_are_spread_over_the_slots() -> None:
    assert len({shard_of(name, 3) for name in ("a.example.org", "example.org", "www.example.org:8080")}) == 1
    assert {shard_of(host, 3) for host in HOSTS} == {0, 1, 2}
    assert shard_names("main", 1) == ["main"]
    names = shard_names("main", 64)
    assert names[0] == "main"
    assert len(set(names)) == 64
    assert names == shard_names("main", 64)


def test_a_job_visits_each_url_once_and_ends(make: Make) -> None:
    frontier = make(*URLS)
    decisions = frontier.add([*_links(*HOSTS), *_links(*HOSTS)])
    assert [isinstance(decision, Accepted) for decision in decisions] == [True] * 12 + [False] * 12
    progress = frontier.reports.progress()
    assert (progress.queued, progress.hosts) == (24, 12)
    visited, end = _emptied(frontier)
    assert sorted(visited) == sorted([*URLS, *(f"{url}a" for url in URLS)])
    assert end == JobFinished()
    assert frontier.claim("another") == JobFinished()
    progress = frontier.reports.progress()
    assert (progress.done, progress.queued, progress.pages) == (24, 0, 24)
    assert {seed.state for seed in frontier.reports.seeds()} == {"done"}
    assert [facts.url for facts in frontier.reports.facts_of_seeds(URLS)] == list(URLS)
    assert frontier.add_urls(_links(HOSTS[1], path="late")) == []


def test_a_link_into_another_shard_does_not_let_the_job_end_early(make: Make, bench: Bench) -> None:
    """After a shard was sealed, a visit in the next one adds a link to it and ends, so that the next one is empty."""
    frontier, late = make(f"http://{_of_shard(2)}/"), f"http://{_of_shard(1)}/late"
    worker = frontier_of(bench.url, "spring", THREE)
    bench.keep(worker)
    lease = worker.claim("w")
    assert isinstance(lease, Lease)
    assert frontier.end_of_job() is None
    run, steps = frontier.shards[2].store.run, list[str]()

    def run_late(name: str, *arguments: Any) -> Any:
        if not steps:
            steps.append(name)
            assert isinstance(worker.add([lease.candidate(late, "L")], lease)[0], Accepted)
            assert worker.finish(lease, OK) is LeaseEnding.DONE
        return run(name, *arguments)

    frontier.shards[2].store.run = run_late  # type: ignore[method-assign]
    assert frontier.end_of_job() is None  # shards 2 and 0 were empty when they were asked
    assert steps == ["seal"]
    assert _emptied(frontier) == ([late], JobFinished())


def test_an_operators_url_in_a_sealed_shard_breaks_the_attempt_to_end(make: Make) -> None:
    frontier, other = make(f"http://{_of_shard(0)}/"), _of_shard(1)
    _, end = _emptied(frontier)
    assert end == JobFinished()
    frontier = make(f"http://{_of_shard(0)}/")  # resumed
    assert frontier.shards[1].store.run("seal", "seal") == 1
    assert isinstance(frontier.add_urls(_links(other))[0], Accepted)
    assert frontier.end_of_job() is None
    assert frontier.shards[1].store.run("seal", "seal") == 0
    assert _emptied(frontier)[0] == [f"http://{other}/a"]
