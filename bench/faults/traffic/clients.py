"""The campaign's clients: each on connections of its own, one URL after another, noting what they saw to its end.

Every other one asks by CONNECT and TLS, and sends in origin form. Talkers open one WebSocket after another: by a plain
request, by CONNECT (as browsers do for ws:) and by CONNECT and TLS.
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

from admin.bench.faults.conversation import Conversation, request_lines
from admin.bench.faults.frames import Garbled
from admin.bench.faults.ledger import SWITCHED, Ledger, Seen
from admin.bench.faults.origin import Origin
from admin.bench.faults.reader import Broken, Reader
from admin.bench.faults.site import SOCKET, answer, path, upload
from admin.bench.faults.talking import talk

_PATIENCE: Final = 60.0
_PAUSE: Final = 0.05
_RESET: Final = struct.pack("ii", 1, 0)


class Route(Enum):
    """How a client reaches the origin through the proxy."""

    PLAIN = "plain"
    TUNNEL = "tunnel"
    SECURE = "secure"


class Load:
    """Clients and talkers at work from the moment it is made until `finish`."""

    def __init__(self, address: tuple[str, int], origin: Origin, *, name: str, clients: int, talkers: int = 0) -> None:
        self.ledger = Ledger(name)
        self._address, self._origin, self._name = address, origin, name
        self._over = threading.Event()
        at_work: list[tuple[Route, Callable[[socket.socket, Route], None]]] = [
            *((route, self._ask_on) for route in islice(cycle((Route.PLAIN, Route.SECURE)), clients)),
            *((route, self._talk_on) for route in islice(cycle(Route), talkers)),
        ]
        self._threads = [threading.Thread(target=self._work, args=each, daemon=True) for each in at_work]
        for thread in self._threads:
            thread.start()

    @property
    def seen(self) -> list[Seen]:
        """What was seen to its end until now."""
        return self.ledger.seen

    def finish(self) -> list[Seen]:
        """Ends the clients, each after its present response or WebSocket, and gives what they saw."""
        self._over.set()
        for thread in self._threads:
            thread.join(2 * _PATIENCE)
            if thread.is_alive():
                self.ledger.wrong.append("a client still waits for its answer")
        return self.seen

    def _work(self, route: Route, use: Callable[[socket.socket, Route], None]) -> None:
        while not self._over.is_set():
            try:
                with socket.create_connection(self._address, _PATIENCE) as stream:
                    if route is Route.PLAIN or self._tunnel(stream, secure=route is Route.SECURE):
                        self._use(stream, route, use)
            except (OSError, Broken):
                self.ledger.count("broken")
                self._over.wait(_PAUSE)

    def _use(self, stream: socket.socket, route: Route, use: Callable[[socket.socket, Route], None]) -> None:
        if route is not Route.SECURE:
            use(stream, route)
            return
        with _TLS.wrap_socket(stream) as inside:
            use(inside, route)

    def _tunnel(self, stream: socket.socket, *, secure: bool) -> bool:
        """Whether it is there; nothing of what goes through it may come before we have spoken."""
        authority = self._origin.authority(secure=secure)
        stream.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        is_open = Reader(stream).head()[9:12] == b"200"
        if not is_open:
            self._turned_away("refused")
        return is_open

    def _ask_on(self, stream: socket.socket, route: Route) -> None:
        """One URL after another; returns when the connection is used up. Raises OSError or Broken."""
        reader = Reader(stream)
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
                self._leave(stream)
                return
            head, payload = reader.response()
            if not self._note(self._url(route, target), target, head, payload):
                return

    def _talk_on(self, stream: socket.socket, route: Route) -> None:
        """One WebSocket. Raises OSError or Broken when it doesn't come to its end."""
        reader = Reader(stream)
        number, leaves = self.ledger.next_request()
        target = path(self._name, number, SOCKET)
        stream.sendall(self._request("GET", route, target, request_lines(target)))
        head = reader.head()
        if self._is_ours(head):
            return
        url = self._url(route, target)
        try:
            if head != answer(target).raw:
                raise Garbled(f"the handshake is {head[:100]!r}")
            self._talk(stream, reader, url, target, leaves)
        except Garbled as error:
            self.ledger.wrong.append(f"{url}: {error}")

    def _talk(self, stream: socket.socket, reader: Reader, url: str, target: str, leaves: float | None) -> None:
        ended, over = Conversation.at(target).ended, 0
        last = None if leaves is None else int(leaves * ended)
        try:
            for over in talk(stream, reader, target, "client"):
                if over == last:
                    self._leave(stream)
                    return
                if over == ended:
                    self.ledger.note(url, SWITCHED, hashlib.sha256().digest(), 0)
            if not reader.is_at_end():
                raise Garbled("more than was to be said")
        except (OSError, Broken):
            if over < ended:  # later, it has seen what it wanted to
                raise

    def _request(self, method: str, route: Route, target: str, lines: bytes) -> bytes:
        asked = self._url(route, target) if route is Route.PLAIN else target
        host = self._origin.authority(secure=route is Route.SECURE)
        return f"{method} {asked} HTTP/1.1\r\nHost: {host}\r\n".encode() + lines + b"\r\n"

    def _url(self, route: Route, target: str) -> str:
        return self._origin.url(target, secure=route is Route.SECURE)

    def _note(self, url: str, target: str, head: bytes, body: bytes) -> bool:
        """Whether to go on on this connection."""
        if self._is_ours(head):
            return False
        status, expected = int(head[9:12]), answer(target)
        if (status, body) != (expected.status, expected.payload):
            self.ledger.wrong.append(f"{url}: {status} with {len(body)} bytes, not {expected.status} with its own")
            return False
        self.ledger.note(url, status, hashlib.sha256(body).digest(), len(body))
        return b"\r\nconnection: close" not in head.lower()

    def _is_ours(self, head: bytes) -> bool:
        """Whether it is the proxy that speaks, to say that it can't."""
        if b"\r\nghostfleet-error:" not in head.lower():
            return False
        self._turned_away("refused" if head[9:12] == b"503" else "failed")
        return True

    def _turned_away(self, how: str) -> None:
        self.ledger.count(how)
        self._over.wait(_PAUSE)

    def _leave(self, stream: socket.socket) -> None:
        self.ledger.count("left")
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def _trusting() -> ssl.SSLContext:
    """What the proxy shows is of its own making."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_TLS: Final = _trusting()
