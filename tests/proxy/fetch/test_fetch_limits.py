"""Exchanges that fail or are cut off: the code, what the client sees, what is kept of them."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.origins.hand_origin import HandOrigin
from support.origins.odd_responses import OK, chunked, page
from support.origins.raw_origin import Close, Drip, RawOrigin, Reset, Send, Step, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.running_proxy import credentials, request
from support.stores.redis_server import RedisServer

from archive import crawl_log

FOREVER = threading.Event()
"""Set only when the module's tests are over."""


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """A process that waits for nothing long and takes no large bodies."""
    settings = {
        "proxy.first_byte_seconds": 0.6,
        "proxy.idle_seconds": 0.6,
        "proxy.total_seconds": 1.5,
        "proxy.connect_seconds": 0.6,
        "proxy.orphan_seconds": 1,
        "proxy.max_body_bytes": 1_000_000,
        "proxy.spool_bytes": 20_000,
        "proxy.max_head_bytes": 20_000,
        "proxy.resolve": {"*.example": ADDRESS},
    }
    with ProxyProcess(tmp_path_factory.mktemp("hurried") / "home", proxy_redis.url, settings) as running:
        yield running
        FOREVER.set()


class TestEnds:
    @pytest.mark.parametrize(
        ("steps", "status", "error"),
        [
            pytest.param((Wait(FOREVER),), 504, "-4 timeout", id="silence"),
            pytest.param((Send(b"HTTP/1.1 200 OK\r\nX: "), Wait(FOREVER)), 504, "-4 timeout", id="silence in the head"),
            pytest.param((Drip(OK + b"A: b\r\n" * 100, 0.1),), 504, "-4 timeout", id="a head without end"),
            pytest.param((Close(),), 502, "-404 empty", id="not a byte"),
            pytest.param((Reset(),), 502, "-3 lost", id="a reset"),
        ],
    )
    def test_without_a_response_say_why_and_keep_no_more_than_came(
        self, hurried: ProxyProcess, origin: RawOrigin, tmp_path: Path, steps: tuple[Step, ...], status: int, error: str
    ) -> None:
        origin.script("/fails", *steps)
        session = hurried.session(job="daily", log_dir=str(tmp_path))

        reply = hurried.get(origin.url("/fails"), credentials(session))
        report = hurried.control("DELETE", f"/sessions/{session['id']}")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (status, error)
        assert reply.whole
        code = error.partition(" ")[0]
        assert (report["failed"], report["errors"]) == (1, {code: 1})
        kept = {record.kind: record.block for record in hurried.records().of(origin.url("/fails"))}
        sent = b"".join(step.data for step in steps if isinstance(step, Send | Drip))
        assert kept.keys() == ({"metadata", "request"} if sent else set())
        assert sent.startswith(kept.get("metadata", b""))
        (line,) = (tmp_path / "crawl.log").read_text().splitlines()
        assert crawl_log.parse(line).code == int(code)

    def test_that_are_no_http_have_one_line_in_the_log(self, hurried: ProxyProcess, origin: RawOrigin) -> None:
        """A line has the whole URL, which may be very long."""
        origin.script("/no-http", Send(b"SSH-2.0-hello\r\n"), Wait(FOREVER))

        assert hurried.get(origin.url("/no-http")).header("Ghostfleet-Error") == "-3 bad-response"

        (line,) = [line for line in hurried.log.read_text().splitlines() if origin.url("/no-http") in line]
        assert "bad status line" in line

    def test_where_nobody_listens(self, hurried: ProxyProcess) -> None:
        with socket.create_server((ADDRESS, 0)) as free:
            port = free.getsockname()[1]

        reply = hurried.get(f"http://{ADDRESS}:{port}/")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (502, "-2 refused")

    def test_where_nobody_answers_the_call(self, hurried: ProxyProcess) -> None:
        with socket.socket() as deaf, socket.socket() as one, socket.socket() as two:
            deaf.bind((ADDRESS, 0))
            deaf.listen(0)  # room for one: further calls hang
            for caller in (one, two):
                caller.setblocking(False)
                caller.connect_ex(deaf.getsockname())

            reply = hurried.get(f"http://{ADDRESS}:{deaf.getsockname()[1]}/")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (504, "-2 connect-timeout")

    def test_where_no_name_leads(self, hurried: ProxyProcess) -> None:
        reply = hurried.get("http://no-such-name.invalid/")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (502, "-6 dns")

    @pytest.mark.parametrize("greeting", [(Reset(),), (Send(b"SSH-2.0-hello\r\n"), Wait(FOREVER))])
    def test_where_something_else_than_http_is_spoken(
        self, hurried: ProxyProcess, origin: RawOrigin, greeting: tuple[Step, ...]
    ) -> None:
        origin.greet(*greeting)

        reply = hurried.get(origin.url("/"))

        assert reply.status in (502, 504)
        assert (reply.header("Ghostfleet-Error") or "").partition(" ")[0] in ("-2", "-3", "-4", "-404")

    def test_where_the_address_is_private(self, tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin) -> None:
        settings = {"proxy.resolve": {"inner.example": ADDRESS}}
        with ProxyProcess(tmp_path / "home", proxy_redis.url, settings, private=False) as strict:
            replies = [
                strict.get(f"http://{name}:{origin.port}/")
                for name in (ADDRESS, "inner.example", "localhost", "[::1]", "0x7f.61", "169.254.169.254")
            ]
            with strict.connect() as client:
                client.send(f"CONNECT {origin.authority} HTTP/1.1\r\n\r\n".encode())
                client.read_reply("CONNECT")
                replies.append(client.ask(b"GET / HTTP/1.1\r\n\r\n"))

        assert {(reply.status, reply.header("Ghostfleet-Error")) for reply in replies} == {(403, "-5001 private")}
        assert origin.connections == 0


