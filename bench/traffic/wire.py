"""This module has the client's side of an HTTP/1.1 connection. It sends one request at a time with little CPU."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, cast

ANSWER_SECONDS: Final = 60.0
_FINAL_CHUNK: Final = b"\r\n0\r\n\r\n"


class LoadError(Exception):
    """The response is not what the origin sent. The message is one word."""


class ClosedIdle(LoadError):
    """The connection was closed before the first byte of the response, which may happen to an idle connection."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply is a whole response. With `stays`, the connection can be used again."""

    status: int
    body: bytes
    stays: bool


class WireReader(asyncio.Protocol):
    """The reader reads responses that end by Content-Length, by chunks or with the connection."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.closed = False
        self._buffer = bytearray()
        self._body_at = 0
        self._needed = 0
        self._framing = b""
        self._head_only = False
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self._body_at and self._framing == b"close":
            self._done()
        elif self._waiter and not self._waiter.done():
            self._waiter.set_exception(LoadError("closed-early") if self._buffer else ClosedIdle("closed-idle"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._body_at:
            self._read_head()
        if not self._body_at:
            return
        if self._framing == b"length":
            if len(self._buffer) >= self._needed:
                self._done()
        elif self._framing == b"chunked" and self._buffer.endswith(_FINAL_CHUNK):
            self._done()

    async def ask(self, request: bytes, *, head_only: bool = False) -> Reply:
        """Send a request and return its response. `head_only` is for CONNECT, whose response has no body."""
        self._buffer.clear()
        self._body_at = 0
        self._head_only = head_only
        self._waiter = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._waiter
        return self._reply()

    def _read_head(self) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[: end + 2]).lower()
        self._body_at = end + 4
        _, found, rest = head.partition(b"\r\ncontent-length:")
        if found or self._head_only:
            self._framing = b"length"
            self._needed = self._body_at + (0 if self._head_only else int(rest.partition(b"\r\n")[0]))
        elif b"\r\ntransfer-encoding: chunked" in head:
            self._framing = b"chunked"
        else:
            self._framing = b"close"

    def _done(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    def _reply(self) -> Reply:
        head = bytes(self._buffer[: self._body_at]).lower()
        closes = b"\r\nconnection: close\r\n" in head or b"\r\nproxy-connection: close\r\n" in head
        stays = not closes and not self.closed and not head.startswith(b"http/1.0")
        end = self._needed if self._framing == b"length" else len(self._buffer)
        body = bytes(self._buffer[self._body_at : end])
        return Reply(int(head[9:12]), dechunk(body) if self._framing == b"chunked" else body, stays)


def dechunk(body: bytes) -> bytes:
    """Return the content of a chunked body. Raises LoadError when the chunks are malformed."""
    content, at = bytearray(), 0
    while True:
        line, found, _ = body[at : at + 64].partition(b"\r\n")
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError as error:
            raise LoadError("bad-chunk") from error
        if not found or size == 0:
            return bytes(content)
        at += len(line) + 2
        content += body[at : at + size]
        at += size + 2
