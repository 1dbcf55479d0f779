"""This module reads HTTP responses from a connection and checks where each ends."""

from __future__ import annotations

import socket


class ConnectionBroken(Exception):
    """The connection ended before the end of the message."""


class ConnectionReader:
    """The reader reads one connection of a client or an origin. Its methods raise ConnectionBroken and OSError."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._buffer = bytearray()

    def some(self) -> None:
        """Wait for the first bytes."""
        if not self._stream.recv(2000):
            raise ConnectionBroken

    def is_at_end(self) -> bool:
        """Wait for more bytes or for the end of the connection; return whether the end came."""
        return not self._buffer and not self._stream.recv(1)

    def head(self) -> bytes:
        """Return the head of a message."""
        return self._until(b"\r\n\r\n")

    def exactly(self, length: int) -> bytes:
        """Return the next `length` bytes."""
        while len(self._buffer) < length:
            self._more()
        return self._take(length)

    def response(self) -> tuple[bytes, bytes]:
        """Return the head and the body, without chunks."""
        head = self.head()
        lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
        fields = {name: value.strip() for name, _, value in lines}
        if head[9:12] == b"204":
            return head, b""
        if fields.get(b"transfer-encoding") == b"chunked":
            return head, self._chunks()
        if b"content-length" in fields:
            return head, self.exactly(int(fields[b"content-length"]))
        raise ConnectionBroken  # a body without a length: its end can't be told from a broken connection

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
            raise ConnectionBroken
        self._buffer += piece
