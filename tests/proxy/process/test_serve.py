"""A recording process from its start to its end: what a signal, a full disk or a lost folder make of it."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.origins.odd_responses import OK, chunked, page
from support.origins.raw_origin import RawOrigin, Send, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import credentials, is_draining, request

from dedupdb.fleet.registry import Registry

NEVER = threading.Event()
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


@pytest.fixture
def start(tmp_path: Path, redis_url: str) -> Iterator[Any]:
    """Starts processes with settings of the test's choice."""
    started: list[ProxyProcess] = []

    def start(**settings: Any) -> ProxyProcess:
        dotted = {name.replace("__", "."): value for name, value in settings.items()}
        process = ProxyProcess(tmp_path / f"home{len(started)}", redis_url, dotted).start()
        started.append(process)
        return process

    yield start
    for process in started:
        if process._process is not None:
            process.kill9()


class TestStopping:
    def test_lets_what_is_under_way_come_to_its_end(self, start: Any, origin: RawOrigin) -> None:
        go = threading.Event()
        whole = OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(page(b"first"), page(b"last"))
        origin.script("/under-way", Send(whole[:200]), Wait(go), Send(whole[200:]))
        proxy = start()
        with proxy.connect() as busy, proxy.connect() as idle:
            assert idle.ask(b"GET /status HTTP/1.1\r\n\r\n").status == 200
            busy.send(request("plain", origin.url("/under-way")))
            busy.read_some(100)
            proxy._process.send_signal(signal.SIGTERM)

            assert idle.is_closed_by_proxy()
            until(lambda: is_draining(proxy), what="new connections to be refused")
            go.set()
            rest = busy.read_some(100_000)
            assert rest.endswith(b"0\r\n\r\n")
            assert busy.is_closed_by_proxy()
        proxy.stop()

        (record,) = proxy.records().of(origin.url("/under-way"), "response")
        assert record.block == whole
        assert [path.suffix for path in proxy.folder().iterdir()] == [".gz"]

    @pytest.mark.parametrize("scripts", [[], ["none.py"]])
    def test_closes_the_connection_behind_the_last_answer(
        self, start: Any, origin: RawOrigin, tmp_path: Path, scripts: list[str]
    ) -> None:
        go = threading.Event()
        origin.script("/last-answer", Wait(go), Send(response(page(b"last-answer"))))
        (tmp_path / "none.py").write_text("")
        proxy = start(proxy__script_folder=str(tmp_path))
        session = credentials(proxy.session(scripts=scripts))
        with proxy.connect() as client:
            client.send(request("plain", origin.url("/last-answer"), session) * 2)
            until(lambda: origin.asked("/last-answer"), what="the request to reach the origin")
            proxy._process.send_signal(signal.SIGTERM)
            until(lambda: is_draining(proxy), what="new connections to be refused")
            go.set()

            reply = client.read_reply()
            assert (reply.status, reply.header("Connection")) == (200, "close")
            assert client.is_closed_by_proxy()
        proxy.stop()
        assert len(origin.asked("/last-answer")) == 1

    def test_begins_with_leaving_the_registry(self, start: Any, origin: RawOrigin, redis_url: str) -> None:
        go = threading.Event()
        origin.script("/last", Wait(go), Send(response(page(b"last"))))
        proxy = start(proxy__heartbeat_seconds=0.1)
        with Registry(redis_url, timeout_seconds=5) as registry, proxy.connect() as client:
            (member,) = until(registry.members, what="the process in the registry")
            assert [member.address, member.control] == [proxy.ready["proxy"], *proxy.ready["controls"]]
            client.send(request("plain", origin.url("/last")))
            until(lambda: [member.load > 0 for member in registry.members()] == [True], what="its load")

            proxy._process.send_signal(signal.SIGTERM)
            until(lambda: not registry.members(), what="its name to be gone while it drains")
            go.set()
            assert client.read_reply().status == 200

    def test_does_not_wait_for_ever(self, start: Any, origin: RawOrigin) -> None:
        """What had come is kept and flagged; the clients see that it is not all."""
        origin.script("/hangs", Send(OK + b"\r\nhalf a page"), Wait(NEVER))
        origin.script("/silent", Wait(NEVER))
        origin.script("/socket", Send(SWITCH), Wait(NEVER))
        proxy = start(proxy__drain_seconds=0.3)
        with proxy.connect() as begun, proxy.connect() as waiting, proxy.connect() as other:
            other.send(request("plain", origin.url("/socket"), "Connection: Upgrade", "Upgrade: websocket"))
            assert other.read_some(len(SWITCH)) == SWITCH
            begun.send(request("plain", origin.url("/hangs")))
            waiting.send(request("plain", origin.url("/silent")))
            until(lambda: len(origin.visits) == 3, what="the requests to reach the origin")
            head = begun.read_some(len(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhalf a page\r\n"))
            assert head.endswith(b"half a page\r\n")
            proxy.stop()

            assert begun.is_closed_by_proxy(), "no last chunk"
            assert other.is_closed_by_proxy()
            assert waiting.read_reply().header("Ghostfleet-Error") == "-5 stopping"
        (record,) = proxy.records().of(origin.url("/hangs"), "response")
        assert record.block == OK + b"\r\nhalf a page"
        assert record.field("WARC-Truncated") == "time"
        assert [path.suffix for path in proxy.folder().iterdir()] == [".gz"]

    def test_what_had_come_is_kept_in_a_session_with_typed_secrets_too(self, start: Any, origin: RawOrigin) -> None:
        """Responses of such a session are searched before they are kept."""
        origin.script("/login?password=hunter2-long", Send(response(b"in")))
        origin.script("/hangs", Send(OK + b"\r\nhalf a page for hunter2-long"), Wait(NEVER))
        proxy = start(proxy__drain_seconds=0.3)
        session = proxy.session(listen=True, redact_fields=["password"])
        with proxy.connect((session["host"], session["port"])) as client:
            assert client.ask(request("plain", origin.url("/login?password=hunter2-long"))).status == 200
            client.send(request("plain", origin.url("/hangs")))
            client.read_some(len(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
            proxy.stop()
        assert proxy.kept(origin.url("/hangs")).field("WARC-Truncated") == "time"


class TestDisk:
    def test_with_too_little_room_nothing_new_is_taken(self, start: Any, origin: RawOrigin, tmp_path: Path) -> None:
        origin.script("/no-room", Send(response(page(b"no-room"))))
        proxy = start(archive__min_free_bytes=shutil.disk_usage(tmp_path).total * 2)

        reply = proxy.get(origin.url("/no-room"))

        assert (reply.status, reply.header("Ghostfleet-Error")) == (503, "0 not-accepting")
        assert reply.header("Retry-After")
        assert "the disk is full" in reply.body.decode()
        assert origin.visits == []
        status = proxy.status()
        assert status["accepting"] is False
        assert "archive.min_free_bytes" in status["not_accepting_because"]
        assert "ghostfleet_accepting 0.0" in proxy.metrics()

    def test_what_can_not_be_kept_is_not_given_to_the_client(self, start: Any, origin: RawOrigin) -> None:
        """A small answer becomes a 503, a large one breaks off; later ones are kept again."""
        small, large = page(b"small"), os.urandom(3_000_000)
        origin.script("/small", Send(response(small)))
        origin.script("/large", Send(response(large)))
        proxy = start()
        proxy.folder().parent.mkdir(parents=True)
        proxy.folder().write_bytes(b"")

        refused, broken = proxy.get(origin.url("/small")), proxy.get(origin.url("/large"))

        assert (refused.status, refused.header("Ghostfleet-Error")) == (503, "0 not-kept")
        assert small not in refused.body
        assert not broken.whole
        assert proxy.status()["lost"] == 2
        proxy.folder().unlink()
        until(lambda: proxy.get(origin.url("/small")).status == 200, what="the proxy to take new work again")
        assert proxy.get(origin.url("/large")).body == large


class TestDelivering:
    @pytest.mark.parametrize("deliver", ["written", "at_once"])
    def test_whenever_the_client_sees_the_end_everything_is_kept(
        self, start: Any, origin: RawOrigin, deliver: str
    ) -> None:
        proxy = start(proxy__deliver=deliver)

        with proxy.connect() as client:
            for number in range(20):
                assert client.ask(request("plain", origin.url(f"/{number}"))).body == page(b"/%d" % number)
                if deliver != "at_once":
                    assert proxy.records().of(origin.url(f"/{number}"), "response")
        proxy.stop()

        assert len(proxy.records().kinds("response")) == 20


def test_a_password_is_asked_for(start: Any, origin: RawOrigin) -> None:
    proxy = start(proxy__password="open sesame")
    origin.script("/door", Send(response(page(b"door"))))

    refused = proxy.get(origin.url("/door"))
    assert (refused.status, refused.header("Proxy-Authenticate")) == (407, 'Basic realm="ghostfleet"')
    with proxy.connect() as client:
        assert client.ask(f"CONNECT {origin.authority} HTTP/1.1\r\n\r\n".encode()).status == 407
    assert origin.visits == []
    right = "Proxy-Authorization: Basic YW55Ym9keTpvcGVuIHNlc2FtZQ=="
    assert proxy.get(origin.url("/door"), right).status == 200
    assert proxy.status()["unauthorized"] == 2


def test_large_files_are_rolled_over_between_exchanges_and_two_signals_end_it_as_well_as_one(
    start: Any, origin: RawOrigin
) -> None:
    origin.otherwise(lambda asked: (Send(response(os.urandom(30_000))),))
    proxy = start(archive__warc_max_bytes=100_000)
    for number in range(12):
        proxy.get(origin.url(f"/{number}"))
    proxy._process.send_signal(signal.SIGINT)
    proxy.stop()

    archive = proxy.records()
    assert {path.suffix for path in proxy.folder().iterdir()} == {".gz"}
    assert len(proxy.sidecar_lines()) == 12
    assert len(archive.kinds("warcinfo")) == len(list(proxy.folder().iterdir())) >= 3
    places = {record.id: record.path for record in archive.kinds("response")}
    assert all(record.path == places[record.field("WARC-Concurrent-To") or ""] for record in archive.kinds("request"))
