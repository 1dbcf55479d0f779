"""WSGI applications run in threads here: few compute at once, and a client that reads slowly holds nobody up.

Answers that are whole are handed to the event loop in one piece: a page is one change of threads, not three. Each
change of threads waits for other threads that compute, so that pages which are asked for at the same time are late by
several times of their own length.

A thread that waits for the client of a long answer lets another request compute meanwhile. `admin.serving.connections`
bounds the number of such clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final

from a2wsgi import WSGIMiddleware
from a2wsgi.wsgi import WSGIResponder

from admin.serving.connections import MOST_STALLED
from admin.serving.loop_result import LoopClosed, result_on_loop
from admin.serving.request_bodies import RECEIVED, ArrivingBody

_UPLOAD_THREADS: Final = 8
"""Threads that read long bodies, and nothing else: slow uploads keep no other request waiting."""
_PIECES_AHEAD: Final = 10
"""Pieces of an answer that wait for the client before the application's thread waits, too."""

type Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class WsgiThreads(WSGIMiddleware):
    """Serves a WSGI application in threads; its requests come by `RequestBodies`."""

    def __init__(self, application: Application, workers: int) -> None:
        """Let `workers` requests compute at once."""
        super().__init__(_with_received_body(application), workers + MOST_STALLED, _PIECES_AHEAD)  # type: ignore[arg-type]
        self._uploads = ThreadPoolExecutor(_UPLOAD_THREADS, "uploads")
        self._turns = _Turns(workers)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        is_arriving = isinstance(getattr(scope.get(RECEIVED), "raw", None), ArrivingBody)
        turns = _Turns(1) if is_arriving else self._turns
        executor = self._uploads if is_arriving else self.executor
        responder = _Responder(self.app, executor, turns, None if is_arriving else receive)
        async with turns.taken():
            await responder(scope, receive, send)


class _Turns:
    """Requests compute in turns. A thread that waits for its client gives its turn up meanwhile."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a turn, which lasts until the end of the block."""
        async with self._free:
            yield

    @asynccontextmanager
    async def given_up(self) -> AsyncIterator[None]:
        """Give the turn up until the end of the block, which runs within `taken`."""
        self._free.release()
        try:
            yield
        finally:
            await self._free.acquire()


class _ClientLeft(Exception):
    """The client has left, and no one reads the answer any more."""


class _Responder(WSGIResponder):
    """Keeps the head of an answer back until the first piece of the body is there.

    An answer is whole when the first piece has as many bytes as the head promises. Others, such as downloads, are sent
    piece by piece.
    """

    def __init__(self, app: Any, executor: Executor, turns: _Turns, receive: Any) -> None:
        """Make the object for one request. `receive` is None when the application reads the body by it."""
        super().__init__(app, executor, _PIECES_AHEAD)  # type: ignore[arg-type]
        self._turns = turns
        self._receive = receive
        self._leaving: asyncio.Task[Any] | None = None
        self._head: Any = None
        self._is_whole = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the request. The rest of an answer that nobody reads is not computed."""
        try:
            await super().__call__(scope, receive, send)
        except _ClientLeft:
            pass
        finally:
            if self._leaving is not None:
                self._leaving.cancel()

    def send(self, message: Any) -> None:
        """Take a message of the application; called in the application's thread."""
        if message["type"] == "http.response.start":
            self._head = message
        elif self._head is not None:
            head, self._head = self._head, None
            self._is_whole = len(message["body"]) == _promised(head)
            self._hand_on((head, {**message, "more_body": message.get("more_body", False) and not self._is_whole}))
        elif message["body"] or not self._is_whole:
            self._hand_on((message,))

    async def sender(self, send: Any) -> None:
        """Send what the application's thread hands on; called on the event loop."""
        while (messages := await self.send_queue.get()) is not None:
            for message in messages:
                await send(message)
            self.send_queue.task_done()

    def _hand_on(self, messages: Any) -> None:
        try:
            result_on_loop(self._put(messages), self.loop)
        except LoopClosed as error:
            raise _ClientLeft from error

    async def _put(self, messages: Any) -> None:
        if not self.send_queue.full():
            await self.send_queue.put(messages)
            return
        if self._leaving is None and self._receive is not None:
            self._leaving = self.loop.create_task(_left(self._receive))
        async with self._turns.given_up():
            await self.send_queue.put(messages)
        if self._leaving is not None and self._leaving.done():
            raise _ClientLeft


async def _left(receive: Any) -> None:
    """Return when the client has left. The end of the request's body, and a body that nobody reads, may come before."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _with_received_body(application: Application) -> Application:
    """Return the application with the body of `RequestBodies`, which ends by itself, as its input."""

    def wrapped(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["wsgi.input"] = environ["asgi.scope"][RECEIVED]
        environ["wsgi.input_terminated"] = True
        return application(environ, start_response)

    return wrapped


def _promised(head: Any) -> int:
    """Return the number of bytes that the head of an answer promises; -1 when there is none."""
    lengths = [value for name, value in head["headers"] if name == b"content-length"]
    return int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() else -1
