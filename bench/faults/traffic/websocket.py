"""This module encodes and reads WebSocket frames (RFC 6455 section 5) without the code of the product."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from typing import Final

from bench.faults.traffic.connection_reader import ConnectionReader
from bench.faults.traffic.conversation import CONTROL, Conversation, ScriptedMessage, Side

_FIN: Final = 0x80
_MASKED: Final = 0x80
_CONTINUED: Final = 0
_XOR: Final = [bytes(byte ^ key for byte in range(256)) for key in range(256)]


class UnexpectedMessage(Exception):
    """The received bytes are not the message that was sent. The text gives the difference."""


def encode(message: ScriptedMessage, masks: random.Random | None) -> bytes:
    """Return the frames of a message, masked with keys from `masks` as a client must do, or unmasked without it."""
    size = -(-len(message.payload) // message.fragments)
    pieces = [message.payload[at * size : (at + 1) * size] for at in range(message.fragments)]
    found = bytearray()
    for at, piece in enumerate(pieces):
        found.append((message.opcode if at == 0 else _CONTINUED) | (_FIN if at == len(pieces) - 1 else 0))
        found += _length(len(piece), _MASKED if masks else 0)
        key = masks.randbytes(4) if masks else b""
        found += key + (_apply_mask(piece, key) if key else piece)
    return bytes(found)


def read_message(reader: ConnectionReader, *, masked: bool) -> ScriptedMessage:
    """Return the next message. Raises UnexpectedMessage, ConnectionBroken and OSError."""
    opcode, payload, fragments = 0, bytearray(), 0
    while True:
        first, second = reader.exactly(2)
        if first & 0x70 or bool(second & _MASKED) != masked:
            raise UnexpectedMessage(f"a frame begins with {first:#04x} {second:#04x}")
        opcode = first & 0x0F if not fragments else opcode
        if fragments and first & 0x0F != _CONTINUED:
            raise UnexpectedMessage(f"opcode {first & 0x0F} among the fragments of a message")
        length = second & 0x7F
        if length > 125:
            length = int.from_bytes(reader.exactly(2 if length == 126 else 8))
        key = reader.exactly(4) if masked else b""
        piece = reader.exactly(length)
        payload += _apply_mask(piece, key) if key else piece
        fragments += 1
        if first & _FIN:
            return ScriptedMessage(opcode, bytes(payload), fragments)
        if opcode & CONTROL:
            raise UnexpectedMessage(f"a control frame is fragmented, opcode {opcode}")


def exchange_messages(stream: socket.socket, reader: ConnectionReader, target: str, side: Side) -> Iterator[int]:
    """Send the messages of one side and read those of the other; yield the number of ended turns, from 0.

    Raises UnexpectedMessage for a wrong message. Raises ConnectionBroken and OSError when the connection ends.
    """
    other: Side = "origin" if side == "client" else "client"
    masks = random.Random(f"masks {target}") if side == "client" else None
    turns = Conversation.at(target).turns
    for over, turn in enumerate(turns):
        yield over
        stream.sendall(b"".join(encode(message, masks) for message in turn.of(side)))
        for number, expected in enumerate(turn.of(other)):
            heard = read_message(reader, masked=other == "client")
            if heard != expected:
                raise UnexpectedMessage(
                    f"message {number} of turn {over}: opcode {heard.opcode}, {len(heard.payload)} bytes"
                )
    yield len(turns)


def _length(size: int, bit: int) -> bytes:
    if size < 126:
        return bytes([bit | size])
    return bytes([bit | 126]) + size.to_bytes(2) if size < 1 << 16 else bytes([bit | 127]) + size.to_bytes(8)


def _apply_mask(payload: bytes, key: bytes) -> bytes:
    """Return the payload with its mask applied or removed."""
    found = bytearray(payload)
    for at, byte in enumerate(key):
        found[at::4] = payload[at::4].translate(_XOR[byte])
    return bytes(found)
