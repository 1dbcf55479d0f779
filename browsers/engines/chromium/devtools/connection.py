"""Messages of the Chrome DevTools Protocol pass two pipes, as JSON texts that end with a zero byte.

No other process can connect, unlike with a debugging port. The browser ends when the pipes close, so that a worker that
is killed leaves no browser behind.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from browsers.engines.interface import EngineError, EngineLost, FrameGone

_MAX_MESSAGE: Final = 512 * 1024 * 1024
"""A message of the browser with more bytes ends the connection."""
_GONE: Final = (
    "Cannot find context",
    "Cannot find execution context",
    "Could not find node",
    "Could not find object",
    "Execution context was destroyed",
    "Frame with the given",
    "Inspected target navigated",
    "No frame",
    "No node",
    "Node with given id",
    "Promise was collected",
    "uniqueContextId not found",
)
"""Beginnings of error messages about a document or a frame that has gone."""
_LOST: Final = ("DevToolsSession with given id not found", "Target crashed", "Target closed", "Not attached")

type Handler = Callable[[str, Mapping[str, Any]], None]
"""A function that gets the name and the parameters of each event of a session."""


class Wire(Protocol):
    """A session writes its commands to this object."""

    def write(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> int:
        """Write a command, and return its number."""
        ...


class DevToolsSession:
    """A session is the conversation with one target: the browser, a page, a frame of another process, or a worker."""

    def __init__(self, connection: Wire, session_id: str, kind: str = "browser") -> None:
        self.id = session_id
        self.kind = kind
        """The protocol's word for the type of the target, such as page, iframe, worker."""
        self.handler: Handler = _ignore
        self.is_over = False
        self._connection = connection
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}

    def send(self, method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        """Send a command, and return its answer to come. The answer raises EngineError, FrameGone and EngineLost.

        Commands of one session are answered in any order, but the browser receives them in the order of the calls.
        """
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_seen)
        if self.is_over:
            answer.set_exception(EngineLost("the target has ended"))
            return answer
        number = self._connection.write(self, method, params)
        self._pending[number] = answer
        return answer

    def answered(self, number: int, message: Mapping[str, Any]) -> None:
        """Give an answer to the one that waits for it."""
        answer = self._pending.pop(number, None)
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(_error(str(message["error"].get("message", ""))))
        else:
            answer.set_result(message.get("result", {}))

    def end(self, reason: str) -> None:
        """End the session: its commands that have no answer raise EngineLost, as will all later ones."""
        self.is_over = True
        pending, self._pending = self._pending, {}
        for answer in pending.values():
            if not answer.done():
                answer.set_exception(EngineLost(reason))


class Connection(asyncio.Protocol):
    """The connection to a browser gives events and answers to its sessions, in the order of their arrival."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        """Set when the browser has closed its pipe."""
        self.root = DevToolsSession(self, "")
        self._sessions = {"": self.root}
        self._numbers: dict[int, DevToolsSession] = {}
        self._last = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._reader: asyncio.BaseTransport | None = None
        self._writer: asyncio.WriteTransport | None = None

    async def open(self, from_browser: int, to_browser: int) -> None:
        """Begin to read and write these file descriptors, which the connection closes at its end."""
        loop = asyncio.get_running_loop()
        self._reader, _ = await loop.connect_read_pipe(lambda: self, os.fdopen(from_browser, "rb", buffering=0))
        self._writer, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(to_browser, "wb", buffering=0))

    def session(self, session_id: str, kind: str) -> DevToolsSession:
        """Return a new session, which the browser has announced."""
        session = self._sessions[session_id] = DevToolsSession(self, session_id, kind)
        return session

    def end_session(self, session_id: str, reason: str) -> DevToolsSession | None:
        """End the session of this id and return it; None when there is none."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.end(reason)
        return session

    def write(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> int:
        """Write a command, and return its number."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session.id:
            message["sessionId"] = session.id
        if self._writer is not None and not self.closed.is_set():
            self._numbers[self._last] = session
            self._writer.write(json.dumps(message).encode("utf-8") + b"\0")
        return self._last

    def close(self) -> None:
        """Close the pipes, which ends the browser. All commands without an answer raise EngineLost."""
        for transport in (self._reader, self._writer):
            if transport is not None:
                transport.close()
        self._lose()

    def data_received(self, data: bytes) -> None:
        """Take bytes of the browser. The event loop calls this method."""
        *ends, rest = data.split(b"\0")
        for end in ends:
            self._parts.append(end)
            message, self._parts, self._size = b"".join(self._parts), [], 0
            self._take(message)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > _MAX_MESSAGE:
                self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all sessions, since the browser has ended. The event loop calls this method."""
        self._lose()

    def _take(self, text: bytes) -> None:
        message = json.loads(text)
        number = message.get("id")
        if number is not None:
            session = self._numbers.pop(number, None)
            if session is not None:
                session.answered(number, message)
            return
        addressee = self._sessions.get(message.get("sessionId", ""))
        if addressee is not None:
            addressee.handler(message["method"], message.get("params", {}))

    def _lose(self) -> None:
        self.closed.set()
        sessions, self._sessions = self._sessions, {}
        self._numbers.clear()
        for session in sessions.values():
            session.end("the browser has ended")


def _ignore(method: str, params: Mapping[str, Any]) -> None:
    """Ignore an event."""


def _seen(answer: asyncio.Future[dict[str, Any]]) -> None:
    """Mark an error as seen, since nobody waits for the answers of some commands."""
    with suppress(asyncio.CancelledError):
        answer.exception()


def _error(message: str) -> EngineError:
    if message.startswith(_LOST):
        return EngineLost(message)
    return FrameGone(message) if message.startswith(_GONE) else EngineError(message)
