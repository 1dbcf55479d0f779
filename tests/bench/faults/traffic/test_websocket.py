"""The frames and messages of the fault campaign's WebSockets."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import product

import pytest
from support.clients.websocket import frame

from bench.faults.traffic.connection_reader import ConnectionBroken, ConnectionReader
from bench.faults.traffic.conversation import (
    BINARY,
    PING,
    TEXT,
    Conversation,
    ScriptedMessage,
    Side,
)
from bench.faults.traffic.websocket import UnexpectedMessage, encode, exchange_messages, read_message

TARGET = "/some/socket/3"
SIZES = (0, 1, 125, 126, 65_535, 65_536, 70_001)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(30)
        other.settimeout(30)
        yield one, other


@pytest.mark.parametrize("masks", [None, random.Random(1)])
def test_an_encoded_message_is_read_back(
    pair: tuple[socket.socket, socket.socket], masks: random.Random | None
) -> None:
    reader = ConnectionReader(pair[1])
    for size, fragments in product(SIZES, (1, 2, 5)):
        message = ScriptedMessage(BINARY, random.Random(size).randbytes(size), fragments)
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(pair[0].sendall, encode(message, masks))
            assert read_message(reader, masked=masks is not None) == message
            sending.result()


@pytest.mark.parametrize("size", SIZES)
def test_frames_are_encoded_as_by_another_library(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    key = random.Random(1).randbytes(4)
    assert encode(ScriptedMessage(BINARY, payload), None) == frame(BINARY, payload)
    assert encode(ScriptedMessage(BINARY, payload), random.Random(1)) == frame(BINARY, payload, mask=key)


@pytest.mark.parametrize(
    "sent",
    [
        b"\xc1\x00",
        frame(TEXT, b"masked", mask=b"mask"),
        frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"),
        frame(PING, b"a", fin=False),
    ],
)
def test_wrong_frames_are_an_error(pair: tuple[socket.socket, socket.socket], sent: bytes) -> None:
    pair[0].sendall(sent)
    with pytest.raises(UnexpectedMessage):
        read_message(ConnectionReader(pair[1]), masked=False)


def test_both_sides_exchange_all_messages(pair: tuple[socket.socket, socket.socket]) -> None:
    def held(stream: socket.socket, side: Side) -> list[int]:
        return list(exchange_messages(stream, ConnectionReader(stream), TARGET, side))

    with ThreadPoolExecutor(1) as pool:
        client = pool.submit(held, pair[0], "client")
        count = len(Conversation.at(TARGET).turns)
        assert held(pair[1], "origin") == list(range(count + 1))
        assert client.result() == list(range(count + 1))


def test_an_early_end_of_the_connection_is_an_error(pair: tuple[socket.socket, socket.socket]) -> None:
    target = next(path for path in map("/a/socket/{}".format, range(100)) if Conversation.at(path).turns[0].origin)
    with closing(pair[1]):
        exchange = exchange_messages(pair[0], ConnectionReader(pair[0]), target, "client")
        assert next(exchange) == 0
    with pytest.raises((ConnectionBroken, ConnectionError)):
        next(exchange)


def test_a_path_always_gives_the_same_conversation() -> None:
    found = [Conversation.at(f"/a/socket/{number}") for number in range(100)]
    messages = [message for one in found for turn in one.turns for message in turn.client + turn.origin]
    assert found == [Conversation.at(f"/a/socket/{number}") for number in range(100)]
    assert {len(one.turns) - one.ended for one in found} == {0, 1}, "either side may close first"
    assert {len(message.payload) for message in messages} > {125, 126, 65_535, 65_536}
    assert any(turn.client and turn.origin for one in found for turn in one.turns)
    assert [message.payload.decode() for message in messages if message.opcode == TEXT]
