"""The clients of the campaign request one URL after another, and note each response whose end they saw.

Every other client uses CONNECT and TLS. Further clients open one WebSocket after another: with a plain request, through
CONNECT (as browsers do for ws:), and through CONNECT and TLS.
"""

from __future__ import annotations

import hashlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from enum import Enum
from itertools import cycle, islice
from typing import Final

from bench.faults.traffic.connection_reader import ConnectionBroken, ConnectionReader
from bench.faults.traffic.conversation import Conversation, request_lines
from bench.faults.traffic.ledger import SWITCHED, RequestLedger, SeenResponse
from bench.faults.traffic.origin import FaultyOrigin
from bench.faults.traffic.site import SOCKET, answer, path, upload
from bench.faults.traffic.websocket import UnexpectedMessage, exchange_messages

_TIMEOUT_SECONDS: Final = 60.0
_PAUSE: Final = 0.05
_RESET: Final = struct.pack("ii", 1, 0)


class Route(Enum):
    """A client reaches the origin through the proxy on one of these routes."""

    PLAIN = "plain"
    TUNNEL = "tunnel"
    SECURE = "secure"


class RunningLoad:
    """A load of clients works from its creation until `finish`."""

    def __init__(
        self, address: tuple[str, int], origin: FaultyOrigin, *, name: str, clients: int, websocket_clients: int = 0
    ) -> None:
        self.ledger = RequestLedger(name)
        self._address, self._origin, self._name = address, origin, name
        self._over = threading.Event()
        at_work: list[tuple[Route, Callable[[socket.socket, Route], None]]] = [
            *((route, self._request_files) for route in islice(cycle((Route.PLAIN, Route.SECURE)), clients)),
            *((route, self._use_websocket) for route in islice(cycle(Route), websocket_clients)),
        ]
        self._threads = [threading.Thread(target=self._work, args=each, daemon=True) for each in at_work]
        for thread in self._threads:
            thread.start()

    @property
    def seen(self) -> list[SeenResponse]:
        """Return the responses that were seen to their end until now."""
        return self.ledger.seen

    def finish(self) -> list[SeenResponse]:
        """End each client after its present response or WebSocket, and return what the clients saw."""
        self._over.set()
        for thread in self._threads:
            thread.join(2 * _TIMEOUT_SECONDS)
            if thread.is_alive():
                self.ledger.wrong.append("a client still waits for its response")
        return self.seen

    def _work(self, route: Route, use: Callable[[socket.socket, Route], None]) -> None:
        while not self._over.is_set():
            try:
                with socket.create_connection(self._address, _TIMEOUT_SECONDS) as stream:
                    if route is Route.PLAIN or self._tunnel(stream, secure=route is Route.SECURE):
                        self._use(stream, route, use)
            except (OSError, ConnectionBroken):
                self.ledger.count("broken")
                self._over.wait(_PAUSE)

    def _use(self, stream: socket.socket, route: Route, use: Callable[[socket.socket, Route], None]) -> None:
        if route is not Route.SECURE:
            use(stream, route)
            return
        with _TLS.wrap_socket(stream) as inside:
            use(inside, route)

    def _tunnel(self, stream: socket.socket, *, secure: bool) -> bool:
        """Open a tunnel and return whether the proxy accepted it."""
        authority = self._origin.authority(secure=secure)
        stream.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        is_open = ConnectionReader(stream).head()[9:12] == b"200"
        if not is_open:
            self._count_refusal("refused")
        return is_open

    def _request_files(self, stream: socket.socket, route: Route) -> None:
        """Request one URL after another until the connection ends. Raises OSError or ConnectionBroken."""
        reader = ConnectionReader(stream)
        while not self._over.is_set():
            number, leaves = self.ledger.next_request()
            target = path(self._name, number)
            if body := upload(target):
                head = self._request("POST", route, target, b"Content-Length: %d\r\n" % len(body))
            else:
                head = self._request("GET", route, target, b"")
            stream.sendall(head + body)
            if leaves is not None:
                reader.some()
                self._reset_connection(stream)
                return
            head, payload = reader.response()
            if not self._note(self._url(route, target), target, head, payload):
                return

    def _use_websocket(self, stream: socket.socket, route: Route) -> None:
        """Open a WebSocket and exchange all messages. Raises OSError or ConnectionBroken when it ends early."""
        reader = ConnectionReader(stream)
        number, leaves = self.ledger.next_request()
        target = path(self._name, number, SOCKET)
        stream.sendall(self._request("GET", route, target, request_lines(target)))
        head = reader.head()
        if self._is_from_proxy(head):
            return
        url = self._url(route, target)
        try:
            if head != answer(target).raw:
                raise UnexpectedMessage(f"the handshake is {head[:100]!r}")
            self._exchange_messages(stream, reader, url, target, leaves)
        except UnexpectedMessage as error:
            self.ledger.wrong.append(f"{url}: {error}")

    def _exchange_messages(
        self, stream: socket.socket, reader: ConnectionReader, url: str, target: str, leaves: float | None
    ) -> None:
        ended, over = Conversation.at(target).ended, 0
        last = None if leaves is None else int(leaves * ended)
        try:
            for over in exchange_messages(stream, reader, target, "client"):
                if over == last:
                    self._reset_connection(stream)
                    return
                if over == ended:
                    self.ledger.note(url, SWITCHED, hashlib.sha256().digest(), 0)
            if not reader.is_at_end():
                raise UnexpectedMessage("bytes follow the last message")
        except (OSError, ConnectionBroken):
            if over < ended:  # later, the client has seen the end
                raise

    def _request(self, method: str, route: Route, target: str, lines: bytes) -> bytes:
        asked = self._url(route, target) if route is Route.PLAIN else target
        host = self._origin.authority(secure=route is Route.SECURE)
        return f"{method} {asked} HTTP/1.1\r\nHost: {host}\r\n".encode() + lines + b"\r\n"

    def _url(self, route: Route, target: str) -> str:
        return self._origin.url(target, secure=route is Route.SECURE)

    def _note(self, url: str, target: str, head: bytes, body: bytes) -> bool:
        """Note a response and return whether the connection can be used again."""
        if self._is_from_proxy(head):
            return False
        status, expected = int(head[9:12]), answer(target)
        if (status, body) != (expected.status, expected.payload):
            self.ledger.wrong.append(f"{url}: {status} with {len(body)} bytes, not {expected.status} with its own")
            return False
        self.ledger.note(url, status, hashlib.sha256(body).digest(), len(body))
        return b"\r\nconnection: close" not in head.lower()

    def _is_from_proxy(self, head: bytes) -> bool:
        """Return whether the proxy itself made this response, to report an error."""
        if b"\r\nghostfleet-error:" not in head.lower():
            return False
        self._count_refusal("refused" if head[9:12] == b"503" else "failed")
        return True

    def _count_refusal(self, how: str) -> None:
        self.ledger.count(how)
        self._over.wait(_PAUSE)

    def _reset_connection(self, stream: socket.socket) -> None:
        self.ledger.count("left")
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def _trusting() -> ssl.SSLContext:
    """Return a context that accepts any certificate, since the proxy makes its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_TLS: Final = _trusting()
