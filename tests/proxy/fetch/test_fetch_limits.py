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
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.running_proxy import credentials, request
from support.stores.redis_server import RedisServer

from archive import crawl_log

FOREVER = threading.Event()
"""Set only when the module's tests are over."""
LENGTH = OK + b"Content-Length: 999\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module", autouse=True)
def _end_of_the_module() -> Iterator[None]:
    yield
    FOREVER.set()


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """A process that takes no large bodies, and has the default times."""
    settings = {
        "proxy.max_body_bytes": 1_000_000,
        "proxy.spool_bytes": 20_000,
        "proxy.max_head_bytes": 20_000,
        "proxy.resolve": {"*.example": ADDRESS},
    }
    with ProxyProcess(tmp_path_factory.mktemp("sized") / "home", proxy_redis.url, settings) as running:
        yield running


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """A process that bears no pause within a response, and no response that takes long."""
    settings = {"proxy.idle_seconds": 0.6, "proxy.total_seconds": 5}
    with ProxyProcess(tmp_path_factory.mktemp("idle") / "home", proxy_redis.url, settings) as running:
        yield running


@pytest.fixture(scope="module")
def unheard(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """A process that does not wait long for the first byte of a response."""
    settings = {"proxy.first_byte_seconds": 0.6}
    with ProxyProcess(tmp_path_factory.mktemp("unheard") / "home", proxy_redis.url, settings) as running:
        yield running


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """A process whose limits leave room for a busy machine; only orphans have little time."""
    settings = {"proxy.first_byte_seconds": 4, "proxy.connect_seconds": 4, "proxy.orphan_seconds": 1}
    with ProxyProcess(tmp_path_factory.mktemp("patient") / "home", proxy_redis.url, settings) as running:
        yield running


@pytest.fixture
def limited(request: pytest.FixtureRequest) -> ProxyProcess:
    """The process that is named by the test's parameter."""
    running: ProxyProcess = request.getfixturevalue(request.param)
    return running


class TestEnds:
    @pytest.mark.parametrize(
        ("limited", "steps", "status", "error"),
        [
            pytest.param("unheard", (Wait(FOREVER),), 504, "-4 timeout", id="silence"),
            pytest.param("idle", (Send(OK + b"X: "), Wait(FOREVER)), 504, "-4 timeout", id="silence in the head"),
            pytest.param("idle", (Drip(OK + b"A: b\r\n" * 100, 0.1),), 504, "-4 timeout", id="a head without end"),
            pytest.param("sized", (Close(),), 502, "-404 empty", id="not a byte"),
            pytest.param("sized", (Reset(),), 502, "-3 lost", id="a reset"),
        ],
        indirect=["limited"],
    )
    def test_without_a_response_say_why_and_keep_no_more_than_came(
        self, limited: ProxyProcess, origin: RawOrigin, tmp_path: Path, steps: tuple[Step, ...], status: int, error: str
    ) -> None:
        origin.script("/fails", *steps)
        session = limited.session(job="daily", log_dir=str(tmp_path))

        reply = limited.get(origin.url("/fails"), credentials(session))
        report = limited.control("DELETE", f"/sessions/{session['id']}")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (status, error)
        assert reply.whole
        code = error.partition(" ")[0]
        assert (report["failed"], report["errors"]) == (1, {code: 1})
        kept = {record.kind: record.block for record in limited.records().of(origin.url("/fails"))}
        sent = b"".join(step.data for step in steps if isinstance(step, Send | Drip))
        assert kept.keys() == ({"metadata", "request"} if sent else set())
        assert sent.startswith(kept.get("metadata", b""))
        (line,) = (tmp_path / "crawl.log").read_text().splitlines()
        assert crawl_log.parse(line).code == int(code)

    def test_that_are_no_http_have_one_line_in_the_log(self, sized: ProxyProcess, origin: RawOrigin) -> None:
        """A line has the whole URL, which may be very long."""
        origin.script("/no-http", Send(b"SSH-2.0-hello\r\n"), Wait(FOREVER))

        assert sized.get(origin.url("/no-http")).header("Ghostfleet-Error") == "-3 bad-response"

        (line,) = [line for line in sized.log.read_text().splitlines() if origin.url("/no-http") in line]
        assert "bad status line" in line

    def test_where_nobody_listens(self, sized: ProxyProcess) -> None:
        with socket.create_server((ADDRESS, 0)) as free:
            port = free.getsockname()[1]

        reply = sized.get(f"http://{ADDRESS}:{port}/")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (502, "-2 refused")

    def test_where_nobody_answers_the_call(self, patient: ProxyProcess) -> None:
        with socket.socket() as deaf, socket.socket() as one, socket.socket() as two:
            deaf.bind((ADDRESS, 0))
            deaf.listen(0)  # room for one: further calls hang
            for caller in (one, two):
                caller.setblocking(False)
                caller.connect_ex(deaf.getsockname())

            reply = patient.get(f"http://{ADDRESS}:{deaf.getsockname()[1]}/")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (504, "-2 connect-timeout")

    def test_where_no_name_leads(self, sized: ProxyProcess) -> None:
        reply = sized.get("http://no-such-name.invalid/")

        assert (reply.status, reply.header("Ghostfleet-Error")) == (502, "-6 dns")

    @pytest.mark.parametrize("greeting", [(Reset(),), (Send(b"SSH-2.0-hello\r\n"), Wait(FOREVER))])
    def test_where_something_else_than_http_is_spoken(
        self, sized: ProxyProcess, origin: RawOrigin, greeting: tuple[Step, ...]
    ) -> None:
        origin.greet(*greeting)

        reply = sized.get(origin.url("/"))

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
        ("limited", "name", "steps", "reason"),
        [
            ("idle", "silent", (Send(LENGTH + page(b"silent")), Wait(FOREVER)), "time"),
            ("idle", "drip", (Send(LENGTH), Drip(page(b"drip", 900), 0.01), Close()), "time"),
            ("idle", "endless", (Send(OK + b"\r\n"), Drip(page(b"endless", 900), 0.01), Close()), "time"),
            ("sized", "large", (Send(response(page(b"large", 3_000_000))),), "length"),
            ("sized", "large-chunks", (Send(CHUNKED + chunked(bytes(3_000_000))),), "length"),
            ("sized", "chunk-size", (Send(CHUNKED + b"5"), Close()), "disconnect"),
            ("sized", "no-chunks", (Send(CHUNKED + b"<p>\n" + page(b"n")), Close()), "disconnect"),
        ],
        indirect=["limited"],
    )
    def test_what_is_cut_is_kept_and_flagged_and_visibly_broken(
        self, limited: ProxyProcess, origin: RawOrigin, name: str, steps: tuple[Step, ...], reason: str
    ) -> None:
        origin.script(f"/{name}", *steps)

        reply = limited.get(origin.url(f"/{name}"))

        assert (reply.status, reply.whole) == (200, False)
        # A client that can't read the chunks gives up before the proxy does.
        record = limited.awaited(origin.url(f"/{name}"), "response")
        assert record.field("WARC-Truncated") == reason
        assert reply.body in record.block
        whole = b"".join(step.data for step in steps if isinstance(step, Send | Drip))
        assert whole.startswith(record.block)
        assert len(record.block) < 2_000_000

    def test_a_slow_upload_is_not_a_silent_origin(self, patient: ProxyProcess, origin: RawOrigin) -> None:
        """Each piece comes within the time for a first byte, all together take longer."""
        origin.script("/slow-upload", Send(response(b"all here")))
        with patient.connect() as client:
            client.send(f"PUT {origin.url('/slow-upload')} HTTP/1.1\r\nContent-Length: 5\r\n\r\n".encode())
            for _ in range(5):
                threading.Event().wait(1.0)
                client.send(b"x")

            assert client.read_reply().body == b"all here"

    def test_an_upload_that_stops_is_given_up(self, unheard: ProxyProcess) -> None:
        with HandOrigin() as origin, unheard.connect() as client:
            client.send(f"PUT http://{origin.authority}/stops HTTP/1.1\r\nContent-Length: 6\r\n\r\nx".encode())

            assert client.read_reply().header("Ghostfleet-Error") == "-4 timeout"

    def test_a_page_of_two_gigabytes_need_not_fit_in_memory(self, sized: ProxyProcess, origin: RawOrigin) -> None:
        """In small: what is beyond `spool_bytes` waits on disk, and is kept to the byte."""
        body = page(b"spooled", 900_000)
        origin.script("/spooled", Send(response(body)))

        assert sized.get(origin.url("/spooled")).body == body
        assert sized.kept(origin.url("/spooled")).block == response(body)
        assert list((sized.home / "spool").iterdir()) == []

    def test_leaves_an_orphan_that_is_fetched_for_a_while(self, patient: ProxyProcess, origin: RawOrigin) -> None:
        whole = response(page(b"orphan", 900))
        origin.script("/orphan", Send(whole[:60]), Drip(whole[60:], 0.01))
        with patient.connect() as client:
            client.send(request("plain", origin.url("/orphan")))
            client.read_some(60)
            client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        assert patient.awaited(origin.url("/orphan"), "response").field("WARC-Truncated") == "time"
