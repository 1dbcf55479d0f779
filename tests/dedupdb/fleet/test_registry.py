"""The registry of recording processes, in a real Redis that also goes away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.processes.waiting import until
from support.stores.redis_server import RedisServer

from dedupdb.fleet.registry import NAMES, Member, MemberHeartbeat, Registry
from dedupdb.redis_io.link import DedupUnavailable
from frontier.store import connect

ONE = Member("127.0.0.1:8000", "127.0.0.1:8001", load=0.25, since=1000.0, pid=11, host="a")
TWO = Member("127.0.0.1:8000", "127.0.0.1:8002", load=0.5, since=1001.0, pid=12, host="a")


@pytest.fixture
def registry(redis_url: str) -> Iterator[Registry]:
    with Registry(redis_url, timeout_seconds=60) as opened:
        yield opened


@contextmanager
def beating(server_url: str, member: Member, *, every_seconds: float = 0.05) -> Iterator[list[float]]:
    """A heartbeat of the member; its load is the last number of what this gives."""
    loads = [0.0]
    own = Registry(server_url, timeout_seconds=60)
    heartbeat = MemberHeartbeat(own, member, lambda: loads[-1], every_seconds=every_seconds)
    heartbeat.start()
    try:
        yield loads
    finally:
        heartbeat.close()


def test_nobody_is_there_at_first(registry: Registry) -> None:
    assert registry.members() == []


def test_members_are_listed_as_they_described_themselves(registry: Registry) -> None:
    for member in (TWO, ONE):
        registry.put(member, seconds=60)

    assert registry.members() == [ONE, TWO]
    registry.put(replace(ONE, load=0.75), seconds=60)
    assert [member.load for member in registry.members()] == [0.75, 0.5]


def test_who_withdraws_is_gone_and_who_took_over_its_ports_stays(registry: Registry) -> None:
    successor = replace(ONE, pid=13, since=1002.0)
    for member in (ONE, successor):
        registry.put(member, seconds=60)

    registry.remove(ONE)

    assert registry.members() == [successor]


def test_who_falls_silent_is_forgotten_with_its_name(registry: Registry, redis_url: str) -> None:
    registry.put(ONE, seconds=0.01)
    registry.put(TWO, seconds=60)

    until(lambda: registry.members() == [TWO], what="the silent one to be gone")

    with connect(redis_url, 10) as client:
        assert client.smembers(NAMES) == {TWO.name.encode()}
        assert not client.exists(f"{NAMES}:{ONE.name}")


def test_a_heartbeat_keeps_its_member_listed_with_its_load_and_withdraws_it(registry: Registry, redis_url: str) -> None:
    with beating(redis_url, ONE) as loads:
        until(lambda: registry.members(), what="the member")
        loads.append(0.9)
        until(lambda: [member.load for member in registry.members()] == [0.9], what="the new load")
        until(lambda: registry.members() == [replace(ONE, load=0.9)], what="the member still there")

    assert registry.members() == []


def test_a_heartbeat_outlives_redis(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server, beating(server.url, ONE):
        # A killed Redis refuses at once. The timeout is out of reach, so that a slow Redis is no failure.
        with Registry(server.url, timeout_seconds=60) as registry:
            until(lambda: registry.members(), what="the member")
            server.kill()
            with pytest.raises(DedupUnavailable):
                registry.members()
            server.start()
            until(lambda: registry.members(), what="the member, listed again")
        server.kill()


def test_this_process_describes_itself() -> None:
    here = Member.here("127.0.0.1:1", "127.0.0.1:2")

    assert here.name == f"{here.host}:{here.pid}"
    assert here.host
    assert here.since > 1_600_000_000
