"""A relay between a client and a server that can stop passing on what the client says, or cut all connections."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class DeafRelay:
    """The relay listens on a port of 127.0.0.1, by default a free one, and passes connections on to another port."""

    def __init__(self, port: int, *, listen: int = 0) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", listen))
        self._threads = [threading.Thread(target=self._accept)]
        self._sockets: list[socket.socket] = []
        self._is_deaf = threading.Event()

    @property
    def port(self) -> int:
        """The port on which the relay listens."""
        return int(self._listener.getsockname()[1])

    def be_deaf(self) -> None:
        """Drop everything that clients send from now on; the server's answers still arrive."""
        self._is_deaf.set()

    def cut(self) -> None:
        """Break all present connections; new ones are passed on."""
        for each in list(self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # shutdown ends the accept and the receive of the threads; close alone does not.
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                pumps = [
                    threading.Thread(target=self._pump, args=(client, server, True)),
                    threading.Thread(target=self._pump, args=(server, client, False)),
                ]
                self._threads += pumps
                for pump in pumps:
                    pump.start()

    def _pump(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if not (is_client and self._is_deaf.is_set()):
                    target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
