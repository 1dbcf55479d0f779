"""Connections to the recording proxies serve requests in turn: those of the plain crawler, and those to control ports.

The proxy relays and records every byte of a site. So the crawler needs only the status, the fields and the body of an
answer, and reads HTTP/1.1 with few checks (RFC 9112): what the site sent is in the archive in any case.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from archive.http.chunked import ChunkDecoder
from archive.http.http_message import parse_head

MAX_HEAD: Final = 8_388_608
"""Largest number of bytes of a status line and its fields; twice as many as the proxy takes from a site by default."""
_MAX_INTERIM: Final = 100
"""Largest number of interim answers (1xx) before an answer."""
_IDLE_SECONDS: Final = 20.0
"""An idle connection is not used again after this time."""
_PIECE: Final = 131_072
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS: Final = re.compile(rb"HTTP/(\d)\.(\d) +(\d{3})(?: [^\n]*)?")
_LENGTH: Final = re.compile(r"(\d{1,18})(?:[ \t]*,[ \t]*\1)*")
_NO_BODY: Final = frozenset({204, 304})
_NOT_IN_FIELD: Final = re.compile(r"[\r\n\0]")


class ProxyUnreachable(Exception):
    """No connection to the proxy could be made."""


class ConnectionLost(Exception):
    """The connection ended before the whole answer came."""


class AnswerUnreadable(Exception):
    """The answer is no HTTP/1 response."""


class ProxyResponse:
    """A response whose body is read piece by piece. `headers` have lower-case names."""

    def __init__(self, connection: _Connection, status: int, fields: list[tuple[str, str]], *, stays: bool) -> None:
        self.status = status
        self.headers = _joined(fields)
        """Fields by name. The values of a repeated field are joined by a comma."""
        self.fields = fields
        self._connection = connection
        self._stays = stays

    def pieces(self) -> Iterator[bytes]:
        """Yield the body without its transfer coding. Raises ConnectionLost, AnswerUnreadable and TimeoutError."""
        coding = self.headers.get("transfer-encoding", "").lower()
        if self.status in _NO_BODY:
            pass
        elif coding:
            if coding.rpartition(",")[2].strip() != "chunked":
                raise AnswerUnreadable(f"transfer coding {coding[:100]}")
            yield from self._connection.chunks()
        elif (length := self.headers.get("content-length")) is not None:
            if (found := _LENGTH.fullmatch(length.strip())) is None:
                raise AnswerUnreadable(f"content length {length[:100]}")
            yield from self._connection.exactly(int(found[1]))
        else:
            self._stays = False
            yield from self._connection.rest()
        self._connection.is_done = self._stays

    def body(self) -> bytes:
        """Return the whole body."""
        return b"".join(self.pieces())

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a field, each by itself."""
        return tuple(value for field, value in self.fields if field == name)

    def close(self) -> None:
        """Keep the connection for the next request when the body was read to its end, else close it."""
        self._connection.release()


