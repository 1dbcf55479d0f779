"""Clients may use HTTP/2. Each of their streams is an exchange as any other.

Stands where `proxy.clients.http1_layer` would, behind the TLS layer, when a client has chosen `h2` (setting
`proxy.http2`). What a
stream asks becomes a request head of HTTP/1.1 for the dispatcher, so whoever answers knows nothing of HTTP/2; what they
answer is read back into frames. Frames are mitmproxy's business (`proxy.protocol.http2`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from archive.capture import Trailers
from proxy.clients.client_stream import Stream
from proxy.clients.http2_streams import ClientStream, ConnectionExchange, StreamEnd, StreamOutput
from proxy.fetch.contracts import RequestDispatcher, Tunnel
from proxy.fetch.target import host_and_port
from proxy.log_lines import about
from proxy.protocol import heads
from proxy.protocol.answer import AnswerReader
from proxy.protocol.http1 import BadMessage, RequestHead, ResponseHead, parse_request, request_framing
from proxy.protocol.http2 import (
    ErrorCodes,
    GoAway,
    Http2Wire,
    ProtocolError,
    pseudo,
    request_lines,
    request_trailers,
    sendable,
)
from proxy.protocol.http2 import events as h2
from proxy.protocol.mitmproxy_adapter import LayerContext, commands, events, layer
from proxy.refusal import Refused

if TYPE_CHECKING:
    from proxy.clients.connection import ClientConnection

log = logging.getLogger(__name__)

_MOST_RESETS: Final = 200


class ClientLayer(layer.Layer):
    """Takes the streams of one client's connection in, and gives their answers out."""

    def __init__(
        self,
        context: LayerContext,
        connection: ClientConnection,
        dispatcher: RequestDispatcher,
        max_head: int,
        tunnel: Tunnel,
    ) -> None:
        super().__init__(context)
        self.tunnel = tunnel
        self._connection = connection
        self._dispatcher = dispatcher
        self._wire = Http2Wire(max_head_bytes=max_head)
        self._streams: dict[int, ClientStream] = {}
        self._waiting: set[ClientStream] = set()
        """The streams whose origin was paused because their client reads too slowly."""
        self._talk = Stream(connection)
        self._talk.exchange = ConnectionExchange(self._streams)
        self._is_closing = False
        self._answered = self._resets = 0

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Start):
            self._wire.initiate_connection()  # type: ignore[no-untyped-call]
        elif isinstance(event, events.DataReceived):
            self._received(event.data)
        elif isinstance(event, StreamOutput):
            self._spoke(event)
        elif isinstance(event, events.ConnectionClosed):
            self._leave_all()
            yield commands.CloseConnection(self.context.client)
            return
        self._connection.stream = self._talk if self._streams else None
        if not self._streams and not self._is_closing and self._connection.owner.gate.is_draining:
            self._wire.close_connection()
            self._is_closing = True
        if data := self._wire.data_to_send():
            yield commands.SendData(self.context.client, data)
        if self._is_closing and not self._streams:
            self._connection.hang_up()

    # -- from the client ------------------------------------------------------------------------------------------

    def _received(self, data: bytes) -> None:
        if self._is_closing:
            return
        try:
            for event in self._wire.events(data):
                self._on(event)
        except ProtocolError as error:
            log.info("a client's HTTP/2 is broken: %s", error)
            self._is_closing = True
            self._leave_all()
        for stream in [stream for stream in self._waiting if not self._wire.is_full(stream.id)]:
            self._waiting.discard(stream)
            if stream.exchange is not None and not stream.is_answered:
                stream.exchange.client_writable()
        for stream in [stream for stream in self._streams.values() if stream.is_answered]:
            self._drop_when_sent(stream)

    def _on(self, event: h2.Event) -> None:
        if isinstance(event, h2.RequestReceived):
            self._begin(event)
        elif isinstance(event, h2.DataReceived):
            self._body(event)
        elif isinstance(event, h2.TrailersReceived):
            self._trailers(event)
        elif isinstance(event, h2.StreamEnded):
            stream = self._streams.get(event.stream_id)
            if stream is not None:
                self._request_ended(stream)
        elif isinstance(event, h2.StreamReset):
            stream = self._streams.pop(event.stream_id, None)
            if stream is not None:
                self._leave(stream)
                self._note_reset()
        elif isinstance(event, GoAway) and not event.is_orderly:
            raise ProtocolError(f"the client gave up: {event.error_code}")

    def _begin(self, event: h2.RequestReceived) -> None:
        stream = ClientStream(event.stream_id, self._connection, self._wire, self._waiting)
        self._streams[stream.id] = stream
        try:
            head, stream.left, stream.in_chunks = self._head(event)
            stream.answer = AnswerReader(head.method)
            stream.exchange = self._dispatcher.begin(
                head,
                self.tunnel,
                self._connection.listener,
                stream,
                is_local=self._connection.is_local,
                address=self._connection.address,
            )
        except BadMessage as error:
            self._malformed(stream, error)
        except Refused as refused:
            self._refuse(stream, refused)

    def _head(self, event: h2.RequestReceived) -> tuple[RequestHead, int | None, bool]:
        """Return the request's head in HTTP/1.1, the length of its body if that is known, whether it is to go in
        chunks.
        """
        headers = event.headers
        if any(name == b"trailer" for name, _ in headers):  # they go in chunks, which no length may be said of
            headers = [(name, value) for name, value in headers if name != b"content-length"]
        lines = request_lines(headers)
        authority = pseudo(headers).get(b":authority", b"")
        if authority:
            host, port = host_and_port(authority.decode("latin-1"), 443)
            if f"{host}:{port}" != self.tunnel.authority:
                raise Refused(421, f"this connection leads to {self.tunnel.authority} alone", "misdirected")
        head = parse_request(lines + b"\r\n")
        has_length = head.get(b"content-length") is not None
        length = request_framing(head)[1] if has_length else None
        if event.stream_ended is not None or has_length:
            return head, length, False
        return parse_request(lines + b"transfer-encoding: chunked\r\n\r\n"), None, True

    def _body(self, event: h2.DataReceived) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is None or stream.exchange is None or stream.is_answered:
            self._give_room(event.stream_id, event.flow_controlled_length)
            return
        if stream.left is not None:
            stream.left -= len(event.data)
            if stream.left < 0:
                self._give_room(event.stream_id, event.flow_controlled_length)
                self._malformed(stream, "the body is longer than its Content-Length")
                return
        stream.held += event.flow_controlled_length
        self._request_data(stream, heads.chunk(event.data) if stream.in_chunks else event.data)
        if stream.exchange is None or not stream.exchange.wants_no_more or stream.exchange.request_is_whole:
            self._release(stream)

    def _trailers(self, event: h2.TrailersReceived) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is None or stream.exchange is None:
            return
        try:
            lines = request_trailers(event.headers)
        except BadMessage as error:
            self._malformed(stream, error)
            return
        if stream.in_chunks:
            self._request_data(stream, heads.last_chunk(lines))
        elif lines:
            log.info("trailers behind a body of known length can't be passed on", extra=about(stream.exchange.id))
            stream.remarks = ("trailers:not-sent",)

    def _request_ended(self, stream: ClientStream) -> None:
        if stream.in_chunks:
            self._request_data(stream, heads.LAST_CHUNK)
        elif stream.left and not stream.is_answered:
            self._malformed(stream, "the body is shorter than its Content-Length")

    def _request_data(self, stream: ClientStream, data: bytes) -> None:
        if stream.exchange is None or stream.exchange.request_is_whole:
            return
        try:
            stream.exchange.request_data(data)
        except BadMessage as error:
            self._malformed(stream, error)
        except OSError as error:
            self._break_off(stream, Refused(503, f"the request can't be kept: {error}", "spool"))

    def _release(self, stream: ClientStream) -> None:
        held, stream.held = stream.held, 0
        self._give_room(stream.id, held)

    def _give_room(self, stream_id: int, size: int) -> None:
        if size:
            self._wire.acknowledge_received_data(size, stream_id)

    def _leave(self, stream: ClientStream) -> None:
        exchange, stream.exchange = stream.exchange, None
        self._waiting.discard(stream)
        if exchange is not None and not stream.is_answered:
            exchange.client_left()

    def _note_reset(self) -> None:
        """Raise ProtocolError for a client that does little but reset: each costs a fetch (CVE-2023-44487)."""
        self._resets += 1
        if self._resets > _MOST_RESETS and self._resets > self._answered:
            self._wire.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            raise ProtocolError(f"{self._resets} streams were reset, {self._answered} answered")

    def _leave_all(self) -> None:
        streams = list(self._streams.values())
        self._streams.clear()
        self._connection.stream = None
        for stream in streams:
            self._leave(stream)

    # -- to the client --------------------------------------------------------------------------------------------

    def _refuse(
        self, stream: ClientStream, refused: Refused, exchange: str = "", end: StreamEnd = StreamEnd.WHOLE
    ) -> None:
        self._connection.refused(refused, exchange)
        self._spoke(StreamOutput(stream, heads.refusal(refused.status, refused.word, str(refused), refused.extra), end))

    def _malformed(self, stream: ClientStream, fault: BadMessage | str) -> None:
        """Report a stream error (section 8.1.1) to the client unless the origin's answer has begun."""
        self._break_off(stream, Refused(400, str(fault), "bad-request"), end=StreamEnd.MALFORMED)

    def _break_off(self, stream: ClientStream, refused: Refused, end: StreamEnd = StreamEnd.WHOLE) -> None:
        """Give a request up half-way: with an answer of ours, unless the origin's has begun."""
        exchange = stream.exchange.id if stream.exchange is not None else ""
        self._leave(stream)
        if stream.answer.has_begun:
            self._connection.refused(refused, exchange)
            self._spoke(StreamOutput(stream, end=StreamEnd.ABORT if end is StreamEnd.WHOLE else end))
        else:
            self._refuse(stream, refused, exchange, end)

    def _spoke(self, event: StreamOutput) -> None:
        stream = event.stream
        if stream.id not in self._streams or stream.is_answered:
            return
        try:
            if event.end is StreamEnd.ROOM:
                self._release(stream)
                return
            for part in stream.answer.feed(event.data):
                self._send(stream, part)
            if event.end is StreamEnd.WHOLE:
                self._end(stream)
            elif event.end is not StreamEnd.GO_ON:
                stream.is_answered = True
                is_ours = event.end is StreamEnd.ABORT
                self._wire.reset_stream(stream.id, ErrorCodes.INTERNAL_ERROR if is_ours else ErrorCodes.PROTOCOL_ERROR)
        except ProtocolError as error:  # the client has reset the stream, in frames that we have yet to read
            log.info("an answer came too late: %s", error)
            stream.is_answered = True
            self._streams.pop(stream.id, None)
        else:
            self._drop_when_sent(stream)

    def _send(self, stream: ClientStream, part: ResponseHead | bytes | Trailers) -> None:
        if isinstance(part, bytes):
            self._wire.send_data(stream.id, part)
        elif isinstance(part, ResponseHead):
            fields = sendable((name, value) for name, value, _ in part.fields)
            self._wire.send_headers(stream.id, [(b":status", b"%d" % part.status), *fields])
        elif trailers := sendable(part):
            stream.is_answered = True
            self._wire.send_trailers(stream.id, list(trailers))

    def _end(self, stream: ClientStream) -> None:
        if not stream.is_answered:
            self._wire.end_stream(stream.id)
        self._answered += 1
        stream.is_answered = True
        if stream.exchange is not None and not stream.exchange.request_is_whole:
            self._release(stream)

    def _drop_when_sent(self, stream: ClientStream) -> None:
        """Drop an answered stream when its last bytes are out: a connection with any is not idle."""
        if stream.is_answered and stream.id not in self._wire.stream_buffers:
            self._streams.pop(stream.id, None)
            self._waiting.discard(stream)
