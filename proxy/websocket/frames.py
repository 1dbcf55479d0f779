"""WebSocket frames (RFC 6455 section 5) and their compression (RFC 7692), read for the record only. No I/O.

The bytes are relayed as they come; an error in them is noted in the record and never stops the connection. The
reader reports one message for each complete data message, in one or more fragments, and one for each control frame.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

CONTINUATION: Final = 0
TEXT: Final = 1
CLOSE: Final = 8
MAX_PAYLOAD: Final = 16_777_216
"""Longest payload that is collected, and that a compressed message may unpack to; the rest is left out."""

_FIN, _RSV1, _RSV, _OPCODE, _CONTROL = 0x80, 0x40, 0x70, 0x0F, 0x08
_MASKED, _SHORT, _LENGTH_2, _LENGTH_8 = 0x80, 0x7F, 126, 127
_FLUSH_TAIL: Final = b"\x00\x00\xff\xff"
_RAW_WINDOW: Final = -15


@dataclass(frozen=True, slots=True)
class SocketMessage:
    """One message or control frame of one side."""

    opcode: int
    payload: bytes
    masked: bool = False
    fragments: int = 1
    is_cut: bool = False
    """The payload was longer than MAX_PAYLOAD."""
    is_packed: bool = False
    """The payload is still compressed, because it can't be unpacked."""


@dataclass(frozen=True, slots=True)
class Deflate:
    """Client and origin agreed on these parameters of permessage-deflate; they say which side forgets its window after
    each message.
    """

    client_forgets: bool = False
    server_forgets: bool = False


def agreed_deflate(header: bytes | None) -> Deflate | None:
    """Return the compression in the origin's `Sec-WebSocket-Extensions`; None when there is none."""
    for offer in (header or b"").split(b","):
        name, *parameters = (part.strip().lower() for part in offer.split(b";"))
        if name == b"permessage-deflate":
            return Deflate(b"client_no_context_takeover" in parameters, b"server_no_context_takeover" in parameters)
    return None


class Inflater:
    """Unpacks the compressed messages of one side, in order."""

    def __init__(self, *, forgets: bool) -> None:
        self._forgets = forgets
        self._window = zlib.decompressobj(_RAW_WINDOW)
        self._is_lost = False

    def unpacked(self, payload: bytes) -> bytes | None:
        """Return the message; None when this message or an earlier one is not deflate data or unpacks to too much."""
        if self._is_lost:
            return None
        try:
            plain = self._window.decompress(payload + _FLUSH_TAIL, MAX_PAYLOAD)
        except zlib.error:
            self._is_lost = not self._forgets
            plain = None
        else:
            if self._window.unconsumed_tail:  # a later message may refer to what was never unpacked
                self._is_lost, plain = not self._forgets, None
        if self._forgets or (plain is not None and self._window.eof):
            self._window = zlib.decompressobj(_RAW_WINDOW)
        return plain


class SocketFrameReader:
    """Reads one side's frames and tells each message. Memory stays below twice MAX_PAYLOAD."""

    def __init__(self, on_message: Callable[[SocketMessage], None], inflater: Inflater | None) -> None:
        self.broken = ""
        """Why no further frame can be read; empty while they can."""
        self._on_message = on_message
        self._inflater = inflater
        self._buffer = bytearray()
        self._left = 0
        self._first = 0
        self._mask = b""
        self._masked = False
        self._in_frame = False
        self._payload = bytearray()
        self._dropped = 0
        self._message = bytearray()
        self._message_first = 0
        self._fragments = 0
        self._is_cut = False

    def feed(self, data: bytes) -> bool:
        """Read the next bytes of this side. Return False once, when the bytes turn out not to be frames."""
        if self.broken:
            return True
        self._buffer += data
        position, size = 0, len(self._buffer)
        while not self.broken:
            if not self._in_frame:
                end = self._head(position)
                if end == position or self.broken:
                    break
                position = end
            if self._left and position == size:
                break
            position = self._body(position)
        del self._buffer[:position]
        return not self.broken

    def _head(self, at: int) -> int:
        """Read a frame's head. Return the offset after the head, or `at` when the head is not whole yet."""
        buffer = self._buffer
        if len(buffer) - at < 2:
            return at
        short = buffer[at + 1] & _SHORT
        wide = {_LENGTH_2: 2, _LENGTH_8: 8}.get(short, 0)
        masked = bool(buffer[at + 1] & _MASKED)
        end = at + 2 + wide + 4 * masked
        if len(buffer) < end:
            return at
        self._left = int.from_bytes(buffer[at + 2 : at + 2 + wide]) if wide else short
        self._mask = bytes(buffer[end - 4 : end]) if masked else b""
        self._first, self._masked, self._in_frame, self._dropped = buffer[at], masked, True, 0
        self._check_head()
        return end

    def _check_head(self) -> None:
        opcode, is_final = self._first & _OPCODE, bool(self._first & _FIN)
        allowed = _RSV1 if self._inflater is not None and opcode in (1, 2) else 0
        if self._first & _RSV & ~allowed:
            self.broken = f"reserved bits {self._first & _RSV:#x} in a frame of opcode {opcode}"
        elif opcode not in (0, 1, 2, 8, 9, 10):
            self.broken = f"unknown opcode {opcode}"
        elif opcode & _CONTROL and not (is_final and self._left < _LENGTH_2):
            self.broken = f"a control frame of {self._left} bytes, or in fragments"
        elif opcode == CONTINUATION and not self._fragments:
            self.broken = "a continuation of nothing"
        elif opcode in (1, 2) and self._fragments:
            self.broken = "a new message within another"

    def _body(self, at: int) -> int:
        """Take the next part of the frame's payload, and return the offset after this part."""
        taken = min(self._left, len(self._buffer) - at)
        room = MAX_PAYLOAD - len(self._message) if not self._first & _CONTROL else MAX_PAYLOAD
        kept = min(taken, max(0, room - len(self._payload)))
        self._payload += self._buffer[at : at + kept]
        self._dropped += taken - kept
        self._left -= taken
        if not self._left:
            self._in_frame = False
            self._frame()
        return at + taken

    def _frame(self) -> None:
        payload, self._payload = self._payload, bytearray()
        plain = unmasked(payload, self._mask) if self._masked else bytes(payload)
        if self._first & _CONTROL:
            self._on_message(SocketMessage(self._first & _OPCODE, plain, self._masked))
            return
        if not self._fragments:
            self._message_first, self._is_cut = self._first, False
        self._fragments += 1
        self._message += plain
        self._is_cut |= bool(self._dropped)
        if self._first & _FIN:
            self._on_message(self._whole())
            self._fragments, self._message = 0, bytearray()

    def _whole(self) -> SocketMessage:
        payload, is_packed = bytes(self._message), False
        if self._message_first & _RSV1 and self._inflater is not None:
            plain = self._inflater.unpacked(payload)
            payload, is_packed = (payload, True) if plain is None else (plain, False)
        opcode = self._message_first & _OPCODE
        return SocketMessage(opcode, payload, self._masked, self._fragments, self._is_cut, is_packed)


def unmasked(payload: bytes | bytearray, mask: bytes) -> bytes:
    """Return the payload with its masking key taken off (RFC 6455 section 5.3): one long exclusive or."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(key)).to_bytes(size)
