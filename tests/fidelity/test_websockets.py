"""What is said over a WebSocket passes unchanged and without delay, and is kept beside the handshake."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.archive.warc_reader import Stored
from support.clients.websocket import BINARY, BYE, CLOSE, HANDSHAKE, PING, TEXT, Packer, SocketOrigin, frame
from support.origins.raw_origin import certificate_authority, server_tls
from support.processes.memory import peak_bytes
from support.processes.waiting import until
from support.proxy.running_proxy import ROUTES, Route, RunningProxy, request

ADDRESS = "127.0.1.71"
MASK = b"\x0a\xf1\x02\x77"
GOODBYE = frame(CLOSE, BYE, mask=MASK)
SEGMENT, LARGEST = 1_000_000, 12_000_000


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    authority = certificate_authority()
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return server_tls(authority, ADDRESS), path


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, tls: tuple[ssl.SSLContext, Path]) -> Iterator[RunningProxy]:
    settings = {
        "proxy.upstream_ca": tls[1],
        "proxy.websocket_segment_bytes": SEGMENT,
        "proxy.websocket_max_bytes": LARGEST,
    }
    with RunningProxy(tmp_path_factory.mktemp("websockets") / "home", settings) as running:
        yield running


def opening(route: Route, url: str) -> bytes:
    """The handshake's request."""
    return request(route, url, *HANDSHAKE)


def lines(records: list[Stored]) -> list[dict[str, Any]]:
    """The messages of a conversation in order, without the time of each."""
    found = [json.loads(line) for record in records for line in record.block.splitlines()]
    times = [line.pop("ts") for line in found]
    assert times == sorted(times)
    return found


def conversation(proxy: RunningProxy, url: str) -> list[Stored]:
    """The records of what was said, once they are there."""
    return until(
        lambda: (
            (found := proxy.records(growing=True).of(url, "resource")) and b'"type":"end"' in found[-1].block and found
        ),
        what=f"the messages of {url}",
    )


@pytest.mark.parametrize("route", ROUTES)
def test_both_sides_are_kept_and_nothing_is_changed(
    proxy: RunningProxy, tls: tuple[ssl.SSLContext, Path], route: Route
) -> None:
    words = (frame(TEXT, "møss".encode()), frame(PING, b"?"), frame(BINARY, b"\x00\xff", fin=False), frame(0, b"\x01"))
    said = frame(TEXT, b"hello", mask=MASK) + frame(BINARY, b"\x07", mask=MASK)
    with SocketOrigin(ADDRESS, *words, tls=None if route == "plain" else tls[0]) as origin:
        url = origin.url("/chat?room=1")
        with proxy.open(route, origin.authority) as client:
            assert client.ask(opening(route, url)).status == 101
            assert client.read_some(len(b"".join(words))) == b"".join(words)
            client.send(said + GOODBYE)
            assert client.read_some(4) == frame(CLOSE, BYE)
            assert client.is_closed_by_proxy()
        assert origin.heard == said + GOODBYE

    (record,) = conversation(proxy, url)
    assert lines([record]) == [
        {"type": "receive", "opcode": 1, "mask": False, "payloadData": "møss"},
        {"type": "receive", "opcode": 9, "mask": False, "payloadData": "Pw=="},
        {"type": "receive", "opcode": 2, "mask": False, "payloadData": "AP8B", "fragments": 2},
        {"type": "send", "opcode": 1, "mask": True, "payloadData": "hello"},
        {"type": "send", "opcode": 2, "mask": True, "payloadData": "Bw=="},
        {"type": "send", "opcode": 8, "mask": True, "payloadData": "A+g="},
        {"type": "receive", "opcode": 8, "mask": False, "payloadData": "A+g="},
        {"type": "end", "reason": "closed"},
    ]
    (handshake,) = proxy.records().of(url, "response")
    assert handshake.block == origin.answer
    assert record.field("WARC-Concurrent-To") == handshake.id
    assert record.field("WARC-Resource-Type") == handshake.field("WARC-Resource-Type") == "websocket"
    assert record.field("Content-Type") == "application/jsonl"
    assert record.field("WARC-Truncated") is None


