"""Requests of one client connection: read strictly, answered in order, their bodies passed on as they come."""

from __future__ import annotations

import os
import socket
import ssl
import threading

import pytest
from odd_responses import page
from origin import RawOrigin, Send, Wait, response
from proxy_process import ADDRESS, ProxyProcess
from proxying import request
from rawclient import BrokenOff, Client
from waiting import until


def pages(origin: RawOrigin) -> None:
    """Every path answers with a page of its own."""
    origin.otherwise(lambda asked: (Send(response(page(asked.split(b" ", 2)[1]))),))


class Accepted:
    """An origin driven by hand: one connection, read from when the test says so."""

    def __init__(self) -> None:
        self._listener = socket.create_server((ADDRESS, 0))
        self.authority = f"{ADDRESS}:{self._listener.getsockname()[1]}"
        self._listener.settimeout(30)
        self._buffer = b""

    def __enter__(self) -> Accepted:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        if hasattr(self, "stream"):
            self.stream.close()

    def accept(self) -> None:
        self.stream, _ = self._listener.accept()
        self.stream.settimeout(30)

    def read_until(self, end: bytes) -> bytes:
        """Everything up to and with these bytes."""
        while end not in self._buffer:
            piece = self.stream.recv(1 << 20)
            assert piece, f"the proxy closed the connection after {self._buffer[-100:]!r}"
            self._buffer += piece
        found, _, self._buffer = self._buffer.partition(end)
        return found + end

    def count_until(self, end: bytes) -> int:
        """How many bytes come up to and with these."""
        count, tail = len(self._buffer), self._buffer
        while not tail.endswith(end):
            piece = self.stream.recv(1 << 20)
            assert piece, f"the proxy closed the connection after {count} bytes"
            count += len(piece)
            tail = (tail + piece)[-len(end) :]
        return count

    def send(self, data: bytes) -> None:
        self.stream.sendall(data)


