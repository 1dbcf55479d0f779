"""Messages of WebDriver BiDi pass a WebSocket, as JSON texts.

Firefox listens on a port of 127.0.0.1, and refuses a request that names another host or an origin, so that no page can
use the port. Firefox has one session at a time: another process can open none while ours lives.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from typing import Any, Final, Self

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Ping, Request
from wsproto.utilities import ProtocolError

from browsers.engines.command_channel import MAX_MESSAGE, BrowserConnection, CommandChannel, EventHandler, ignore_event
from browsers.engines.interface import EngineError, EngineLost, FrameGone

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


class BidiChannel(CommandChannel):
    """A channel is a part of the connection, such as that about one window, which can end before the others."""

    def __init__(self, connection: BidiConnection) -> None:
        super().__init__()
        self._connection = connection

    def _write(self, method: str, params: Mapping[str, Any]) -> int:
        return self._connection.write(self, method, params)

    def _error_of(self, message: Mapping[str, Any]) -> EngineError | None:
        if message.get("type") != "error":
            return None
        return _error(str(message.get("error", "")), str(message.get("message", "")))


class BidiConnection(BrowserConnection[BidiChannel]):
    """The connection gives answers to the channels that asked, and events to one handler, in their order."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self.handler: EventHandler = ignore_event
        self.opened = asyncio.Event()
        """Set when the browser has accepted the WebSocket."""
        self._wire = WSConnection(ConnectionType.CLIENT)
        self._request = Request(host=f"{host}:{port}", target=_PATH)
        self._transport: asyncio.Transport | None = None
        self._channels: set[BidiChannel] = set()
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

    def _collect(self, text: str, *, is_end: bool) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > MAX_MESSAGE:
            self.close()
        elif is_end:
            whole, self._parts, self._size = "".join(self._parts), [], 0
            self._take(json.loads(whole))

    def _take(self, message: Mapping[str, Any]) -> None:
        if message.get("type") == "event":
            self.handler(message["method"], message["params"])
            return
        self._answer(message.get("id") or 0, message)

    def _transmit(self, channel: BidiChannel, number: int, method: str, params: Mapping[str, Any]) -> bool:
        if self._transport is None:
            return False
        text = json.dumps({"id": number, "method": method, "params": params})
        self._transport.write(self._wire.send(Message(data=text)))
        return True

    def _release(self) -> Collection[BidiChannel]:
        channels, self._channels = self._channels, set()
        return channels


def _error(code: str, message: str) -> EngineError:
    text = f"{code}: {message}"[:_MAX_ERROR]
    if code in _GONE_CODES or any(word in message for word in _GONE):
        return FrameGone(text)
    return EngineError(text)