@pytest.mark.parametrize("route", ROUTES)
def test_whoever_sees_the_close_frame_finds_all_before_it_in_the_archive(
    proxy: RunningProxy, tls: tuple[ssl.SSLContext, Path], route: Route
) -> None:
    words = [frame(TEXT, b"%d" % number) for number in range(100)]
    with SocketOrigin(ADDRESS, *words, tls=None if route == "plain" else tls[0]) as origin:
        url = origin.url("/end")
        with proxy.open(route, origin.authority) as client:
            assert client.ask(opening(route, url)).status == 101
            client.send(GOODBYE)
            assert client.read_some(len(b"".join(words)) + 4).endswith(frame(CLOSE, BYE))
            records = proxy.records(growing=True)

    assert len(records.of(url, "response")) == 1
    texts = [line["payloadData"] for line in lines(records.of(url, "resource")) if line.get("opcode") == TEXT]
    assert texts == [str(number) for number in range(100)]


def test_compressed_messages_are_relayed_packed_and_kept_unpacked(proxy: RunningProxy) -> None:
    packer, other = Packer(), Packer(forgets=True)
    words = [frame(TEXT, packer.packed(b"fern " * 100), rsv1=True) for _ in range(3)]
    said = frame(TEXT, other.packed(b"moss"), mask=MASK, rsv1=True)
    agreed = "permessage-deflate; client_no_context_takeover"
    with SocketOrigin(ADDRESS, *words, extensions=agreed) as origin, proxy.connect() as client:
        url = origin.url("/packed")
        assert client.ask(opening("plain", url)).status == 101
        assert client.read_some(len(b"".join(words))) == b"".join(words)
        client.send(said + said + GOODBYE)
        assert client.read_some(4) == frame(CLOSE, BYE)

    texts = [(line["type"], line["payloadData"]) for line in lines(conversation(proxy, url)) if line.get("opcode") == 1]
    assert texts == [("receive", "fern " * 100)] * 3 + [("send", "moss")] * 2


