"""Client and origin have switched protocols. Their bytes are passed on as they come, and written down.

The origin's close frame is to a WebSocket what the last bytes are to a response: the client gets it only when the
handshake and everything said until then are durable. If they can't be kept, the connection breaks instead.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from archive.capture import Exchange, Truncation
from archive.dates import now_micros
from proxy.delivery.delivery import Delivery
from proxy.fetch.order import Order
from proxy.fetch.origin_line import OriginLine
from proxy.fetch.services import Services
from proxy.log_lines import about
from proxy.protocol.http1 import ResponseHead
from proxy.recording.keep import Kept, Lost
from proxy.websocket.frames import agreed_deflate
from proxy.websocket.log import SocketLog

log = logging.getLogger(__name__)

_SOCKET_MICROS: Final = 300_000_000
"""A crash takes no more of a WebSocket than was said in this time."""


class UpgradedConnection:
    """An upgraded connection is one conversation after a 101. `end` ends its exchange, for a reason of ours or for
    none.
    """

    def __init__(
        self,
        order: Order,
        line: OriginLine,
        delivery: Delivery,
        services: Services,
        end: Callable[[Truncation | None], None],
    ) -> None:
        self._order = order
        self._exchange = ""
        self._line = line
        self._delivery = delivery
        self._services = services
        self._end = end
        self._socket: SocketLog | None = None
        self._held = b""
        self._may_close = services.settings.deliver == "at_once"
        """The client may have the origin's close frame."""
        self._hangs_up = False
        self._has_ended = False

    def begin(self, head: ResponseHead, handshake: Exchange | None, rest: bytes) -> None:
        """Begin when the origin has agreed; `rest` is what it sent after its head. Without a `handshake` nothing is
        kept.
        """
        if handshake is None:
            self._order.session.note_relayed(self._order.head.method, self._order.shown_url, head.status, len(head.raw))
        else:
            self._keep(handshake, head)
        self._line.free_place()
        self._delivery.switch(head)
        self.received(rest)

    def sent(self, data: bytes) -> None:
        """Record bytes of the client, which the origin has got."""
        self._write_down(data, by_client=True)

    def received(self, data: bytes) -> None:
        """Pass on bytes of the origin at once, unless its close frame is among them or before them."""
        self._write_down(data, by_client=False)
        socket = self._socket
        if socket is None or self._has_ended or self._may_close or not socket.origin_has_closed:
            self._delivery.pass_on(data)
            return
        is_first, self._held = not self._held, self._held + data
        self._line.pause()  # nothing should come behind a close frame; if it does, it needn't pile up here
        if is_first:
            socket.settle(self._settled)

    def hung_up(self, *, in_order: bool) -> None:
        """Close the client's connection, after what is held for it, when the origin has closed its own."""
        if self._held:
            self._hangs_up = True
        elif in_order:
            self._delivery.hang_up()

    def tick(self) -> None:
        """Keep what is old enough; stop when something could not be kept."""
        if self._socket is None:
            return
        self._socket.flush_old(now_micros() - _SOCKET_MICROS)
        if self._socket.has_lost:
            self._break_off()

    def end(self, reason: Truncation | None, over: Callable[[], None]) -> None:
        """End the conversation; `over` is called when all of it is kept."""
        self._has_ended = True
        if not self._hangs_up:
            self._delivery.cut()
        if self._socket is None:
            over()
        else:
            self._socket.end(reason, over)

    def _keep(self, handshake: Exchange, head: ResponseHead) -> None:
        """Keep the handshake as an exchange of its own; the messages belong to its record."""
        self._exchange = handshake.id
        self._order.session.began()
        self._socket = socket = SocketLog(
            handshake.url,
            handshake.context,
            self._order.session,
            agreed_deflate(head.get(b"sec-websocket-extensions")),
            self._services.settings,
            self._services.recorder,
            self._services.spool_folder,
            handshake.id,
        )
        self._services.recorder.submit(handshake, lambda outcome: self._handshake_kept(socket, outcome, handshake))

    def _settled(self, is_kept: bool) -> None:
        """Note whether all messages up to the origin's close frame are kept."""
        if not is_kept:
            self._break_off()
            return
        held, self._held, self._may_close = self._held, b"", True
        self._delivery.pass_on(held)
        self._line.resume()
        if self._hangs_up:
            self._delivery.hang_up()

    def _break_off(self) -> None:
        """Break the connection visibly, rather than end what is not kept."""
        self._delivery.cut()
        self._end(None)

    def _handshake_kept(self, socket: SocketLog, outcome: Kept | Lost, handshake: Exchange) -> None:
        length = handshake.response.length if handshake.response is not None else 0
        self._order.session.note(outcome, self._order.url, handshake, length)
        self._order.session.ended()
        if isinstance(outcome, Kept) and outcome.capture is not None:
            socket.handshake_kept(outcome.capture.record_id)
            return
        if isinstance(outcome, Lost):  # otherwise it was not to be archived, and goes on
            self._break_off()
        socket.give_up()

    def _write_down(self, data: bytes, *, by_client: bool) -> None:
        """Record the bytes; the conversation goes on whatever is wrong with them."""
        if self._socket is None or self._has_ended:
            return
        try:
            (self._socket.sent if by_client else self._socket.received)(data)
        except OSError as error:
            log.error("%s: the spool failed: %s", self._order.url, error, extra=about(self._exchange))
            self._end("unspecified")
