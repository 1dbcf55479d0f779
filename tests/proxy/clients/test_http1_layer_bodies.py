"""Request bodies: passed on as they come, kept to the byte, held back for a slow origin, refused when they break."""

from __future__ import annotations

import os
import threading

import pytest
from support.clients.raw_client import Client
from support.origins.hand_origin import HandOrigin
from support.origins.raw_origin import RawOrigin, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import credentials, request


class TestBodies:
    @pytest.mark.parametrize("kind", ["length", "chunked"])
    def test_reach_origin_and_record_to_the_byte(self, proxy: ProxyProcess, origin: RawOrigin, kind: str) -> None:
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
        with HandOrigin() as origin, proxy.connect() as client:
            client.send(f"PUT http://{origin.authority}/up HTTP/1.1\r\nContent-Length: 10\r\n\r\nfirst".encode())
            origin.accept()
            assert origin.read_until(b"first").endswith(b"\r\n\r\nfirst")

            client.send(b"final")
            assert origin.read_until(b"final") == b"final"
            origin.send(response(b"thank you"))
            assert client.read_reply().body == b"thank you"

    def test_in_chunks_may_have_trailers(self, proxy: ProxyProcess) -> None:
        chunks = b"5;x=1\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
        with HandOrigin() as origin, proxy.connect() as client:
            client.send(f"PUT http://{origin.authority}/t HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            client.send(chunks)
            origin.accept()
            assert origin.read_until(b"X-Sum: 1\r\n\r\n").endswith(b"\r\n\r\n" + chunks)
            origin.send(response(b"thank you"))
            assert client.read_reply().body == b"thank you"

    def test_wait_for_the_origins_100_when_the_client_asks_to(self, proxy: ProxyProcess) -> None:
        with HandOrigin() as origin, proxy.connect() as client:
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

        with HandOrigin() as origin, proxy.connect() as client:
            mine = credentials(proxy.session(collection="big-upload"))
            head = f"PUT http://{origin.authority}/big HTTP/1.1\r\n{mine}\r\nContent-Length: {size + 7}\r\n\r\n"
            client.send(head.encode())
            origin.accept()
            sender = threading.Thread(target=upload, args=(client,))
            sender.start()
            seen: list[int] = []

            def is_steady() -> bool:
                seen.append(sent[0])
                return len(seen) > 15 and seen[-1] > 0 and len(set(seen[-15:])) == 1

            until(is_steady, what="the upload to stop for the origin's sake")
            assert 0 < sent[0] < size / 2
            origin.read_until(b"\r\n\r\n")
            assert origin.count_until(b"the end") == size + 7
            origin.send(response(b"all here"))
            assert client.read_reply().body == b"all here"
            sender.join()

    def test_that_break_are_refused(self, proxy: ProxyProcess) -> None:
        with HandOrigin() as origin, proxy.connect() as client:
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
        with HandOrigin() as origin, proxy.connect() as client:
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
        with HandOrigin() as origin, proxy.connect() as client:
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
