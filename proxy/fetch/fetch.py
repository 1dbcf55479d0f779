"""A fetch is one exchange with an origin, from the request's first byte until the response is kept.

The response is relayed as it comes, but its last bytes are held until the recorder says that the records are durable.
A client that leaves does not end the fetch. Everything here runs on the event loop's thread.

A fetch consists of a `Transcript` (what passes, and what of that is kept), an `OriginLine` (the connection to the
origin), `Connecting` (how it gets that connection), a `RequestBody` (which forwards the request's body), a
`ResponseReader`, a `Delivery` (the client's side), an `ExchangeProgress` (stage and deadlines), an `UpgradedConnection`
(after a 101), and an `ExchangeEnding`.
"""

from __future__ import annotations

import logging
from typing import Final

from archive.capture import Truncation
from proxy.delivery.delivery import Client
from proxy.fetch.connecting import Connecting
from proxy.fetch.ending import ExchangeEnding
from proxy.fetch.failures import (
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
from proxy.fetch.order import Order, delivery_of
from proxy.fetch.origin_line import OriginLine
from proxy.fetch.progress import ExchangeProgress, FetchStage
from proxy.fetch.request_body import RequestBody
from proxy.fetch.response_reader import ResponseReader
from proxy.fetch.services import Services
from proxy.fetch.transcript import Transcript
from proxy.fetch.upgraded import UpgradedConnection
from proxy.log_lines import about
from proxy.origins.upstream import Upstream
from proxy.protocol.http1 import BadMessage, ResponseHead
from proxy.refusal import Refused

log = logging.getLogger(__name__)

_LEFT_PAGE_SECONDS: Final = 3.0
"""How long a request of a page waits for the beginning of its response after the browser has left.

The browser waited for other responses before: one that does not come is held back on purpose, as by long polling.
"""


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
        self._line = OriginLine(order, services.pool)
        self._request_body = RequestBody(order, self._transcript.request, self._line, settings.spool_bytes)
        if not self._request_body.is_whole:
            self._line.is_whole = lambda: self._request_body.is_whole
        self._response_reader = ResponseReader(
            order.head.method,
            self._transcript.response,
            self._delivery,
            settings.max_head_bytes,
            may_be_simple=order.destination.port == (443 if order.destination.tls else 80),
        )
        self._upgraded: UpgradedConnection | None = None
        self._was_left_by_page = False
        self._progress = ExchangeProgress(settings, self._transcript.began, services.loop.time)
        keeps = self._transcript.keeps
        self._connecting = Connecting(order, self._line, self._delivery, self._progress, services, keeps=keeps)
        self._ending = ExchangeEnding(
            order, self._transcript, self._line, self._delivery, self._progress, services, self._over
        )

    # -- from the client ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Send the request, over a kept connection if there is one; wait while the writer is behind."""
        self._services.active.add(self)
        self.order.session.began()
        self._connecting.begin(self)

    def request_data(self, data: bytes) -> int:
        """Return the next bytes of the request's body; how many of them belong to it. Raises BadMessage, OSError."""
        taken = self._request_body.measure(data)
        if not self._progress.is_ending:  # otherwise the origin has answered without waiting for these
            self._request_body.pass_on(data[:taken])
            if self.request_is_whole:
                self._line.upload_ended()
            if self._line.is_open and self._progress.stage is FetchStage.HEAD:
                self._progress.wait_at_most(self._settings.first_byte_seconds)
        return taken

    @property
    def shown_url(self) -> str:
        """The URL as status pages and log lines may have it."""
        return self.order.shown_url

    @property
    def is_with_writer(self) -> bool:
        """Return whether all that is left to do is keeping it."""
        return self._progress.is_ending

    @property
    def request_is_whole(self) -> bool:
        """Return whether the request's last byte is here."""
        return self._request_body.is_whole

    @property
    def ends_with_client(self) -> bool:
        """Return whether there is no end but the client's leaving: a stream of events, a switched protocol."""
        return self._response_reader.is_endless or self._progress.stage is FetchStage.UPGRADED

    @property
    def wants_no_more(self) -> bool:
        """Return whether the client must stop sending for now: nobody takes the bytes yet."""
        return self._request_body.is_backed_up

    @property
    def held_up_at(self) -> int | None:
        """Return how many bytes have passed, both ways, when the client has to take or to send the next; else None."""
        asks = self._progress.stage is FetchStage.HEAD and not self.request_is_whole and not self._line.is_full
        if asks or (self._progress.stage is FetchStage.BODY and self._delivery.is_full):
            return self._transcript.request.length + self._transcript.received
        return None

    def client_data(self, data: bytes) -> None:
        """Take bytes of a switched protocol."""
        if self._line.is_open and self._upgraded is not None:
            self._line.write(data)
            self._upgraded.sent(data)

    def client_writable(self) -> None:
        """Note that the client takes more bytes again."""
        self._line.resume()

    def client_left(self) -> None:
        """Note that the client has left. A whole request is fetched to its end all the same, within the limits of
        orphans.
        """
        self._delivery.leave()
        if self._progress.stage is FetchStage.UPGRADED:
            self._end_upgraded(None)
        elif self._progress.is_ending:
            return
        elif not self.request_is_whole:
            self.fail(CLIENT_LEFT)
        elif self._transcript.keeps and not self._response_reader.is_endless and self._services.takes_orphans:
            self._progress.deadlines.limit_orphan(self._services.loop.time(), self._transcript.response.length)
            if self.order.session.is_of_page and not self._has_head:
                self._was_left_by_page = True
                self._progress.wait_at_most(_LEFT_PAGE_SECONDS)
            self._services.orphans.add(self)
            self.client_writable()
        elif self._progress.stage is FetchStage.BODY:
            self._complete("disconnect")
        else:
            self.fail(CLIENT_LEFT)

    @property
    def _has_head(self) -> bool:
        """Return whether bytes of the response have come."""
        is_early = self._progress.stage in (FetchStage.CONNECTING, FetchStage.HEAD)
        return not is_early or bool(self._response_reader.unread)

    def let_client_go(self) -> None:
        """Go on without the client, who sees the break."""
        self._delivery.cut()
        self.client_left()

    # -- from the clock -------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """End the exchange when one of its deadlines has passed."""
        if self._progress.stage is FetchStage.BODY and self._delivery.is_full:
            # the silence is the client's: we paused the origin
            self._progress.wait_at_most(self._settings.idle_seconds)
        if self._upgraded is not None and self._progress.stage is FetchStage.UPGRADED:
            self._upgraded.tick()
        if not self._progress.deadlines.has_passed(now):
            return
        if self._progress.stage is FetchStage.CONNECTING:
            self.fail(CLIENT_LEFT if self._was_left_by_page else CONNECT_TIMEOUT)
        elif self._progress.stage is FetchStage.HEAD and self._response_reader.unread:
            self._unreadable("the response's head did not end in time", TIMEOUT)
        elif self._progress.stage is FetchStage.HEAD:
            self.fail(CLIENT_LEFT if self._was_left_by_page else TIMEOUT)
        elif self._progress.stage is FetchStage.BODY:
            self._complete("time")
        elif self._progress.stage is FetchStage.UPGRADED and self._progress.deadlines.total_has_passed(now):
            self._end_upgraded("time")

    def break_off(self) -> None:
        """End it now, because the process ends: what has come is kept."""
        if self._progress.stage in (FetchStage.CONNECTING, FetchStage.HEAD):
            self.fail(STOPPING)
        elif self._progress.stage is FetchStage.BODY:
            self._complete("time")
        elif self._progress.stage is FetchStage.UPGRADED:
            self._end_upgraded("time")

    # -- to the origin --------------------------------------------------------------------------------------------

    def ask(self, upstream: Upstream) -> None:
        self._progress.enter(FetchStage.HEAD)
        self._progress.wait_at_most(_LEFT_PAGE_SECONDS if self._was_left_by_page else self._settings.first_byte_seconds)
        self._line.ask(upstream, self, self._transcript.request.message())
        if not self.request_is_whole:
            self._delivery.take_more()

    # -- from the origin ------------------------------------------------------------------------------------------

    def upstream_data(self, data: bytes) -> None:
        """Take bytes from the origin."""
        self._progress.wait_at_most(self._settings.idle_seconds)
        try:
            if self._upgraded is not None and self._progress.stage is FetchStage.UPGRADED:
                self._upgraded.received(data)
            else:
                self._read(data)
        except BadMessage as error:
            self._services.malformed.note(self.order.destination)
            self._unreadable(str(error))
        except OSError as error:
            log.error("%s: the spool failed: %s", self.order.shown_url, error, extra=about(self.id))
            self.fail(spool_failure(error))
        if self._delivery.is_full:
            self._line.pause()

    def upstream_closed(self, error: Exception | None) -> None:
        """Note that the origin closed the connection."""
        self._line.hang_up()
        if self._progress.stage is FetchStage.HEAD:
            self._closed_before_response(error)
        elif self._progress.stage is FetchStage.BODY:
            whole = error is None and self._response_reader.ended_by_close()
            self._complete(None if whole else "disconnect")
        elif self._progress.stage is FetchStage.UPGRADED and self._upgraded is not None:
            self._upgraded.hung_up(in_order=error is None)
            self._end_upgraded(None)

    def upstream_writable(self) -> None:
        """Note that the origin takes more of the request."""
        self._delivery.take_more()

    def _read(self, data: bytes) -> None:
        rest = self._response_reader.feed(
            data, client_stays=self._client_may_stay, most=self._progress.deadlines.longest
        )
        head = self._response_reader.head
        if head is None:
            return
        if self._progress.stage is FetchStage.HEAD:
            self._progress.enter(FetchStage.BODY)
        if self._response_reader.is_switch:
            self._switch(head, rest)
        elif self._response_reader.is_whole:
            self._complete(None)
        elif self._response_reader.is_cut:
            self._complete("length")
        elif self._response_reader.misleads_client and self._delivery.is_wanted:
            self.let_client_go()
        elif self._response_reader.is_wasteful:
            self._line.slow_down()

    def _client_may_stay(self) -> bool:
        return self.order.head.keep_alive and self.request_is_whole and not self._services.gate.is_draining

    def _closed_before_response(self, error: Exception | None) -> None:
        if not self._response_reader.has_begun and self._line.repeats():
            self._progress.enter(FetchStage.CONNECTING)
            self._progress.wait_at_most(self._settings.connect_seconds)
            self._services.run(self._connecting.reconnect(self))
        elif error is None and not self._response_reader.has_begun:
            self.fail(EMPTY)
        elif error is None and self._response_reader.ended_by_close():
            self._complete(None)
        elif self._response_reader.unread:
            self._unreadable("the connection ended within the response's head", LOST)
        else:
            self.fail(LOST)

    def _switch(self, head: ResponseHead, rest: bytes) -> None:
        self._progress.enter(FetchStage.UPGRADED)
        self._upgraded = UpgradedConnection(self.order, self._line, self._delivery, self._services, self._end_upgraded)
        keeps = self._transcript.keeps
        handshake = self._transcript.handshake(head, self._line.origin, self._response_reader.doubt) if keeps else None
        self._upgraded.begin(head, handshake, rest)

    # -- the end --------------------------------------------------------------------------------------------------

    def _complete(self, truncated: Truncation | None) -> None:
        head = self._response_reader.head
        assert head is not None
        self._progress.enter(FetchStage.KEEPING)
        if truncated is not None:
            self._response_reader.cut_off()
        certain = truncated is None and self._response_reader.is_certain and self.request_is_whole
        self._line.answered()
        self._line.hang_up(reusable=certain and head.keep_alive)
        self._ending.whole(head, truncated, self._response_reader)

    def _end_upgraded(self, reason: Truncation | None) -> None:
        if self._progress.stage is FetchStage.UPGRADED and self._upgraded is not None:
            self._progress.enter(FetchStage.KEEPING)
            self._line.hang_up()
            self._upgraded.end(reason, self._over)

    def turn_away(self, refused: Refused) -> None:
        """End a request that was not to be fetched."""
        self._ending.turned_away(refused)

    def fail(self, failure: Failure) -> None:
        """End with nothing to keep."""
        self._ending.failed(failure)

    def _unreadable(self, why: str, failure: Failure = BAD_RESPONSE) -> None:
        self._ending.unreadable(self._response_reader.unread, why, failure)

    def _over(self) -> None:
        if self._progress.stage is not FetchStage.OVER:
            if not self.ends_with_client:
                self._progress.report_slow(self.id, self.order, self._response_reader.head)
            self._progress.enter(FetchStage.OVER)
            self._transcript.close()
            self._services.active.discard(self)
            self._services.orphans.discard(self)
            self._connecting.end()
            self.order.session.ended()
