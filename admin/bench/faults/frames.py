"""WebSocket frames (RFC 6455 section 5), written and read by the campaign's own means rather than the product's."""

from __future__ import annotations

import random
from typing import Final

from admin.bench.faults.conversation import CONTROL, Word
from admin.bench.faults.reader import Reader

_FIN: Final = 0x80
_MASKED: Final = 0x80
_CONTINUED: Final = 0
_XOR: Final = [bytes(byte ^ key for byte in range(256)) for key in range(256)]


class Garbled(Exception):
    """What came are not the frames that were sent; the message says why."""


def written(word: Word, masks: random.Random | None) -> bytes:
    """A word in its frames, masked as a client must when there is something to draw keys from."""
    size = -(-len(word.payload) // word.fragments)
    pieces = [word.payload[at * size : (at + 1) * size] for at in range(word.fragments)]
    found = bytearray()
    for at, piece in enumerate(pieces):
        found.append((word.opcode if at == 0 else _CONTINUED) | (_FIN if at == len(pieces) - 1 else 0))
        found += _length(len(piece), _MASKED if masks else 0)
        key = masks.randbytes(4) if masks else b""
        found += key + (_masked(piece, key) if key else piece)
    return bytes(found)


def read(reader: Reader, *, masked: bool) -> Word:
    """The next word. Raises Garbled, and what the reader does."""
    opcode, payload, fragments = 0, bytearray(), 0
    while True:
        first, second = reader.exactly(2)
        if first & 0x70 or bool(second & _MASKED) != masked:
            raise Garbled(f"a frame that begins with {first:#04x} {second:#04x}")
        opcode = first & 0x0F if not fragments else opcode
        if fragments and first & 0x0F != _CONTINUED:
            raise Garbled(f"opcode {first & 0x0F} among the fragments of a message")
        length = second & 0x7F
        if length > 125:
            length = int.from_bytes(reader.exactly(2 if length == 126 else 8))
        key = reader.exactly(4) if masked else b""
        piece = reader.exactly(length)
        payload += _masked(piece, key) if key else piece
        fragments += 1
        if first & _FIN:
            return Word(opcode, bytes(payload), fragments)
        if opcode & CONTROL:
            raise Garbled(f"a control frame in fragments, opcode {opcode}")


def _length(size: int, bit: int) -> bytes:
    if size < 126:
        return bytes([bit | size])
    return bytes([bit | 126]) + size.to_bytes(2) if size < 1 << 16 else bytes([bit | 127]) + size.to_bytes(8)


def _masked(payload: bytes, key: bytes) -> bytes:
    """With its key put on, or taken off: every fourth byte goes by the same table."""
    found = bytearray(payload)
    for at, byte in enumerate(key):
        found[at::4] = payload[at::4].translate(_XOR[byte])
    return bytes(found)
