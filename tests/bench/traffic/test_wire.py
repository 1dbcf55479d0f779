"""The load's reading of answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from support.origins.raw_origin import Close, RawOrigin, Send, response

from bench.traffic.wire import ClosedIdle, LoadError, Reply, WireReader, dechunk

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nmoss\r\n3;x=y\r\n ok\r\n0\r\n\r\n"

type Ask = Callable[..., Sequence[Reply]]


@pytest.fixture
def ask() -> Ask:
    async def exchange(port: int, requests: int) -> list[Reply]:
        _, wire = await asyncio.get_running_loop().create_connection(WireReader, "127.0.1.41", port)
        try:
            return [await wire.ask(REQUEST) for _ in range(requests)]
        finally:
            wire.transport.abort()

    def run(*steps: Send | Close, requests: int = 1) -> Sequence[Reply]:
        with RawOrigin("127.0.1.41") as origin:
            origin.script("/", *steps)
            return asyncio.run(exchange(origin.port, requests))

    return run


def test_a_length_frames_the_body_and_the_connection_stays(ask: Ask) -> None:
    replies = ask(Send(response(b"moss")), requests=3)

    assert [(reply.status, reply.body, reply.stays) for reply in replies] == [(200, b"moss", True)] * 3


def test_chunks_frame_the_body(ask: Ask) -> None:
    assert ask(Send(CHUNKED)) == [Reply(200, b"moss ok", True)]


def test_the_end_of_the_connection_frames_the_body(ask: Ask) -> None:
    assert ask(Send(b"HTTP/1.1 200 OK\r\n\r\nmoss"), Close()) == [Reply(200, b"moss", False)]


def test_connection_close_ends_the_connection(ask: Ask) -> None:
    (reply,) = ask(Send(response(b"moss", b"Connection: close")))

    assert not reply.stays


def test_a_body_that_breaks_off_is_an_error(ask: Ask) -> None:
    with pytest.raises(LoadError, match="closed-early"):
        ask(Send(response(b"moss")[:-1]), Close())


def test_a_closed_idle_connection_has_its_own_error(ask: Ask) -> None:
    with pytest.raises(ClosedIdle):
        ask(Close())


def test_a_malformed_chunk_is_an_error() -> None:
    with pytest.raises(LoadError, match="bad-chunk"):
        dechunk(b"moss\r\n0\r\n\r\n")
