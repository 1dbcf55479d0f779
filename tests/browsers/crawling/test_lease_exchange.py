"""The exchange of leases joins the claims and endings of threads, and each thread gets what is its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.stores.real_frontier import Bench

from browsers.crawling.lease_exchange import LeaseExchange
from frontier.definition.job import Profile
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, Lease, Pause
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.store import FrontierLost, ScriptArgument, Store

OK = VisitOutcome(200, bytes=10)
THREADS = 8


@pytest.fixture
def bench(redis_url: str) -> Iterator[Bench]:
    bench = Bench(redis_url)
    yield bench
    bench.close()


def test_threads_visit_each_url_once_and_no_host_twice_at_a_time(bench: Bench) -> None:
    frontier = bench.frontier()
    urls = [f"http://h{number % 12}.example/{number}" for number in range(240)]
    frontier.add(Candidate(url, "L", via="http://example.org/", depth=1) for url in urls)
    exchange, lock = LeaseExchange(frontier), threading.Lock()
    visited: list[str] = []
    busy: set[str] = set()

    def work(name: str) -> None:
        while not isinstance(claim := exchange.claim(name), JobFinished):
            if isinstance(claim, Pause):
                continue
            assert isinstance(claim, Lease)
            assert claim.worker == name
            with lock:
                assert claim.host not in busy
                busy.add(claim.host)
                visited.append(claim.url)
            with lock:
                busy.remove(claim.host)
            assert exchange.finish(claim, OK, claims_next=True) is LeaseEnding.DONE

    with ThreadPoolExecutor(THREADS) as threads:
        for done in [threads.submit(work, f"w-{number}") for number in range(THREADS)]:
            done.result()
    assert sorted(visited) == sorted([*urls, "http://example.org/"])
    assert frontier.reports.progress().done == len(visited)


def test_lost_answers_end_no_visit_twice_and_leave_no_lease_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Store.run

    def twice(store: Store, name: str, *arguments: ScriptArgument) -> object:
        """The client sends a script again when the connection broke before the answer."""
        if name in ("exchange", "claim", "finish"):
            run(store, name, *arguments)
        return run(store, name, *arguments)

    monkeypatch.setattr(Store, "run", twice)
    frontier = bench.frontier("http://a.test/", profile=Profile(scope="any", quotas=("domain urls=1000",)))
    urls = [f"http://h{number % 5}.test/{number}" for number in range(60)]
    frontier.add(Candidate(url, "L", via="http://a.test/", depth=1) for url in urls)
    exchange = LeaseExchange(frontier)

    def work(name: str) -> list[str]:
        visited = []
        while not isinstance(claim := exchange.claim(name), JobFinished):
            if isinstance(claim, Lease):
                visited.append(claim.url)
                assert exchange.finish(claim, OK, claims_next=True) is LeaseEnding.DONE
        return visited

    with ThreadPoolExecutor(THREADS) as threads:
        visited = [url for found in threads.map(work, [f"w-{number}" for number in range(THREADS)]) for url in found]
    assert sorted(visited) == sorted([*urls, "http://a.test/"])
    progress = frontier.reports.progress()
    assert (progress.done, progress.leased, progress.queued, progress.bytes) == (61, 0, 0, 610)
    used = {name: int(amount) for name, amount in bench.client.hgetall(bench.key("used")).items()}
    assert sum(used.values()) == 61


def test_a_finish_makes_the_next_claim_only_when_asked(bench: Bench) -> None:
    frontier = bench.frontier("http://a.example/", "http://b.example/")
    exchange = LeaseExchange(frontier)
    first = exchange.claim("w")
    assert isinstance(first, Lease)
    assert exchange.finish(first, OK, claims_next=True) is LeaseEnding.DONE
    assert frontier.reports.progress().leased == 1
    second = exchange.claim("w")
    assert isinstance(second, Lease)
    assert second.url != first.url
    assert exchange.finish(second, OK, claims_next=False) is LeaseEnding.DONE
    assert exchange.reserved("w") is None
    assert isinstance(exchange.claim("w"), JobFinished)


def test_a_thread_may_stop_between_urls_that_the_scope_rejects_by_now(bench: Bench) -> None:
    frontier = bench.frontier("http://a.example/1", "http://a.example/2", "http://b.example/3")
    frontier.add_reject("[12]$")
    out = list[str]()
    exchange = LeaseExchange(frontier, lambda lease, _: out.append(lease.url))
    for number in (1, 2):
        assert exchange.claim("w") == Pause(0, "scope")
        assert len(out) == number
        if number == 1:
            last = exchange.claim("v")
            assert isinstance(last, Lease)
    assert exchange.finish(last, OK, claims_next=True) is LeaseEnding.DONE
    assert isinstance(exchange.claim("v"), JobFinished)


def test_a_lost_job_is_told_to_every_thread(bench: Bench) -> None:
    frontier = bench.frontier()
    exchange = LeaseExchange(frontier)
    frontier.forget()

    def claims(number: int) -> bool:
        with pytest.raises(FrontierLost):
            exchange.claim(f"w-{number}")
        return True

    with ThreadPoolExecutor(THREADS) as threads:
        assert all(threads.map(claims, range(THREADS)))
