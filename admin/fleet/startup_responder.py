"""Answer requests on ports that are open while the recording processes still start.

The parent binds the ports first, so that no other program can take them. Until the recording processes are ready, each
request gets a 503 with Retry-After, so that no client waits without an answer.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Self

RETRY_SECONDS: Final = 1
_BODY: Final = b"ghostfleet is starting; try again in a moment\n"
ANSWER: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Type: text/plain\r\n"
    b"Content-Length: %d\r\n"
    b"Retry-After: %d\r\n"
    b"Connection: close\r\n\r\n" % (len(_BODY), RETRY_SECONDS)
) + _BODY
_MOST_CLIENTS: Final = 200
"""With more clients, the oldest connection is answered and closed at once."""
_HEAD_BYTES: Final = 65536
_DRAINED_BYTES: Final = 1_000_000
"""A client that sends more after its answer is disconnected."""


class StartupResponder:
    """The responder answers every request on these listening sockets with 503 while it is entered.

    Connections that are still open at the end get the answer too. The listening sockets stay open.
    """

    def __init__(self, listeners: Sequence[socket.socket]) -> None:
        self._listeners = list(dict.fromkeys(listeners))
        self._clients: dict[socket.socket, bytearray | int] = {}
        """For each client the received part of its request; once it has its answer, the number of further bytes."""
        self._selector = selectors.DefaultSelector()
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="startup-responder", daemon=True)
        self._is_open = False

    def __enter__(self) -> Self:
        for listener in self._listeners:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._stop_read, selectors.EVENT_READ)
        self._is_open = True
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Answer all open connections and accept no more. May be called again."""
        if not self._is_open:
            return
        self._is_open = False
        os.write(self._stop_write, b".")
        self._thread.join()
        self._selector.close()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == self._stop_read:
                    self._end()
                    return
                assert isinstance(key.fileobj, socket.socket)
                if key.fileobj in self._clients:
                    self._read(key.fileobj)
                else:
                    self._accept(key.fileobj)

    def _accept(self, listener: socket.socket) -> None:
        if len(self._clients) >= _MOST_CLIENTS:
            self._drop(next(iter(self._clients)))
        try:
            client, _ = listener.accept()
        except OSError:  # a process that is ready accepted the connection first, or the client disconnected
            return
        client.setblocking(False)
        self._clients[client] = bytearray()
        self._selector.register(client, selectors.EVENT_READ)

    def _read(self, client: socket.socket) -> None:
        try:
            piece = client.recv(_HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        sent = self._clients[client]
        if not piece:
            self._drop(client)
        elif isinstance(sent, bytearray):
            sent += piece
            if b"\r\n\r\n" in sent or b"\n\n" in sent or len(sent) > _HEAD_BYTES:
                _answer(client)
                self._clients[client] = 0
        else:
            self._clients[client] = sent + len(piece)
            if sent + len(piece) > _DRAINED_BYTES:
                self._drop(client)

    def _drop(self, client: socket.socket) -> None:
        """Close a connection, after the answer if that was not sent yet."""
        self._selector.unregister(client)
        if isinstance(self._clients.pop(client), bytearray):
            with suppress(OSError):
                client.recv(_HEAD_BYTES)  # a close with unread bytes would reset the connection and lose the answer
            _answer(client)
        client.close()

    def _end(self) -> None:
        for client in list(self._clients):
            self._drop(client)


def _answer(client: socket.socket) -> None:
    """Send the 503 and the end of the stream. The answer is smaller than any socket's buffer."""
    with suppress(OSError):
        client.send(ANSWER)
        client.shutdown(socket.SHUT_WR)
