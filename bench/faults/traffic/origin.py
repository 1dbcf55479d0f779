"""The origin of the campaign serves the site over http and https, and resets connections on command."""

from __future__ import annotations

import random
import socket
import ssl
import struct
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench.faults.traffic.connection_reader import ConnectionBroken, ConnectionReader
from bench.faults.traffic.conversation import Conversation
from bench.faults.traffic.site import answer, is_socket, upload
from bench.faults.traffic.websocket import UnexpectedMessage, exchange_messages
from bench.traffic.origin import write_certificate

ADDRESS: Final = "127.0.1.41"
_PIECE_PAUSE: Final = 0.02
_RESET: Final = struct.pack("ii", 1, 0)


class FaultyOrigin:
    """The origin listens on two free ports of `ADDRESS` until it is closed."""

    def __init__(self) -> None:
        self.breaking = 0.0
        """Share of the responses and WebSockets that the origin resets in the middle."""
        self.wrong: list[str] = []
        """Messages on WebSockets that differ from the clients' messages."""
        self._draw = random.Random(0)
        self._closed = threading.Event()
        self._listeners = [socket.create_server((ADDRESS, 0), backlog=256) for _ in range(2)]
        self._ports = [int(listener.getsockname()[1]) for listener in self._listeners]
        for listener, tls in zip(self._listeners, (None, _tls()), strict=True):
            threading.Thread(target=self._accept, args=(listener, tls), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def authority(self, *, secure: bool) -> str:
        """Return the address and port."""
        return f"{ADDRESS}:{self._ports[secure]}"

    def url(self, path: str, *, secure: bool) -> str:
        """Return the URL of a path on this origin."""
        return f"http{'s' if secure else ''}://{self.authority(secure=secure)}{path}"

    def _accept(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle_connection, args=(connection, tls), daemon=True).start()

    def _handle_connection(self, connection: socket.socket, tls: ssl.SSLContext | None) -> None:
        with connection, suppress(OSError, ConnectionBroken):  # the campaign kills proxies
            connection.settimeout(60)
            if tls is None:
                self._serve(connection)
            else:
                with tls.wrap_socket(connection, server_side=True) as secured:
                    self._serve(secured)

    def _serve(self, connection: socket.socket) -> None:
        reader = ConnectionReader(connection)
        while not self._closed.is_set():
            target = reader.head().split(b" ", 2)[1].decode("latin-1")
            if is_socket(target):
                self._exchange_messages(connection, reader, target)
                return
            sent = upload(target)
            if reader.exactly(len(sent)) != sent or not self._send(connection, target):
                return

    def _exchange_messages(self, connection: socket.socket, reader: ConnectionReader, target: str) -> None:
        breaks = self._draw.random() < self.breaking
        last = self._draw.randrange(Conversation.at(target).ended) if breaks else None
        connection.sendall(answer(target).raw)
        try:
            for over in exchange_messages(connection, reader, target, "origin"):
                self._closed.wait(_PIECE_PAUSE)
                if over == last:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    return
        except UnexpectedMessage as error:
            self.wrong.append(f"{target}: {error}")

    def _send(self, connection: socket.socket, target: str) -> bool:
        """Send a response and return whether the connection stays open."""
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


def _tls() -> ssl.SSLContext:
    """Return a context with a certificate that no client trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        certificate = Path(folder, "origin.pem")
        write_certificate(ADDRESS, certificate)
        context.load_cert_chain(certificate)
    return context