class ProxyConnections:
    """The pool keeps idle connections by address. It is safe to share between threads."""

    def __init__(self, connect_seconds: float, most_kept: int) -> None:
        self._connect_seconds = connect_seconds
        self._most_kept = most_kept
        self._idle: dict[str, list[_Connection]] = {}
        self._is_closed = False
        self._lock = threading.Lock()

    def ask(
        self,
        host: str,
        port: int,
        target: str,
        headers: Mapping[str, str],
        seconds: float,
        *,
        method: str = "GET",
        body: bytes = b"",
    ) -> ProxyResponse:
        """Send a request and return the response, of which the body is not read yet.

        The proxy may be silent for `seconds` at a time. Raises ProxyUnreachable, ConnectionLost, AnswerUnreadable and
        TimeoutError.
        """
        request = _request(method, target, headers) + body
        connection = self._taken(host, port)
        try:
            connection.begin(seconds)
            with suppress(OSError):  # The proxy may have answered, and the answer says why.
                connection.socket.sendall(request)
            status, fields, stays = connection.head()
            return ProxyResponse(connection, status, fields, stays=stays)
        except BaseException:
            connection.release()
            raise

    def close(self) -> None:
        """Close the idle connections. Those in use are closed when their answers have ended."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.socket.close()

    def _taken(self, host: str, port: int) -> _Connection:
        """Return an idle connection that still stands, else a new one."""
        address, now = f"{host}:{port}", time.monotonic()
        while True:
            with self._lock:
                idle = self._idle.get(address)
                connection = idle.pop() if idle else None
            if connection is None:
                break
            if now - connection.idle_since < _IDLE_SECONDS and connection.stands():
                return connection
            connection.socket.close()
        try:
            made = socket.create_connection((host, port), timeout=self._connect_seconds)
        except OSError as error:
            raise ProxyUnreachable(str(error)) from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Connection(self, address, made)

    def take_back(self, address: str, connection: _Connection) -> bool:
        """Keep an idle connection; return False when there are enough, or when the pool was closed."""
        with self._lock:
            idle = self._idle.setdefault(address, [])
            if self._is_closed or len(idle) >= self._most_kept:
                return False
            idle.append(connection)
        return True


class _Connection:
    """A connection reads one answer after another. `is_done` says that the last one was read to its end."""

    def __init__(self, pool: ProxyConnections, address: str, made: socket.socket) -> None:
        self.socket = made
        self.idle_since = 0.0
        self.is_done = False
        self._pool, self._address = pool, address
        self._buffer = bytearray()

    def begin(self, seconds: float) -> None:
        self.is_done = False
        self.socket.settimeout(seconds)

    def release(self) -> None:
        """Give the connection back to the pool, or close it in the middle of an answer."""
        is_clean = self.is_done and not self._buffer
        self.is_done = False
        self.idle_since = time.monotonic()
        if not (is_clean and self._pool.take_back(self._address, self)):
            self.socket.close()

    def stands(self) -> bool:
        """Return whether the proxy has neither closed the connection nor sent anything."""
        self.socket.settimeout(0)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def head(self) -> tuple[int, list[tuple[str, str]], bool]:
        """Return the status and the fields of the answer, and whether the connection may be used again after it."""
        for _ in range(_MAX_INTERIM):
            lines = self._head_lines()
            first = lines.partition(b"\n")[0]
            found = _STATUS.fullmatch(first.rstrip(b"\r"))
            if found is None or found[1] != b"1":
                raise AnswerUnreadable(f"status line {bytes(first[:100])!r}")
            status = int(found[3])
            if not 100 <= status < 200:
                fields = [(name.lower(), value) for name, value in parse_head(lines).fields]
                options = ",".join(value for name, value in fields if name == "connection").lower()
                stays = found[2] != b"0" and "close" not in options
                return status, fields, stays
        raise AnswerUnreadable("too many interim answers")

    def exactly(self, length: int) -> Iterator[bytes]:
        """Yield so many bytes."""
        while length:
            if not self._buffer:
                self._read()
            piece = bytes(self._buffer[:length])
            del self._buffer[:length]
            length -= len(piece)
            yield piece

    def chunks(self) -> Iterator[bytes]:
        """Yield a chunked body, without its trailer.

        The proxy finds the end of the body with the same decoder. A site could otherwise end a body earlier for the
        crawler than for the proxy, and the bytes behind that end would be the answer to the next request.
        """
        found: list[bytes] = []
        decoder = ChunkDecoder(lambda piece: found.append(bytes(piece)))
        while not decoder.done:
            if not self._buffer:
                self._read()
            taken = decoder.feed(bytes(self._buffer))
            del self._buffer[:taken]
            yield from found
            found.clear()
            if decoder.error:
                raise AnswerUnreadable(decoder.error)
            if decoder.framing_length > MAX_HEAD + decoder.payload_length:
                raise AnswerUnreadable("more framing than payload")

    def rest(self) -> Iterator[bytes]:
        """Yield the bytes until the proxy closes the connection."""
        while True:
            if self._buffer:
                yield bytes(self._buffer)
                self._buffer.clear()
            piece = self._piece()
            if not piece:
                return
            self._buffer += piece

    def _head_lines(self) -> bytes:
        searched = 0
        while (found := _HEAD_END.search(self._buffer, searched)) is None:
            searched = max(len(self._buffer) - 3, 0)
            if searched > MAX_HEAD:
                raise AnswerUnreadable(f"the head has more than {MAX_HEAD} bytes")
            self._read()
        lines = bytes(self._buffer[: found.start()])
        del self._buffer[: found.end()]
        return lines

    def _read(self) -> None:
        piece = self._piece()
        if not piece:
            raise ConnectionLost("the proxy closed the connection")
        self._buffer += piece

    def _piece(self) -> bytes:
        try:
            return self.socket.recv(_PIECE)
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLost(str(error)) from error


def _request(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request. Raises ValueError for a field or target that would end its line."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    for line in lines:
        if _NOT_IN_FIELD.search(line):
            raise ValueError(f"{line[:100]!r} can't be sent; a line of a request has no line break")
    return "\r\n".join((*lines, "", "")).encode()


def _joined(fields: list[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in found.items()}
