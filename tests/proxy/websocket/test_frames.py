from __future__ import annotations

import random
import zlib

import pytest
from support.clients.websocket import BINARY, BYE, CLOSE, PING, TEXT, Packer, frame

from proxy.websocket.frames import (
    MAX_PAYLOAD,
    Deflate,
    Inflater,
    SocketFrameReader,
    SocketMessage,
    agreed_deflate,
    unmasked,
)

MASK = b"\x0a\xf1\x02\x77"


def read(*pieces: bytes, forgets: bool | None = None) -> tuple[list[SocketMessage], str]:
    """The messages in these bytes, and what is wrong with them."""
    told: list[SocketMessage] = []
    reader = SocketFrameReader(told.append, None if forgets is None else Inflater(forgets=forgets))
    for piece in pieces:
        reader.feed(piece)
    return told, reader.broken


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
@pytest.mark.parametrize("mask", [b"", MASK])
def test_a_frame_of_any_length_gives_its_payload(size: int, mask: bytes) -> None:
    payload = random.Random(size).randbytes(size)

    assert read(frame(BINARY, payload, mask=mask)) == ([SocketMessage(BINARY, payload, bool(mask))], "")


def test_the_borders_of_pieces_mean_nothing() -> None:
    stream = frame(TEXT, b"moss", mask=MASK) + frame(PING, b"") + frame(BINARY, bytes(300)) + frame(CLOSE, BYE)
    whole, _ = read(stream)
    draw = random.Random(7)
    for _ in range(200):
        cuts = sorted(draw.sample(range(len(stream)), draw.randrange(1, 40)))
        pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert read(*pieces) == (whole, "")
    assert [message.opcode for message in whole] == [TEXT, PING, BINARY, CLOSE]


def test_fragments_are_put_together_around_a_ping() -> None:
    told, broken = read(
        frame(TEXT, b"mo", fin=False), frame(PING, b"?"), frame(0, b"", fin=False), frame(0, b"ss"), frame(TEXT, b"x")
    )

    assert (told, broken) == (
        [SocketMessage(PING, b"?"), SocketMessage(TEXT, b"moss", fragments=3), SocketMessage(TEXT, b"x")],
        "",
    )


@pytest.mark.parametrize("forgets", [False, True])
def test_compressed_messages_are_unpacked(forgets: bool) -> None:
    packer = Packer(forgets=forgets)
    words = [b"a fern in the shade " * 9, b"", b"a fern in the shade " * 9, b"sun"]

    told, broken = read(*(frame(TEXT, packer.packed(word), rsv1=True, mask=MASK) for word in words), forgets=forgets)

    assert broken == ""
    assert [message.payload for message in told] == words


def test_a_compressed_message_may_come_in_fragments_and_between_plain_ones() -> None:
    packed = Packer().packed(b"fern " * 50)
    told, broken = read(
        frame(TEXT, b"plain"), frame(TEXT, packed[:5], rsv1=True, fin=False), frame(0, packed[5:]), forgets=False
    )

    assert ([message.payload for message in told], broken) == ([b"plain", b"fern " * 50], "")


def test_what_unpacks_to_too_much_stays_packed() -> None:
    packer = Packer()
    bomb, after = packer.packed(bytes(MAX_PAYLOAD + 1)), packer.packed(b"after")

    told, broken = read(frame(BINARY, bomb, rsv1=True), frame(TEXT, after, rsv1=True), forgets=False)

    assert broken == ""
    assert [(message.payload, message.is_packed) for message in told] == [(bomb, True), (after, True)]


def test_what_is_no_deflate_data_stays_as_it_came() -> None:
    told, _ = read(frame(TEXT, b"\xff\xff\xff", rsv1=True), frame(TEXT, zlib.compress(b"x")), forgets=True)

    assert [(message.payload, message.is_packed) for message in told] == [
        (b"\xff\xff\xff", True),
        (zlib.compress(b"x"), False),
    ]


def test_a_message_longer_than_is_collected_is_cut() -> None:
    told, broken = read(frame(BINARY, bytes(MAX_PAYLOAD + 10)), frame(TEXT, b"next"))

    assert broken == ""
    assert [(len(message.payload), message.is_cut) for message in told] == [(MAX_PAYLOAD, True), (4, False)]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (frame(TEXT, b"x", rsv1=True), "reserved bits"),
        (frame(3, b"x"), "unknown opcode 3"),
        (frame(PING, bytes(126)), "a control frame of 126 bytes"),
        (frame(CLOSE, b"", fin=False), "in fragments"),
        (frame(0, b"x"), "a continuation of nothing"),
        (frame(TEXT, b"x", fin=False) + frame(TEXT, b"y"), "a new message within another"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "reserved bits"),
    ],
)
def test_what_are_no_frames_ends_the_reading_and_says_why(bad: bytes, words: str) -> None:
    told, broken = read(frame(TEXT, b"first"), bad, frame(TEXT, b"never"))

    assert words in broken
    assert told == [SocketMessage(TEXT, b"first")]


@pytest.mark.parametrize(
    ("header", "agreed"),
    [
        (None, None),
        (b"", None),
        (b"x-webkit-deflate-frame", None),
        (b"permessage-deflate", Deflate()),
        (b"x-one, permessage-deflate; server_max_window_bits=10", Deflate()),
        (b"Permessage-Deflate; client_no_context_takeover", Deflate(client_forgets=True)),
        (b"permessage-deflate;server_no_context_takeover", Deflate(server_forgets=True)),
    ],
)
def test_compression_is_what_the_origin_agreed_to(header: bytes | None, agreed: Deflate | None) -> None:
    assert agreed_deflate(header) == agreed


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 1000])
def test_unmasking_is_its_own_inverse(size: int) -> None:
    payload = random.Random(size).randbytes(size)

    assert unmasked(unmasked(payload, MASK), MASK) == payload
    assert unmasked(payload, MASK) == bytes(byte ^ MASK[at % 4] for at, byte in enumerate(payload))
