"""A raw client: sends the bytes a test gives it, and reads a response to its real end."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Self

_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]+[ \t]*(;.*)?")


@dataclass(frozen=True)
class Reply:
    """A final response as a client got it. `body` is without chunks; `whole` is False when it broke off."""

    status: int
    head: bytes
    body: bytes
    whole: bool
    interim: tuple[int, ...] = ()

    def header(self, name: str) -> str | None:
        """Value of the first header of that name."""
        lines = (line.partition(b":") for line in self.head.split(b"\r\n")[1:])
        return next((value.strip().decode("latin-1") for found, _, value in lines if _same(found, name)), None)


class BrokenOff(Exception):
    """The proxy closed the connection before a response's head was whole."""


class Client:
    """One raw connection to a proxy, or through a tunnel of it."""

    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream
        self._buffer = bytearray()
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def ask(self, request: bytes) -> Reply:
        """Sends a request and reads its response to the end."""
        self.send(request)
        return self.read_reply(request.split(b" ", 1)[0].decode("latin-1"))

    def send(self, data: bytes) -> None:
        """Sends bytes."""
        self.stream.sendall(data)

    def read_reply(self, method: str = "GET") -> Reply:
        """The next final response. Raises BrokenOff when there is none."""
        interim: list[int] = []
        while True:
            head = self._head()
            status = int(head.split(b" ", 2)[1])
            if not 100 <= status < 200 or status == 101:
                break
            interim.append(status)
        body, whole = self._body(head, status, method)
        return Reply(status, head, body, whole, tuple(interim))

    def read_some(self, length: int) -> bytes:
        """The next `length` raw bytes, fewer when the connection ends."""
        while len(self._buffer) < length and self._more():
            pass
        some = bytes(self._buffer[:length])
        del self._buffer[:length]
        return some

    def is_closed_by_proxy(self) -> bool:
        """Whether the connection ends, with nothing more before that."""
        return not self._buffer and not self._more()

    def close(self) -> None:
        """Closes the connection."""
        self.stream.close()

    def _head(self) -> bytes:
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                raise BrokenOff(f"after {bytes(self._buffer[:200])!r}")
        return self._up_to(b"\r\n\r\n")

    def _body(self, head: bytes, status: int, method: str) -> tuple[bytes, bool]:
        fields = [
            (name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in head.split(b"\r\n"))
        ]
        if method == "HEAD" or (method == "CONNECT" and status < 300) or status in (101, 204, 304):
            return b"", True
        if any(name == b"transfer-encoding" and value.endswith(b"chunked") for name, value in fields):
            return self._chunks()
        lengths = [int(value) for name, value in fields if name == b"content-length"]
        if lengths:
            body = self.read_some(lengths[0])
            return body, len(body) == lengths[0]
        while self._more():
            pass
        return self.read_some(len(self._buffer)), True

    def _chunks(self) -> tuple[bytes, bool]:
        body = b""
        while (line := self._line()) is not None:
            if not _CHUNK_SIZE.fullmatch(line):
                break
            size = int(line.partition(b";")[0], 16)
            if size == 0:
                while line:
                    line = self._line()
                return body, line is not None
            body += self.read_some(size)
            if self._line() is None:
                break
        return body, False

    def _line(self) -> bytes | None:
        while b"\n" not in self._buffer:
            if not self._more():
                return None
        return self._up_to(b"\n").rstrip(b"\r")

    def _up_to(self, end: bytes) -> bytes:
        at = self._buffer.index(end)
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(end)]
        return found

    def _more(self) -> bool:
        if self._over:
            return False
        try:
            piece = self.stream.recv(1 << 18)
        except (ConnectionError, ssl.SSLError):
            piece = b""
        self._over = not piece
        self._buffer += piece
        return bool(piece)


def _same(found: bytes, name: str) -> bool:
    return found.strip().lower() == name.lower().encode()
