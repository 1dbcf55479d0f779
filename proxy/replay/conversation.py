"""A recorded WebSocket is read here: its handshake, and what was said, from records of JSON lines. Pure but for files.

The form of the lines is described in `proxy.websocket.log`.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from archive.warc.reading.reader import StoredRecord

MAX_BYTES: Final = 33_554_432
"""Bytes of JSON lines of one conversation that are replayed."""
MAX_MESSAGES: Final = 50_000
_TEXT: Final = 1
_KNOWN: Final = (1, 2, 8)
"""Opcodes that are replayed. Pings are answered as they come."""


@dataclass(frozen=True, slots=True)
class Said:
    """A said message is one message, or a close frame, of one side."""

    by_client: bool
    opcode: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class SocketScript:
    """A socket script has the protocol that the origin chose, and the messages in the order in which they were said."""

    subprotocol: bytes | None
    messages: tuple[Said, ...]


def messages_in(records: Iterable[StoredRecord]) -> tuple[Said, ...]:
    """Return the messages of one conversation, up to MAX_BYTES of lines and MAX_MESSAGES. Raises WarcError."""
    found: list[Said] = []
    left = MAX_BYTES
    for record in records:
        with record:
            for line in _lines(record.block(), left):
                left -= len(line)
                said = _said(line)
                if said is not None:
                    found.append(said)
                if left <= 0 or len(found) >= MAX_MESSAGES:
                    return tuple(found)
    return tuple(found)


def _lines(pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    """Yield the lines in the first `most` bytes."""
    waiting: list[bytes] = []
    left = most
    for piece in pieces:
        first, *others = piece[:left].split(b"\n")
        waiting.append(first)
        for other in others:
            yield b"".join(waiting)
            waiting = [other]
        left -= len(piece)
        if left < 0:
            return  # within a line
    if waiting:
        yield b"".join(waiting)


def _said(line: bytes) -> Said | None:
    """Return the message of a line; None for a line that has none, or none that can be sent again."""
    try:
        said: Any = json.loads(line)
        kind, opcode, text = said["type"], said["opcode"], said["payloadData"]
        if kind not in ("send", "receive") or opcode not in _KNOWN or said.get("compressed") or said.get("truncated"):
            return None
        is_text = opcode == _TEXT and not said.get("base64")
        payload = text.encode("utf-8") if is_text else b64decode(text, validate=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        return None
    return Said(kind == "send", opcode, payload)
