"""An origin that uses HTTP/2 (setting `proxy.http2_origins`) serves many exchanges over one connection.

To the exchange a stream looks like a connection of its own that speaks HTTP/1.1. Requests become
frames, and responses become HTTP/1.1, the form that WARC readers know: a status line with the registered phrase,
lower-case header lines, the body as it is. `WARC-Protocol: h2` in the record says that HTTP/2 was on the wire
(iipc/warc-specifications#42, as in Nutch, StormCrawler and Webrecorder). A response that announces trailers
(`Trailer`, gRPC) is written in chunks, the only place HTTP/1.1 has for them. Announced or not, trailers stand in the
header of the response's record (see `http2_response`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from archive.capture import Trailers
from proxy.origins.http2_response import OriginAnswer
from proxy.origins.http2_stream import OriginStream, PendingUpstream
from proxy.protocol.answer import HOP_BY_HOP
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import BadMessage, parse_request, request_framing
from proxy.protocol.http2 import ErrorCodes, GoAway, Http2Wire, ProtocolError, response_lines, sendable
from proxy.protocol.http2 import events as h2

log = logging.getLogger(__name__)

_NOT_SENT: Final = HOP_BY_HOP | {b"host"}
_MOST_STREAMS: Final = 100
_END_SECONDS: Final = 2.0
"""How long a body that is all there waits for its stream's end, and for trailers before it."""


