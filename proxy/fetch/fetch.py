"""One exchange with an origin, from the request's first byte to "it is kept".

The response is relayed as it comes, but its last bytes are held until the recorder says that the records are
durable. A client that leaves does not end the fetch. Everything here runs on the event loop's thread.

`transcript` is what passes and what of it is kept, `line` the connection to the origin, `approach` the way to it,
`outgoing` passes the request's body on, `incoming` reads the response, `delivery` is the client's side, `progress` says
how far it has come and how long it may take, `switched` what happens behind a 101, `ending` what happens at the end.
"""

from __future__ import annotations

import logging

from archive.capture import Truncation
from proxy.approach import Approach
from proxy.deliveries import delivery_of
from proxy.delivery import Client
from proxy.ending import Ending
from proxy.failures import (
    BAD_RESPONSE,
    CLIENT_LEFT,
    CONNECT_TIMEOUT,
    EMPTY,
    LOST,
    STOPPING,
    TIMEOUT,
    Failure,
    spool_failure,
)
from proxy.http1 import BadMessage, ResponseHead
from proxy.incoming import Incoming
from proxy.line import Line
from proxy.loglines import about
from proxy.order import Order
from proxy.outgoing import Outgoing
from proxy.progress import Progress, Stage
from proxy.refusal import Refused
from proxy.services import Services
from proxy.switched import Switched
from proxy.transcript import Transcript
from proxy.upstream import Upstream

log = logging.getLogger(__name__)


