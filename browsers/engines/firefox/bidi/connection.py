"""Messages of WebDriver BiDi pass a WebSocket, as JSON texts.

Firefox listens on a port of 127.0.0.1, and refuses a request that names another host or an origin, so that no page can
use the port. Firefox has one session at a time: another process can open none while ours lives.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Self

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Ping, Request
from wsproto.utilities import ProtocolError

from browsers.engines.interface import EngineError, EngineLost, FrameGone

_MAX_MESSAGE: Final = 512 * 1024 * 1024
"""A message of the browser with more characters ends the connection."""
_MAX_ERROR: Final = 500
_PATH: Final = "/session"
_GONE_CODES: Final = frozenset(("no such frame", "no such node", "no such handle", "no such history entry"))
_GONE: Final = (
    "AbortError",
    "Actor 'MessageHandler",
    "DiscardedBrowsingContextError",
    "Document was unloaded",
    "JSWindowActor",
)
"""Beginnings of the messages of other errors about a document or a frame that has gone."""

type EventHandler = Callable[[str, Mapping[str, Any]], None]
"""A function that gets the name and the parameters of each event."""


class BidiChannel:
    """A channel is a part of the conversation, such as that about one window, which can end before the others."""

    def __init__(self, connection: BidiConnection) -> None:
        self._connection = connection
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reason = ""

    def send(self, method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        """Send a command, and return its answer to come. The answer raises EngineError, FrameGone and EngineLost.

        Firefox receives the commands in the order of the calls, and answers them in any order.
        """
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_seen)
        if self._reason:
            answer.set_exception(EngineLost(self._reason))
            return answer
        self._pending[self._connection.write(self, method, params)] = answer
        return answer

    def answered(self, number: int, message: Mapping[str, Any]) -> None:
        """Give an answer to the one that waits for it."""
        answer = self._pending.pop(number, None)
        if answer is None or answer.done():
            return
        if message.get("type") == "error":
            answer.set_exception(_error(str(message.get("error", "")), str(message.get("message", ""))))
        else:
            answer.set_result(message.get("result", {}))

    def end(self, reason: str) -> None:
        """End the channel: its commands that have no answer raise EngineLost, as will all later ones."""
        self._reason = self._reason or reason
        pending, self._pending = self._pending, {}
        for answer in pending.values():
            if not answer.done():
                answer.set_exception(EngineLost(reason))


class BidiConnection(asyncio.Protocol):
    """The connection gives answers to the channels that asked, and events to one handler, in their order."""

    def __init__(self, host: str, port: int) -> None:
        self.closed = asyncio.Event()
        """Set when the browser has closed the connection."""
        self.handler: EventHandler = _ignore
        self.opened = asyncio.Event()
        """Set when the browser has accepted the WebSocket."""
        self._wire = WSConnection(ConnectionType.CLIENT)
        self._request = Request(host=f"{host}:{port}", target=_PATH)
        self._transport: asyncio.Transport | None = None
        self._channels: set[BidiChannel] = set()
        self._numbers: dict[int, BidiChannel] = {}
        self._last = 0
        self._parts: list[str] = []
        self._size = 0

    @classmethod
    async def open(cls, host: str, port: int) -> Self:
        """Return a connection to the browser that listens there. Raises OSError and EngineLost."""
        _, connection = await asyncio.get_running_loop().create_connection(lambda: cls(host, port), host, port)
        ends = [asyncio.ensure_future(event.wait()) for event in (connection.opened, connection.closed)]
        try:
            await asyncio.wait(ends, return_when="FIRST_COMPLETED")
        finally:
            for end in ends:
                end.cancel()
        if connection.closed.is_set():
            raise EngineLost("the browser refused the connection")
        return connection

    def channel(self) -> BidiChannel:
        """Return a new channel."""
        channel = BidiChannel(self)
        self._channels.add(channel)
        if self.closed.is_set():
            self.end_channel(channel, "the browser has ended")
        return channel

    def end_channel(self, channel: BidiChannel, reason: str) -> None:
        """End a channel, whose answers are not waited for any more."""
        self._channels.discard(channel)
        channel.end(reason)

    def write(self, channel: BidiChannel, method: str, params: Mapping[str, Any]) -> int:
        """Write a command, and return its number."""
        self._last += 1
        if self._transport is not None and not self.closed.is_set():
            self._numbers[self._last] = channel
            text = json.dumps({"id": self._last, "method": method, "params": params})
            self._transport.write(self._wire.send(Message(data=text)))
        return self._last

    def close(self) -> None:
        """Close the connection. All commands without an answer raise EngineLost."""
        if self._transport is not None:
            self._transport.close()
        self._lose()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket. The event loop calls this method."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._wire.send(self._request))

    def data_received(self, data: bytes) -> None:
        """Take bytes of the browser. The event loop calls this method."""
        try:
            self._wire.receive_data(data)
            for event in self._wire.events():
                match event:
                    case AcceptConnection():
                        self.opened.set()
                    case Ping() if self._transport is not None:
                        self._transport.write(self._wire.send(event.response()))
                    case Message():
                        self._collect(str(event.data), is_end=event.message_finished)
                    case CloseConnection():
                        self.close()
        except ProtocolError:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all channels, since the browser has ended. The event loop calls this method."""
        self._lose()

    def _collect(self, text: str, *, is_end: bool) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > _MAX_MESSAGE:
            self.close()
        elif is_end:
            whole, self._parts, self._size = "".join(self._parts), [], 0
            self._take(json.loads(whole))

    def _take(self, message: Mapping[str, Any]) -> None:
        if message.get("type") == "event":
            self.handler(message["method"], message["params"])
            return
        channel = self._numbers.pop(message.get("id") or 0, None)
        if channel is not None:
            channel.answered(message["id"], message)

    def _lose(self) -> None:
        self.closed.set()
        channels, self._channels = self._channels, set()
        self._numbers.clear()
        for channel in channels:
            channel.end("the browser has ended")


def _ignore(method: str, params: Mapping[str, Any]) -> None:
    """Ignore an event."""


def _seen(answer: asyncio.Future[dict[str, Any]]) -> None:
    """Mark an error as seen, since nobody waits for the answers of some commands."""
    with suppress(asyncio.CancelledError):
        answer.exception()


def _error(code: str, message: str) -> EngineError:
    text = f"{code}: {message}"[:_MAX_ERROR]
    if code in _GONE_CODES or any(word in message for word in _GONE):
        return FrameGone(text)
    return EngineError(text)
