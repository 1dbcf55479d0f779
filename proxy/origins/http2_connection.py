"""Origins that speak HTTP/2 (setting `proxy.http2_origins`): one connection, many exchanges.

To the exchange a stream looks like a connection of its own that speaks HTTP/1.1. What is written to it is turned into
frames; what comes is written down as HTTP/1.1 says it, the form that WARC readers know: a status line with the
registered phrase, lower-case header lines, the body as it is. `WARC-Protocol: h2` says that it was not so on the wire
(iipc/warc-specifications#42, as Nutch, StormCrawler and Webrecorder have it). A response that announces trailers
(`Trailer`, gRPC) is written in chunks, the only place HTTP/1.1 has for them. Announced or not, trailers stand in the
header of the response's record (`h2answers` has them).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from h2 import events as h2
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from archive.capture import Trailers
from proxy.answer import HOP_BY_HOP
from proxy.bodyreader import BodyReader
from proxy.h2answers import OriginAnswer
from proxy.h2lines import EarlyUpstream, OriginStream
from proxy.h2wire import GoAway, Wire, response_lines, sendable
from proxy.http1 import BadMessage, parse_request, request_framing

log = logging.getLogger(__name__)

_NOT_SENT: Final = HOP_BY_HOP | {b"host"}
_MOST_STREAMS: Final = 100
_END_SECONDS: Final = 2.0
"""How long a body that is all there waits for its stream's end, and for trailers before it."""