class Http2Connection:
    """The connection has many streams. `on_closed` is called once, when the connection can't be used any more."""

    def __init__(
        self, upstream: PendingUpstream, on_closed: Callable[[Http2Connection], None], max_head_bytes: int
    ) -> None:
        self.upstream = upstream
        self.origin = replace(upstream.origin, protocols=("h2", *upstream.origin.protocols[1:]))
        self.idle_since = asyncio.get_running_loop().time()
        self._wire = Http2Wire(client_side=True, max_head_bytes=max_head_bytes)
        self._streams: dict[int, OriginStream] = {}
        self._reserved = 0
        self._is_going = False
        self._on_closed = on_closed
        upstream.user = self

    def start(self) -> None:
        """Send the connection preface, and process the bytes that the origin has sent already."""
        self._wire.initiate_connection()  # type: ignore[no-untyped-call]
        early, self.upstream.early = self.upstream.early, b""
        self.upstream_data(early)

    @property
    def has_room(self) -> bool:
        """Return whether another stream may be opened."""
        most = min(self._wire.remote_settings.max_concurrent_streams, _MOST_STREAMS)
        return not self._is_going and self.upstream.is_open and len(self._streams) + self._reserved < most

    @property
    def is_idle(self) -> bool:
        return not self._streams and not self._reserved

    def stream(self) -> OriginStream:
        """Return a new stream, for one exchange."""
        self._reserved += 1
        return OriginStream(self)

    def close(self) -> None:
        """Close the connection; no exchange needs it."""
        self._is_going = True
        self._wire.close_connection()
        self._flush()
        self._end(ConnectionAbortedError("the connection was closed"))

    # -- from its streams -----------------------------------------------------------------------------------------

    def begin(self, stream: OriginStream, raw: bytes) -> BodyReader:
        """Send a request's head. The reader that is returned takes the body and sends its payload."""
        self._reserved -= 1
        head = parse_request(raw)
        framing, length = request_framing(head)
        reader = BodyReader(framing, length, lambda piece: self._send(stream, bytes(piece)), strict=True)
        stream.answer = OriginAnswer(head.method)
        first = [(b":method", head.method.encode()), (b":scheme", b"https"), (b":path", head.target.encode("latin-1"))]
        first.append((b":authority", head.get(b"host") or b""))
        fields = [(name, value) for name, value, _ in head.fields if name not in _NOT_SENT]
        try:
            if not self.upstream.is_open or self._is_going:
                raise ProtocolError("the connection is closed")
            stream.id = self._wire.get_next_available_stream_id()
            self._wire.send_headers(stream.id, [*first, *fields], end_stream=reader.done)
        except ProtocolError as error:
            stream.is_over = True
            asyncio.get_running_loop().call_soon(stream.closed, ConnectionResetError(str(error)))
        else:
            self._streams[stream.id] = stream
        self._flush()
        return reader

    def sent(self, stream: OriginStream, *, ended: bool, trailers: Trailers) -> None:
        """Note that more of a request's body was sent; its end too, when it has `ended`, and the trailers after it."""
        if ended:
            self._send(stream, b"", end=True, trailers=sendable(trailers))
        self._flush()
        stream.set_full(is_full=self._is_full(stream))

    def _send(self, stream: OriginStream, piece: bytes, *, end: bool = False, trailers: Trailers = ()) -> None:
        try:
            if stream.is_over:
                return
            if trailers:
                self._wire.send_trailers(stream.id, list(trailers))
            else:
                self._wire.send_data(stream.id, piece, end_stream=end)
        except ProtocolError as error:  # the origin has closed the stream: what it has to say is on its way
            log.debug("the origin closed the stream before all of the request was sent: %s", error)

    def acknowledge(self, stream_id: int, size: int) -> None:
        """Note that so many bytes of a response have been taken."""
        if not size or not self.upstream.is_open:
            return
        try:
            self._wire.acknowledge_received_data(size, stream_id)
        except ProtocolError as error:  # we have said goodbye already
            log.debug("a window update came after the end of the connection: %s", error)
        self._flush()

    def end_stream(self, stream: OriginStream) -> None:
        """End the stream of an exchange. An open stream is reset, so that the origin stops sending."""
        if stream.id == 0 and not stream.is_over:
            self._reserved -= 1
        elif not stream.is_over:
            self._streams.pop(stream.id, None)
            try:
                self._wire.reset_stream(stream.id, ErrorCodes.CANCEL)
            except ProtocolError as error:
                log.debug("a stream had ended before it was reset: %s", error)
            self._flush()
        stream.is_over = True
        self._note_idle()

    # -- from the connection: proxy.origins.upstream.UpstreamUser ------------------------------------------------------

    def upstream_data(self, data: bytes) -> None:
        """Take bytes from the origin."""
        try:
            for event in self._wire.events(data):
                self._on(event)
        except ProtocolError as error:
            self._flush()
            self._end(ConnectionResetError(f"the origin broke the rules of HTTP/2: {error}"))
            return
        self._flush()
        self.upstream_writable()

    def upstream_closed(self, error: Exception | None) -> None:
        """End the streams, short, when the connection has ended."""
        self._end(error or ConnectionResetError("the origin closed the connection"))

    def upstream_writable(self) -> None:
        """Send more when the origin takes more again."""
        for stream in [stream for stream in self._streams.values() if stream.is_full]:
            stream.set_full(is_full=self._is_full(stream))

    def _on(self, event: h2.Event) -> None:
        if isinstance(event, GoAway):
            self._is_going = True
            self._refuse_above(event)
            return
        stream = self._streams.get(getattr(event, "stream_id", None) or 0)
        if isinstance(event, h2.DataReceived) and stream is None:
            self.acknowledge(event.stream_id, event.flow_controlled_length)
        elif stream is not None:
            try:
                self._on_stream(stream, event)
            except BadMessage as error:
                self._fail(stream, error)

    def _on_stream(self, stream: OriginStream, event: h2.Event) -> None:
        if isinstance(event, h2.InformationalResponseReceived):
            stream.deliver(response_lines(event.headers)[1] + b"\r\n")
        elif isinstance(event, h2.ResponseReceived):
            stream.deliver(stream.answer.head(event.headers, ended=event.stream_ended is not None))
        elif isinstance(event, h2.DataReceived):
            told = stream.answer.data(event.data, ended=event.stream_ended is not None)
            stream.on_data(told, event.flow_controlled_length)
        elif isinstance(event, h2.TrailersReceived):
            stream.behind(event.headers)
        elif isinstance(event, h2.StreamEnded):
            stream.deliver(stream.answer.end())
            self._forget(stream, None)
        elif isinstance(event, h2.StreamReset):
            self._forget(stream, ConnectionResetError(f"the origin reset the stream ({event.error_code})"))
        if stream.answer.is_held:
            asyncio.get_running_loop().call_later(_END_SECONDS, stream.release)

    def _fail(self, stream: OriginStream, error: BadMessage) -> None:
        """Fail a stream whose bytes can't be written down."""
        log.info("a response in HTTP/2 can't be written as HTTP/1.1: %s", error)
        self._wire.reset_stream(stream.id, ErrorCodes.PROTOCOL_ERROR)
        self._forget(stream, ConnectionResetError(str(error)))

    def _refuse_above(self, event: GoAway) -> None:
        for stream in [stream for stream in self._streams.values() if stream.id > event.last_stream_id]:
            self._forget(stream, ConnectionResetError(f"the origin takes no more streams ({event.error_code})"))
        self._note_idle()

    def _forget(self, stream: OriginStream, error: Exception | None) -> None:
        self._streams.pop(stream.id, None)
        stream.closed(error)
        self._note_idle()

    def _note_idle(self) -> None:
        """Note since when the connection is idle, or end it, when the last stream is over."""
        if self.is_idle:
            self.idle_since = asyncio.get_running_loop().time()
            if self._is_going:
                self._end(ConnectionResetError("the origin takes no more streams"))

    def _is_full(self, stream: OriginStream) -> bool:
        return self.upstream.is_full or self._wire.is_full(stream.id)

    def _flush(self) -> None:
        if data := self._wire.data_to_send():
            self.upstream.write(data)

    def _end(self, error: Exception) -> None:
        self._is_going = True
        streams = list(self._streams.values())
        self._streams.clear()
        self.upstream.finish()
        on_closed, self._on_closed = self._on_closed, lambda _: None
        on_closed(self)
        for stream in streams:
            stream.closed(error)
