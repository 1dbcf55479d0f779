"""An origin driven by hand: one connection, read from and written to when the test says so."""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack

from support.proxy.proxy_process import ADDRESS


class HandOrigin:
    """Listens on a free port of ADDRESS; the kernel takes calls before the test does."""

    def __init__(self) -> None:
        self._listener = socket.create_server((ADDRESS, 0))
        self.authority = f"{ADDRESS}:{self._listener.getsockname()[1]}"
        self._listener.settimeout(30)
        self._buffer = b""
        self._open = ExitStack()
        self._open.enter_context(self._listener)

    def __enter__(self) -> HandOrigin:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def accept(self) -> None:
        """Takes the next call; the rest is about that connection."""
        stream, _ = self._listener.accept()
        self.stream = self._open.enter_context(stream)
        self.stream.settimeout(30)

    def was_called(self) -> bool:
        """Whether a call waits to be taken."""
        return bool(select.select([self._listener], [], [], 0)[0])

    def read_until(self, end: bytes) -> bytes:
        """Everything up to and with these bytes."""
        while end not in self._buffer:
            piece = self.stream.recv(1 << 20)
            assert piece, f"the proxy closed the connection after {self._buffer[-100:]!r}"
            self._buffer += piece
        found, _, self._buffer = self._buffer.partition(end)
        return found + end

    def count_until(self, end: bytes) -> int:
        """How many bytes come up to and with these."""
        count, tail = len(self._buffer), self._buffer
        while not tail.endswith(end):
            piece = self.stream.recv(1 << 20)
            assert piece, f"the proxy closed the connection after {count} bytes"
            count += len(piece)
            tail = (tail + piece)[-len(end) :]
        return count

    def send(self, data: bytes) -> None:
        self.stream.sendall(data)
