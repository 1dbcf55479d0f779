"""Slow clients keep connections to an origin busy, and others wait for one or time out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.clients.raw_client import Reply
from support.origins.odd_responses import page
from support.origins.raw_origin import Close, RawOrigin, Send, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import crawl_session, request
from support.stores.redis_server import RedisServer


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """It has two connections for each origin, and little patience."""
    settings = {"proxy.connections_per_host": 2, "proxy.stall_seconds": 0.5, "proxy.connect_seconds": 30}
    with ProxyProcess(tmp_path_factory.mktemp("narrow") / "home", proxy_redis.url, settings) as running:
        yield running


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """The proxy has one connection for each origin, and a request waits for one for three seconds."""
    settings = {"proxy.connections_per_host": 1, "proxy.connect_seconds": 3}
    with ProxyProcess(tmp_path_factory.mktemp("single") / "home", proxy_redis.url, settings) as running:
        yield running


def test_who_takes_nothing_is_cut_off_when_others_wait(narrow: ProxyProcess, origin: RawOrigin) -> None:
    """And nobody else is: not who waits for the origin itself."""
    large, late, going = response(page(b"large", 30_000_000)), response(page(b"late", 100_000)), threading.Event()
    origin.script("/large", Send(large))
    origin.script("/late", Send(late[:50_000]), Wait(going), Send(late[50_000:]))
    with narrow.connect() as stalled, narrow.connect() as patient:
        for client, path in ((stalled, "/large"), (patient, "/late")):
            client.send(request("plain", origin.url(path)))
            until(lambda path=path: origin.asked(path), what="the request to reach the origin")

        assert narrow.get(origin.url("/other")).status == 200
        assert not stalled.read_reply().whole
        going.set()
        assert patient.read_reply().whole
    assert narrow.awaited(origin.url("/large"), "response").block == large
    assert narrow.awaited(origin.url("/late"), "response").block == late


def test_who_sends_nothing_is_cut_off_when_others_wait(narrow: ProxyProcess, origin: RawOrigin) -> None:
    with ExitStack() as open_clients:
        for path in ("/upload/1", "/upload/2"):
            client = open_clients.enter_context(narrow.connect())
            client.send(request("plain", origin.url(path), "Content-Length: 100", method="POST") + b"begun")
        until(lambda: origin.connections == 2, what="both connections to be in use")

        assert narrow.get(origin.url("/other")).status == 200
    assert narrow.records().of(origin.url("/upload/1")) == []


def test_who_waits_in_vain_is_told_that_it_was_no_fault_of_the_origin(
    single: ProxyProcess, tmp_path: Path, origin: RawOrigin
) -> None:
    """On a busy machine the time to connect may pass first. Such a request fails for another reason and is repeated."""
    never = threading.Event()
    origin.script("/long", Wait(never), Send(response(b"at last")))
    with crawl_session(single, tmp_path / "log") as credentials, single.connect() as first:
        first.send(request("plain", origin.url("/long"), credentials))
        until(lambda: origin.asked("/long"), what="the request to reach the origin")

        def told() -> Reply | None:
            reply = single.get(origin.url("/other"), credentials)
            return reply if reply.header("Ghostfleet-Error") == "-5 crowded" else None

        refused = until(told, what="a refusal that names the cause")
        never.set()

        assert first.read_reply().body == b"at last"
        assert single.get(origin.url("/other"), credentials).status == 200
    assert refused.status == 503
    assert refused.header("Retry-After") == "5"
    assert b"all 1 connections to" in refused.body
    assert any(" -5 " in line for line in (tmp_path / "log" / "crawl.log").read_text().splitlines())


def test_a_websocket_for_hours_blocks_no_other_client(single: ProxyProcess, origin: RawOrigin) -> None:
    """Thirty browsers that have a WebSocket to one origin would take all connections that may be made to it."""
    over = threading.Event()
    switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    origin.script("/chat", Send(switched), Wait(over), Close())
    upgrade = request("plain", origin.url("/chat"), "Connection: Upgrade", "Upgrade: websocket")
    with single.connect() as one, single.connect() as other:
        assert one.ask(upgrade).status == other.ask(upgrade).status == 101
        assert single.get(origin.url("/page")).status == 200
        over.set()
        assert one.is_closed_by_proxy()
        assert other.is_closed_by_proxy()
        assert single.get(origin.url("/page")).status == 200


def test_slow_uploads_do_not_keep_others_from_an_origin(
    tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin
) -> None:
    """T34: they get three quarters of its connections at most, and a request that is all there goes before them."""
    settings = {"proxy.connections_per_host": 4, "proxy.stall_seconds": 0, "proxy.connect_seconds": 60}
    with ProxyProcess(tmp_path / "home", proxy_redis.url, settings) as proxy, ExitStack() as open_clients:
        uploads = []
        for number in range(12):
            client = open_clients.enter_context(proxy.connect())
            client.send(
                request("plain", origin.url(f"/upload/{number}"), "Content-Length: 6", method="POST") + b"begun"
            )
            uploads.append(client)
        until(lambda: origin.connections == 3, what="the uploads to have all connections that they may have")

        assert [proxy.get(origin.url(f"/other/{number}")).status for number in range(5)] == [200] * 5
        for client in uploads:
            client.send(b"!")
        assert [client.read_reply().status for client in uploads] == [200] * 12
    assert len(origin.asked("/upload/11")) == 1
