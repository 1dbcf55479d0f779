"""Requests of one client connection: read strictly and answered in order."""

from __future__ import annotations

import os
import socket
import threading

import pytest
from support.clients.raw_client import BrokenOff
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import request


class TestManyRequests:
    def test_one_after_the_other_use_one_connection_on_either_side(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        with proxy.connect() as client:
            bodies = [client.ask(request("plain", origin.url(f"/ka/{n}"))).body for n in range(3)]

        assert bodies == [page(b"/ka/%d" % n) for n in range(3)]
        assert [visit.connection for visit in origin.visits] == [1, 1, 1]

    def test_a_hundred_at_once_are_answered_in_order_and_each_is_kept_once(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        urls = [origin.url(f"/pipe/{n}") for n in range(100)]
        with proxy.connect() as client:
            client.send(b"".join(request("plain", url) for url in urls))
            bodies = [client.read_reply().body for _ in urls]

        assert bodies == [page(b"/pipe/%d" % n) for n in range(100)]
        kept = [record.url for record in proxy.records().kinds("response") if "/pipe/" in record.url]
        assert kept == urls

    def test_of_all_kinds_at_once_are_told_apart(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        body = os.urandom(300_000)
        chunks = b"%x;x=1\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        with proxy.connect() as client:
            client.send(
                b"\r\n"
                + request("plain", origin.url("/mixed/1"), method="POST", body=body)
                + b"GET /status HTTP/1.1\r\n\r\n"
                + request("plain", origin.url("/mixed/2"), "Transfer-Encoding: chunked", method="PUT")
                + chunks
                + request("plain", origin.url("/mixed/3"), method="HEAD")
                + request("plain", origin.url("/mixed/4"))
            )
            replies = [client.read_reply(method) for method in ("POST", "GET", "PUT", "HEAD", "GET")]

        assert [reply.status for reply in replies] == [200] * 5
        assert b"warcprox" in replies[1].body
        assert replies[4].body == page(b"/mixed/4")
        assert origin.received("/mixed/1").endswith(b"\r\n\r\n" + body)
        assert origin.received("/mixed/2").endswith(b"\r\n\r\n" + chunks)

    @pytest.mark.parametrize("line", ["Connection: close", "Proxy-Connection: close"])
    def test_the_last_one_closes_the_connection(self, proxy: ProxyProcess, origin: RawOrigin, line: str) -> None:
        with proxy.connect() as client:
            reply = client.ask(request("plain", origin.url("/last"), line))

            assert reply.header("Connection") == "close"
            assert client.is_closed_by_proxy()


class TestRefusals:
    @pytest.mark.parametrize(
        ("lines", "body"),
        [
            pytest.param("Content-Length: 5\r\nTransfer-Encoding: chunked", b"0\r\n\r\n", id="TE and CL"),
            pytest.param("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", b"0\r\n\r\n", id="two TE"),
            pytest.param("Transfer-Encoding : chunked", b"0\r\n\r\n", id="space before the colon"),
            pytest.param("Content-Length: 5\r\nContent-Length: 50", b"hello", id="two CL"),
            pytest.param("Content-Length: 5, 5", b"hello", id="CL list"),
            pytest.param("Content-Length: +5", b"hello", id="CL with a sign"),
            pytest.param("X: a\rContent-Length: 50", b"", id="CR in a value"),
            pytest.param("X: a\x00b", b"", id="NUL in a value"),
            pytest.param("X: a\nContent-Length: 50", b"", id="bare LF"),
            pytest.param(" X: a", b"", id="folded"),
        ],
    )
    def test_what_has_two_readings_is_refused_and_nothing_of_it_is_sent_on(
        self, proxy: ProxyProcess, origin: RawOrigin, lines: str, body: bytes
    ) -> None:
        smuggled = request("plain", origin.url("/smuggled"))
        head = f"POST {origin.url('/bad')} HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n".encode("latin-1")
        with proxy.connect() as client:
            client.send(head + body + smuggled)

            reply = client.read_reply()
            assert reply.status == 400
            assert reply.header("Ghostfleet-Error") == "0 bad-request"
            assert client.is_closed_by_proxy()
        assert proxy.get(origin.url("/good")).status == 200
        assert [visit.path for visit in origin.visits] == ["/good"]

    def test_a_head_without_end_is_refused(self, proxy: ProxyProcess) -> None:
        with proxy.connect() as client:
            client.send(b"GET http://x/ HTTP/1.1\r\n" + b"X: " + b"y" * (4_194_304 + 100))

            assert client.read_reply().status == 431

    def test_a_body_hidden_from_the_origin_is_still_a_body(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        """`Connection: content-length` would otherwise make the body a request of its own."""
        hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"

        reply = proxy.exchange(
            request("plain", origin.url("/outer"), "Connection: content-length", method="POST", body=hidden)
        )

        assert reply.status == 200
        assert origin.received("/outer").endswith(hidden)
        assert [visit.path for visit in origin.visits] == ["/outer"]

    @pytest.mark.parametrize("target", ["ftp://example.org/", "example.org:443", "*", "http://example.org:99999/"])
    def test_what_is_no_target_is_refused(self, proxy: ProxyProcess, target: str) -> None:
        assert proxy.exchange(f"GET {target} HTTP/1.1\r\n\r\n".encode()).status == 400


class TestOwnPages:
    @pytest.mark.parametrize(
        ("path", "kind", "words"),
        [
            ("/status", "application/json", b'"role": "warcprox"'),
            ("/metrics", "text/plain; version=0.0.4; charset=utf-8", b"ghostfleet_exchanges_total"),
            ("/ca.pem", "application/x-pem-file", b"BEGIN CERTIFICATE"),
            ("/leaf.spki", "text/plain; charset=utf-8", b"=\n"),
            ("/", "text/plain; charset=utf-8", b"ghostfleet recording proxy"),
            ("/status?x=1", "application/json", b"urls_processed"),
        ],
    )
    def test_are_answered_on_the_main_port(self, proxy: ProxyProcess, path: str, kind: str, words: bytes) -> None:
        with proxy.connect() as client:
            whole = client.ask(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            head = client.ask(f"HEAD {path} HTTP/1.1\r\n\r\n".encode())

        assert (whole.status, whole.header("Content-Type")) == (200, kind)
        assert words in whole.body
        assert (head.status, head.body) == (200, b"")

    @pytest.mark.parametrize(
        ("raw", "status"),
        [
            (b"GET /nothing HTTP/1.1\r\n\r\n", 404),
            (b"POST /status HTTP/1.1\r\n\r\n", 405),
            (b"GET /status HTTP/1.1\r\nContent-Length: 20\r\n\r\nGET /ca.pem HTTP/1.1", 400),
        ],
    )
    def test_that_are_none_are_refused(self, proxy: ProxyProcess, raw: bytes, status: int) -> None:
        with proxy.connect() as client:
            assert client.ask(raw).status == status
            assert client.is_closed_by_proxy()


def test_a_client_that_says_no_more_still_gets_its_answer(proxy: ProxyProcess, origin: RawOrigin) -> None:
    go = threading.Event()
    origin.script("/half-closed", Wait(go), Send(response(b"for you")))
    with proxy.connect() as client:
        client.send(request("plain", origin.url("/half-closed")))
        client.stream.shutdown(socket.SHUT_WR)
        until(lambda: origin.asked("/half-closed"), what="the request to reach the origin")
        go.set()

        assert client.read_reply().body == b"for you"
        assert client.is_closed_by_proxy()


@pytest.mark.parametrize(
    ("head", "asks"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", (), id="events"),
        pytest.param(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="),
            id="websocket",
        ),
    ],
)
@pytest.mark.parametrize("is_early", [True, False])
def test_what_has_no_end_of_its_own_ends_with_what_its_client_says(
    proxy: ProxyProcess, origin: RawOrigin, head: bytes, asks: tuple[str, ...], is_early: bool
) -> None:
    """Also when the client was done before anybody knew that there would be no end. The origin stays silent."""
    gone, never = threading.Event(), threading.Event()
    origin.script("/endless", *((Wait(gone), Send(head)) if is_early else (Send(head),)), Wait(never))
    with proxy.connect() as client:
        client.send(request("plain", origin.url("/endless"), *asks))
        until(lambda: origin.asked("/endless"), what="the request to reach the origin")
        if not is_early:
            client.read_some(10)
        client.stream.shutdown(socket.SHUT_WR)
        assert proxy.get(origin.url("/after")).status == 200, "so the FIN has been seen"
        gone.set()
        until(lambda: proxy.status()["active_requests"] == 0, what="the origin's connection to be let go")
    never.set()

    assert proxy.awaited(origin.url("/endless"), "response").block == head


def test_half_a_request_is_nothing(proxy: ProxyProcess, origin: RawOrigin) -> None:
    with proxy.connect() as client:
        client.send(f"GET {origin.url('/half')} HTTP/1.1\r\nHost: x".encode())
        client.stream.shutdown(socket.SHUT_WR)

        with pytest.raises(BrokenOff):
            client.read_reply()
    assert origin.visits == []
