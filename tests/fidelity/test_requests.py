"""What clients send: recorded as it reached the origin, refused when it has two readings, in step when pipelined."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.origins.odd_responses import chunked, page
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.running_proxy import RunningProxy, request

ADDRESS = "127.0.1.37"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("requests") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda asked: (Send(response(page(asked.split(b" ", 2)[1]))),))
        yield running


def test_a_chunked_upload_is_passed_on_and_recorded(proxy: RunningProxy, origin: RawOrigin) -> None:
    upload = chunked(b"moss" * 1000, b"fern" * 50_000)
    head = request("plain", origin.url("/upload"), "Transfer-Encoding: chunked", method="PUT")

    assert proxy.exchange(head + upload).status == 200

    (record,) = proxy.records().of(origin.url("/upload"), "request")
    assert record.block == origin.received("/upload")
    assert record.block.endswith(b"\r\n\r\n" + upload)


def test_a_large_upload_is_recorded_whole(proxy: RunningProxy, origin: RawOrigin) -> None:
    body = page(b"large", 3_000_000)

    assert proxy.exchange(request("plain", origin.url("/large"), method="POST", body=body)).status == 200

    (record,) = proxy.records().of(origin.url("/large"), "request")
    assert record.block.partition(b"\r\n\r\n")[2] == body


def test_a_client_that_waits_for_leave_to_send_gets_it(proxy: RunningProxy, origin: RawOrigin) -> None:
    """Expect: 100-continue, whoever answers it."""
    whole = request("plain", origin.url("/expect"), "Expect: 100-continue", method="POST", body=b"a=1")
    with proxy.connect() as client:
        client.send(whole[:-3])
        origin.answer("/expect", lambda _: (Send(response(page(b"expected"))),))
        client.send(whole[-3:])
        reply = client.read_reply("POST")

    assert (reply.status, reply.body) == (200, page(b"expected"))
    assert origin.received("/expect").endswith(b"\r\n\r\na=1")


AMBIGUOUS = {
    "two framings": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n",
    "a length list": b"Content-Length: 5, 5\r\n",
    "a signed length": b"Content-Length: +5\r\n",
    "a negative length": b"Content-Length: -5\r\n",
    "chunked twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "a coding behind chunked": b"Transfer-Encoding: chunked, identity\r\n",
    "an unknown coding": b"Transfer-Encoding: xchunked\r\n",
    "space before the colon": b"Transfer-Encoding : chunked\r\n",
    "a folded line": b"X-A: 1\r\n Transfer-Encoding: chunked\r\n",
    "a NUL": b"X-A: 1\x002\r\n",
    "a lone CR": b"X-A: 1\rTransfer-Encoding: chunked\r\n",
    "a line without colon": b"what is this\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_request_with_two_readings_is_refused(proxy: RunningProxy, name: str) -> None:
    with RawOrigin("127.0.1.39") as origin, proxy.connect() as client:
        head = f"POST {origin.url('/two')} HTTP/1.1\r\nHost: {origin.authority}\r\n".encode()
        reply = client.ask(head + AMBIGUOUS[name] + b"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n")
        assert client.is_closed_by_proxy()

    assert reply.status == 400
    assert origin.connections == 0


@pytest.mark.parametrize("size", [b"0x5", b"+5", b"5_0", b" 5", b"", b"-1"])
def test_a_chunk_size_with_two_readings_is_refused(proxy: RunningProxy, origin: RawOrigin, size: bytes) -> None:
    head = request("plain", origin.url("/chunk"), "Transfer-Encoding: chunked", method="POST")
    with proxy.connect() as client:
        reply = client.ask(head + size + b"\r\nmossy\r\n0\r\n\r\n")

    assert reply.status == 400
    assert origin.asked("/smuggled") == []


def test_pipelined_requests_are_answered_in_order_and_recorded_once(proxy: RunningProxy, origin: RawOrigin) -> None:
    urls = [origin.url(f"/pipe/{number}") for number in range(50)]
    with proxy.connect() as client:
        client.send(b"".join(request("plain", url) for url in urls))
        bodies = [client.read_reply().body for _ in urls]

    assert bodies == [page(f"/pipe/{number}".encode()) for number in range(50)]
    assert [len(proxy.records().of(url, "response")) for url in urls] == [1] * 50


BAD_LINES = {
    "no target": b"GET HTTP/1.1\r\n\r\n",
    "port 0": b"GET http://127.0.1.37:0/ HTTP/1.1\r\n\r\n",
    "port 99999": b"GET http://127.0.1.37:99999/ HTTP/1.1\r\n\r\n",
    "port in words": b"GET http://127.0.1.37:moss/ HTTP/1.1\r\n\r\n",
    "no host": b"GET http:///path HTTP/1.1\r\n\r\n",
    "another scheme": b"GET gopher://127.0.1.37/ HTTP/1.1\r\n\r\n",
    "a file": b"GET file:///etc/passwd HTTP/1.1\r\n\r\n",
    "another protocol": b"GET http://127.0.1.37/ SPDY/3\r\n\r\n",
    "a space in the target": b"GET http://127.0.1.37/a b HTTP/1.1\r\n\r\n",
    "TLS on the plain port": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "CONNECT without a port": b"CONNECT 127.0.1.37 HTTP/1.1\r\n\r\n",
    "CONNECT to a URL": b"CONNECT http://127.0.1.37:80/ HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_what_is_no_request_gets_400(proxy: RunningProxy, name: str) -> None:
    with proxy.connect() as client:
        reply = client.ask(BAD_LINES[name])

        assert reply.status == 400
        assert client.is_closed_by_proxy()


def test_the_target_decides_and_not_the_host_header(proxy: RunningProxy, origin: RawOrigin) -> None:
    line = f"GET {origin.url('/target')} HTTP/1.1\r\n".encode()
    for host in (b"", b"Host: elsewhere.test\r\n"):
        assert proxy.exchange(line + host + b"\r\n").status == 200
        assert f"\r\nHost: {origin.authority}\r\n".encode() in origin.received("/target")

    assert len(proxy.records().of(origin.url("/target"), "response", "revisit")) == 2


@pytest.mark.parametrize(
    "path", ["/%00", "/a%2Fb", "/a%20b?c=%C3%A4&d", "/a//b/../c", "/a;b=c?d?e", "/" + "m" * 60_000]
)
def test_the_recorded_url_is_the_one_asked_for(proxy: RunningProxy, origin: RawOrigin, path: str) -> None:
    assert proxy.get(origin.url(path)).status == 200

    assert origin.asked(path), "the origin was asked for something else"
    assert len(proxy.records().of(origin.url(path), "response")) == 1


def test_a_raw_protocol_in_a_tunnel_goes_nowhere(proxy: RunningProxy) -> None:
    """A proxy that passes anything after CONNECT is a way into every service of its network."""
    with RawOrigin("127.0.1.40") as origin, proxy.connect() as client:
        client.send(f"CONNECT {origin.authority} HTTP/1.1\r\n\r\n".encode())
        assert client.read_some(12) == b"HTTP/1.1 200"
        client.send(b"PING\r\n\r\n")
        rest = client.read_some(10_000)

    assert b"PONG" not in rest
    assert origin.connections == 0
