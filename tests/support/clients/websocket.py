"""WebSocket as tests need it: frames made by hand, and an origin that says what it is told and hears everything."""

from __future__ import annotations

import socket
import ssl
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

HANDSHAKE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: bW9zcw==")
TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9
BYE = b"\x03\xe8"


def frame(opcode: int, payload: bytes, *, mask: bytes = b"", fin: bool = True, rsv1: bool = False) -> bytes:
    """One frame (RFC 6455 section 5.2); masked when a key of four bytes is given."""
    first = opcode | 0x80 * fin | 0x40 * rsv1
    size, bit = len(payload), 0x80 * bool(mask)
    if size < 126:
        head = bytes([first, bit | size])
    elif size < 65_536:
        head = bytes([first, bit | 126]) + size.to_bytes(2)
    else:
        head = bytes([first, bit | 127]) + size.to_bytes(8)
    body = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)) if mask else payload
    return head + mask + body


class Packer:
    """Compresses messages as permessage-deflate does (RFC 7692 section 7.2.1)."""

    def __init__(self, *, forgets: bool = False) -> None:
        self._forgets = forgets
        self._deflate = zlib.compressobj(wbits=-15)

    def packed(self, payload: bytes) -> bytes:
        """The message without its last four bytes."""
        if self._forgets:
            self._deflate = zlib.compressobj(wbits=-15)
        whole = self._deflate.compress(payload) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        assert whole.endswith(b"\x00\x00\xff\xff")
        return whole[:-4]


class SocketOrigin:
    """Accepts every handshake, says `words`, then hears until the client has said goodbye, and says `bye`."""

    def __init__(
        self,
        address: str,
        *words: bytes,
        bye: bytes = frame(CLOSE, BYE),
        extensions: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.heard = b""
        self.said_all = threading.Event()
        self.handshake = b""
        self._words, self._bye, self._extensions, self._tls = words, bye, extensions, tls
        self._listener = socket.create_server((address, 0))
        self.authority = f"{address}:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def url(self, path: str) -> str:
        """The URL of the handshake."""
        return f"{'https' if self._tls else 'http'}://{self.authority}{path}"

    @property
    def answer(self) -> bytes:
        """The 101 as sent."""
        offer = f"Sec-WebSocket-Extensions: {self._extensions}\r\n" if self._extensions else ""
        return (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: bW9zcw==\r\n{offer}\r\n"
        ).encode()

    def _serve(self) -> None:
        with suppress(OSError):
            plain, _ = self._listener.accept()
            stream = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
            with stream:
                stream.settimeout(60)
                self._talk(stream)

    def _talk(self, stream: socket.socket) -> None:
        while not self.handshake.endswith(b"\r\n\r\n"):
            self.handshake += stream.recv(1)
        hearing = threading.Thread(target=self._hear, args=(stream,), daemon=True)
        stream.sendall(self.answer)
        hearing.start()
        _send_all(stream, self._words)
        self.said_all.set()
        hearing.join(60)
        with suppress(OSError):
            stream.sendall(self._bye)

    def _hear(self, stream: socket.socket) -> None:
        with suppress(OSError):
            while piece := stream.recv(65536):
                self.heard += piece
                if _is_close(self.heard):
                    return


def _send_all(stream: socket.socket, words: Sequence[bytes]) -> None:
    for word in words:
        stream.sendall(word)


def _is_close(heard: bytes) -> bool:
    """Whether the last eight bytes are a masked close frame with a code."""
    return heard[-8:-6] == bytes([0x80 | CLOSE, 0x80 | len(BYE)])