def test_fifty_thousand_messages_take_no_memory(proxy: RunningProxy) -> None:
    count, text = 50_000, b"a message of forty bytes or thereabouts."
    words = [frame(TEXT, text) * 1000] * (count // 1000)
    before = peak_bytes(proxy.pids())
    with SocketOrigin(ADDRESS, *words) as origin, proxy.connect() as client:
        url = origin.url("/many")
        assert client.ask(opening("plain", url)).status == 101
        assert len(client.read_some(len(words[0]) * len(words))) == len(words[0]) * len(words)
        client.send(GOODBYE)
        assert client.read_some(4) == frame(CLOSE, BYE)
    records = conversation(proxy, url)

    assert len(records) > 3
    assert all(SEGMENT <= len(record.block) < SEGMENT + 1000 for record in records[:-1])
    assert sum(line.get("opcode") == 1 for line in lines(records)) == count
    assert len({record.field("WARC-Concurrent-To") for record in records}) == 1
    assert peak_bytes(proxy.pids()) - before < 40_000_000


def test_beyond_the_limit_it_is_relayed_and_not_kept(proxy: RunningProxy) -> None:
    words = [frame(BINARY, bytes(500_000))] * 30
    with SocketOrigin(ADDRESS, *words) as origin, proxy.connect() as client:
        url = origin.url("/large")
        assert client.ask(opening("plain", url)).status == 101
        assert client.read_some(len(words[0]) * 30) == b"".join(words)
        client.send(GOODBYE)
        assert client.read_some(4) == frame(CLOSE, BYE)
    records = conversation(proxy, url)

    assert [record.field("WARC-Truncated") for record in records] == [None] * (len(records) - 1) + ["length"]
    assert LARGEST <= sum(len(record.block) for record in records) < LARGEST + SEGMENT
    assert lines(records)[-1] == {"type": "end", "reason": "length"}


def test_a_conversation_that_breaks_off_says_so(proxy: RunningProxy) -> None:
    with SocketOrigin(ADDRESS, frame(TEXT, b"once")) as origin:
        url = origin.url("/broken")
        with proxy.connect() as client:
            assert client.ask(opening("plain", url)).status == 101
            assert client.read_some(6) == frame(TEXT, b"once")
        (record,) = conversation(proxy, url)

    assert record.field("WARC-Truncated") == "disconnect"
    assert [line.get("payloadData") for line in lines([record])] == ["once", None]
    assert lines([record])[-1] == {"type": "end", "reason": "disconnect"}


def test_what_are_no_frames_is_relayed_all_the_same(proxy: RunningProxy) -> None:
    with SocketOrigin(ADDRESS, b"\xf1not a frame", frame(TEXT, b"late")) as origin, proxy.connect() as client:
        url = origin.url("/odd")
        assert client.ask(opening("plain", url)).status == 101
        assert client.read_some(18) == b"\xf1not a frame" + frame(TEXT, b"late")
        client.send(frame(TEXT, b"\xff\xfe", mask=MASK) + GOODBYE)
        assert client.read_some(4) == frame(CLOSE, BYE)

    first, second, *_ = lines(conversation(proxy, url))
    assert first == {"type": "receive", "error": "reserved bits 0x70 in a frame of opcode 1"}
    assert base64.b64decode(second["payloadData"]) == b"\xff\xfe"
    assert second["base64"] is True


def test_the_session_counts_its_sockets_and_messages(proxy: RunningProxy) -> None:
    session = proxy.control("POST", "/sessions", {"collection": "counted", "listen": True})
    with SocketOrigin(ADDRESS, frame(TEXT, b"1"), frame(TEXT, b"2")) as origin:
        with proxy.connect((session["host"], session["port"])) as client:
            assert client.ask(opening("plain", origin.url("/"))).status == 101
            client.read_some(6)
            client.send(GOODBYE)
            client.read_some(4)
        report = proxy.control("DELETE", f"/sessions/{session['id']}")

    assert (report["websockets"], report["messages"], report["in_flight"]) == (1, 4, 0)
    assert proxy.records("counted").of(origin.url("/"), "resource"), "the session closed before it was kept"


def test_a_conversation_that_is_not_to_be_archived_goes_on_all_the_same(proxy: RunningProxy) -> None:
    wish = {"collection": "unkept", "prefix": "-", "listen": True}
    session = proxy.control("POST", "/sessions", wish)
    with SocketOrigin(ADDRESS, frame(TEXT, b"1")) as origin:
        with proxy.connect((session["host"], session["port"])) as client:
            assert client.ask(opening("plain", origin.url("/"))).status == 101
            assert client.read_some(3) == frame(TEXT, b"1")
            until(lambda: proxy.control("GET", f"/sessions/{session['id']}")["unkept"], what="the handshake's answer")
            client.send(GOODBYE)
            assert client.read_some(4) == frame(CLOSE, BYE)
        report = proxy.control("DELETE", f"/sessions/{session['id']}")

    assert (report["websockets"], report["failed"], report["in_flight"]) == (1, 0, 0)
    assert not proxy.folder("unkept").exists()


def test_secrets_of_the_address_are_in_none_of_its_records(proxy: RunningProxy) -> None:
    wish = {"collection": "redacted", "redact_fields": ["pin"], "listen": True}
    session = proxy.control("POST", "/sessions", wish)
    with SocketOrigin(ADDRESS, frame(TEXT, b"1")) as origin:
        with proxy.connect((session["host"], session["port"])) as client:
            assert client.ask(opening("plain", origin.url("/?pin=hush-hush"))).status == 101
            client.send(GOODBYE)
            client.read_some(7)
        proxy.control("DELETE", f"/sessions/{session['id']}")

    records = proxy.records("redacted").kinds("response", "request", "resource")
    assert len(records) == 3
    assert [record for record in records if "hush-hush" in record.url or b"hush-hush" in record.block] == []
