"""The listeners of this home and of others, and the servers that keep the data, are the fleet's own and no targets."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from support.processes.waiting import until

from archive.local_endpoints import Listeners
from dedupdb.fleet.registry import Member, MemberHeartbeat, Registry
from proxy.origins.own_addresses import OwnPorts

HOST = socket.gethostname()


def member(host: str, *listens: str) -> Member:
    return Member("10.20.0.11:8000", "127.0.0.1:8001", host=host, pid=1, listens=listens)


def test_the_main_port_of_another_machine_is_no_target(tmp_path: Path) -> None:
    own = OwnPorts(Listeners(tmp_path))
    own.update([member("another", "10.20.0.12 8000", "2001:db8::7 8000", "127.0.0.1 8001")])

    assert own.covers("10.20.0.12", 8000)
    assert own.covers("::ffff:10.20.0.12", 8000)
    assert own.covers("2001:DB8:0::7", 8000)
    assert not own.covers("10.20.0.12", 80)
    assert not own.covers("127.0.0.1", 8001), "loopback of another machine"


def test_a_loopback_port_of_another_home_on_this_machine_is_no_target(tmp_path: Path) -> None:
    own = OwnPorts(Listeners(tmp_path))
    own.update([member(HOST, "127.0.0.1 8001")])
    assert own.covers("127.0.0.1", 8001)

    own.update([])
    assert not own.covers("127.0.0.1", 8001)


def test_what_another_release_says_wrongly_is_passed_over(tmp_path: Path) -> None:
    own = OwnPorts(Listeners(tmp_path))
    own.update([member(HOST, "", "nonsense", "127.0.0.1", "127.0.0.1 x", "127.0.0.1 8001")])

    assert own.covers("127.0.0.1", 8001)


@pytest.mark.parametrize(
    ("url", "ip", "port"),
    [
        ("redis://127.0.0.1:6390/0", "127.0.0.1", 6390),
        ("redis://localhost", "127.0.0.1", 6379),
        ("redis://localhost", "::1", 6379),
        ("rediss://:secret@192.0.2.5:6380", "192.0.2.5", 6380),
        ("cluster://192.0.2.5:7000", "192.0.2.5", 7000),
        ("clusters://me:secret@192.0.2.5,192.0.2.6:7001", "192.0.2.5", 6379),
        ("clusters://me:secret@192.0.2.5,192.0.2.6:7001", "192.0.2.6", 7001),
        ("postgresql+psycopg://me:secret@192.0.2.6/gf", "192.0.2.6", 5432),
    ],
)
def test_the_fleet_s_servers_are_no_targets_from_the_start(tmp_path: Path, url: str, ip: str, port: int) -> None:
    assert OwnPorts(Listeners(tmp_path), [url]).covers(ip, port)


@pytest.mark.parametrize("url", ["", "unix:///run/redis.sock", "sqlite:////data/index.db", "redis://host:x", "://"])
def test_a_server_without_a_tcp_port_is_nothing_to_refuse(tmp_path: Path, url: str) -> None:
    assert not OwnPorts(Listeners(tmp_path), [url]).covers("127.0.0.1", 6379)


def test_a_wildcard_listener_is_published_with_the_machine_s_addresses(tmp_path: Path) -> None:
    listeners = Listeners(tmp_path)
    with socket.create_server(("0.0.0.0", 0)) as everywhere, socket.create_server(("127.0.1.35", 0)) as one:
        for listener in (everywhere, one):
            listeners.add(listener)
        told = OwnPorts(listeners).published()
        ports = [each.getsockname()[1] for each in (everywhere, one)]

    assert f"127.0.0.1 {ports[0]}" in told
    assert f"127.0.1.35 {ports[1]}" in told
    assert not any(text.startswith("0.0.0.0") for text in told)


def test_two_homes_learn_of_each_other_by_redis(tmp_path: Path, redis_url: str) -> None:
    listeners = [Listeners(tmp_path / name) for name in ("one", "two")]
    owns = [OwnPorts(each) for each in listeners]
    beats = [
        MemberHeartbeat(
            Registry(redis_url, timeout_seconds=5),
            Member("127.0.0.1:1", "127.0.0.1:2", pid=number, host=HOST),
            lambda: 0.0,
            every_seconds=0.05,
            listens=own.published,
            hear=own.update,
        )
        for number, own in enumerate(owns)
    ]
    with socket.create_server(("127.0.0.1", 0)) as session:
        port = session.getsockname()[1]
        listeners[0].add(session)
        for beat in beats:
            beat.start()
        try:
            until(lambda: owns[1].covers("127.0.0.1", port), what="the other home to hear of the port")
        finally:
            for beat in beats:
                beat.close()
