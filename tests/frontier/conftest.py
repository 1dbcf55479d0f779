"""What the frontier's tests share: a bench on the run's Redis, and short ways to claim and to make links."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.stores.real_frontier import Bench

from frontier.definition.scope import Candidate
from frontier.lease import Lease
from frontier.queue import Frontier


@pytest.fixture
def bench(redis_url: str) -> Iterator[Bench]:
    bench = Bench(redis_url)
    yield bench
    bench.close()


@pytest.fixture
def leased() -> Callable[[Frontier, str], Lease]:
    """Claims, and fails the test when that gives no lease."""

    def claim(frontier: Frontier, worker: str = "w") -> Lease:
        answer = frontier.claim(worker)
        assert isinstance(answer, Lease), f"no lease but {answer}"
        return answer

    return claim


@pytest.fixture
def links() -> Callable[..., list[Candidate]]:
    """Candidates with these URLs, found by following one link."""

    def make(*urls: str) -> list[Candidate]:
        return [Candidate(url, "L", via="http://example.org/", depth=1) for url in urls]

    return make
