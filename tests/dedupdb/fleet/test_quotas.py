"""Limits across a fleet: exact with any number of askers, and told apart from those that may yet be free."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dedupdb.claims.claims import Claims, Settlement
from dedupdb.fleet.quotas import Limit, Quotas, Reached, tally_name
from dedupdb.redis_io.link import DedupUnavailable

TEN = Limit("b/total/urls", "b", "total/urls", 10)


@pytest.fixture
def quotas(redis_url: str) -> Iterator[Quotas]:
    found = Quotas(redis_url, hold_seconds=60, timeout_seconds=5)
    yield found
    found.close()


@pytest.fixture
def claims(redis_url: str) -> Iterator[Claims]:
    with Claims(redis_url, claim_seconds=30, timeout_seconds=5) as found:
        yield found


def count(claims: Claims, bucket: str = "b", **counts: int) -> None:
    """Counts as a writer does; `total_urls=1` is `total/urls`."""
    named = {name.replace("_", "/", 1): number for name, number in counts.items()}
    claims.settle(Settlement(tallies={("news", tally_name(bucket)): named}))


def test_what_writers_count_is_what_limits_are_held_against(quotas: Quotas, claims: Claims) -> None:
    count(claims, total_urls=10, total_wire_bytes=500, new_urls=4, revisit_urls=6)

    found = quotas.admit("news", [TEN], "x")

    assert isinstance(found, Reached)
    assert (found.limit, found.is_certain) == (TEN, True)
    assert found.stats == {
        "bucket": "b",
        "total": {"urls": 10, "wire_bytes": 500},
        "new": {"urls": 4, "wire_bytes": 0},
        "revisit": {"urls": 6, "wire_bytes": 0},
    }
    assert quotas.admit("other", [TEN], "x") is None


def test_no_more_get_in_at_once_than_the_limit_allows(quotas: Quotas) -> None:
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda token: quotas.admit("news", [TEN], str(token)), range(40)))

    refused = [answer for answer in answers if answer is not None]
    assert len(refused) == 30
    assert {answer.is_certain for answer in refused} == {False}


def test_a_request_that_is_over_leaves_room_for_the_next(quotas: Quotas) -> None:
    one = Limit("b/new/urls", "b", "new/urls", 1)
    assert quotas.admit("news", [one], "first") is None
    assert quotas.admit("news", [one], "first") is None, "the same request asked again"
    assert quotas.admit("news", [one], "second") is not None

    quotas.release("news", [one], "first")

    assert quotas.admit("news", [one], "second") is None


def test_a_reservation_of_a_dead_holder_expires(redis_url: str) -> None:
    one, hasty = Limit("b/new/urls", "b", "new/urls", 1), Quotas(redis_url, hold_seconds=0.001, timeout_seconds=5)
    assert hasty.admit("news", [one], "dead") is None
    while hasty.admit("news", [one], "alive") is not None:
        pass  # each ask is a round trip: a millisecond passes
    hasty.close()


def test_a_refusal_by_one_limit_reserves_under_no_other(quotas: Quotas, claims: Claims) -> None:
    free, full = Limit("a/total/urls", "a", "total/urls", 1), Limit("b/total/urls", "b", "total/urls", 0)

    refused = quotas.admit("news", [free, full], "x")

    assert refused is not None
    assert refused.limit == full
    assert quotas.admit("news", [free], "y") is None


def test_a_limit_of_bytes_is_reached_when_they_are_counted(quotas: Quotas, claims: Claims) -> None:
    limit = Limit("b/new/wire_bytes", "b", "new/wire_bytes", 100)
    assert quotas.admit("news", [limit], "one") is None
    assert quotas.admit("news", [limit], "two") is None

    count(claims, new_wire_bytes=100)

    assert quotas.admit("news", [limit], "three") is not None


def test_without_redis_it_says_so() -> None:
    nowhere = Quotas("unix:///nowhere/redis.sock", hold_seconds=1, timeout_seconds=0.2)

    with pytest.raises(DedupUnavailable):
        nowhere.admit("news", [TEN], "x")
    nowhere.close()