class Fetch:
    """Fetches one order for a client, who may leave before the end."""

    def __init__(self, order: Order, client: Client, services: Services) -> None:
        settings = services.settings
        self.order = order
        self._services = services
        self._settings = settings
        self._transcript = Transcript(order, settings, services.spool_folder, services.digest, services.loop.time)
        self.id = self._transcript.id
        self.started = self._transcript.started
        self._delivery = delivery_of(order, client, self.started, services.via)
        self._line = Line(order, services.pool)
        self._outgoing = Outgoing(order, self._transcript.request, self._line, settings.spool_bytes)
        self._incoming = Incoming(
            order.head.method,
            self._transcript.response,
            self._delivery,
            settings.max_head_bytes,
            may_be_simple=order.destination.port == (443 if order.destination.tls else 80),
        )
        self._switched: Switched | None = None
        self._progress = Progress(settings, self._transcript.began, services.loop.time)
        keeps = self._transcript.keeps
        self._approach = Approach(order, self._line, self._delivery, self._progress, services, keeps=keeps)
        self._ending = Ending(order, self._transcript, self._line, self._delivery, self._progress, services)

    # -- from the client ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Send the request, over a kept connection if there is one; wait while the writer is behind."""
        self._services.active.add(self)
        self.order.session.began()
        self._approach.begin(self)

    def request_data(self, data: bytes) -> int:
        """The next bytes of the request's body; how many of them belong to it. Raises BadMessage, OSError."""
        taken = self._outgoing.measure(data)
        if not self._progress.is_ending:  # otherwise the origin has answered without waiting for these
            self._outgoing.pass_on(data[:taken])
            if self._line.is_open and self._progress.stage is Stage.HEAD:
                self._progress.wait_at_most(self._settings.first_byte_seconds)
        return taken

    @property
    def request_is_whole(self) -> bool:
        """Whether the request's last byte is here."""
        return self._outgoing.is_whole

    @property
    def ends_with_client(self) -> bool:
        """Whether there is no end but the client's leaving: a stream of events, a switched protocol."""
        return self._incoming.is_endless or self._progress.stage is Stage.UPGRADED

    @property
    def wants_no_more(self) -> bool:
        """Whether the client must stop sending for now: nobody takes the bytes yet."""
        return self._outgoing.is_backed_up

    @property
    def held_up_at(self) -> int | None:
        """How many bytes have passed, both ways, when the client has to take or to send the next; else None."""
        asks = self._progress.stage is Stage.HEAD and not self.request_is_whole and not self._line.is_full
        if asks or (self._progress.stage is Stage.BODY and self._delivery.is_full):
            return self._transcript.request.length + self._transcript.received
        return None

    def client_data(self, data: bytes) -> None:
        """Bytes of a switched protocol."""
        if self._line.is_open and self._switched is not None:
            self._line.write(data)
            self._switched.sent(data)

    def client_writable(self) -> None:
        """The client takes more again."""
        self._line.resume()

    def client_left(self) -> None:
        """The client is gone. A whole request is fetched to its end all the same, within the limits of orphans."""
        self._delivery.leave()
        if self._progress.stage is Stage.UPGRADED:
            self._end_switched(None)
        elif self._progress.is_ending:
            return
        elif not self.request_is_whole:
            self.fail(CLIENT_LEFT)
        elif self._transcript.keeps and not self._incoming.is_endless and self._services.takes_orphans:
            self._progress.bounds.orphaned(self._services.loop.time(), self._transcript.response.length)
            self._services.orphans.add(self)
            self.client_writable()
        elif self._progress.stage is Stage.BODY:
            self._complete("disconnect")
        else:
            self.fail(CLIENT_LEFT)

    def let_client_go(self) -> None:
        """Go on without the client, who sees the break."""
        self._delivery.cut()
        self.client_left()

    # -- from the clock -------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """End the exchange when one of its deadlines has passed."""
        if self._progress.stage is Stage.BODY and self._delivery.is_full:
            # the silence is the client's: we paused the origin
            self._progress.wait_at_most(self._settings.idle_seconds)
        if self._switched is not None and self._progress.stage is Stage.UPGRADED:
            self._switched.tick()
        if not self._progress.bounds.is_up(now):
            return
        if self._progress.stage is Stage.CONNECTING:
            self.fail(CONNECT_TIMEOUT)
        elif self._progress.stage is Stage.HEAD and self._incoming.unread:
            self._unreadable("the response's head did not end in time", TIMEOUT)
        elif self._progress.stage is Stage.HEAD:
            self.fail(TIMEOUT)
        elif self._progress.stage is Stage.BODY:
            self._complete("time")
        elif self._progress.stage is Stage.UPGRADED and self._progress.bounds.is_over(now):
            self._end_switched("time")

    def break_off(self) -> None:
        """End it now, because the process ends: what has come is kept."""
        if self._progress.stage in (Stage.CONNECTING, Stage.HEAD):
            self.fail(STOPPING)
        elif self._progress.stage is Stage.BODY:
            self._complete("time")
        elif self._progress.stage is Stage.UPGRADED:
            self._end_switched("time")

    # -- to the origin --------------------------------------------------------------------------------------------

    def ask(self, upstream: Upstream) -> None:
        self._progress.enter(Stage.HEAD)
        self._progress.wait_at_most(self._settings.first_byte_seconds)
        self._line.ask(upstream, self, self._transcript.request.message())
        if not self.request_is_whole:
            self._delivery.take_more()

    # -- from the origin ------------------------------------------------------------------------------------------

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the origin."""
        self._progress.wait_at_most(self._settings.idle_seconds)
        try:
            if self._switched is not None and self._progress.stage is Stage.UPGRADED:
                self._switched.received(data)
            else:
                self._read(data)
        except BadMessage as error:
            log.info("%s: %s", self.order.shown_url, error, extra=about(self.id))
            self._unreadable(str(error))
        except OSError as error:
            log.error("%s: the spool failed: %s", self.order.shown_url, error, extra=about(self.id))
            self.fail(spool_failure(error))
        if self._delivery.is_full:
            self._line.pause()

    def upstream_closed(self, error: Exception | None) -> None:
        """The origin closed the connection."""
        self._line.hang_up()
        if self._progress.stage is Stage.HEAD:
            self._closed_before_response(error)
        elif self._progress.stage is Stage.BODY:
            whole = error is None and self._incoming.ended_by_close()
            self._complete(None if whole else "disconnect")
        elif self._progress.stage is Stage.UPGRADED and self._switched is not None:
            self._switched.hung_up(in_order=error is None)
            self._end_switched(None)

    def upstream_writable(self) -> None:
        """The origin takes more of the request."""
        self._delivery.take_more()

    def _read(self, data: bytes) -> None:
        rest = self._incoming.feed(data, client_stays=self._client_may_stay)
        head = self._incoming.head
        if head is None:
            return
        self._progress.enter(Stage.BODY)
        if self._incoming.is_switch:
            self._switch(head, rest)
        elif self._incoming.is_whole:
            self._complete(None)
        elif 0 < self._progress.bounds.longest <= self._transcript.response.length:
            self._complete("length")

    def _client_may_stay(self) -> bool:
        return self.order.head.keep_alive and self.request_is_whole and not self._services.gate.is_draining

    def _closed_before_response(self, error: Exception | None) -> None:
        if self._line.is_kept_one and not self._incoming.has_begun:
            # The origin had closed the kept connection just as we used it (RFC 9112 section 9.3.1).
            self._line.is_kept_one = False
            self._progress.enter(Stage.CONNECTING)
            self._progress.wait_at_most(self._settings.connect_seconds)
            self._services.run(self._approach.anew(self))
        elif error is None and not self._incoming.has_begun:
            self.fail(EMPTY)
        elif error is None and self._incoming.ended_by_close():
            self._complete(None)
        elif self._incoming.unread:
            self._unreadable("the connection ended within the response's head", LOST)
        else:
            self.fail(LOST)

    def _switch(self, head: ResponseHead, rest: bytes) -> None:
        self._progress.enter(Stage.UPGRADED)
        self._switched = Switched(self.order, self._line, self._delivery, self._services, self._end_switched)
        keeps = self._transcript.keeps
        handshake = self._transcript.handshake(head, self._line.origin, self._incoming.doubt) if keeps else None
        self._switched.begin(head, handshake, rest)

    # -- the end --------------------------------------------------------------------------------------------------

    def _complete(self, truncated: Truncation | None) -> None:
        head = self._incoming.head
        assert head is not None
        self._progress.enter(Stage.KEEPING)
        if truncated is not None:
            self._incoming.cut_off()
        certain = truncated is None and self._incoming.is_certain and self.request_is_whole
        self._line.answered()
        self._line.hang_up(reusable=certain and head.keep_alive)
        self._ending.whole(head, truncated, self._incoming, self._over)

    def _end_switched(self, reason: Truncation | None) -> None:
        if self._progress.stage is Stage.UPGRADED and self._switched is not None:
            self._progress.enter(Stage.KEEPING)
            self._line.hang_up()
            self._switched.end(reason, self._over)

    def turn_away(self, refused: Refused) -> None:
        """It was not to be fetched."""
        self._ending.turned_away(refused, self._over)

    def fail(self, failure: Failure) -> None:
        """There is nothing to keep."""
        self._ending.failed(failure, self._over)

    def _unreadable(self, why: str, failure: Failure = BAD_RESPONSE) -> None:
        self._ending.unreadable(self._incoming.unread, why, failure, self._over)

    def _over(self) -> None:
        if self._progress.stage is not Stage.OVER:
            if not self.ends_with_client:
                self._progress.report_slow(self.id, self.order, self._incoming.head)
            self._progress.stage = Stage.OVER
            self._transcript.close()
            self._services.active.discard(self)
            self._services.orphans.discard(self)
            self._approach.end()
            self.order.session.ended()