class TestManyRequests:
    def test_one_after_the_other_use_one_connection_on_either_side(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        pages(origin)
        with proxy.connect() as client:
            bodies = [client.ask(request("plain", origin.url(f"/ka/{n}"))).body for n in range(3)]

        assert bodies == [page(b"/ka/%d" % n) for n in range(3)]
        assert [visit.connection for visit in origin.visits] == [1, 1, 1]

    def test_a_hundred_at_once_are_answered_in_order_and_each_is_kept_once(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        pages(origin)
        urls = [origin.url(f"/pipe/{n}") for n in range(100)]
        with proxy.connect() as client:
            client.send(b"".join(request("plain", url) for url in urls))
            bodies = [client.read_reply().body for _ in urls]

        assert bodies == [page(b"/pipe/%d" % n) for n in range(100)]
        kept = [record.url for record in proxy.records().kinds("response") if "/pipe/" in record.url]
        assert kept == urls

    def test_of_all_kinds_at_once_are_told_apart(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        pages(origin)
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
        pages(origin)
        with proxy.connect() as client:
            reply = client.ask(request("plain", origin.url("/last"), line))

            assert reply.header("Connection") == "close"
            assert client.is_closed_by_proxy()


class TestBodies:
    @pytest.mark.parametrize("kind", ["length", "chunked"])
    def test_reach_origin_and_record_to_the_byte(self, proxy: ProxyProcess, origin: RawOrigin, kind: str) -> None:
        pages(origin)
        url, body = origin.url(f"/body/{kind}"), os.urandom(700_000)  # more than is kept in memory
        if kind == "length":
            sent = request("plain", url, method="POST", body=body)
        else:
            sent = request("plain", url, "Transfer-Encoding: chunked", method="POST")
            sent += b"a8000;x=1\r\n%b\r\n2e60\r\n%b\r\n0\r\n\r\n" % (body[:688_128], body[688_128:])

        assert proxy.exchange(sent).status == 200

        received = origin.received(f"/body/{kind}")
        assert received.partition(b"\r\n\r\n")[2] == sent.partition(b"\r\n\r\n")[2]
        (record,) = proxy.records().of(url, "request")
        assert record.block == received

    def test_are_passed_on_before_they_are_whole(self, proxy: ProxyProcess) -> None:
        with Accepted() as origin, proxy.connect() as client:
            client.send(f"PUT http://{origin.authority}/up HTTP/1.1\r\nContent-Length: 10\r\n\r\nfirst".encode())
            origin.accept()
            assert origin.read_until(b"first").endswith(b"\r\n\r\nfirst")

            client.send(b"final")
            assert origin.read_until(b"final") == b"final"
            origin.send(response(b"thank you"))
            assert client.read_reply().body == b"thank you"

    def test_in_chunks_may_have_trailers(self, proxy: ProxyProcess) -> None:
        chunks = b"5;x=1\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
        with Accepted() as origin, proxy.connect() as client:
            client.send(f"PUT http://{origin.authority}/t HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            client.send(chunks)
            origin.accept()
            assert origin.read_until(b"X-Sum: 1\r\n\r\n").endswith(b"\r\n\r\n" + chunks)
            origin.send(response(b"thank you"))
            assert client.read_reply().body == b"thank you"

    def test_wait_for_the_origins_100_when_the_client_asks_to(self, proxy: ProxyProcess) -> None:
        with Accepted() as origin, proxy.connect() as client:
            url = f"http://{origin.authority}/expect"
            client.send(f"PUT {url} HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n".encode())
            origin.accept()
            assert b"Expect: 100-continue\r\n" in origin.read_until(b"\r\n\r\n")

            origin.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            assert client.read_some(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.send(b"hello")
            origin.read_until(b"hello")
            origin.send(response(b"taken"))
            assert client.read_reply().body == b"taken"

        (record,) = proxy.records().of(url, "response")
        assert record.block == response(b"taken")

    def test_of_a_client_faster_than_its_origin_wait_at_the_client(self, proxy: ProxyProcess) -> None:
        size, sent = 60_000_000, [0]

        def upload(client: Client) -> None:
            piece = bytes(100_000)
            while sent[0] < size:
                client.send(piece)
                sent[0] += len(piece)
            client.send(b"the end")

        with Accepted() as origin, proxy.connect() as client:
            head = f"PUT http://{origin.authority}/big HTTP/1.1\r\nContent-Length: {size + 7}\r\n\r\n"
            client.send(head.encode())
            origin.accept()
            sender = threading.Thread(target=upload, args=(client,))
            sender.start()
            seen: list[int] = []

            def is_steady() -> bool:
                seen.append(sent[0])
                return len(seen) > 15 and len(set(seen[-15:])) == 1

            until(is_steady, what="the upload to stop for the origin's sake")
            assert 0 < sent[0] < size / 2
            origin.read_until(b"\r\n\r\n")
            assert origin.count_until(b"the end") == size + 7
            origin.send(response(b"all here"))
            assert client.read_reply().body == b"all here"
            sender.join()

    def test_that_break_are_refused(self, proxy: ProxyProcess) -> None:
        with Accepted() as origin, proxy.connect() as client:
            client.send(f"PUT http://{origin.authority}/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n".encode())
            origin.accept()
            client.send(b"hello\r\n0x5\r\nworld\r\n0\r\n\r\n")

            reply = client.read_reply()
            assert reply.status == 400
            assert "bad chunk size" in reply.body.decode()
            assert client.is_closed_by_proxy()

    def test_an_answer_that_comes_before_the_end_of_the_request_is_delivered_and_kept(
        self, proxy: ProxyProcess
    ) -> None:
        with Accepted() as origin, proxy.connect() as client:
            url = f"http://{origin.authority}/early"
            client.send(f"PUT {url} HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n".encode() + bytes(1_000_000))
            origin.accept()
            origin.read_until(b"\r\n\r\n")
            origin.send(response(b"too large", status=b"413 Content Too Large"))

            reply = client.read_reply()
            assert (reply.status, reply.body, reply.header("Connection")) == (413, b"too large", "close")
            with proxy.connect() as other:
                assert other.ask(b"GET /status HTTP/1.1\r\n\r\n").status == 200

        (record,) = proxy.records().of(url, "response")
        assert record.block == response(b"too large", status=b"413 Content Too Large")

    def test_that_break_after_the_answer_has_begun_break_the_answer(self, proxy: ProxyProcess) -> None:
        """Nothing of ours may stand within the origin's body."""
        with Accepted() as origin, proxy.connect() as client:
            client.send(f"PUT http://{origin.authority}/z HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            origin.accept()
            origin.read_until(b"\r\n\r\n")
            origin.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it")
            begun = client.read_some(
                len(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nhalf of it")
            )
            assert begun.endswith(b"half of it")
            client.send(b"no size\r\n")

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
        pages(origin)
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
        pages(origin)
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


class TestTunnels:
    def test_carry_many_requests(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        pages(secure_origin)
        with proxy.tunnel(secure_origin.authority) as client:
            client.send(b"".join(request("connect", secure_origin.url(f"/t/{n}")) for n in range(20)))
            bodies = [client.read_reply().body for _ in range(20)]

        assert bodies == [page(b"/t/%d" % n) for n in range(20)]
        (record, *_) = proxy.records().of(secure_origin.url("/t/0"), "response")
        protocols = [value for name, value in record.fields if name == "WARC-Protocol"]
        assert protocols == ["http/1.1", "tls/1.3"]
        assert record.field("WARC-TLS-Verification") is None

    def test_carry_bodies_both_ways(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        body = os.urandom(2_000_000)
        secure_origin.script("/both", Send(response(body)))
        with proxy.tunnel(secure_origin.authority) as client:
            reply = client.ask(request("connect", secure_origin.url("/both"), method="POST", body=body))

        assert reply.body == body
        assert secure_origin.received("/both").endswith(body)

    def test_without_tls_carry_plain_http(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        pages(origin)
        with proxy.connect() as client:
            client.send(f"CONNECT {origin.authority} HTTP/1.1\r\n\r\n".encode())
            assert client.read_reply("CONNECT").status == 200

            assert client.ask(request("connect", origin.url("/plain"))).body == page(b"/plain")
        assert len(proxy.records().of(origin.url("/plain"), "response")) == 1

    def test_carry_nothing_that_is_no_http(self, proxy: ProxyProcess) -> None:
        with Accepted() as origin, proxy.connect() as client:
            client.send(f"CONNECT {origin.authority} HTTP/1.1\r\n\r\n".encode())
            assert client.read_reply("CONNECT").status == 200
            client.send(b"PING\r\n\r\n")

            assert client.read_reply().status == 400
            assert client.is_closed_by_proxy()
            origin._listener.settimeout(0)
            with pytest.raises(BlockingIOError):
                origin.accept()

    def test_lead_nowhere_from_within_a_tunnel(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        with proxy.tunnel(secure_origin.authority) as client:
            assert client.ask(b"CONNECT elsewhere.example:443 HTTP/1.1\r\n\r\n").status == 400
        assert secure_origin.visits == []

    @pytest.mark.parametrize("target", ["", "host:0", "host:99999", "a b:443", "a..b:443", "host:x", "host"])
    def test_need_an_authority(self, proxy: ProxyProcess, target: str) -> None:
        with proxy.connect() as client:
            assert client.ask(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode()).status == 400

    def test_show_a_certificate_for_the_name_asked_for(self, proxy: ProxyProcess) -> None:
        with socket.create_connection(proxy.address, 30) as stream:
            stream.sendall(b"CONNECT www.example.org:443 HTTP/1.1\r\n\r\n")
            assert stream.recv(1000).startswith(b"HTTP/1.1 200 ")
            with proxy.trusting().wrap_socket(stream, server_hostname="www.example.org") as tls:
                certificate = tls.getpeercert()

        assert certificate is not None
        assert ("DNS", "www.example.org") in certificate["subjectAltName"]

    def test_break_when_the_client_trusts_nobody(self, proxy: ProxyProcess) -> None:
        with socket.create_connection(proxy.address, 30) as stream:
            stream.sendall(b"CONNECT www.example.org:443 HTTP/1.1\r\n\r\n")
            stream.recv(1000)
            with pytest.raises(ssl.SSLCertVerificationError):
                ssl.create_default_context().wrap_socket(stream, server_hostname="www.example.org")
        assert proxy.get("http://127.0.1.62:1/").status == 502


class TestOwnPages:
    @pytest.mark.parametrize(
        ("path", "kind", "words"),
        [
            ("/status", "application/json", b'"role": "warcprox"'),
            ("/metrics", "text/plain; version=0.0.4; charset=utf-8", b"ghostfleet_exchanges_total"),
            ("/ca.pem", "application/x-pem-file", b"BEGIN CERTIFICATE"),
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


def test_half_a_request_is_nothing(proxy: ProxyProcess, origin: RawOrigin) -> None:
    with proxy.connect() as client:
        client.send(f"GET {origin.url('/half')} HTTP/1.1\r\nHost: x".encode())
        client.stream.shutdown(socket.SHUT_WR)

        with pytest.raises(BrokenOff):
            client.read_reply()
    assert origin.visits == []