class TestLimits:
    @pytest.mark.parametrize(
        ("name", "steps", "reason"),
        [
            ("silent", (Send(OK + b"Content-Length: 999\r\n\r\n" + page(b"silent")), Wait(FOREVER)), "time"),
            ("drip", (Drip(OK + b"Content-Length: 999\r\n\r\n" + page(b"drip"), 0.01),), "time"),
            ("endless", (Drip(OK + b"\r\n" + page(b"endless", 900), 0.01),), "time"),
            ("large", (Send(response(page(b"large", 3_000_000))),), "length"),
            ("large-chunks", (Send(OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(bytes(3_000_000))),), "length"),
            ("chunk-size", (Send(OK + b"Transfer-Encoding: chunked\r\n\r\n5"), Close()), "disconnect"),
            ("no-chunks", (Send(OK + b"Transfer-Encoding: chunked\r\n\r\n<p>\n" + page(b"n")), Close()), "disconnect"),
        ],
    )
    def test_what_is_cut_is_kept_and_flagged_and_visibly_broken(
        self, hurried: ProxyProcess, origin: RawOrigin, name: str, steps: tuple[Step, ...], reason: str
    ) -> None:
        origin.script(f"/{name}", *steps)

        reply = hurried.get(origin.url(f"/{name}"))

        assert (reply.status, reply.whole) == (200, False)
        # A client that can't read the chunks gives up before the proxy does.
        (record,) = until(lambda: hurried.records().of(origin.url(f"/{name}"), "response"), what="the record")
        assert record.field("WARC-Truncated") == reason
        assert reply.body in record.block
        whole = b"".join(step.data for step in steps if isinstance(step, Send | Drip))
        assert whole.startswith(record.block)
        assert len(record.block) < 2_000_000

    def test_a_slow_upload_is_not_a_silent_origin(self, hurried: ProxyProcess, origin: RawOrigin) -> None:
        """Each piece comes within the time for a first byte, all together take longer."""
        origin.script("/slow-upload", Send(response(b"all here")))
        with hurried.connect() as client:
            client.send(f"PUT {origin.url('/slow-upload')} HTTP/1.1\r\nContent-Length: 4\r\n\r\n".encode())
            for _ in range(4):
                threading.Event().wait(0.2)
                client.send(b"x")

            assert client.read_reply().body == b"all here"

    def test_an_upload_that_stops_is_given_up(self, hurried: ProxyProcess) -> None:
        with HandOrigin() as origin, hurried.connect() as client:
            client.send(f"PUT http://{origin.authority}/stops HTTP/1.1\r\nContent-Length: 6\r\n\r\nx".encode())

            assert client.read_reply().header("Ghostfleet-Error") == "-4 timeout"

    def test_a_page_of_two_gigabytes_need_not_fit_in_memory(self, hurried: ProxyProcess, origin: RawOrigin) -> None:
        """In small: what is beyond `spool_bytes` waits on disk, and is kept to the byte."""
        body = page(b"spooled", 900_000)
        origin.script("/spooled", Send(response(body)))

        assert hurried.get(origin.url("/spooled")).body == body
        assert hurried.kept(origin.url("/spooled")).block == response(body)
        assert list((hurried.home / "spool").iterdir()) == []

    def test_leaves_an_orphan_that_is_fetched_for_a_while(self, hurried: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/orphan", Drip(response(page(b"orphan", 900)), 0.01))
        with hurried.connect() as client:
            client.send(request("plain", origin.url("/orphan")))
            client.read_some(60)
            client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        record = until(lambda: hurried.records().of(origin.url("/orphan"), "response"), what="the record")[0]
        assert record.field("WARC-Truncated") == "time"
