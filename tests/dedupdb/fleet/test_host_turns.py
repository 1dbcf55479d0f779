"""Turns at a host: one line for the whole fleet, in order, and no longer than it may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from support.stores.redis_server import RedisServer

from dedupdb.fleet.host_turns import HostTurns
from dedupdb.redis_io.link import DedupUnavailable

MINUTE = 60.0


@pytest.fixture
def turns(server: RedisServer) -> Iterator[Callable[[], HostTurns]]:
    """Another process's view of the same fleet, with each call."""
    made: list[HostTurns] = []

    def another() -> HostTurns:
        made.append(HostTurns(server.url, longest_seconds=10 * MINUTE, timeout_seconds=5))
        return made[-1]

    yield another
    for one in made:
        one.close()


def test_each_waits_for_the_one_before_it_and_the_pause_behind_it(turns: Callable[[], HostTurns]) -> None:
    one, other = turns(), turns()

    waits = [one.take("a.test", MINUTE), other.take("a.test", 2 * MINUTE), one.take("a.test", MINUTE)]

    assert waits[0] == 0
    assert 0 < waits[1] <= MINUTE
    assert MINUTE < waits[2] - waits[1] + MINUTE <= 3 * MINUTE
    assert other.take("b.test", MINUTE) == 0


def test_many_at_once_get_a_place_each(turns: Callable[[], HostTurns]) -> None:
    fleet = [turns() for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        waits = sorted(threads.map(lambda number: fleet[number % 4].take("a.test", 20), range(24)))

    assert waits[0] == 0
    assert all(10 < later - earlier < 20.001 for earlier, later in pairwise(waits[1:]))


def test_who_would_wait_too_long_takes_no_place(server: RedisServer) -> None:
    impatient = HostTurns(server.url, longest_seconds=MINUTE, timeout_seconds=5)
    impatient.take("a.test", 3 * MINUTE)

    refused = [impatient.take("a.test", MINUTE) for _ in range(3)]
    impatient.close()

    assert all(2 * MINUTE < wait <= 3 * MINUTE for wait in refused)


def test_a_host_is_forgotten_when_its_pause_is_over(server: RedisServer, turns: Callable[[], HostTurns]) -> None:
    turns().take("a.test", MINUTE)
    with server.client() as client:
        assert 0 < client.pttl("gf:next:a.test") <= MINUTE * 1000


def test_without_redis_it_says_so() -> None:
    nowhere = HostTurns("unix:///nowhere/redis.sock", longest_seconds=1, timeout_seconds=0.2)
    with pytest.raises(DedupUnavailable):
        nowhere.take("a.test", 1)
    nowhere.close()
