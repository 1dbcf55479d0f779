"""The messages of each WebSocket of the campaign are computed from its path.

A conversation has turns. In one turn, both sides send their messages without waiting for each other. A side begins the
next turn after it received all messages of the present one. This bounds the orders in which a recorder may see the
messages.
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
"""An opcode with this bit is a control frame: at most 125 bytes, never fragmented."""
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MOST_TURNS: Final = 12
_MOST_MESSAGES: Final = 4
_BORDERS: Final = (125, 126, 65_535, 65_536)
"""Sizes at which the encoding of a frame's length changes (RFC 6455 section 5.2)."""
_SHORT: Final = 2_000
_LONG: Final = 200_000


@dataclass(frozen=True, slots=True)
class ScriptedMessage:
    """One message or control frame."""

    opcode: int
    payload: bytes
    fragments: int = 1


@dataclass(frozen=True, slots=True)
class Turn:
    """Both sides send these messages without waiting for each other."""

    client: tuple[ScriptedMessage, ...] = ()
    origin: tuple[ScriptedMessage, ...] = ()

    def of(self, side: Side) -> tuple[ScriptedMessage, ...]:
        """Return the messages of one side."""
        return self.client if side == "client" else self.origin


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation has all messages of a path. After `ended` turns, the client has seen its end."""

    turns: tuple[Turn, ...]

    @property
    def ended(self) -> int:
        """Return the number of turns up to the close frame of the origin, inclusive."""
        return next(
            at for at, turn in enumerate(self.turns, 1) if any(message.opcode == CLOSE for message in turn.origin)
        )

    @classmethod
    def at(cls, target: str) -> Conversation:
        """Return the conversation of a path. Either side may close first."""
        draw, numbers = random.Random(f"talk {target}"), count()
        turns = [_turn(draw, numbers) for _ in range(draw.randrange(1, _MOST_TURNS))]
        bye = ScriptedMessage(CLOSE, draw.choice((b"\x03\xe8", b"\x03\xe9gone for now")))
        closing = [Turn(client=(bye,)), Turn(origin=(bye,))]
        return cls((*turns, *(closing if draw.random() < 0.5 else reversed(closing))))


def request_lines(target: str) -> bytes:
    """Return the additional header lines of a WebSocket request."""
    return (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: " + _key(target) + b"\r\n"
    )


def handshake_response(target: str) -> bytes:
    """Return the response of the origin to the handshake."""
    accept = b64encode(hashlib.sha1(_key(target) + _GUID, usedforsecurity=False).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


def _key(target: str) -> bytes:
    return b64encode(random.Random(f"key {target}").randbytes(16))


def _turn(draw: random.Random, numbers: count[int]) -> Turn:
    """Return a turn of one side, or a turn of both sides with short messages.

    With long messages, both sides could wait for each other to read.
    """
    speakers: tuple[Side, ...] = draw.choice((("client",), ("origin",), ("client", "origin")))
    said = {
        side: tuple(
            _message(draw, next(numbers), may_be_long=len(speakers) == 1)
            for _ in range(draw.randint(1, _MOST_MESSAGES))
        )
        for side in speakers
    }
    return Turn(said.get("client", ()), said.get("origin", ()))


def _message(draw: random.Random, number: int, *, may_be_long: bool) -> ScriptedMessage:
    """Return a message of any kind and size that begins with its number."""
    opcode = draw.choice((TEXT, TEXT, TEXT, BINARY, BINARY, PING, PONG))
    lead = b"%d " % number
    if opcode & CONTROL:
        return ScriptedMessage(opcode, lead + draw.randbytes(draw.randrange(100)))
    sizes = [draw.randrange(100), draw.randrange(_SHORT), *_BORDERS[:2]]
    if may_be_long and draw.random() < 0.15:
        sizes = [*_BORDERS[2:], draw.randrange(_LONG)]
    size = max(draw.choice(sizes), len(lead))
    filler = draw.randbytes(size) if opcode == BINARY else ("møss and fern " * (size // 14 + 1)).encode()
    payload = lead + filler[: size - len(lead)]
    if opcode == TEXT and payload[-1:] == b"\xc3":
        payload = payload[:-1] + b"."  # the end cut a character in two
    return ScriptedMessage(opcode, payload, draw.choice((1, 1, 1, 2, 3)) if size > 3 else 1)
