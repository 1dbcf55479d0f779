"""One exchange on a client's HTTP/1 connection gives outputs to the layer of the connection."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from proxy.fetch.contracts import ClientExchange
from proxy.protocol.mitmproxy_adapter import events


class OutputConnection(Protocol):
    """One exchange uses this part of a client's connection."""

    @property
    def is_full(self) -> bool:
        """Return whether the client takes no more bytes at the moment."""

    def run(self, event: events.Event) -> None:
        """Give the event to the layers of the connection."""

    def resume_reading(self) -> None:
        """Read from the client again."""


class AfterOutput(Enum):
    """The end of an output says what happens to the client's connection once the bytes are sent."""

    GO_ON = "go on"
    KEEP = "keep"
    """The response has ended; the connection takes the next request."""
    CLOSE = "close"
    """The response has ended; the connection is closed."""
    ABORT = "abort"
    """The connection is broken off, so that the client sees that the response is not whole."""
    SWITCH = "switch"
    """HTTP ends on this connection; client and origin speak another protocol."""


@dataclass
class ClientOutput(events.Event):
    """The event carries bytes for the client of one stream."""

    stream: Stream
    data: bytes
    then: AfterOutput = AfterOutput.GO_ON


class Stream:
    """The stream is one exchange on a client's connection; it is what `proxy.delivery.delivery.Client` asks for."""

    __slots__ = ("_connection", "exchange", "has_begun", "has_switched")
    remarks: tuple[str, ...] = ()

    def __init__(self, connection: OutputConnection) -> None:
        self.exchange: ClientExchange | None = None
        self.has_begun = False
        """The client has got a part of the response."""
        self.has_switched = False
        """Client and origin speak another protocol now."""
        self._connection = connection

    @property
    def is_full(self) -> bool:
        return self._connection.is_full

    def send(self, data: bytes) -> None:
        self._connection.run(ClientOutput(self, data))

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        self._connection.run(ClientOutput(self, last, AfterOutput.KEEP if keep_alive else AfterOutput.CLOSE))

    def abort(self) -> None:
        self._connection.run(ClientOutput(self, b"", AfterOutput.ABORT))

    def upgraded(self) -> None:
        self._connection.run(ClientOutput(self, b"", AfterOutput.SWITCH))

    def take_more(self) -> None:
        self._connection.resume_reading()
