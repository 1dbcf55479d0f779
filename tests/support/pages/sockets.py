"""The server's side of a WebSocket, as raw files of features write it."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from support.pages.feature import Question, Read, Write

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


async def upgrade(question: Question, write: Write, *lines: bytes) -> None:
    """Answer the handshake, with further header lines."""
    key = question.headers.get("sec-websocket-key", "").encode()
    accept = base64.b64encode(hashlib.sha1(key + _GUID).digest())
    head = (b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket", b"Connection: Upgrade", *lines)
    await write(b"\r\n".join((*head, b"Sec-WebSocket-Accept: " + accept, b"", b"")))


async def heard(read: Read) -> tuple[int, bytes]:
    """Read one short message of the client, and return its opcode and its payload."""
    first, second = await read(2)
    size = second & 0x7F
    if size == 126:
        size = int.from_bytes(await read(2))
    mask = await read(4)
    return first & 0x0F, bytes(byte ^ mask[at % 4] for at, byte in enumerate(await read(size)))
