"""What arrives bit by bit is passed on bit by bit: event streams, switched protocols, early answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from support.origins.odd_responses import page
from support.origins.raw_origin import Close, RawOrigin, Send, Step, Wait, response
from support.proxy.running_proxy import RunningProxy, request

ADDRESS = "127.0.1.38"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("streaming") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        yield running


def test_an_event_reaches_the_client_before_the_next_is_sent(proxy: RunningProxy, origin: RawOrigin) -> None:
    seen = [threading.Event() for _ in range(3)]
    events = [b"data: %d\n\n" % number for number in range(3)]
    steps: list[Step] = [Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")]
    for event, gate in zip(events, seen, strict=True):
        steps += [Send(event), Wait(gate)]
    origin.script("/events", *steps, Close())

    received = b""
    with proxy.connect() as client:
        client.send(request("plain", origin.url("/events"), "Connection: close"))
        for event, gate in zip(events, seen, strict=True):
            while event not in received:
                piece = client.read_some(1)
                assert piece, "the stream ended early"
                received += piece
            gate.set()
        client.read_some(1000)

    record = proxy.awaited(origin.url("/events"), "response")
    assert record.block.endswith(b"".join(events))


def test_an_endless_stream_ends_with_its_client_and_is_kept(proxy: RunningProxy, origin: RawOrigin) -> None:
    never = threading.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    origin.script("/endless", Send(head + b"data: 1\n\n"), Wait(never))
    with proxy.connect() as client:
        client.send(request("plain", origin.url("/endless")))
        client.read_some(len(head))

    record = proxy.awaited(origin.url("/endless"), "response")
    never.set()
    assert record.field("WARC-Truncated") == "disconnect"
    assert record.block == head + b"data: 1\n\n"


def test_a_switched_protocol_passes_both_ways(proxy: RunningProxy, origin: RawOrigin) -> None:
    answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    said = b"GET /said HTTP/1.1\r\n\r\n"  # any bytes would do; these the origin understands
    origin.script("/socket", Send(answer))
    origin.script("/said", Send(b"\x81\x04moss"))
    with proxy.connect() as client:
        head = request("plain", origin.url("/socket"), "Connection: Upgrade", "Upgrade: websocket")
        assert client.ask(head).status == 101
        client.send(said)
        assert client.read_some(6) == b"\x81\x04moss"

    assert origin.received("/said") == said
    record = proxy.awaited(origin.url("/socket"), "response")
    assert record.block.startswith(answer)
    assert b"\r\nUpgrade: websocket\r\n" in origin.received("/socket")


def test_a_response_begins_before_its_end_is_there(proxy: RunningProxy, origin: RawOrigin) -> None:
    whole, gate = response(page(b"slow", 200_000)), threading.Event()
    origin.script("/slow", Send(whole[:100_000]), Wait(gate), Send(whole[100_000:]))
    with proxy.connect() as client:
        client.send(request("plain", origin.url("/slow")))
        first = client.read_some(50_000)
        gate.set()
        rest = client.read_some(len(whole) - len(first))

    assert (first + rest).endswith(whole[-50_000:])


def test_the_end_is_held_until_the_record_is_there(proxy: RunningProxy, origin: RawOrigin) -> None:
    """Without waiting for anything: what a client has seen the end of can be read from the disk."""
    for number in range(50):
        url = origin.url(f"/held/{number}")
        origin.script(f"/held/{number}", Send(response(page(b"held %d" % number))))
        assert proxy.get(url).whole
        assert len(proxy.records().of(url, "response")) == 1
