"""What an exchange has of an origin that speaks HTTP/2: a connection that may turn out to, and a stream of one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from proxy.bodyreader import BodyReader
from proxy.h2answers import OriginAnswer
from proxy.h2wire import Headers
from proxy.http1 import find_head_end
from proxy.upstream import SecureUpstream, Upstream

if TYPE_CHECKING:
    from proxy.h2origins import Trunk

log = logging.getLogger(__name__)


class EarlyUpstream(SecureUpstream):
    """A connection that may turn out to be HTTP/2, whose origin then speaks first: nothing of it is missed."""

    def __init__(self) -> None:
        super().__init__()
        self.early = b""

    @property
    def is_h2(self) -> bool:
        """Whether both sides have agreed on HTTP/2."""
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


class OriginStream(Upstream):
    """One exchange's share of a connection."""

    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.id = 0
        """Of the stream; 0 before the request's head was written."""
        self.held = 0
        """Bytes that came while the exchange wanted no more: their room is given back when it does again."""
        self.is_over = False
        self.answer = OriginAnswer("GET")
        self._trunk = trunk
        self._head = b""
        self._reader: BodyReader | None = None
        self._is_paused = False
        self.origin, self.facts = trunk.origin, trunk.upstream.facts

    @property
    def is_open(self) -> bool:
        return not self.is_over

    def write(self, data: bytes) -> None:
        """The request as HTTP/1.1 has it, in any pieces."""
        if self.is_over:
            return
        if self._reader is None:
            self._head += data
            end = find_head_end(self._head)
            if end < 0:
                return
            head, data = self._head[:end], self._head[end:]
            self._reader = self._trunk.begin(self, head)
            if self._reader.done:
                return
        if data and not self._reader.done:
            self._reader.feed(data)
            self._trunk.sent(self, ended=self._reader.done, trailers=self._reader.trailers)

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        held, self.held = self.held, 0
        self._trunk.give_room(self.id, held)

    def abort(self) -> None:
        """Nothing more is wanted of it; the connection goes on."""
        self.user = None
        self._trunk.leave(self)

    def let_end(self) -> None:
        """The exchange is over; the stream's own end may still be on its way."""
        self.user = None
        self.resume()
        if self.id == 0:
            self._trunk.leave(self)

    def answered(self) -> None:
        self._trunk.upstream.answered()

    def took(self, data: bytes, size: int) -> None:
        """Bytes of the response, which took up `size` of the window."""
        if data and self.user is None:
            self._trunk.leave(self)  # more than its exchange took for the whole
        self.tell(data)
        if self._is_paused and self.user is not None:
            self.held += size
        else:
            self._trunk.give_room(self.id, size)

    def tell(self, data: bytes) -> None:
        """What HTTP/1.1 would say."""
        if data and self.user is not None:
            self.user.upstream_data(data)

    def behind(self, headers: Headers) -> None:
        """Trailers came."""
        told = self.answer.behind(headers)
        self.trailers = self.answer.trailers
        if self.user is None:
            log.info("trailers came too late for their record: %r", self.trailers)
        self.tell(told)

    def release(self) -> None:
        """What would make the response whole waits no longer for the stream's end."""
        self.tell(self.answer.release())

    def closed(self, error: Exception | None) -> None:
        """It has ended, in order when there is no error. A body that has its length is whole either way."""
        self.is_over = True
        self.release()
        user, self.user = self.user, None
        if user is not None:
            user.upstream_closed(error)

    def room(self, *, is_full: bool) -> None:
        """Note whether the origin takes more, and tell when it does again."""
        was_full, self.is_full = self.is_full, is_full
        if was_full and not is_full and self.user is not None:
            self.user.upstream_writable()
