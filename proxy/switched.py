"""What client and origin say once they have switched protocols: passed on as it comes, and written down."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from archive.capture import Exchange, Truncation, now_micros
from proxy.delivery import Delivery
from proxy.frames import agreed_deflate
from proxy.http1 import ResponseHead
from proxy.keep import Kept, Lost
from proxy.loglines import about
from proxy.order import Order
from proxy.services import Services
from proxy.socketlog import SocketLog

log = logging.getLogger(__name__)

_SOCKET_MICROS: Final = 300_000_000
"""A crash takes no more of a WebSocket than was said in this time."""


class Switched:
    """One conversation behind a 101. `end` ends its exchange, for a reason of ours or for none."""

    def __init__(
        self, order: Order, delivery: Delivery, services: Services, end: Callable[[Truncation | None], None]
    ) -> None:
        self._order = order
        self._exchange = ""
        self._delivery = delivery
        self._services = services
        self._end = end
        self._socket: SocketLog | None = None
        self._has_ended = False

    def begin(self, head: ResponseHead, rest: bytes) -> None:
        """The origin has agreed; `rest` is what it said behind its head."""
        self._delivery.switch(head)
        self._delivery.pass_on(rest)
        self._write_down(rest, by_client=False)

    def keep_handshake(self, handshake: Exchange, head: ResponseHead) -> None:
        """The handshake is kept as an exchange of its own; what is said behind it belongs to its record."""
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
        self._services.recorder.submit(handshake, lambda outcome: self._handshake_kept(socket, outcome, len(head.raw)))

    def sent(self, data: bytes) -> None:
        """Bytes of the client, which the origin has got."""
        self._write_down(data, by_client=True)

    def received(self, data: bytes) -> None:
        """Bytes of the origin, for the client."""
        self._delivery.pass_on(data)
        self._write_down(data, by_client=False)

    def tick(self) -> None:
        """Keep what is old enough."""
        if self._socket is not None:
            self._socket.flush_old(now_micros() - _SOCKET_MICROS)

    def end(self, reason: Truncation | None, over: Callable[[], None]) -> None:
        """Nothing more is said; `over` is called when all of it is kept."""
        self._has_ended = True
        if self._socket is None:
            over()
        else:
            self._socket.end(reason, over)

    def _handshake_kept(self, socket: SocketLog, outcome: Kept | Lost, length: int) -> None:
        self._order.session.note(outcome, self._order.url, length)
        self._order.session.ended()
        if isinstance(outcome, Kept) and outcome.capture is not None:
            socket.handshake_kept(outcome.capture.record_id)
            return
        socket.give_up()
        if isinstance(outcome, Lost):  # otherwise it was not to be archived, and goes on
            self._end(None)

    def _write_down(self, data: bytes, *, by_client: bool) -> None:
        """For the record, behind the relaying: what is said is never held up."""
        if self._socket is None or self._has_ended:
            return
        try:
            (self._socket.sent if by_client else self._socket.received)(data)
        except OSError as error:
            log.error("%s: the spool failed: %s", self._order.url, error, extra=about(self._exchange))
            self._end("unspecified")
