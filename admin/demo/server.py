"""The server of the garden site has one thread for each connection, and ends all of them when it stops."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, cast

from admin.demo.wire import REFUSAL, Answer, BadRequest, Request, read_request, respond

PATIENCE_SECONDS: Final = 60
"""A silent connection is kept for this time."""
GLANCE_SECONDS: Final = 0.5
"""A listener looks this often whether it shall stop. Linux wakes it at once, macOS does not."""


class GardenServer:
    """The server serves `answer` on any number of ports of 127.0.0.1 until `stop()`."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self._answer = answer
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def listen(self, tls: ssl.SSLContext | None = None) -> int:
        """Start to listen, for https with a TLS context. Return the free port that was taken."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        listener.settimeout(GLANCE_SECONDS)
        self._run(self._accept, listener, tls)
        return int(listener.getsockname()[1])

    def stop(self) -> None:
        """Close all ports and connections, and wait for their threads."""
        self._stopping.set()
        with self._lock:
            for each in self._open:
                _shut(each)
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _run(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, name="garden", daemon=True)
        with self._lock:
            self._threads = [each for each in self._threads if each.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _accept(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        with self._tracked(listener):
            while not self._stopping.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                except OSError:
                    return  # stop() shut the listener down
                # Otherwise a part of an answer waits 40 ms for the acknowledgement of the part before.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._run(self._serve, connection, tls)

    def _serve(self, connection: socket.socket, tls: ssl.SSLContext | None) -> None:
        connection.settimeout(PATIENCE_SECONDS)
        try:
            with self._tracked(connection), self._tracked(_wrapped(connection, tls)) as wire:
                scheme = "https" if tls else "http"
                with wire.makefile("rwb") as stream:
                    while self._exchange(cast(BinaryIO, stream), scheme):
                        pass
        except OSError:
            return  # the client left, or refused our certificate: nothing to answer

    def _exchange(self, stream: BinaryIO, scheme: str) -> bool:
        try:
            request = read_request(stream, scheme)
        except BadRequest:
            stream.write(REFUSAL)
            return False
        return request is not None and respond(stream, request, self._answer(request), self._stopping)

    @contextmanager
    def _tracked(self, each: socket.socket) -> Iterator[socket.socket]:
        """Let `stop` close the socket while the block runs."""
        with each:
            with self._lock:
                self._open.add(each)
                if self._stopping.is_set():
                    _shut(each)
            try:
                yield each
            finally:
                with self._lock:
                    self._open.discard(each)


def _wrapped(connection: socket.socket, tls: ssl.SSLContext | None) -> socket.socket:
    return tls.wrap_socket(connection, server_side=True) if tls else connection


def _shut(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        each.close()  # not connected any more
