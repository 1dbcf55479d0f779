"""Reads what comes over a connection, strict about where it ends."""

from __future__ import annotations

import socket


class Broken(Exception):
    """The connection ended before what it carried."""


class Reader:
    """Of one connection, at either end. Its methods raise Broken when that ends too early, and OSError."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._buffer = bytearray()

    def some(self) -> None:
        """The first bytes that come."""
        if not self._stream.recv(2000):
            raise Broken

    def is_at_end(self) -> bool:
        """Waits for the next bytes or the end of the connection: whether it was the end."""
        return not self._buffer and not self._stream.recv(1)

    def head(self) -> bytes:
        """A message's head."""
        return self._until(b"\r\n\r\n")

    def exactly(self, length: int) -> bytes:
        """So many bytes."""
        while len(self._buffer) < length:
            self._more()
        return self._take(length)

    def response(self) -> tuple[bytes, bytes]:
        """Head and body without chunks."""
        head = self.head()
        lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
        fields = {name: value.strip() for name, _, value in lines}
        if head[9:12] == b"204":
            return head, b""
        if fields.get(b"transfer-encoding") == b"chunked":
            return head, self._chunks()
        if b"content-length" in fields:
            return head, self.exactly(int(fields[b"content-length"]))
        raise Broken  # a body that ends with the connection: nobody can tell its end from its loss

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(self._until(b"\r\n"), 16):
            body += self.exactly(size)
            self.exactly(2)
        while self._until(b"\r\n") != b"\r\n":
            pass
        return bytes(body)

    def _until(self, end: bytes) -> bytes:
        while (at := self._buffer.find(end)) < 0:
            self._more()
        return self._take(at + len(end))

    def _take(self, length: int) -> bytes:
        found = bytes(self._buffer[:length])
        del self._buffer[:length]
        return found

    def _more(self) -> None:
        piece = self._stream.recv(1 << 18)
        if not piece:
            raise Broken
        self._buffer += piece
