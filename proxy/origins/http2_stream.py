"""An exchange with an origin that uses HTTP/2 has one stream of a connection."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from archive.capture import Origin, Trailers
from proxy.origins.http2_response import OriginAnswer
from proxy.origins.upstream import SecureUpstream, Upstream
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import find_head_end
from proxy.protocol.http2 import Headers

log = logging.getLogger(__name__)


class PendingUpstream(SecureUpstream):
    """The connection may turn out to be HTTP/2. The origin then sends first, and nothing of it is missed."""

    def __init__(self) -> None:
        super().__init__()
        self.early = b""

    @property
    def is_h2(self) -> bool:
        """Return whether both sides have agreed on HTTP/2."""
        return self.tls is not None and self.tls.selected_alpn_protocol() == "h2"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.tls = transport.get_extra_info("ssl_object")

    def data_received(self, data: bytes) -> None:
        if self.user is None and self.is_h2:
            self.early += data
        else:
            super().data_received(data)

    def finish(self) -> None:
        """Close after what was written has been sent; whoever uses the connection is not told."""
        self.user = None
        if self._transport is not None:
            self._transport.close()


class StreamConnection(Protocol):
    """The part of an HTTP/2 connection that one of its streams uses."""

    upstream: PendingUpstream
    origin: Origin

    def begin(self, stream: OriginStream, head: bytes) -> BodyReader:
        """Open a stream for a request, and return the reader of the request's body."""

    def sent(self, stream: OriginStream, *, ended: bool, trailers: Trailers) -> None:
        """Send what the stream has, and its end."""

    def acknowledge(self, stream_id: int, size: int) -> None:
        """Let the origin send that many more bytes on the stream."""

    def end_stream(self, stream: OriginStream) -> None:
        """End the stream's part in the connection."""


class OriginStream(Upstream):
    """One exchange's share of a connection."""

    def __init__(self, connection: StreamConnection) -> None:
        super().__init__()
        self.id = 0
        """The stream's id; 0 before the request's head was written."""
        self.held = 0
        """Bytes that came while the exchange was paused; they are acknowledged when it resumes."""
        self.is_over = False
        self.answer = OriginAnswer("GET")
        self._connection = connection
        self._head = b""
        self._reader: BodyReader | None = None
        self._is_paused = False
        self.origin, self.facts = connection.origin, connection.upstream.facts

    @property
    def is_open(self) -> bool:
        return not self.is_over

    def write(self, data: bytes) -> None:
        """Take the request as HTTP/1.1 has it, in any pieces, and send it."""
        if self.is_over:
            return
        if self._reader is None:
            self._head += data
            end = find_head_end(self._head)
            if end < 0:
                return
            head, data = self._head[:end], self._head[end:]
            self._reader = self._connection.begin(self, head)
            if self._reader.done:
                return
        if data and not self._reader.done:
            self._reader.feed(data)
            self._connection.sent(self, ended=self._reader.done, trailers=self._reader.trailers)

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        held, self.held = self.held, 0
        self._connection.acknowledge(self.id, held)

    def abort(self) -> None:
        """Reset the stream; the connection goes on."""
        self.user = None
        self._connection.end_stream(self)

    def detach(self) -> None:
        """Detach the exchange, which is over; the end of the stream may come later."""
        self.user = None
        self.resume()
        if self.id == 0:
            self._connection.end_stream(self)

    def answered(self) -> None:
        self._connection.upstream.answered()

    def on_data(self, data: bytes, size: int) -> None:
        """Take bytes of the response, which used `size` bytes of the window."""
        if data and self.user is None:
            self._connection.end_stream(self)  # the exchange has ended before its response
        self.deliver(data)
        if self._is_paused and self.user is not None:
            self.held += size
        else:
            self._connection.acknowledge(self.id, size)

    def deliver(self, data: bytes) -> None:
        """Deliver bytes of HTTP/1.1 to the exchange."""
        if data and self.user is not None:
            self.user.upstream_data(data)

    def behind(self, headers: Headers) -> None:
        """Note the trailers, and deliver them."""
        told = self.answer.behind(headers)
        self.trailers = self.answer.trailers
        if self.user is None:
            log.info("trailers came too late for their record: %r", self.trailers)
        self.deliver(told)

    def release(self) -> None:
        """Release the end of the response, which no longer waits for the stream's end."""
        self.deliver(self.answer.release())

    def closed(self, error: Exception | None) -> None:
        """Note that the stream has ended, in order when there is no error. A body that has its length is whole either
        way.
        """
        self.is_over = True
        self.release()
        user, self.user = self.user, None
        if user is not None:
            user.upstream_closed(error)

    def set_full(self, *, is_full: bool) -> None:
        """Note whether the stream's window is full, and tell the exchange when there is room again."""
        was_full, self.is_full = self.is_full, is_full
        if was_full and not is_full and self.user is not None:
            self.user.upstream_writable()
