"""One exchange with an origin to its end: whatever its form, on whichever connection, with or without its client."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import pytest
from support.clients.raw_client import Client, Reply
from support.origins.hand_origin import HandOrigin
from support.origins.odd_responses import OK, chunked, page
from support.origins.raw_origin import Close, RawOrigin, Send, Step, Wait, response, server_tls
from support.origins.raw_origin import certificate_authority as another_authority
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.running_proxy import credentials, request
from support.stores.redis_server import RedisServer

FOREVER = threading.Event()
"""Set only when the module's tests are over."""


class TestForms:
    def test_an_old_client_gets_chunks_as_a_plain_body(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        sent = OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"first ", b"second", trailers=b"X-Sum: 1\r\n")
        origin.script("/old", Send(sent))
        with proxy.connect() as client:
            client.send(f"GET {origin.url('/old')} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode())
            said = client.read_some(10_000)

        assert said == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfirst second"
        assert proxy.kept(origin.url("/old")).block == sent

    def test_an_old_client_keeps_its_connection_where_a_length_is_known(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        origin.script("/old-length", Send(response(page(b"old-length"))))
        ask = f"GET {origin.url('/old-length')} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode()
        with proxy.connect() as client:
            replies = [client.ask(ask) for _ in range(2)]

        assert [reply.body for reply in replies] == [page(b"old-length")] * 2
        assert {reply.header("Connection") for reply in replies} == {"keep-alive"}

    @pytest.mark.parametrize("second", [b", %d", b"\r\nContent-Length: %d"])
    def test_a_client_finds_the_end_where_the_proxy_finds_it(
        self, proxy: ProxyProcess, origin: RawOrigin, second: bytes
    ) -> None:
        """The origin chose the client's next response when the client went by a length that the proxy ignored."""
        body = b"abc" + response(b"planted" + second)
        lengths = b"Content-Length: 00000000000000000003" + second % len(body)
        origin.script("/lengths", Send(OK + lengths + b"\r\n\r\n" + body))
        origin.script("/next", Send(response(page(b"next" + second))))
        with proxy.connect() as client:
            replies = [client.ask(request("plain", origin.url(path))) for path in ("/lengths", "/next")]

        assert [reply.body for reply in replies] == [body, page(b"next" + second)]

    @pytest.mark.parametrize(
        ("sent", "stays"),
        [
            (response(b"planted", status=b"205 Reset Content"), False),
            (b"HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"planted"), False),
            (response(b"", status=b"205 Reset Content"), True),
        ],
    )
    def test_behind_a_205_with_a_body_the_clients_connection_ends(
        self, proxy: ProxyProcess, origin: RawOrigin, sent: bytes, stays: bool
    ) -> None:
        """Browsers take the body for their next response."""
        origin.script("/reset", Send(sent))
        with proxy.connect() as client:
            reply = client.ask(request("plain", origin.url("/reset")))
            if stays:
                assert client.ask(request("plain", origin.url("/stays"))).body == page(b"/stays")
            else:
                assert client.is_closed_by_proxy()

        assert (reply.status, reply.whole) == (205, True)
        assert reply.header("Connection") == (None if stays else "close")

    def test_a_body_that_ends_by_close_comes_in_chunks_and_the_connection_stays(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        sent = b"HTTP/1.0 200 OK\r\n\r\n" + page(b"by-close")
        origin.script("/by-close", Send(sent), Close())
        origin.script("/next", Send(response(page(b"next"))))
        with proxy.connect() as client:
            reply = client.ask(request("plain", origin.url("/by-close")))
            assert client.ask(request("plain", origin.url("/next"))).body == page(b"next")

        assert reply.header("Transfer-Encoding") == "chunked"
        assert (reply.body, reply.whole) == (page(b"by-close"), True)
        assert proxy.kept(origin.url("/by-close")).block == sent
        assert proxy.kept(origin.url("/by-close")).field("WARC-Truncated") is None

    @pytest.mark.parametrize(
        ("method", "sent", "connections"),
        [
            ("HEAD", OK + b"Content-Length: 1000\r\n\r\n", 2),
            ("HEAD", OK + b"Transfer-Encoding: chunked\r\n\r\n", 2),
            ("HEAD", OK + b"X: short\r\n\r\n", 1),
            ("HEAD", OK + b"Content-Length: 0\r\n\r\n", 1),
            ("GET", b"HTTP/1.1 204 No Content\r\nX: 204\r\n\r\n", 1),
            ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n", 2),
            ("GET", b"HTTP/1.1 304 Not Modified\r\nX: plain\r\n\r\n", 1),
        ],
    )
    def test_behind_a_response_without_body_the_origins_connection_is_used_again_unless_it_spoke_of_one(
        self, proxy: ProxyProcess, origin: RawOrigin, method: str, sent: bytes, connections: int
    ) -> None:
        origin.script("/bodiless", Send(sent))
        origin.script("/after", Send(response(page(b"after" + method.encode() + sent))))
        with proxy.connect() as client:
            client.ask(request("plain", origin.url("/bodiless"), method=method))
            assert client.ask(request("plain", origin.url("/after"))).status == 200

        assert proxy.kept(origin.url("/bodiless")).block == sent
        assert origin.connections == connections

    @pytest.mark.parametrize(
        ("method", "status"), [("HEAD", b"200 OK"), ("GET", b"304 Not Modified"), ("GET", b"204 No Content")]
    )
    def test_a_body_that_must_not_be_there_and_comes_late_is_no_later_response(
        self, proxy: ProxyProcess, origin: RawOrigin, method: str, status: bytes
    ) -> None:
        planted = response(b"planted")
        late = threading.Event()

        def bodiless(_: bytes) -> tuple[Step, ...]:
            return (
                Send(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(planted))),
                Wait(late),
                Send(planted),
            )

        origin.answer("/late", bodiless)
        origin.script("/mine", Send(response(page(b"mine" + method.encode() + status))))
        with proxy.connect() as client:
            client.ask(request("plain", origin.url("/late"), method=method))
            client.send(request("plain", origin.url("/mine")))
            late.set()
            assert client.read_reply().body == page(b"mine" + method.encode() + status)

    def test_an_untrusted_certificate_is_flagged_and_the_page_kept(self, proxy: ProxyProcess) -> None:
        stranger = server_tls(another_authority(), ADDRESS)
        with RawOrigin(ADDRESS, tls=stranger) as origin:
            origin.script("/self-signed", Send(response(page(b"self-signed"))))

            assert proxy.get(origin.url("/self-signed"), route="absolute").status == 200

            record = proxy.kept(origin.url("/self-signed"))
            assert "certificate" in (record.field("WARC-TLS-Verification") or "")
            assert record.field("WARC-Cipher-Suite")


class TestConnections:
    def test_that_died_while_kept_are_replaced_without_the_client_noticing(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        seen: list[bytes] = []

        def dies_when_used_again(asked: bytes) -> tuple[Step, ...]:
            seen.append(asked)
            return (Close(),) if len(seen) == 2 else (Send(response(page(b"%d" % len(seen)))),)

        origin.answer("/dies", dies_when_used_again)

        replies = [proxy.get(origin.url("/dies")) for _ in range(2)]

        assert [reply.status for reply in replies] == [200, 200]
        assert [visit.connection for visit in origin.visits] == [1, 1, 2]

    @pytest.mark.parametrize(("method", "connections"), [("GET", [1, 1, 2]), ("POST", [1, 2])])
    def test_that_were_waited_for_may_have_been_used_before(
        self,
        tmp_path: Path,
        proxy_redis: RedisServer,
        origin: RawOrigin,
        method: str,
        connections: list[int],
    ) -> None:
        """A healthy site's page was lost when the site closed the connection just then."""
        waited = threading.Event()
        first = (Wait(waited), Send(response(page(b"first"))))
        visits = origin.visits
        origin.answer("/", lambda _: first if len(visits) == 1 else (Close(),) if visits[-1].connection == 1 else ANEW)
        with (
            ProxyProcess(tmp_path / "home", proxy_redis.url, {"proxy.connections_per_host": 1}) as proxy,
            proxy.connect() as one,
            proxy.connect() as other,
        ):
            one.send(request("plain", origin.url("/")))
            until(lambda: origin.visits, what="the first request")
            other.send(request("plain", origin.url("/"), method=method, body=b"x" if method == "POST" else b""))
            until(lambda: proxy.status()["active_requests"] == 2, what="the second request")
            waited.set()
            replies = [one.read_reply(), other.read_reply()]

        assert [reply.body for reply in replies] == [page(b"first"), page(b"anew")]
        assert [visit.connection for visit in origin.visits] == connections

    def test_are_not_used_again_for_what_may_not_be_sent_twice(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/once", Send(response(page(b"once"))))
        proxy.get(origin.url("/once"))

        proxy.exchange(request("plain", origin.url("/once"), method="POST", body=b"x"))

        assert [visit.connection for visit in origin.visits] == [1, 2]

    def test_whose_state_is_doubtful_are_not_used_again(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        body = page(b"odd")
        origin.script("/odd", Send(OK + b"Content-Length: %d\r\n" % len(body) * 2 + b"\r\n" + body))
        origin.script("/behind", Send(response(page(b"behind")) + b"HTTP/1.1 200 OK\r\n\r\nnot yours"))

        for path in ("/odd", "/behind", "/odd"):
            assert proxy.get(origin.url(path)).status == 200

        assert [visit.connection for visit in origin.visits] == [1, 2, 3]

    def test_of_one_client_are_used_by_the_next(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        secure_origin.script("/shared", Send(response(page(b"shared"))))

        for _ in range(3):
            assert proxy.get(secure_origin.url("/shared"), route="absolute").status == 200

        assert {visit.connection for visit in secure_origin.visits} == {1}


ANEW = (Send(response(page(b"anew"))),)
WEBSOCKET = ("Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")


SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


class TestOtherProtocols:
    @pytest.mark.parametrize("route", ["plain", "connect"])
    def test_a_websocket_passes_both_ways_and_its_handshake_is_kept(
        self, proxy: ProxyProcess, origin: RawOrigin, secure_origin: RawOrigin, route: str
    ) -> None:
        at = origin if route == "plain" else secure_origin
        more = threading.Event()
        at.script("/ws", Send(SWITCH + b"\x81\x05hello"), Wait(more), Send(b"\x81\x03bye"), Close())
        session = proxy.session(listen=route == "plain")
        client = (
            Client(socket.create_connection((session["host"], session["port"]), 30))
            if route == "plain"
            else proxy.tunnel(at.authority, credentials(session))
        )
        with client:
            client.send(request("plain" if route == "plain" else "connect", at.url("/ws"), *WEBSOCKET))
            assert client.read_some(len(SWITCH) + 7) == SWITCH + b"\x81\x05hello"
            client.send(b"\x81\x80mask")
            more.set()
            assert client.read_some(100) == b"\x81\x03bye"

        report = proxy.control("DELETE", f"/sessions/{session['id']}")
        assert (report["urls"], report["in_flight"]) == (1, 0)
        assert proxy.kept(at.url("/ws")).block == SWITCH
        assert b"Connection: Upgrade\r\nUpgrade: websocket\r\n" in at.received("/ws")

    @pytest.mark.parametrize("protocol", ["h2c", "TLS/1.0", "websocket2"])
    def test_others_are_not_asked_for(self, proxy: ProxyProcess, origin: RawOrigin, protocol: str) -> None:
        """Nothing of them could be recorded."""
        origin.script(f"/{protocol}", Send(response(page(protocol.encode()))))

        proxy.get(origin.url(f"/{protocol}"), f"Upgrade: {protocol}", "Connection: Upgrade", "HTTP2-Settings: AAMA")

        assert b"pgrade" not in origin.received(f"/{protocol}").replace(f"/{protocol}".encode(), b"")


class TestLeaving:
    def test_before_the_end_of_its_request_ends_the_fetch(self, proxy: ProxyProcess) -> None:
        session = proxy.session(listen=True)
        with HandOrigin() as origin:
            url = f"http://{origin.authority}/left"
            with socket.create_connection((session["host"], session["port"]), 30) as stream:
                stream.sendall(f"PUT {url} HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf".encode())
                until(
                    lambda: proxy.control("GET", f"/sessions/{session['id']}")["in_flight"], what="the fetch to begin"
                )
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            report = proxy.control("DELETE", f"/sessions/{session['id']}")

        assert (report["failed"], report["errors"], report["in_flight"]) == (1, {"-5011": 1}, 0)
        assert proxy.records().of(url) == []

    def test_a_stream_of_events_ends_it_there(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        sent = OK + b"Content-Type: text/event-stream\r\n\r\ndata: one\n\n"
        origin.script("/events", Send(sent), Wait(FOREVER))
        with proxy.connect() as client:
            client.send(request("plain", origin.url("/events")))
            client.read_some(60)
            client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        record = proxy.awaited(origin.url("/events"), "response")
        assert (record.block, record.field("WARC-Truncated")) == (sent, "disconnect")


class TestBackPressure:
    def test_a_client_that_does_not_read_holds_the_origin_back(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        body = page(b"slow", 60_000_000)
        origin.script("/unread", Send(response(body)))
        with proxy.connect() as client:
            client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            client.send(request("plain", origin.url("/unread"), credentials(proxy.session(collection="unread"))))
            sizes: list[int] = []

            def is_steady() -> bool:
                sizes.append(sum(map(len, origin.asked("/unread")[-1].pieces)) if origin.asked("/unread") else 0)
                return len(sizes) > 15 and sizes[-1] > 0 and len(set(sizes[-15:])) == 1

            until(is_steady, what="the origin to be held back")
            assert sizes[-1] < len(body) / 2
            reply = client.read_reply()

        assert (len(reply.body), reply.whole) == (len(body), True)

    def test_a_silent_redis_delays_and_loses_nothing(self, tmp_path: Path, origin: RawOrigin) -> None:
        """With room for one exchange in the queue, the others wait before they are fetched."""
        settings = {"proxy.queue_length": 1, "redis.timeout_seconds": 1}
        replies: list[Reply] = []
        with RedisServer(tmp_path) as redis, ProxyProcess(tmp_path / "home", redis.url, settings) as proxy:
            proxy.get(origin.url("/first"))
            redis.pause()
            clients = [proxy.connect() for _ in range(6)]
            for number, client in enumerate(clients):
                client.send(request("plain", origin.url(f"/{number}")))
            replies = [client.read_reply() for client in clients]
            redis.resume()
            for client in clients:
                client.close()
            proxy.stop()

            assert [reply.body for reply in replies] == [page(b"/%d" % number) for number in range(6)]
            assert len(proxy.records().kinds("response")) == 7
