"""Redis going away, coming back and refusing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.processes.waiting import until
from support.stores.real_frontier import PATIENT, Bench
from support.stores.redis_server import RedisServer

from archive.settings import FrontierSettings
from frontier.definition.job import Job, Profile
from frontier.definition.scope import Accepted, Candidate
from frontier.lease import JobFinished, Lease
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier
from frontier.store import FrontierUnavailable

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]

OK = VisitOutcome(200, bytes=1)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path, append_only=True) as server:
        yield server


@pytest.fixture
def own(server: RedisServer) -> Iterator[Bench]:
    bench = Bench(server.url)
    yield bench
    bench.close()


def test_everything_survives_a_kill_of_redis(server: RedisServer, own: Bench, links: Links, leased: Claim) -> None:
    profile = Profile(scope="host")
    frontier = own.frontier(settings=FrontierSettings(), profile=profile)
    frontier.add(links(*(f"http://example.org/{number}" for number in range(50)), "http://elsewhere.example/"))
    seed = leased(frontier)
    frontier.follow_seed("http://example.com/")
    frontier.add(links("http://example.com/"))
    frontier.set_robots("http://example.org/", 200, b"User-agent: *\nDisallow: /x\n")
    frontier.controls.block_host("blocked.example", 60)
    frontier.finish(seed, VisitOutcome(200, crawl_delay_seconds=100))
    held = leased(frontier)
    frontier.controls.pause("maintenance")
    before, due = frontier.reports.progress(), own.host("example.org")["d"]
    own.wait_until_written()

    server.kill()
    server.start()

    after = own.again(frontier, FrontierSettings())
    assert after.reports.progress().paused == "maintenance"
    assert {name: getattr(after.reports.progress(), name) for name in ("queued", "leased", "done", "rejected")} == {
        name: getattr(before, name) for name in ("queued", "leased", "done", "rejected")
    }
    assert own.host("example.org")["d"] == due
    assert own.host("blocked.example")["b"] > own.now()
    assert after.robots("http://example.org/") is not None
    assert after.finish(held, OK) is LeaseEnding.DONE, "the lease is still its own"
    assert [type(decision) for decision in after.add(links("http://example.com/y"))] == [Accepted]
    assert after.add(links("http://example.org/7"))[0] not in after.add(links("http://example.org/new"))


def test_no_url_is_lost_or_counted_twice_while_redis_is_killed_again_and_again(server: RedisServer, own: Bench) -> None:
    settings = PATIENT.model_copy(update={"lease_seconds": 1.0, "max_retries": 50})
    frontier = own.frontier("http://host0.example/0", settings=settings)
    urls = {f"http://host{number % 10}.example/{number}" for number in range(400)}
    frontier.add(Candidate(url) for url in sorted(urls))
    told_done, lock, over = Counter[str](), threading.Lock(), threading.Event()
    is_killed = threading.Event()  # for the last time: the kill may undo visits that were the last ones

    def work(worker: str, mine: Frontier) -> None:
        while not over.is_set():
            try:
                answer = mine.claim(worker)
                if isinstance(answer, JobFinished) and is_killed.is_set():
                    return
                if isinstance(answer, Lease) and mine.finish(answer, OK):
                    with lock:
                        told_done[answer.url] += 1
            except FrontierUnavailable:
                over.wait(0.01)

    workers = [threading.Thread(target=work, args=(f"w{number}", own.again(frontier, settings))) for number in range(3)]
    for worker in workers:
        worker.start()
    for share in (0.25, 0.5, 0.75):
        until(lambda share=share: sum(told_done.values()) >= share * len(urls), what=f"{share:.0%} to be done")
        server.kill()
        server.start()
    is_killed.set()
    for worker in workers:
        worker.join(60)
    over.set()
    assert not any(worker.is_alive() for worker in workers), "a worker has not seen the end of the job"
    progress = frontier.reports.progress()
    assert (progress.done, progress.queued, progress.leased, progress.failed) == (len(urls), 0, 0, 0)
    # Redis may lose up to two seconds that it acknowledged: then a URL is visited, and told done, once more.
    assert set(told_done) <= urls


def test_a_redis_that_is_gone_is_named_in_one_line(server: RedisServer, own: Bench) -> None:
    frontier = own.frontier()
    server.kill()
    with pytest.raises(FrontierUnavailable) as caught:
        frontier.claim("w")
    assert str(caught.value).startswith(f"Redis at unix://{server.socket}")
    assert "\n" not in str(caught.value)


def test_a_redis_that_hangs_is_not_waited_for_without_end(server: RedisServer) -> None:
    job = Job.of("j", "c", ["http://example.org/"])
    patient = Frontier(server.url, job, PATIENT, timeout_seconds=60)
    patient.open_job()
    frontier = Frontier(server.url, job, PATIENT, timeout_seconds=0.2)  # it connects at its first command
    server.pause()
    try:
        with pytest.raises(FrontierUnavailable, match="Timeout"):
            frontier.claim("w")
    finally:
        server.resume()
        frontier.close()
        patient.close()


def test_a_redis_without_memory_left_refuses_and_changes_nothing(own: Bench, links: Links, leased: Claim) -> None:
    frontier = own.frontier()
    frontier.add(links("http://example.org/a"))
    lease = leased(frontier)
    before = frontier.reports.progress()
    own.client.config_set("maxmemory", 1)
    with pytest.raises(FrontierUnavailable, match=r"OutOfMemory|OOM command"):
        frontier.finish(lease, OK)
    with pytest.raises(FrontierUnavailable, match=r"OutOfMemory|OOM command"):
        frontier.add(links("http://example.org/b"))
    own.client.config_set("maxmemory", 0)
    assert replace(frontier.reports.progress(), next_due_seconds=None) == replace(before, next_due_seconds=None)
    assert frontier.finish(lease, OK) is LeaseEnding.DONE
    assert isinstance(frontier.add(links("http://example.org/b"))[0], Accepted)


def test_a_password_is_not_told(server: RedisServer) -> None:
    job = Job.of("j", "c", ["http://example.org/"])
    frontier = Frontier("redis://user:secret@127.0.0.1:1/0", job, PATIENT, timeout_seconds=1)
    with pytest.raises(FrontierUnavailable) as caught:
        frontier.open_job()
    assert "secret" not in str(caught.value)
