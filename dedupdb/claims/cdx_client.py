"""Asks the CDX server of another archive whether it has a payload, over HTTP/1.1 connections that stay open.

The server is asked directly, never through a proxy. The rules for addresses of origins do not apply, because the
operator has chosen the server. Errors name the server without user, password and parameters.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from archive.capture import Original
from archive.dates import now_micros
from archive.settings.values.cdx_address import CdxAddress
from dedupdb.claims import cdx_lines
from dedupdb.claims.claims import PayloadKey

_MOST_BYTES: Final = 65_536
"""Most bytes that are read of one answer, which should have a few lines."""
_ABOUT_US: Final = frozenset((401, 403, 407, 429))
"""Statuses below 500 that every other request would get too."""


class CdxUnavailable(Exception):
    """The server can't be reached, did not answer in time or failed. The message gives the reason in one line."""


class CdxRefused(CdxUnavailable):
    """The server refused this request, and may answer others."""


class CdxClient:
    """The client asks one CDX server. It is safe to share between threads; each call uses a connection of its own."""

    def __init__(self, address: CdxAddress) -> None:
        self.name = address.name
        """URL of the server without secrets."""
        self._address = address
        self._headers = {"Accept": "text/plain", "Accept-Encoding": "identity", "User-Agent": "ghostfleet"}
        if address.authorization:
            self._headers["Authorization"] = address.authorization
        self._tls = ssl.create_default_context() if address.scheme == "https" else None
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._busy: set[socket.socket] = set()
        self._lock = threading.Lock()

    def find(self, payload: PayloadKey, deadline: float) -> Original | None:
        """Return a capture with the payload's URL and digest; None when the server has none.

        `deadline` is a time of `time.monotonic`. Raises CdxUnavailable.
        """
        target = cdx_lines.target(self._address, payload, now_micros())
        while True:
            connection = self._connection()
            is_used = connection.sock is not None
            try:
                answer = self._ask(connection, target, deadline)
            except TimeoutError as error:
                raise CdxUnavailable("no answer in time") from error
            except (OSError, http.client.HTTPException, UnicodeError) as error:
                if is_used:
                    continue  # the server had closed the idle connection
                raise CdxUnavailable(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
            return cdx_lines.original_in(answer, payload, self.name, now_micros())

    def abort(self) -> None:
        """Abort the requests in progress: they raise CdxUnavailable in their threads."""
        with self._lock:
            for busy in self._busy:
                with suppress(OSError):  # the request has just ended
                    busy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> http.client.HTTPConnection:
        try:
            return self._idle.pop()
        except IndexError:
            host, port = self._address.host, self._address.port
            if self._tls is not None:
                return http.client.HTTPSConnection(host, port, context=self._tls)
            return http.client.HTTPConnection(host, port)

    def _ask(self, connection: http.client.HTTPConnection, target: str, deadline: float) -> bytes:
        """Return the complete lines of the answer.

        Raises CdxUnavailable, OSError or HTTPException, and then the connection is closed.
        """
        may_stay = False
        try:
            connection.timeout = _left(deadline)
            if connection.sock is None:
                connection.connect()
            stream: socket.socket = connection.sock
            with self._in_use(stream):
                stream.settimeout(_left(deadline))
                connection.request("GET", target, headers=self._headers)
                with connection.getresponse() as response:
                    if response.status != 200:
                        raise _refusal(response.status)
                    answer = _read(response, stream, deadline)
                    may_stay = (response.isclosed() or response.length == 0) and not response.will_close
        finally:
            if may_stay:
                self._idle.append(connection)
            else:
                connection.close()
        return answer

    @contextmanager
    def _in_use(self, stream: socket.socket) -> Iterator[None]:
        """Allow `abort` to end the request in this block."""
        with self._lock:
            self._busy.add(stream)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(stream)


def _read(response: http.client.HTTPResponse, stream: socket.socket, deadline: float) -> bytes:
    """Return the answer.

    When the answer is too long or its length is unknown, its last line is left out: the line may be incomplete, and a
    URL that is cut off would be another URL.
    """
    if (coding := response.getheader("Content-Encoding", "identity")) != "identity":
        raise CdxUnavailable(f"the answer has Content-Encoding {coding[:40]!r}, which was not asked for")
    is_told = response.chunked or response.length is not None
    answer = bytearray()
    while len(answer) < _MOST_BYTES:
        stream.settimeout(_left(deadline))
        piece = response.read1(_MOST_BYTES)
        if not piece:
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            break
        answer += piece
    if is_told and len(answer) < _MOST_BYTES:
        return bytes(answer)
    return bytes(answer[: answer.rfind(b"\n") + 1])


def _refusal(status: int) -> CdxUnavailable:
    if status in _ABOUT_US or not 400 <= status < 500:
        return CdxUnavailable(f"the answer has status {status}")
    return CdxRefused(f"the answer has status {status}")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
