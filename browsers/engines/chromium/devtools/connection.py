"""Messages of the Chrome DevTools Protocol pass two pipes, as JSON texts that end with a zero byte.

No other process can connect, unlike with a debugging port. The browser ends when the pipes close, so that a worker that
is killed leaves no browser behind.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

from browsers.engines.command_channel import MAX_MESSAGE, BrowserConnection, CommandChannel, EventHandler, ignore_event
from browsers.engines.interface import EngineError, EngineLost, FrameGone

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
_LOST: Final = ("Session with given id not found", "Target crashed", "Target closed", "Not attached")


class Wire(Protocol):
    """A session writes its commands to this object."""

    def write(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> int:
        """Write a command, and return its number."""
        ...


class DevToolsSession(CommandChannel):
    """A session is the channel with one target: the browser, a page, a frame of another process, or a worker."""

    def __init__(self, connection: Wire, session_id: str, kind: str = "browser") -> None:
        super().__init__()
        self.id = session_id
        self.kind = kind
        """The protocol's word for the type of the target, such as page, iframe, worker."""
        self.handler: EventHandler = ignore_event
        self._connection = connection

    def _write(self, method: str, params: Mapping[str, Any]) -> int:
        return self._connection.write(self, method, params)

    def _error_of(self, message: Mapping[str, Any]) -> EngineError | None:
        return _error(str(message["error"].get("message", ""))) if "error" in message else None


class Connection(BrowserConnection[DevToolsSession]):
    """The connection to a browser gives events and answers to its sessions, in the order of their arrival."""

    def __init__(self) -> None:
        super().__init__()
        self.root = DevToolsSession(self, "")
        self._sessions = {"": self.root}
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
            if self._size > MAX_MESSAGE:
                self.close()

    def _take(self, text: bytes) -> None:
        message = json.loads(text)
        number = message.get("id")
        if number is not None:
            self._answer(number, message)
            return
        addressee = self._sessions.get(message.get("sessionId", ""))
        if addressee is not None:
            addressee.handler(message["method"], message.get("params", {}))

    def _transmit(self, channel: DevToolsSession, number: int, method: str, params: Mapping[str, Any]) -> bool:
        if self._writer is None:
            return False
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if channel.id:
            message["sessionId"] = channel.id
        self._writer.write(json.dumps(message).encode("utf-8") + b"\0")
        return True

    def _release(self) -> Collection[DevToolsSession]:
        sessions, self._sessions = self._sessions, {}
        return sessions.values()


def _error(message: str) -> EngineError:
    if message.startswith(_LOST):
        return EngineLost(message)
    return FrameGone(message) if message.startswith(_GONE) else EngineError(message)
