"""Origins that speak HTTP/2: many exchanges on one connection, recorded as HTTP/1.1 says it, none in another's way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trustme
from h2origin import H2Origin, Stream
from memory import peak_bytes
from odd_responses import page
from oracles import warcio_payload
from origin import RawOrigin, Send, response, server_tls
from proxy_process import ProxyProcess
from proxying import crawl_session, request
from redis_server import RedisServer
from waiting import until

H2_ADDRESS = "127.0.1.62"
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def h2_proxy(
    tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer, origin_ca: Path
) -> Iterator[ProxyProcess]:
    home = tmp_path_factory.mktemp("h2-origins") / "home"
    settings = {"proxy.http2_origins": True, "proxy.upstream_ca": str(origin_ca), "proxy.idle_seconds": 20}
    with ProxyProcess(home, proxy_redis.url, settings) as running:
        yield running


@pytest.fixture
def h2_origin(authority: trustme.CA) -> Iterator[H2Origin]:
    with H2Origin(H2_ADDRESS, server_tls(authority, H2_ADDRESS)) as running:
        yield running


def test_the_record_is_the_messages_as_http_1_1_says_them(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    async def answer(stream: Stream) -> None:
        await stream.head(103, ("link", "</a.css>; rel=preload"))
        await stream.head(404, ("content-type", "text/plain"), ("x-odd", ""), ("set-cookie", "a"), ("set-cookie", "b"))
        await stream.data(b"not ")
        await stream.data(b"here", end=True)

    h2_origin.answer("/h2?q=1", answer)
    reply = h2_proxy.get(h2_origin.url("/h2?q=1"), "X-Two: 2", "Connection: x-two", "Cookie: c=1", route="absolute")

    assert (reply.status, reply.body, reply.whole) == (404, b"not here", True)
    kept, asked = h2_proxy.records().of(h2_origin.url("/h2?q=1"))
    head = b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\nx-odd: \r\nset-cookie: a\r\nset-cookie: b\r\n\r\n"
    assert kept.block == head + b"not here"
    assert [value for name, value in kept.fields if name == "WARC-Protocol"] == ["h2", "tls/1.3"]
    assert kept.field("WARC-Truncated") is None
    lines = asked.block.decode().split("\r\n")
    assert lines == ["GET /h2?q=1 HTTP/1.1", f"Host: {h2_origin.authority}", "Cookie: c=1", "", ""]
    (stream,) = h2_origin.asked("/h2?q=1")
    assert stream.headers == [
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/h2?q=1"),
        (":authority", h2_origin.authority),
        ("cookie", "c=1"),
    ]


def test_exchanges_share_one_connection_and_do_not_wait_for_each_other(
    h2_proxy: ProxyProcess, h2_origin: H2Origin
) -> None:
    going = threading.Event()

    async def late(stream: Stream) -> None:
        await stream.until(going)
        await stream.head(200)
        await stream.data(b"late", end=True)

    h2_origin.answer("/late", late)
    with ThreadPoolExecutor(20) as threads:
        last = threads.submit(h2_proxy.get, h2_origin.url("/late"), route="absolute")
        replies = list(threads.map(lambda n: h2_proxy.get(h2_origin.url(f"/{n}"), route="absolute"), range(40)))
        going.set()

    assert [reply.body for reply in replies] == [f"<p>/{n}</p>".encode() for n in range(40)]
    assert last.result().body == b"late"
    assert h2_origin.connections == 1
    assert h2_origin.spoken == ["h2"]


@pytest.mark.parametrize("coding", ["length", "chunked"])
def test_a_request_body_is_sent_as_frames_and_recorded_as_it_came(
    h2_proxy: ProxyProcess, h2_origin: H2Origin, coding: str
) -> None:
    async def echo(stream: Stream) -> None:
        await stream.ended.wait()
        await stream.head(200)
        await stream.data(stream.body, end=True)

    path, body = f"/post/{coding}", page(coding.encode(), 400_000)
    h2_origin.answer(path, echo)
    with h2_proxy.connect() as client:
        if coding == "length":
            sent = request("absolute", h2_origin.url(path), method="POST", body=body)
        else:
            head = request("absolute", h2_origin.url(path), "Transfer-Encoding: chunked", method="POST")
            sent = head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        reply = client.ask(sent)

    assert (reply.status, reply.body) == (200, body)
    (stream,) = h2_origin.asked(path)
    assert stream.header("transfer-encoding") is None
    (asked,) = h2_proxy.records().of(h2_origin.url(path), "request")
    assert asked.block.partition(b"\r\n\r\n")[2] == sent.partition(b"\r\n\r\n")[2]


TRAILERS = (("x-sum", "1"), ("server-timing", 'db;dur=2;desc="50%"'))
AS_FIELDS = ["x-sum: 1", 'server-timing: db;dur=2;desc="50%25"']


@pytest.mark.parametrize(
    ("name", "method", "headers", "body"),
    [
        ("no-length", "GET", (), b"frames of no known length"),
        ("length", "GET", (("content-length", "22"),), b"frames of a known sort"),
        ("announced-length", "GET", (("content-length", "9"), ("trailer", "x-sum")), b"announced"),
        ("empty", "GET", (("content-length", "0"),), b""),
        ("head", "HEAD", (("content-length", "9"),), b""),
    ],
)
def test_trailers_are_in_the_records_header(
    h2_proxy: ProxyProcess,
    h2_origin: H2Origin,
    name: str,
    method: str,
    headers: tuple[tuple[str, str], ...],
    body: bytes,
) -> None:
    async def answer(stream: Stream) -> None:
        await stream.head(200, *headers)
        await stream.data(body[:4])
        await stream.data(body[4:])
        await stream.trailers(*TRAILERS)

    url = h2_origin.url(f"/trailers/{name}")
    h2_origin.answer(f"/trailers/{name}", answer)
    first, again = (h2_proxy.get(url, route="absolute", method=method) for _ in range(2))

    assert [(reply.body, reply.whole) for reply in (first, again)] == [(body, True)] * 2
    kept = h2_proxy.records().of(url)
    for record in kept:
        said = [value for field, value in record.fields if field == "WARC-HTTP-Trailer"]
        assert said == ([] if record.kind == "request" else AS_FIELDS)
    assert kept[0].block.endswith(b"\r\n\r\n" + body)
    assert kept[0].field("WARC-Truncated") is None
    assert warcio_payload(kept[0].path, kept[0].offset) == body


def test_trailers_that_are_announced_are_in_the_block_as_well(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    async def answer(stream: Stream) -> None:
        await stream.head(200, ("trailer", "x-sum"))
        await stream.data(b"announced frames, kept in chunks")
        await stream.trailers(*TRAILERS)

    h2_origin.answer("/announced", answer)
    replies = [h2_proxy.get(h2_origin.url("/announced"), route="absolute") for _ in range(2)]

    assert [(reply.body, reply.whole) for reply in replies] == [(b"announced frames, kept in chunks", True)] * 2
    kept, _, revisit, _ = h2_proxy.records().of(h2_origin.url("/announced"))
    assert b"\r\ntransfer-encoding: chunked\r\n\r\n20\r\nannounced frames, kept in chunks\r\n0\r\n" in kept.block
    assert kept.block.endswith(b'\r\n0\r\nx-sum: 1\r\nserver-timing: db;dur=2;desc="50%"\r\n\r\n')
    assert revisit.kind == "revisit"
    for record in (kept, revisit):
        assert [value for name, value in record.fields if name == "WARC-HTTP-Trailer"] == AS_FIELDS


def test_too_many_trailers_are_cut_and_the_log_says_so(
    h2_proxy: ProxyProcess, h2_origin: H2Origin, tmp_path: Path
) -> None:
    async def answer(stream: Stream) -> None:
        await stream.head(200)
        await stream.data(b"a body")
        await stream.trailers(*((f"x-{number}", "y" * 5000) for number in range(5)))

    h2_origin.answer("/many", answer)
    with crawl_session(h2_proxy, tmp_path / "log") as credentials:
        reply = h2_proxy.get(h2_origin.url("/many"), credentials, route="absolute")
    record = h2_proxy.awaited(h2_origin.url("/many"), "response")

    assert reply.whole
    assert len([name for name, _ in record.fields if name == "WARC-HTTP-Trailer"]) == 3
    until(lambda: "trailers:cut:2" in (tmp_path / "log" / "crawl.log").read_text(), what="a line that says so")


def test_a_body_that_is_all_there_does_not_wait_for_a_stream_that_never_ends(
    h2_proxy: ProxyProcess, h2_origin: H2Origin
) -> None:
    never = threading.Event()

    async def answer(stream: Stream) -> None:
        await stream.head(200, ("content-length", "7"))
        await stream.data(b"all")
        await stream.data(b" of it")
        await stream.until(never)
        await stream.trailers(*TRAILERS)

    async def given_up(stream: Stream) -> None:
        await stream.head(200, ("content-length", "10"))
        await stream.data(b"all of it!")
        await stream.give_up(0)

    for path, how in (("/never", answer), ("/given-up", given_up)):
        h2_origin.answer(path, how)
        reply = h2_proxy.get(h2_origin.url(path), route="absolute")
        record = h2_proxy.awaited(h2_origin.url(path), "response")

        assert reply.whole
        assert record.block.endswith(b"\r\n\r\n" + reply.body)
        assert record.field("WARC-Truncated") is None
    never.set()
    assert h2_proxy.get(h2_origin.url("/after-never"), route="absolute").status == 200


def test_trailers_of_a_request_are_sent_and_recorded(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    async def taken(stream: Stream) -> None:
        await stream.ended.wait()
        await stream.head(200)
        await stream.data(b"taken", end=True)

    h2_origin.answer("/sum", taken)
    head = request("absolute", h2_origin.url("/sum"), "Transfer-Encoding: chunked", method="POST")
    with h2_proxy.connect() as client:
        reply = client.ask(head + b"4\r\nbody\r\n0\r\nX-Sum: 1\r\nTE: gzip\r\n\r\n")

    assert reply.body == b"taken"
    (stream,) = h2_origin.asked("/sum")
    assert (stream.body, stream.behind) == (b"body", [("x-sum", "1")])
    (asked,) = h2_proxy.records().of(h2_origin.url("/sum"), "request")
    assert asked.block.endswith(b"\r\n0\r\nX-Sum: 1\r\nTE: gzip\r\n\r\n")


def test_what_is_cut_short_says_so(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    async def reset(stream: Stream) -> None:
        await stream.head(200)
        await stream.data(b"some")
        await stream.give_up(2)

    async def short(stream: Stream) -> None:
        await stream.head(200, ("content-length", "10"))
        await stream.data(b"some", end=True)

    async def gone(stream: Stream) -> None:
        await stream.head(200)
        await stream.data(b"some")
        stream.connection.close()

    for path, answer in (("/reset", reset), ("/short", short), ("/gone", gone)):
        h2_origin.answer(path, answer)
        reply = h2_proxy.get(h2_origin.url(path), route="absolute")
        record = h2_proxy.awaited(h2_origin.url(path), "response")

        assert not reply.whole
        assert record.block.endswith(b"\r\n\r\nsome")
        assert record.field("WARC-Truncated") == "disconnect"
    assert h2_proxy.get(h2_origin.url("/after"), route="absolute").status == 200


def test_heads_alone_and_lengths_that_lie_leave_the_connection_in_step(
    h2_proxy: ProxyProcess, h2_origin: H2Origin
) -> None:
    async def head(stream: Stream) -> None:
        await stream.head(200, ("content-length", "1000"), end=True)

    async def unchanged(stream: Stream) -> None:
        await stream.head(304, ("content-length", "1000"), end=True)

    async def more(stream: Stream) -> None:
        await stream.head(200, ("content-length", "4"))
        await stream.data(b"four and more", end=True)

    async def empty_end(stream: Stream) -> None:
        await stream.head(200, ("content-length", "4"))
        await stream.data(b"four")
        await stream.data(b"", end=True)

    for path, answer in (("/head", head), ("/304", unchanged), ("/more", more), ("/empty", empty_end)):
        h2_origin.answer(path, answer)
    with h2_proxy.connect() as client:
        replies = [
            client.ask(request("absolute", h2_origin.url(path), method=method))
            for path, method in (("/head", "HEAD"), ("/304", "GET"), ("/more", "GET"), ("/empty", "GET"), ("/x", "GET"))
        ]

    assert [(reply.status, reply.body) for reply in replies] == [
        (200, b""), (304, b""), (200, b"four"), (200, b"four"), (200, b"<p>/x</p>"),
    ]  # fmt: skip
    assert h2_origin.connections == 1


def test_a_connection_that_goes_away_finishes_what_it_has(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    going = threading.Event()

    async def last(stream: Stream) -> None:
        await stream.head(200)
        await stream.connection.go_away(last=stream.id)
        await stream.data(b"first ")
        await stream.until(going)
        await stream.data(b"second", end=True)

    h2_origin.answer("/last", last)
    with h2_proxy.connect() as client:
        client.send(request("absolute", h2_origin.url("/last")))
        got = b""
        while not got.endswith(b"first "):
            got += client.read_some(1)
        other = h2_proxy.get(h2_origin.url("/other"), route="absolute")
        going.set()
        while not got.endswith(b"second\r\n0\r\n\r\n"):
            got += client.read_some(1)

    assert other.status == 200
    assert h2_origin.connections == 2
    assert h2_proxy.kept(h2_origin.url("/last")).block.endswith(b"first second")


def test_a_stream_that_is_refused_is_asked_again_elsewhere(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    async def refuse(stream: Stream) -> None:
        if stream.connection.number == 1:
            await stream.connection.go_away(last=1)
        else:
            await stream.head(200)
            await stream.data(b"at last", end=True)

    h2_origin.answer("/refused", refuse)
    h2_proxy.get(h2_origin.url("/first"), route="absolute")

    reply = h2_proxy.get(h2_origin.url("/refused"), route="absolute")

    assert (reply.status, reply.body) == (200, b"at last")
    assert h2_origin.connections == 2


def test_an_origin_with_few_streams_gets_more_connections(h2_proxy: ProxyProcess, authority: trustme.CA) -> None:
    with H2Origin(H2_ADDRESS, server_tls(authority, H2_ADDRESS), most_streams=2) as origin:
        h2_proxy.get(origin.url("/first"), route="absolute")
        with ThreadPoolExecutor(12) as threads:
            replies = list(threads.map(lambda n: h2_proxy.get(origin.url(f"/{n}"), route="absolute"), range(12)))

        assert [reply.status for reply in replies] == [200] * 12


def test_a_slow_client_makes_its_own_stream_wait(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    body = page(b"large", 60 * MEBIBYTE)

    async def large(stream: Stream) -> None:
        await stream.head(200, ("content-length", str(len(body))))
        await stream.data(body, end=True)

    h2_origin.answer("/large", large)
    before = peak_bytes(h2_proxy.ready["pids"])
    with h2_proxy.connect() as client:
        client.send(request("absolute", h2_origin.url("/large")))
        until(lambda: h2_origin.asked("/large") and h2_origin.asked("/large")[0].sent > MEBIBYTE, what="a first part")
        other = h2_proxy.get(h2_origin.url("/other"), route="absolute")
        sent = h2_origin.asked("/large")[0].sent
        reply = client.read_reply()
    after = peak_bytes(h2_proxy.ready["pids"])

    assert other.status == 200
    assert sent < 30 * MEBIBYTE
    assert reply.body == body
    assert after - before < 40 * MEBIBYTE
    assert h2_proxy.kept(h2_origin.url("/large")).block.endswith(body)


def test_an_upload_waits_for_an_origin_that_takes_no_more(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    going = threading.Event()

    async def hesitant(stream: Stream) -> None:
        await stream.until(going)
        stream.connection.wire.acknowledge_received_data(len(stream.body), stream.id)
        stream.connection.hold = False
        await stream.connection.flush()
        await stream.ended.wait()
        await stream.head(200)
        await stream.data(b"%d" % len(stream.body), end=True)

    async def shut(stream: Stream) -> None:
        stream.connection.hold = True
        await stream.head(204, end=True)

    h2_origin.answer("/shut", shut)
    h2_origin.answer("/upload", hesitant)
    h2_proxy.get(h2_origin.url("/shut"), route="absolute")
    body = page(b"up", 5 * MEBIBYTE)
    with h2_proxy.connect() as client, ThreadPoolExecutor(1) as thread:
        asked = thread.submit(client.ask, request("absolute", h2_origin.url("/upload"), method="POST", body=body))
        until(lambda: h2_origin.asked("/upload") and len(h2_origin.asked("/upload")[0].body) > 60_000, what="a part")
        other = h2_proxy.get(h2_origin.url("/other"), route="absolute")
        going.set()
        reply = asked.result()

    assert other.status == 200
    assert (reply.status, reply.body) == (200, b"%d" % len(body))


def test_an_origin_with_http_1_gets_http_1(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    raw = response(page(b"old"))
    secure_origin.script("/old", Send(raw))
    with ThreadPoolExecutor(6) as threads:
        urls = [secure_origin.url("/old"), *(secure_origin.url(f"/old/{n}") for n in range(5))]
        replies = list(threads.map(lambda url: h2_proxy.get(url, route="absolute"), urls))

    assert [reply.status for reply in replies] == [200] * 6
    kept = h2_proxy.kept(secure_origin.url("/old"))
    assert kept.block == raw
    assert kept.field("WARC-Protocol") == "http/1.1"


def test_a_websocket_begins_with_http_1(h2_proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    h2_proxy.get(h2_origin.url("/first"), route="absolute")

    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
    reply = h2_proxy.get(h2_origin.url("/socket"), *upgrade, route="absolute")

    assert reply.body == b"old"
    assert h2_origin.spoken == ["h2", "http/1.1"]


def test_http_2_is_not_offered_unless_it_is_set(proxy: ProxyProcess, h2_origin: H2Origin) -> None:
    assert proxy.get(h2_origin.url("/plain"), route="absolute").body == b"old"
    assert h2_origin.spoken == ["http/1.1"]
