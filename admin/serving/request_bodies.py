"""The body of a request is received on the event loop, within bounds of bytes and time, before a thread is taken.

A body of up to SMALL_BODY bytes is whole when the application gets the request. The application is asked how long a
longer body may be: it answers by the route and by the person who asks, before anything of the body is read. When the
body may be so long, the application reads it while it arrives, in a thread that only long bodies have. Otherwise the
application gets the request with a body that can't be read: it answers 413 where it needs the body, and what it answers
without the body (401, or the way to the login) comes first.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge, RequestTimeout

from admin.serving.loop_result import LoopClosed, result_on_loop
from archive.listener_access import TWO_LENGTHS, has_two_lengths

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
type Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
type Allowance = Callable[[Scope], int]
"""Returns how many bytes the body of a request may have. It is called in a thread, for long bodies only."""

SMALL_BODY: Final = 65_536
RECEIVED: Final = "ghostfleet.body"
"""The key of a scope under which its body is a stream."""
MOST_RECEIVED: Final = 64
"""Bodies that are received at once; when there are more, the oldest of them is given up."""
BODY_SECONDS: Final = 20.0
"""In this time a small body is whole."""
_SILENCE_SECONDS: Final = 30.0
"""A long body brings bytes at least so often."""
_LEAST_RATE: Final = 4096
"""Bytes a second that a long body has on the average, after its first minute."""
_FIRST_SECONDS: Final = 60.0


class RequestBodies:
    """This ASGI application serves another one, which finds the body of each request in its scope."""

    def __init__(self, application: Any, allowance: Allowance | None = None) -> None:
        """Serve `application`. Without `allowance`, no body is longer than SMALL_BODY."""
        self._application = application
        self._allowance = allowance
        self._under_way: dict[asyncio.Timeout, None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive the body of one request, and serve the request."""
        if has_two_lengths(scope["headers"]):
            await _refuse(send, 400, TWO_LENGTHS)
            return
        begun, is_whole = b"", not _has_body(scope)
        if not is_whole and _announced(scope) <= SMALL_BODY:
            try:
                begun, is_whole = await self._received(receive)
            except TimeoutError:
                await _refuse(send, 408, "the body of the request did not come in time")
                return
            except ClientDisconnected:
                return
        if is_whole:
            scope[RECEIVED] = io.BytesIO(begun)
        else:
            most = 0 if self._allowance is None else await asyncio.to_thread(self._allowance, scope)
            if most <= SMALL_BODY or _announced(scope) > most:
                scope[RECEIVED] = TooLongBody(max(most, SMALL_BODY))
            else:
                arriving = ArrivingBody(receive, most, begun, asyncio.get_running_loop())
                scope[RECEIVED] = io.BufferedReader(arriving, SMALL_BODY)
        await self._application(scope, receive, send)

    async def _received(self, receive: Receive) -> tuple[bytes, bool]:
        """Return the body, or its beginning when it is too long, and whether it is whole.

        Raises TimeoutError, and ClientDisconnected.
        """
        found = bytearray()
        if len(self._under_way) >= MOST_RECEIVED:
            next(iter(self._under_way)).reschedule(asyncio.get_running_loop().time())
        async with asyncio.timeout(BODY_SECONDS) as limit:
            self._under_way[limit] = None
            try:
                while True:
                    piece, has_more = _piece(await receive())
                    found += piece
                    if not has_more or len(found) > SMALL_BODY:
                        return bytes(found), not has_more and len(found) <= SMALL_BODY
            finally:
                del self._under_way[limit]


class TooLongBody(io.RawIOBase):
    """The body is longer than it may be, and none of it is read."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def readable(self) -> bool:
        """Return True: a reader learns why there is nothing."""
        return True

    def readinto(self, _: Any) -> int:
        """Refuse to read."""
        raise RequestEntityTooLarge(f"the body has more than the {self._most:,} bytes that are taken here")


class ArrivingBody(io.RawIOBase):
    """A thread reads the body while it arrives. A client that is too slow, or sends too much, is refused."""

    def __init__(self, receive: Receive, most: int, begun: bytes, loop: asyncio.AbstractEventLoop) -> None:
        """Take the beginning that has been received already; at most `most` bytes may come."""
        super().__init__()
        self._receive = receive
        self._left = most
        self._piece = memoryview(begun)
        self._has_more = True
        self._loop = loop
        self._began = loop.time()
        self._count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, and wait when there is nothing. Raises an HTTPException when no more should be read."""
        while not self._piece and self._has_more:
            self._next()
        count = min(len(buffer), len(self._piece))
        self._left -= count
        if self._left < 0:
            raise RequestEntityTooLarge
        buffer[:count] = self._piece[:count]
        self._piece = self._piece[count:]
        return count

    def _next(self) -> None:
        spent = self._loop.time() - self._began
        if spent > _FIRST_SECONDS and self._count < (spent - _FIRST_SECONDS) * _LEAST_RATE:
            raise RequestTimeout("the body comes too slowly")
        try:
            message = result_on_loop(asyncio.wait_for(self._receive(), _SILENCE_SECONDS), self._loop)
        except TimeoutError as error:
            raise RequestTimeout(f"the body brought nothing for {_SILENCE_SECONDS:.0f} s") from error
        except LoopClosed as error:
            raise ClientDisconnected from error
        piece, self._has_more = _piece(message)
        self._piece = memoryview(piece)
        self._count += len(piece)


def _piece(message: MutableMapping[str, Any]) -> tuple[bytes, bool]:
    """Return the bytes of a message, and whether more come. Raises ClientDisconnected."""
    if message["type"] != "http.request":
        raise ClientDisconnected
    return message.get("body", b""), bool(message.get("more_body"))


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _announced(scope: Scope) -> int:
    """Return the length that the head of the request announces; 0 without one."""
    found = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(found) if found.isdigit() and len(found) < 19 else 0


async def _refuse(send: Send, status: int, why: str) -> None:
    """Answer with one line, and close the connection, so that nothing that follows on it is taken for a request."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})
