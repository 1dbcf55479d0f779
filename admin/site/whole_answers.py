"""Answers that are whole are handed to the event loop in one piece: a page is one change of threads, not three.

Each change of threads waits for other threads that compute, so that pages which are asked for at the same time are
late by several times of their own length.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from a2wsgi import WSGIMiddleware
from a2wsgi.wsgi import WSGIResponder


class WholeAnswers(WSGIMiddleware):
    """Serves a WSGI application in threads, as its parent does, and sends whole answers at once."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            await _Responder(self.app, self.executor, self.send_queue_size)(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class _Responder(WSGIResponder):
    """Keeps the head of an answer back until the first piece of the body is there.

    An answer is whole when the first piece has as many bytes as the head promises. Others, such as downloads, are sent
    piece by piece.
    """

    def __init__(self, app: Any, executor: ThreadPoolExecutor, send_queue_size: int) -> None:
        """Make the object for one request."""
        super().__init__(app, executor, send_queue_size)
        self._head: Any = None
        self._is_whole = False

    def send(self, message: Any) -> None:
        """Take a message of the application; called in the application's thread."""
        if message["type"] == "http.response.start":
            self._head = message
        elif self._head is not None:
            head, self._head = self._head, None
            self._is_whole = len(message["body"]) == _promised(head)
            super().send((head, {**message, "more_body": message.get("more_body", False) and not self._is_whole}))  # type: ignore[arg-type]
        elif message["body"] or not self._is_whole:
            super().send((message,))  # type: ignore[arg-type]

    async def sender(self, send: Any) -> None:
        """Send what the application's thread hands on; called on the event loop."""
        while (messages := await self.send_queue.get()) is not None:
            for message in messages:
                await send(message)
            self.send_queue.task_done()


def _promised(head: Any) -> int:
    """Return the number of bytes that the head of an answer promises; -1 when there is none."""
    lengths = [value for name, value in head["headers"] if name == b"content-length"]
    return int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() else -1
