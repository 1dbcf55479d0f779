"""An origin of raw sockets: sends exactly the bytes a test scripted, and remembers exactly what it received.

    with RawOrigin("127.0.1.7") as origin:
        origin.script("/a", Send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhe"), Reset())

A script is played each time its path is asked for. It ends with the connection open for the next request unless
its last step closes it. Whatever address of 127.0.0.0/8 is given, several origins don't get into each other's way.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import trustme

PATIENCE_SECONDS = 60.0
_PIECE = 1 << 20
_LAST_CHUNK = re.compile(rb"(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n\Z")


@dataclass(frozen=True)
class Send:
    """Send these bytes."""

    data: bytes


@dataclass(frozen=True)
class Wait:
    """Go on when the event is set."""

    event: threading.Event


@dataclass(frozen=True)
class Close:
    """End the connection with FIN; over TLS with close_notify first, unless `notify` is off, as with many servers."""

    notify: bool = True


@dataclass(frozen=True)
class HalfClose:
    """Send FIN, but go on reading."""


@dataclass(frozen=True)
class Reset:
    """Break the connection (RST)."""


@dataclass(frozen=True)
class Drip:
    """Send the bytes one at a time, `seconds` apart, until they are all sent or the peer is gone."""

    data: bytes
    seconds: float


@dataclass(frozen=True)
class Repeat:
    """Send the bytes again and again, as fast as they go, until the peer breaks the connection."""

    data: bytes


type Step = Send | Wait | Close | HalfClose | Reset | Drip | Repeat
type Answer = Callable[[bytes], Sequence[Step]]
"""From a request as received to the steps of its answer."""


@dataclass
class Visit:
    """One request: as it came, and every byte sent in answer to it. `connection` numbers the origin's connections."""

    connection: int
    path: str
    received: bytes
    pieces: list[bytes] = field(default_factory=list)

    @property
    def sent(self) -> bytes:
        """What went out so far."""
        return b"".join(self.pieces)


@dataclass
class _Scripts:
    answers: dict[str, Answer] = field(default_factory=dict)
    default: Answer | None = None
    greeting: Sequence[Step] = ()


class RawOrigin:
    """The origin, listening on `port` (0: a free one) of `address` from the moment it is made until `close`."""

    def __init__(self, address: str = "127.0.1.1", *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.address = address
        self.visits: list[Visit] = []
        self.connections = 0
        self._tls = tls
        self._scripts = _Scripts()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_closed = False
        self._listener = socket.create_server((address, port), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def authority(self) -> str:
        """Address and port, as in a URL."""
        return f"{self.address}:{self.port}"

    def url(self, path: str) -> str:
        """The URL of a path here."""
        return f"{'https' if self._tls else 'http'}://{self.authority}{path}"

    def script(self, path: str, *steps: Step) -> None:
        """What is done each time `path` is asked for."""
        self._scripts.answers[path] = lambda _: steps

    def answer(self, path: str, answer: Answer) -> None:
        """The same, computed from the request."""
        self._scripts.answers[path] = answer

    def otherwise(self, answer: Answer) -> None:
        """What is done for all other paths; without this they get a 404."""
        self._scripts.default = answer

    def greet(self, *steps: Step) -> None:
        """What is done with every new connection before it is read from (and before TLS)."""
        self._scripts.greeting = steps

    def asked(self, path: str) -> list[Visit]:
        """All requests for a path, oldest first."""
        with self._lock:
            return [visit for visit in self.visits if visit.path == path]

    def sent(self, path: str) -> bytes:
        """What the last request for a path got."""
        return self.asked(path)[-1].sent

    def received(self, path: str) -> bytes:
        """The last request for a path, head and body."""
        return self.asked(path)[-1].received

    def close(self) -> None:
        """Closes the port and every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            self._is_closed = True
            left = list(self._open)
        for connection in left:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._is_closed:  # it was taken in while the port was being closed
                    connection.close()
                    return
                self.connections += 1
                number = self.connections
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        stream = connection
        try:
            if not self._play(connection, self._scripts.greeting, None):
                return
            connection.settimeout(PATIENCE_SECONDS)
            if self._tls is not None:
                stream = self._tls.wrap_socket(connection, server_side=True)
            while (request := _read_request(stream)) is not None:
                visit = Visit(number, _path(request), request)
                with self._lock:
                    self.visits.append(visit)
                answer = self._scripts.answers.get(visit.path) or self._scripts.default or _not_found
                if not self._play(stream, answer(request), visit):
                    return
        except OSError:
            pass  # the peer went away: what it got so far is in `visits`
        finally:
            with self._lock:
                self._open.discard(connection)
            with suppress(OSError):
                stream.close()
            connection.close()

    def _play(self, stream: socket.socket, steps: Sequence[Step], visit: Visit | None) -> bool:
        """Whether the connection is still to be read from."""
        for step in steps:
            match step:
                case Send(data):
                    _send(stream, data, visit)
                case Drip(data, seconds):
                    for at in range(len(data)):
                        _send(stream, data[at : at + 1], visit)
                        threading.Event().wait(seconds)
                case Repeat(data):
                    while True:
                        stream.sendall(data)
                case Wait(event):
                    event.wait(PATIENCE_SECONDS)
                case HalfClose():
                    stream.shutdown(socket.SHUT_WR)
                case Close(notify):
                    _finish(stream, notify=notify)
                    return False
                case Reset():
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return False
        return True


def response(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A plain response with Content-Length."""
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body), b"", b""]
    return b"\r\n".join(lines) + body


def certificate_authority() -> trustme.CA:
    """An authority of the tests' own, with keys that are quick to make."""
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


def server_tls(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """The server's side of TLS, with a certificate for these names and addresses."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names, key_type=trustme.KeyType.ECDSA).configure_cert(context)
    return context


def _send(stream: socket.socket, data: bytes, visit: Visit | None) -> None:
    for at in range(0, len(data), _PIECE):
        piece = data[at : at + _PIECE]
        pieces = visit.pieces if visit is not None else []
        pieces.append(piece)  # before it is sent, since the client may ask at once for what was sent
        try:
            stream.sendall(piece)
        except OSError:
            pieces.pop()
            raise


def _finish(stream: socket.socket, *, notify: bool) -> None:
    """FIN, then wait until the peer has read everything: closing at once could break the connection instead."""
    with suppress(OSError):
        stream.settimeout(5)
        if notify and isinstance(stream, ssl.SSLSocket):
            stream.unwrap()
        socket.socket.shutdown(stream, socket.SHUT_WR)
        while socket.socket.recv(stream, 65536):
            pass


def _not_found(_: bytes) -> Sequence[Step]:
    return (Send(response(b"nothing here\n", status=b"404 Not Found")),)


def _is_whole(chunks: bytes) -> bool:
    """Return whether the last chunk is there. Look at the end first, as a search takes long in a large body."""
    return chunks.endswith(b"\r\n\r\n") and bool(_LAST_CHUNK.search(chunks))


def _path(request: bytes) -> str:
    return request.split(b" ", 2)[1].decode("latin-1")


def _read_request(stream: socket.socket) -> bytes | None:
    """Head and body of the next request; None when the peer closes instead."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = stream.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    if length := re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE):
        while len(body) < int(length[1]) and (piece := stream.recv(65536)):
            body += piece
    elif re.search(rb"\r\ntransfer-encoding: *chunked", head, re.IGNORECASE):
        while not _is_whole(body) and (piece := stream.recv(65536)):
            body += piece
    return head + b"\r\n\r\n" + body