class Trunk:
    """One connection to an origin, and its streams; `gone` is called once, when it can't be used any more."""

    def __init__(self, upstream: EarlyUpstream, gone: Callable[[Trunk], None], max_head_bytes: int) -> None:
        self.upstream = upstream
        self.origin = replace(upstream.origin, protocols=("h2", *upstream.origin.protocols[1:]))
        self.idle_since = asyncio.get_running_loop().time()
        self._wire = Wire(client_side=True, max_head_bytes=max_head_bytes)
        self._streams: dict[int, OriginStream] = {}
        self._promised = 0
        self._is_going = False
        self._gone = gone
        upstream.user = self

    def start(self) -> None:
        """Say who we are, and hear what the origin has said already."""
        self._wire.initiate_connection()  # type: ignore[no-untyped-call]
        early, self.upstream.early = self.upstream.early, b""
        self.upstream_data(early)

    @property
    def has_room(self) -> bool:
        """Whether another stream may be opened."""
        most = min(self._wire.remote_settings.max_concurrent_streams, _MOST_STREAMS)
        return not self._is_going and self.upstream.is_open and len(self._streams) + self._promised < most

    @property
    def is_idle(self) -> bool:
        return not self._streams and not self._promised

    def stream(self) -> OriginStream:
        """A share of it, for one exchange."""
        self._promised += 1
        return OriginStream(self)

    def close(self) -> None:
        """No exchange needs it."""
        self._is_going = True
        self._wire.close_connection()
        self._flush()
        self._end(ConnectionAbortedError("the connection was closed"))

    # -- from its streams -----------------------------------------------------------------------------------------

    def begin(self, stream: OriginStream, raw: bytes) -> BodyReader:
        """Send a request's head. What reads the body sends its payload on."""
        self._promised -= 1
        head = parse_request(raw)
        framing, length = request_framing(head)
        reader = BodyReader(framing, length, lambda piece: self._send(stream, bytes(piece)), strict=True)
        stream.answer = OriginAnswer(head.method)
        first = [(b":method", head.method.encode()), (b":scheme", b"https"), (b":path", head.target.encode("latin-1"))]
        first.append((b":authority", head.get(b"host") or b""))
        fields = [(name, value) for name, value, _ in head.fields if name not in _NOT_SENT]
        try:
            if not self.upstream.is_open or self._is_going:
                raise ProtocolError("the connection is gone")
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
        """More of a request's body was sent; its end too, when it has `ended`, and what stood behind it."""
        if ended:
            self._send(stream, b"", end=True, trailers=sendable(trailers))
        self._flush()
        stream.room(is_full=self._is_full(stream))

    def _send(self, stream: OriginStream, piece: bytes, *, end: bool = False, trailers: Trailers = ()) -> None:
        try:
            if stream.is_over:
                return
            if trailers:
                self._wire.send_trailers(stream.id, list(trailers))
            else:
                self._wire.send_data(stream.id, piece, end_stream=end)
        except ProtocolError as error:  # the origin has closed the stream: what it has to say is on its way
            log.debug("a piece of a request came too late: %s", error)

    def give_room(self, stream_id: int, size: int) -> None:
        """So many bytes of a response have been taken."""
        if not size or not self.upstream.is_open:
            return
        try:
            self._wire.acknowledge_received_data(size, stream_id)
        except ProtocolError as error:  # we have said goodbye already
            log.debug("room is given back too late: %s", error)
        self._flush()

    def leave(self, stream: OriginStream) -> None:
        """An exchange is over. A stream that is not is reset, so that its origin stops sending."""
        if stream.id == 0 and not stream.is_over:
            self._promised -= 1
        elif not stream.is_over:
            self._streams.pop(stream.id, None)
            try:
                self._wire.reset_stream(stream.id, ErrorCodes.CANCEL)
            except ProtocolError as error:
                log.debug("a stream had ended before it was reset: %s", error)
            self._flush()
        stream.is_over = True
        self._rest()

    # -- from the connection: proxy.upstream.UpstreamUser ---------------------------------------------------------

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the origin."""
        try:
            for event in self._wire.events(data):
                self._on(event)
        except ProtocolError as error:
            self._flush()
            self._end(ConnectionResetError(f"the origin's HTTP/2 is broken: {error}"))
            return
        self._flush()
        self.upstream_writable()

    def upstream_closed(self, error: Exception | None) -> None:
        """The connection ended: so do its streams, short."""
        self._end(error or ConnectionResetError("the origin closed the connection"))

    def upstream_writable(self) -> None:
        """The origin takes more again, perhaps."""
        for stream in [stream for stream in self._streams.values() if stream.is_full]:
            stream.room(is_full=self._is_full(stream))

    def _on(self, event: h2.Event) -> None:
        if isinstance(event, GoAway):
            self._is_going = True
            self._refuse_above(event)
            return
        stream = self._streams.get(getattr(event, "stream_id", None) or 0)
        if isinstance(event, h2.DataReceived) and stream is None:
            self.give_room(event.stream_id, event.flow_controlled_length)
        elif stream is not None:
            try:
                self._on_stream(stream, event)
            except BadMessage as error:
                self._fail(stream, error)

    def _on_stream(self, stream: OriginStream, event: h2.Event) -> None:
        if isinstance(event, h2.InformationalResponseReceived):
            stream.tell(response_lines(event.headers)[1] + b"\r\n")
        elif isinstance(event, h2.ResponseReceived):
            stream.tell(stream.answer.head(event.headers, ended=event.stream_ended is not None))
        elif isinstance(event, h2.DataReceived):
            told = stream.answer.data(event.data, ended=event.stream_ended is not None)
            stream.took(told, event.flow_controlled_length)
        elif isinstance(event, h2.TrailersReceived):
            stream.behind(event.headers)
        elif isinstance(event, h2.StreamEnded):
            stream.tell(stream.answer.end())
            self._forget(stream, None)
        elif isinstance(event, h2.StreamReset):
            self._forget(stream, ConnectionResetError(f"the origin reset the stream ({event.error_code})"))
        if stream.answer.is_held:
            asyncio.get_running_loop().call_later(_END_SECONDS, stream.release)

    def _fail(self, stream: OriginStream, error: BadMessage) -> None:
        """What came on the stream can't be written down."""
        log.info("a response in HTTP/2 can't be understood: %s", error)
        self._wire.reset_stream(stream.id, ErrorCodes.PROTOCOL_ERROR)
        self._forget(stream, ConnectionResetError(str(error)))

    def _refuse_above(self, event: GoAway) -> None:
        for stream in [stream for stream in self._streams.values() if stream.id > event.last_stream_id]:
            self._forget(stream, ConnectionResetError(f"the origin takes no more streams ({event.error_code})"))
        self._rest()

    def _forget(self, stream: OriginStream, error: Exception | None) -> None:
        self._streams.pop(stream.id, None)
        stream.closed(error)
        self._rest()

    def _rest(self) -> None:
        """When the last stream is over, the connection is idle, or done."""
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
        gone, self._gone = self._gone, lambda _: None
        gone(self)
        for stream in streams:
            stream.closed(error)
