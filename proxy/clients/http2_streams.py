"""The streams of a client that speaks HTTP/2, each with an exchange, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from proxy.fetch.contracts import ClientExchange, NeverUpgraded
from proxy.protocol.answer import AnswerReader
from proxy.protocol.http2 import Http2Wire
from proxy.protocol.mitmproxy_adapter import events

if TYPE_CHECKING:
    from proxy.clients.connection import ClientConnection


class StreamEnd(Enum):
    """The end of an output says what happens to the stream once the bytes are sent."""

    GO_ON = "go on"
    WHOLE = "whole"
    """The response has ended."""
    ROOM = "room"
    """The client may send more of the request."""
    ABORT = "abort"
    """The stream is reset: the response is not whole."""
    MALFORMED = "malformed"
    """The stream is reset: the client's request is malformed."""


@dataclass
class StreamOutput(events.Event):
    """The event carries bytes of an answer for one stream."""

    stream: ClientStream
    data: bytes = b""
    end: StreamEnd = StreamEnd.GO_ON


class ClientStream:
    """The stream is one stream of a client's HTTP/2 connection; it is what `proxy.delivery.delivery.Client` asks
    for.
    """

    def __init__(
        self, stream_id: int, connection: ClientConnection, wire: Http2Wire, waiting: set[ClientStream]
    ) -> None:
        self.id = stream_id
        self.exchange: ClientExchange | None = None
        self.answer = AnswerReader("GET")
        self.in_chunks = False
        """The request's body has no length that is known."""
        self.left: int | None = None
        """Bytes of the request's body to come, when its length is known."""
        self.held = 0
        """Bytes of the request that were taken without giving their room back."""
        self.is_answered = False
        self.remarks: tuple[str, ...] = ()
        self._connection = connection
        self._wire = wire
        self._waiting = waiting

    @property
    def is_full(self) -> bool:
        if self._wire.is_full(self.id):
            self._waiting.add(self)
            return True
        return self._connection.is_full

    def send(self, data: bytes) -> None:
        self._connection.run(StreamOutput(self, data))

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        self._connection.run(StreamOutput(self, last, StreamEnd.WHOLE))

    def abort(self) -> None:
        self._connection.run(StreamOutput(self, end=StreamEnd.ABORT))

    def upgraded(self) -> None:
        """Refuse; no stream asks for another protocol."""
        self.abort()

    def take_more(self) -> None:
        if self.held:
            self._connection.run(StreamOutput(self, end=StreamEnd.ROOM))


class ConnectionExchange(NeverUpgraded):
    """All streams of a connection as one exchange, for the connection itself."""

    id = ""

    def __init__(self, streams: dict[int, ClientStream]) -> None:
        self._streams = streams

    @property
    def request_is_whole(self) -> bool:
        return any(stream.exchange is None or stream.exchange.request_is_whole for stream in self._streams.values())

    @property
    def wants_no_more(self) -> bool:
        return False

    @property
    def ends_with_client(self) -> bool:
        """A client that says nothing more takes nothing more either: whoever reads gives room and answers pings."""
        return True

    def request_data(self, data: bytes) -> int:
        """Refuse; the layer knows which stream bytes are for."""
        return 0

    def client_writable(self) -> None:
        for exchange in self._under_way():
            exchange.client_writable()

    def client_left(self) -> None:
        for exchange in self._under_way():
            exchange.client_left()

    def _under_way(self) -> list[ClientExchange]:
        streams = self._streams.values()
        return [stream.exchange for stream in streams if stream.exchange is not None and not stream.is_answered]
