"""Asks a CDX server elsewhere whether it has a payload: plain HTTP/1.1 over connections that stay open.

Never by way of a proxy, and wherever the server is: it is the operator's choice, so the rules for origins' addresses
don't hold for it. Errors name the server without user, password and parameters.
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
from archive.cdx_address import CdxAddress
from archive.dates import now_micros
from dedupdb import cdx_lines
from dedupdb.claims import Want

_MOST_BYTES: Final = 65_536
"""Read of one answer, which has a line or a few: more is no answer to our question."""
_ABOUT_US: Final = frozenset((401, 403, 407, 429))
"""Statuses below 500 that other questions would get too."""


class CdxUnavailable(Exception):
    """The server can't be reached, did not answer in time or failed; the message says which, in one line."""


class CdxRefused(CdxUnavailable):
    """It does not answer this question, and may answer others."""


class CdxClient:
    """One CDX server. Safe to share between threads; each call uses a connection of its own."""

    def __init__(self, address: CdxAddress) -> None:
        self.name = address.name
        """Its URL without secrets."""
        self._address = address
        self._headers = {"Accept": "text/plain", "Accept-Encoding": "identity", "User-Agent": "ghostfleet"}
        if address.authorization:
            self._headers["Authorization"] = address.authorization
        self._tls = ssl.create_default_context() if address.scheme == "https" else None
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._busy: set[socket.socket] = set()
        self._lock = threading.Lock()

    def find(self, want: Want, deadline: float) -> Original | None:
        """A capture of the want's URL with its digest, None when the server has none.

        `deadline` is of `time.monotonic`. Raises CdxUnavailable.
        """
        target = cdx_lines.target(self._address, want, now_micros())
        while True:
            connection = self._connection()
            is_used = connection.sock is not None
            try:
                answer = self._ask(connection, target, deadline)
            except TimeoutError as error:
                raise CdxUnavailable("it did not answer in time") from error
            except (OSError, http.client.HTTPException, UnicodeError) as error:
                if is_used:
                    continue  # the server had closed it, as servers do with idle ones
                raise CdxUnavailable(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
            return cdx_lines.original_in(answer, want, self.name, now_micros())

    def break_off(self) -> None:
        """End the questions that are under way: they raise CdxUnavailable in their threads."""
        with self._lock:
            for busy in self._busy:
                with suppress(OSError):  # it has ended by itself
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
        """The lines that are whole. Raises CdxUnavailable, OSError or HTTPException, and the connection is closed."""
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
        """Within, it can be broken off."""
        with self._lock:
            self._busy.add(stream)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(stream)


def _read(response: http.client.HTTPResponse, stream: socket.socket, deadline: float) -> bytes:
    """Of an answer that is too long, or whose length was not told, the last line may not be whole: it is left out.

    A URL that is cut off would be another URL.
    """
    if (coding := response.getheader("Content-Encoding", "identity")) != "identity":
        raise CdxUnavailable(f"it answers in {coding[:40]!r}, which was not asked for")
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
        return CdxUnavailable(f"it answered with status {status}")
    return CdxRefused(f"it answered with status {status}")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
