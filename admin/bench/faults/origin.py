"""The campaign's origin: serves the site over plain sockets, and on command breaks connections within a body."""

from __future__ import annotations

import random
import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from admin.bench.faults.site import answer

ADDRESS: Final = "127.0.1.41"
_PIECE_PAUSE: Final = 0.02
_RESET: Final = struct.pack("ii", 1, 0)


class Origin:
    """Listens on a free port of `ADDRESS` until it is closed."""

    def __init__(self) -> None:
        self.breaking = 0.0
        """Part of the responses that break off (RST) within their body."""
        self._draw = random.Random(0)
        self._closed = threading.Event()
        self._listener = socket.create_server((ADDRESS, 0), backlog=256)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def url(self, path: str) -> str:
        """The URL of a path here."""
        return f"http://{ADDRESS}:{self.port}{path}"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # a proxy that was killed is why we are here
            connection.settimeout(60)
            pending = b""
            while not self._closed.is_set():
                while b"\r\n\r\n" not in pending:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    pending += piece
                head, _, pending = pending.partition(b"\r\n\r\n")
                if not self._send(connection, head.split(b" ", 2)[1].decode("latin-1")):
                    return

    def _send(self, connection: socket.socket, target: str) -> bool:
        """Whether the connection stays."""
        found = answer(target)
        if found.payload and self._draw.random() < self.breaking:
            body = found.raw.index(b"\r\n\r\n") + 4
            connection.sendall(found.raw[: body + self._draw.randrange(len(found.raw) - body)])
            self._closed.wait(_PIECE_PAUSE)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return False
        size = -(-len(found.raw) // found.pieces)
        for at in range(0, len(found.raw), size):
            if at:
                self._closed.wait(_PIECE_PAUSE)
            connection.sendall(found.raw[at : at + size])
        return not found.closing
