"""The exchange of leases joins the claims and endings of threads, and each thread gets what is its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.stores.real_frontier import Bench

from browsers.crawling.lease_exchange import LeaseExchange
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, Lease, Pause
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.store import FrontierLost

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
