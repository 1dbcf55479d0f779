"""The HTTP/1 relay layer stands where mitmproxy's `HttpLayer` would, and hands whole exchanges on.

mitmproxy's own layer parses every message into objects, runs hooks as tasks and re-frames bodies: 1 to 3 ms for each
exchange, and the origin's bytes are lost. This one finds the borders of messages and passes bytes. It is a sans-io
layer like all of mitmproxy's: events in, commands out; TLS beneath it is mitmproxy's.
"""

from __future__ import annotations

from typing import Final

from proxy.clients.client_stream import AfterOutput, ClientOutput, Stream
from proxy.clients.connection import ClientConnection
from proxy.fetch.contracts import ClientExchange, RequestDispatcher, Tunnel
from proxy.protocol import heads
from proxy.protocol.http1 import MOST_LINES, BadMessage, RequestHead, find_head_end, parse_request
from proxy.protocol.mitmproxy_adapter import LayerContext, commands, events, layer
from proxy.refusal import Refused

_MAX_WAITING: Final = 262_144
"""Bytes of further requests taken in while one is being answered; then the client must wait."""


class RelayLayer(layer.Layer):
    """Reads requests from one client connection, or from one tunnel within it, and writes the responses in order."""

    def __init__(
        self,
        context: LayerContext,
        connection: ClientConnection,
        dispatcher: RequestDispatcher,
        max_head: int,
        tunnel: Tunnel | None = None,
    ) -> None:
        super().__init__(context)
        self.tunnel = tunnel
        self._connection = connection
        self._dispatcher = dispatcher
        self._max_head = max_head
        self._buffer: bytes | bytearray = b""
        self._searched = self._lines = 0
        self._closing = False
        self._child: layer.Layer | None = None

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Handle an event. `Layer.handle_event` serves commands that block, and this layer yields none."""
        return self._handle_event(event) if self._child is None else self._child.handle_event(event)

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.DataReceived):
            yield from self._received(event.data)
        elif isinstance(event, ClientOutput):
            if event.stream is self._connection.stream:
                yield from self._said(event)
        elif isinstance(event, events.ConnectionClosed):
            self._left()
            yield commands.CloseConnection(self.context.client)

    def _left(self) -> None:
        stream, self._connection.stream = self._connection.stream, None
        self._closing = True
        if stream is not None and stream.exchange is not None:
            stream.exchange.client_left()

    # -- from the client ------------------------------------------------------------------------------------------

    def _received(self, data: bytes) -> layer.CommandGenerator[None]:
        stream = self._connection.stream
        exchange = stream.exchange if stream is not None else None
        if self._closing:
            return
        if stream is not None and exchange is not None and stream.has_switched:
            exchange.client_data(data)
            if exchange.wants_no_more:
                self._connection.pause_reading()
        elif exchange is not None and not exchange.request_is_whole:
            yield from self._body(exchange, data)
        else:
            self._keep_for_later(data)
            if self._connection.stream is None:
                yield from self._next_request()
            elif len(self._buffer) > _MAX_WAITING:
                self._connection.pause_reading()

    def _keep_for_later(self, data: bytes) -> None:
        """Add to what was not read yet, without moving that each time: heads may come in many pieces."""
        if not self._buffer:
            self._buffer = data
            return
        if isinstance(self._buffer, bytes):
            self._buffer = bytearray(self._buffer)
        self._buffer += data

    def _body(self, exchange: ClientExchange, data: bytes) -> layer.CommandGenerator[None]:
        try:
            taken = exchange.request_data(data)
        except BadMessage as error:
            yield from self._break_off(Refused(400, str(error), "bad-request"))
            return
        except OSError as error:
            yield from self._break_off(Refused(503, f"the request can't be kept: {error}", "spool"))
            return
        self._buffer = data[taken:]
        if not exchange.request_is_whole and exchange.wants_no_more:
            self._connection.pause_reading()

    def _break_off(self, refused: Refused) -> layer.CommandGenerator[None]:
        """Give up a request half-way: with an answer of ours, unless the origin's has begun."""
        stream = self._connection.stream
        self._left()
        if stream is not None and stream.has_begun:
            self._connection.refused(refused, _id(stream))
            self._connection.abort()
        else:
            yield from self._answer(refused, _id(stream))

    def _next_request(self) -> layer.CommandGenerator[None]:
        if self._buffer[:1] in (b"\r", b"\n"):
            self._buffer = self._buffer.lstrip(b"\r\n")  # RFC 9112 section 2.2
        end = find_head_end(self._buffer, self._searched)
        if end < 0:
            self._lines += self._buffer.count(b"\n", self._searched)
            self._searched = len(self._buffer)
            self._connection.asking_since = self._connection.asking_since or self._connection.last_heard
            if self._searched > self._max_head:
                yield from self._answer(Refused(431, f"the request's head is larger than {self._max_head} bytes"))
            elif self._lines > MOST_LINES:
                yield from self._answer(Refused(431, f"the request's head has more than {MOST_LINES} lines"))
            return
        raw, self._searched, self._lines = bytes(self._buffer[:end]), 0, 0
        if isinstance(self._buffer, bytes):
            self._buffer = self._buffer[end:]
        else:
            del self._buffer[:end]
        try:
            head = parse_request(raw)
            if head.method == "CONNECT":
                yield from self._open_tunnel(head)
            else:
                self._begin(head)
        except BadMessage as error:
            yield from self._answer(Refused(400, str(error), "bad-request"))
            return
        except Refused as error:
            yield from self._answer(error)
            return
        exchange = self._connection.stream.exchange if self._connection.stream is not None else None
        if exchange is not None and self._buffer and not exchange.request_is_whole:
            data, self._buffer = bytes(self._buffer), b""
            yield from self._body(exchange, data)

    def _begin(self, head: RequestHead) -> None:
        stream = Stream(self._connection)
        self._connection.stream = stream
        try:
            stream.exchange = self._dispatcher.begin(
                head,
                self.tunnel,
                self._connection.listener,
                stream,
                is_local=self._connection.is_local,
                address=self._connection.address,
            )
        except (BadMessage, Refused):
            self._connection.stream = None
            raise
        self._connection.asking_since = 0.0

    def _open_tunnel(self, head: RequestHead) -> layer.CommandGenerator[None]:
        if self.tunnel is not None:
            raise BadMessage("CONNECT inside a tunnel")
        self.tunnel = self._dispatcher.connect(
            head,
            self._connection.listener,
            is_local=self._connection.is_local,
            address=self._connection.address,
        )
        self._connection.tunnel = self.tunnel
        self._connection.asking_since = self._connection.last_heard
        host, _, port = self.tunnel.authority.rpartition(":")
        self.context.server.address = (host.strip("[]"), int(port))
        yield commands.SendData(self.context.client, b"HTTP/1.1 200 Connection established\r\n\r\n")
        self._child = layer.NextLayer(self.context)
        yield from self._child.handle_event(events.Start())
        if self._buffer:
            data, self._buffer = bytes(self._buffer), b""
            yield from self._child.handle_event(events.DataReceived(self.context.client, data))

    def _answer(self, refused: Refused, exchange: str = "") -> layer.CommandGenerator[None]:
        """Refuse a request; the connection's state may be in doubt, so it is closed."""
        self._closing = True
        self._connection.refused(refused, exchange)
        yield commands.SendData(self.context.client, heads.refusal(refused.status, refused.word, str(refused)))
        self._connection.linger()

    # -- to the client --------------------------------------------------------------------------------------------

    def _said(self, event: ClientOutput) -> layer.CommandGenerator[None]:
        if event.data:
            event.stream.has_begun = True
            yield commands.SendData(self.context.client, event.data)
        if event.then is AfterOutput.KEEP:
            self._connection.stream = None
            self._connection.resume_reading()
            if self._buffer:
                yield from self._next_request()
            elif self._connection.is_at_end:
                yield commands.CloseConnection(self.context.client)
        elif event.then is AfterOutput.SWITCH:
            event.stream.has_switched = True
            if self._buffer and self._connection.stream is not None and self._connection.stream.exchange is not None:
                data, self._buffer = bytes(self._buffer), b""
                self._connection.stream.exchange.client_data(data)
        elif event.then is not AfterOutput.GO_ON:
            self._connection.stream = None
            self._closing = True
            exchange = event.stream.exchange
            if event.then is AfterOutput.ABORT:
                self._connection.abort()
            elif self._connection.owner.gate.is_draining or (exchange is not None and not exchange.request_is_whole):
                self._connection.linger()
            else:
                yield commands.CloseConnection(self.context.client)
        elif self._connection.is_at_end and _is_endless(event.stream):
            yield commands.CloseConnection(self.context.client)  # it left before this could be known


def _is_endless(stream: Stream) -> bool:
    return stream.exchange is not None and stream.exchange.ends_with_client


def _id(stream: Stream | None) -> str:
    return stream.exchange.id if stream is not None and stream.exchange is not None else ""
