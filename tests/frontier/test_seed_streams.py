"""Millions of seeds: a file that is read as a stream, a scope that is looked up, and workers that have neither."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from support.processes.waiting import until
from support.stores.real_frontier import PATIENT, Bench
from support.stores.redis_outage import outage

from admin.jobs.crawling.seed_queueing import SeedQueueing
from frontier.definition.job import Job, Profile, Seed
from frontier.definition.scope import Accepted, Candidate, Rejected, Scope
from frontier.definition.seeds import SeedFile
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.shards import frontier_for
from frontier.store import FrontierUnavailable


def _file(path: Path, count: int) -> SeedFile:
    path.write_text("".join(f"http://h{number % 50}.example/page/{number}\n" for number in range(count)), "utf-8")
    return SeedFile(path)


def _frontier(bench: Bench, seeds: SeedFile, profile: Profile | None = None) -> Frontier:
    job = Job(name="spring", collection="garden", seeds=seeds, profile=profile or Profile(scope="host"))
    frontier = Frontier(bench.url, job, PATIENT)
    bench.keep(frontier)
    return frontier


def test_urls_are_handed_out_while_seeds_are_still_queued(bench: Bench, tmp_path: Path) -> None:
    frontier = _frontier(bench, _file(tmp_path / "seeds.txt", 1_200))
    frontier.begin_job()
    assert frontier.claim("w") == Pause(0.25, "opening"), "the job can't finish, though its queue is empty"
    queued: list[int] = []
    assert not frontier.queue_seeds(told=queued.append, is_stopped=lambda: len(queued) == 2)
    assert queued == [500, 1_000]
    worker = bench.again(frontier)
    assert isinstance(worker.claim("w"), Lease)
    (link,) = worker.add([Candidate("http://h49.example/other", "L", via="http://h0.example/", depth=1)])
    assert isinstance(link, Accepted), "the scope is that of all seeds"


def test_a_killed_command_goes_on_where_it_was_and_queues_no_seed_twice(bench: Bench, tmp_path: Path) -> None:
    seeds = _file(tmp_path / "seeds.txt", 1_300)
    first = _frontier(bench, seeds)
    first.begin_job()
    queued: list[int] = []
    first.queue_seeds(told=queued.append, is_stopped=lambda: len(queued) == 1)
    bench.client.hset(bench.key("state"), "seeded", 100)  # the command was killed before the place was noted
    second = _frontier(bench, seeds)
    scoped: list[int] = []
    assert second.begin_job(told=scoped.append)
    assert scoped == [], "the prefixes are stored already"
    assert second.queue_seeds(told=queued.append)
    assert queued == [500, 600, 1_100, 1_300]
    assert second.reports.progress().queued == 1_300
    assert len(list(second.reports.seeds())) == 1_300


def _visited(frontier: Frontier) -> list[str]:
    """Visit the URLs that can be visited now, and return them."""
    visited = []
    while isinstance(claim := frontier.claim("w"), Lease):
        visited.append(claim.url)
        frontier.finish(claim, VisitOutcome(200, bytes=1))
    return visited


def _hosts(path: Path, count: int) -> SeedFile:
    path.write_text("".join(f"http://h{number}.example/\n" for number in range(count)), "utf-8")
    return SeedFile(path)


def test_further_seeds_wait_in_the_file_while_enough_hosts_wait_for_their_first_visit(
    bench: Bench, tmp_path: Path
) -> None:
    frontier = _frontier(bench, _hosts(tmp_path / "seeds.txt", 1_600))
    frontier.begin_job()
    queueing = SeedQueueing(frontier, 1_600, most_waiting=200)
    visited: list[str] = []
    try:
        until(lambda: queueing.queued == 500, what="the first chunk of seeds")
        while not isinstance(claim := frontier.claim("w"), JobFinished):
            if isinstance(claim, Pause):  # the last hosts of a chunk were visited before the next one is queued
                assert claim.why == "opening", "the job does not finish while seeds wait"
                continue
            visited.append(claim.url)
            frontier.finish(claim, VisitOutcome(200, bytes=1))
            assert queueing.queued < len(visited) + 200 + 500, "no more seeds wait in Redis"
    finally:
        queueing.stop()
    assert visited == [f"http://h{number}.example/" for number in range(1_600)], (
        "each seed once, in the order of the file"
    )


@pytest.mark.parametrize(
    ("limit", "first", "higher", "shards"),
    [("pages", 5, 40, 1), ("urls", 5, 40, 1), ("bytes", 500, 4_000, 1), ("pages", 5, 40, 3)],
)
def test_a_limit_of_the_job_ends_the_reading_of_seeds_and_a_resume_goes_on_in_the_file(
    bench: Bench, tmp_path: Path, limit: str, first: int, higher: int, shards: int
) -> None:
    seeds, settings = _hosts(tmp_path / "seeds.txt", 5_000), PATIENT.model_copy(update={"shards": shards})
    seen: set[str] = set()
    place = 0
    for amount, pages in ((first, 5), (higher, 40)):
        profile = Profile.model_validate({"scope": "host", "limits": {limit: amount}})
        job = Job(name="spring", collection="garden", seeds=seeds, profile=profile)
        frontier = frontier_for(bench.url, job, settings)
        bench.keep(frontier)
        assert frontier.begin_job() is bool(place)
        assert frontier.seeds_queued() == place
        queueing = SeedQueueing(frontier, 5_000, most_waiting=200)
        # The thread may have queued its first 500 seeds already, after which it waits for visits.
        assert queueing.queued in (place, place + 500), "the reading goes on from its place in the file"
        try:
            while not isinstance(claim := frontier.claim("w"), JobStopped):
                if isinstance(claim, Lease):
                    seen.add(claim.url)
                    frontier.finish(claim, VisitOutcome(200, bytes=100, is_document=True))
                    frontier.share_counts()
        finally:
            queueing.stop()
        assert claim == JobStopped(f"limit-{limit}")
        place = queueing.queued
        assert place == frontier.seeds_queued() < 2_000, "almost all seeds are left in the file"
        assert (len(seen), queueing.left) == (pages, 5_000 - place)


def test_no_seed_is_queued_while_the_job_is_at_a_limit(bench: Bench, tmp_path: Path) -> None:
    frontier = _frontier(bench, _hosts(tmp_path / "seeds.txt", 1_600))
    frontier.begin_job()
    queueing = SeedQueueing(frontier, 1_600, most_waiting=200)
    try:
        until(lambda: queueing.queued == 500, what="the first chunk of seeds")
        queueing.is_held = True
        assert len(_visited(frontier)) == 500, "there is room for further seeds"
        assert queueing.queued == 500
        queueing.is_held = False
        until(lambda: not _visited(frontier) and queueing.left == 0, what="the other seeds")
    finally:
        queueing.stop()


def test_a_seed_that_a_page_links_to_before_its_turn_is_visited_once(bench: Bench, tmp_path: Path) -> None:
    """The visit of the link would be over before the turn of the seed, which is the last of a short list."""
    frontier = _frontier(bench, _hosts(tmp_path / "seeds.txt", 600))
    frontier.begin_job()
    answers = iter([False, True])
    assert not frontier.queue_seeds(is_stopped=lambda: next(answers)), "500 seeds are queued"
    first = frontier.claim("w")
    assert isinstance(first, Lease)
    links = [Candidate(f"http://h{at}/", "L", via=first.url, depth=1) for at in ("599.example", "0.example/further")]
    decided = bench.again(frontier).add(links, first)
    assert [isinstance(each, Accepted) for each in decided] == [False, True]
    frontier.finish(first, VisitOutcome(200, bytes=1))
    visited = [first.url, *_visited(frontier)]
    assert len(visited) == 501, "all URLs that are queued so far were visited"
    frontier.queue_seeds()
    visited += _visited(frontier)
    assert visited[500] == "http://h0.example/further/", "hosts of seeds come before visited hosts"
    assert len(visited) == len(set(visited)) == 601
    assert all(seed.state == "done" for seed in frontier.reports.seeds())


def test_a_seed_that_waits_in_the_file_and_is_added_by_an_operator_is_visited_once(
    bench: Bench, tmp_path: Path
) -> None:
    frontier = _frontier(bench, _hosts(tmp_path / "seeds.txt", 600))
    frontier.begin_job()
    answers = iter([False, True])
    assert not frontier.queue_seeds(is_stopped=lambda: next(answers)), "500 seeds are queued"
    (decided,) = frontier.add_seeds([Seed("http://h599.example/")])
    assert isinstance(decided, Accepted)
    frontier.queue_seeds()
    visited = _visited(frontier)
    assert len(visited) == len(set(visited)) == 600


def test_a_job_of_an_earlier_release_keeps_the_scope_that_redirects_made(bench: Bench, tmp_path: Path) -> None:
    seeds = _file(tmp_path / "seeds.txt", 10)
    _frontier(bench, seeds).open_job()
    stored = json.loads(bench.client.get("gf:{main}:spring"))
    bench.client.set("gf:{main}:spring", json.dumps({**stored, "seeds": [{"url": seed.url} for seed in seeds]}))
    for entry in ("http://moved.example/", "!/print/"):
        bench.client.hset(bench.key("state"), "scope", bench.client.rpush(bench.key("scope"), entry))
    bench.client.hdel(bench.key("state"), "scoped", "seeded")
    assert _frontier(bench, seeds).open_job()
    worker = bench.again(_frontier(bench, seeds))
    assert isinstance(worker.claim("w"), Lease)
    found = [Candidate(f"http://moved.example/{path}", "L", depth=1) for path in ("a", "print/a")]
    assert [isinstance(each, Accepted) for each in worker.add(found)] == [True, False]
    assert worker.reports.progress().queued == 10, "nine of the ten seeds, and the link"


def test_seeds_that_are_appended_are_queued_and_widen_the_scope_of_workers(bench: Bench, tmp_path: Path) -> None:
    seeds = _file(tmp_path / "seeds.txt", 10)
    first = _frontier(bench, seeds)
    first.open_job()
    worker = bench.again(first)
    link = Candidate("http://late.example/a", "L", via="http://h0.example/", depth=1)
    assert not isinstance(worker.add([link])[0], Accepted)
    with seeds.path.open("a") as file:
        file.write("http://late.example/\n")
    assert _frontier(bench, seeds).open_job()
    assert isinstance(worker.claim("w"), Lease)
    assert isinstance(worker.add([link])[0], Accepted), "what was rejected before is asked again"
    assert worker.reports.progress().queued == 11, "ten of the eleven seeds, and the link"


@pytest.mark.parametrize("scope", ["page", "prefix", "host", "domain"])
def test_the_scope_in_redis_is_that_in_memory(bench: Bench, tmp_path: Path, scope: str) -> None:
    profile = Profile.model_validate({"scope": scope})
    seeds = ("http://www.example.org/a/b.html", "https://sub.example.net:8443/x/", "http://example.org/q?r=/s/t")
    path = tmp_path / "seeds.txt"
    path.write_text("".join(f"{url}\n" for url in seeds), "utf-8")
    frontier = _frontier(bench, SeedFile(path), profile)
    frontier.open_job()
    worker = bench.again(frontier)
    known = bench.frontier(*seeds, name="other", profile=profile, opened=False)
    in_memory = Scope(known.job)
    for url in (
        *seeds,
        "http://example.org/a/b.html",
        "http://example.org/a/c/d?e",
        "http://example.org/ab",
        "http://sub.example.net/x/",
        "https://sub.example.net:8443/x/y",
        "http://deep.sub.example.net/",
        "http://example.org/q?r=/s/u",
        f"http://example.org/{'x/' * 1_500}",
        "http://elsewhere.example/",
    ):
        link = Candidate(url, "L", via=seeds[0], depth=1)
        [decided] = worker.decide([link], 1)
        assert decided == in_memory.decide(link), url


def test_no_process_keeps_the_seeds(bench: Bench, tmp_path: Path) -> None:
    """The memory for many seeds is that for a few chunks of them."""
    peaks = []
    for count in (1_500, 5_000):
        seeds = _file(tmp_path / f"{count}.txt", count)
        bench.client.flushall()
        frontier = _frontier(bench, seeds)
        tracemalloc.start()
        frontier.open_job()
        facts = sum(each.report is not None for each in frontier.reports.facts_of_seeds(seeds.urls()))
        worker = bench.again(frontier)
        assert isinstance(worker.claim("w"), Lease)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert facts == count
        assert len(worker.job.seeds) == 0
        assert len(bench.client.get("gf:{main}:spring")) < 10_000
    assert peaks[1] < peaks[0] + 1_000_000, f"{peaks} bytes: 3,500 more seeds take more memory"


def test_all_keys_of_the_scope_go_with_the_job(bench: Bench, tmp_path: Path) -> None:
    frontier = _frontier(bench, _file(tmp_path / "seeds.txt", 100), Profile(scope="page"))
    frontier.open_job()
    assert len(bench.client.keys("gf:{main}:spring:prefix:*")) > 90
    frontier.forget()
    assert bench.client.keys("gf:{main}:spring*") == []


def test_a_job_without_open_seeds_finishes(bench: Bench, tmp_path: Path) -> None:
    frontier = _frontier(bench, _file(tmp_path / "seeds.txt", 3))
    frontier.open_job()
    while isinstance(claim := frontier.claim("w"), Lease):
        frontier.finish(claim, VisitOutcome(200, bytes=1))
    assert isinstance(claim, JobFinished)


def _follow(_: Bench, frontier: Frontier) -> None:
    frontier.follow_seed("http://late.example/")


def _add_seed(_: Bench, frontier: Frontier) -> None:
    frontier.add_seeds([Seed(url="http://late.example/")])


def _open_again(bench: Bench, frontier: Frontier) -> None:
    seeds = ["http://example.org/", "http://late.example/"]
    other = Frontier(bench.url, Job.of(frontier.job.name, "garden", seeds, frontier.job.profile), PATIENT)
    bench.keep(other)
    other.open_job()


def _reject(_: Bench, frontier: Frontier) -> None:
    frontier.add_reject("/b")


@pytest.mark.parametrize("is_answer_lost", [False, True], ids=["command-lost", "answer-lost"])
@pytest.mark.parametrize("change", [_follow, _add_seed, _open_again, _reject])
def test_workers_learn_a_change_of_the_scope_at_whichever_command_redis_was_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, change: Callable[[Bench, Frontier], None], is_answer_lost: bool
) -> None:
    """The change is made once more after the outage, as workers and people do."""
    for place in itertools.count(1):
        host = f"host{place}.example" if change is _reject else "late.example"
        first = bench.frontier(f"http://host{place}.example/", name=f"job{place}", profile=Profile(scope="host"))
        worker = bench.again(first)
        before, after = (Candidate(f"http://{host}/{path}", "L", depth=1) for path in ("a", "b"))
        assert isinstance(worker.add([before])[0], Accepted) is (change is _reject)
        with outage(monkeypatch, place, is_answer_lost=is_answer_lost) as begun, suppress(FrontierUnavailable):
            change(bench, first)
        if not begun.has_begun:
            assert place > 1, "an outage began at each of the commands"
            return
        change(bench, first)
        assert isinstance(worker.claim("w"), Lease)
        assert isinstance(worker.add([after])[0], Rejected) is (change is _reject), f"command {place}"
