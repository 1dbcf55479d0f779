"""The campaign's clients: each on connections of its own, one URL after another, noting what they saw to its end.

Every other one asks by CONNECT and TLS, and sends in origin form.
"""

from __future__ import annotations

import hashlib
import random
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from admin.bench.faults.origin import Origin
from admin.bench.faults.site import answer, path, upload

_PATIENCE: Final = 60.0
_PAUSE: Final = 0.05
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Seen:
    """A response whose end a client saw; `at` is of time.monotonic()."""

    url: str
    status: int
    sha256: bytes
    length: int
    at: float


class Broken(Exception):
    """A response that did not come whole."""


class Load:
    """Clients at work from the moment it is made until `finish`."""

    def __init__(self, address: tuple[str, int], origin: Origin, *, name: str, clients: int) -> None:
        self.leaving = 0.0
        """Part of the responses within which a client leaves (RST)."""
        self.seen: list[Seen] = []
        self.wrong: list[str] = []
        """What was delivered as whole and is not what the origin sends."""
        self.counts: Counter[str] = Counter()
        """Requests `asked`; those `broken` off, `refused` (503) or `failed` otherwise; those whose client `left`."""
        self._address, self._origin, self._name = address, origin, name
        self._numbers = iter(range(1 << 30))
        self._draw = random.Random(name)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(bool(number % 2),), daemon=True) for number in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def finish(self) -> list[Seen]:
        """Ends the clients, each after its present response, and gives what they saw."""
        self._over.set()
        for thread in self._threads:
            thread.join(2 * _PATIENCE)
            if thread.is_alive():
                self.wrong.append("a client still waits for its answer")
        return self.seen

    def _work(self, secure: bool) -> None:
        while not self._over.is_set():
            try:
                with socket.create_connection(self._address, _PATIENCE) as stream:
                    if secure:
                        self._tunnel(stream)
                    else:
                        self._ask_on(stream, secure=False)
            except (OSError, Broken):
                self._count("broken")
                self._over.wait(_PAUSE)

    def _tunnel(self, stream: socket.socket) -> None:
        authority = self._origin.authority(secure=True)
        stream.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        if Reader(stream).head()[9:12] != b"200":  # nothing follows it before we have spoken
            self._count("refused")
            self._over.wait(_PAUSE)
            return
        with _TLS.wrap_socket(stream) as inside:
            self._ask_on(inside, secure=True)

    def _ask_on(self, stream: socket.socket, *, secure: bool) -> None:
        """One URL after another; returns when the connection is used up. Raises OSError or Broken."""
        reader = Reader(stream)
        while not self._over.is_set():
            with self._lock:
                target = path(self._name, next(self._numbers))
                self.counts["asked"] += 1
                leaves = self._draw.random() < self.leaving
            url = self._origin.url(target, secure=secure)
            stream.sendall(_request(target if secure else url, self._origin.authority(secure=secure), upload(target)))
            if leaves:
                reader.some()
                self._count("left")
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                return
            head, body = reader.response()
            if not self._note(url, target, head, body):
                return

    def _note(self, url: str, target: str, head: bytes, body: bytes) -> bool:
        """Whether to go on on this connection."""
        status, expected = int(head[9:12]), answer(target)
        if b"\r\nghostfleet-error:" in head.lower():
            self._count("refused" if status == 503 else "failed")
            self._over.wait(_PAUSE)
            return False
        if (status, body) != (expected.status, expected.payload):
            self.wrong.append(f"{url}: {status} with {len(body)} bytes, not {expected.status} with its own")
            return False
        seen = Seen(url, status, hashlib.sha256(body).digest(), len(body), time.monotonic())
        with self._lock:
            self.seen.append(seen)
        return b"\r\nconnection: close" not in head.lower()

    def _count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1


class Reader:
    """Reads responses from a connection, strict about where they end."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._buffer = bytearray()

    def some(self) -> None:
        """The first bytes that come."""
        if not self._stream.recv(2000):
            raise Broken

    def head(self) -> bytes:
        """A response's head. Raises Broken."""
        return self._until(b"\r\n\r\n")

    def response(self) -> tuple[bytes, bytes]:
        """Head and body without chunks. Raises Broken when the connection ends before it does."""
        head = self.head()
        lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
        fields = {name: value.strip() for name, _, value in lines}
        if head[9:12] == b"204":
            return head, b""
        if fields.get(b"transfer-encoding") == b"chunked":
            return head, self._chunks()
        if b"content-length" in fields:
            return head, self._exactly(int(fields[b"content-length"]))
        raise Broken  # a body that ends with the connection: nobody can tell its end from its loss

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(self._until(b"\r\n"), 16):
            body += self._exactly(size)
            self._exactly(2)
        while self._until(b"\r\n") != b"\r\n":
            pass
        return bytes(body)

    def _until(self, end: bytes) -> bytes:
        while (at := self._buffer.find(end)) < 0:
            self._more()
        return self._take(at + len(end))

    def _exactly(self, length: int) -> bytes:
        while len(self._buffer) < length:
            self._more()
        return self._take(length)

    def _take(self, length: int) -> bytes:
        found = bytes(self._buffer[:length])
        del self._buffer[:length]
        return found

    def _more(self) -> None:
        piece = self._stream.recv(1 << 18)
        if not piece:
            raise Broken
        self._buffer += piece


def _request(target: str, authority: str, body: bytes) -> bytes:
    method, length = ("POST", f"Content-Length: {len(body)}\r\n") if body else ("GET", "")
    return f"{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{length}\r\n".encode() + body


def _trusting() -> ssl.SSLContext:
    """What the proxy shows is of its own making."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_TLS: Final = _trusting()
