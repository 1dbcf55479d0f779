"""What is said over the campaign's WebSockets: computed from the path alone, like all of the site.

A conversation goes in turns. Within one turn a side says its words without waiting for the other's; it begins the next
only when it has heard all of this one: so anybody can tell in which orders a recorder may have heard the words.
"""

from __future__ import annotations

import hashlib
import random
from base64 import b64encode
from dataclasses import dataclass
from itertools import count
from typing import Final, Literal

type Side = Literal["client", "origin"]

TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10
CONTROL: Final = 8
"""This bit of an opcode: a frame of at most 125 bytes, never in fragments."""
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MOST_TURNS: Final = 12
_MOST_WORDS: Final = 4
_BORDERS: Final = (125, 126, 65_535, 65_536)
"""Where a frame's length is written in another way from (RFC 6455 section 5.2)."""
_SHORT: Final = 2_000
_LONG: Final = 200_000


@dataclass(frozen=True, slots=True)
class Word:
    """One message or control frame."""

    opcode: int
    payload: bytes
    fragments: int = 1


@dataclass(frozen=True, slots=True)
class Turn:
    """What both sides say without waiting for each other."""

    client: tuple[Word, ...] = ()
    origin: tuple[Word, ...] = ()

    def of(self, side: Side) -> tuple[Word, ...]:
        """The words of one side."""
        return self.client if side == "client" else self.origin


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that is said at a path. The client has seen its end in order once `ended` turns are over."""

    turns: tuple[Turn, ...]

    @property
    def ended(self) -> int:
        """Turns up to the origin's close frame, it included."""
        return next(at for at, turn in enumerate(self.turns, 1) if any(word.opcode == CLOSE for word in turn.origin))

    @classmethod
    def at(cls, target: str) -> Conversation:
        """The conversation of a path; either side may be the first to close."""
        draw, numbers = random.Random(f"talk {target}"), count()
        turns = [_turn(draw, numbers) for _ in range(draw.randrange(1, _MOST_TURNS))]
        bye = Word(CLOSE, draw.choice((b"\x03\xe8", b"\x03\xe9gone for now")))
        closing = [Turn(client=(bye,)), Turn(origin=(bye,))]
        return cls((*turns, *(closing if draw.random() < 0.5 else reversed(closing))))


def request_lines(target: str) -> bytes:
    """What a request needs besides to be one for a WebSocket."""
    return (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: " + _key(target) + b"\r\n"
    )


def agreement(target: str) -> bytes:
    """The origin's answer to it."""
    accept = b64encode(hashlib.sha1(_key(target) + _GUID, usedforsecurity=False).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


def _key(target: str) -> bytes:
    return b64encode(random.Random(f"key {target}").randbytes(16))


def _turn(draw: random.Random, numbers: count[int]) -> Turn:
    """One side's, or both at once: then short, lest each waits in vain for the other to listen."""
    speakers: tuple[Side, ...] = draw.choice((("client",), ("origin",), ("client", "origin")))
    said = {
        side: tuple(
            _word(draw, next(numbers), may_be_long=len(speakers) == 1) for _ in range(draw.randint(1, _MOST_WORDS))
        )
        for side in speakers
    }
    return Turn(said.get("client", ()), said.get("origin", ()))


def _word(draw: random.Random, number: int, *, may_be_long: bool) -> Word:
    """A word with its number in front, of any kind and size."""
    opcode = draw.choice((TEXT, TEXT, TEXT, BINARY, BINARY, PING, PONG))
    lead = b"%d " % number
    if opcode & CONTROL:
        return Word(opcode, lead + draw.randbytes(draw.randrange(100)))
    sizes = [draw.randrange(100), draw.randrange(_SHORT), *_BORDERS[:2]]
    if may_be_long and draw.random() < 0.15:
        sizes = [*_BORDERS[2:], draw.randrange(_LONG)]
    size = max(draw.choice(sizes), len(lead))
    filler = draw.randbytes(size) if opcode == BINARY else ("møss and fern " * (size // 14 + 1)).encode()
    payload = lead + filler[: size - len(lead)]
    if opcode == TEXT and payload[-1:] == b"\xc3":
        payload = payload[:-1] + b"."  # the size falls within a letter
    return Word(opcode, payload, draw.choice((1, 1, 1, 2, 3)) if size > 3 else 1)
