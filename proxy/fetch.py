"""One exchange with an origin, from the request's first byte to "it is kept".

The response is relayed as it comes, but its last bytes are held until the recorder says that the records are
durable. A client that leaves does not end the fetch. Everything here runs on the event loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from archive import crawl_log
from archive.capture import Exchange, Origin, Truncation, now_micros
from archive.digest import Algorithm
from archive.incompressible import is_incompressible
from archive.sections import ProxySettings
from proxy.admission import Admission
from proxy.byterange import ByteRange
from proxy.delivery import Client, Delivery
from proxy.egress import Routes
from proxy.failures import failure_to_connect
from proxy.frames import agreed_deflate
from proxy.gate import Gate, Session
from proxy.http1 import NO_HEAD, BadMessage, BodyReader, Framing, RequestHead, ResponseHead
from proxy.incoming import Incoming
from proxy.keep import Kept, Lost
from proxy.policy import Policy
from proxy.provenance import Provenance
from proxy.recorded import as_recorded
from proxy.recorder import Recorder
from proxy.redaction import NOTHING_REDACTED
from proxy.refusal import Refused
from proxy.slices import SliceDelivery
from proxy.slow import Stopwatch
from proxy.socketlog import RESOURCE_TYPE, SocketLog
from proxy.spool import Passing, Spool
from proxy.telling import Telling
from proxy.upstream import Destination, Facts, Pool, Upstream
from proxy.wishes import CAPTURE_RECORD

log = logging.getLogger(__name__)

_BACK_PRESSURE_SECONDS: Final = 0.05
_SOCKET_MICROS: Final = 300_000_000
"""A crash takes no more of a WebSocket than was said in this time."""
IDEMPOTENT: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Methods that may be sent again when a kept connection turned out to be dead."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a client asks for."""

    session: Session
    head: RequestHead
    url: str
    destination: Destination
    origin_head: bytes
    framing: Framing
    length: int
    policy: Policy
    part: ByteRange | None = None
    """What the client gets of the whole; None for all of it."""


@dataclass(slots=True)
class Services:
    """What every fetch of a process shares."""

    settings: ProxySettings
    loop: asyncio.AbstractEventLoop
    gate: Gate
    pool: Pool
    recorder: Recorder
    provenance: Provenance
    routes: Routes
    spool_folder: Path
    digest: Algorithm
    active: set[Fetch]
    orphans: set[Fetch]
    """Those that go on without their client."""
    tasks: set[asyncio.Task[None]]
    admission: Admission
    via: bytes = b""
    """A Via header line of ours; empty for none."""


class Stage(Enum):
    """How far an exchange has come."""

    CONNECTING = "connecting"
    HEAD = "head"
    BODY = "body"
    UPGRADED = "upgraded"
    KEEPING = "keeping"
    OVER = "over"


_PHASE_OF: Final = dict(zip(Stage, ("connect", "first_byte", "body", "body", "keep", "keep"), strict=True))


class Fetch:
    """Fetches one order for a client, who may leave before the end."""

    def __init__(self, order: Order, client: Client, services: Services) -> None:
        settings = services.settings
        self.order = order
        self.stage = Stage.CONNECTING
        self._is_kept = order.session.keeps
        self.id = uuid.uuid4().hex
        self.started = now_micros()
        self._delivery = self._delivery_to(client, services.via)
        self._services = services
        self._settings = settings
        self._upstream: Upstream | None = None
        self._origin = Origin()
        self._facts: Facts | None = None
        self._socket: SocketLog | None = None
        self._reused = False
        self._request = Spool(settings.spool_bytes, services.spool_folder, services.digest)
        self._request_reader = BodyReader(order.framing, order.length, self._request.add_payload, strict=True)
        spool = Spool if self._is_kept else Passing
        self._response = spool(settings.spool_bytes, services.spool_folder, services.digest)
        self._incoming = Incoming(
            order.head.method,
            self._response,
            self._delivery,
            settings.max_head_bytes,
            may_be_simple=order.destination.port == (443 if order.destination.tls else 80),
        )
        self._holds = ""
        """The token of our reservations under the limits."""
        self._began = services.loop.time()
        self._deadline = self._began + settings.connect_seconds
        self._total_deadline = self._began + settings.total_seconds
        self._length_limit = settings.max_body_bytes
        self._watch = Stopwatch(self._began) if settings.slow_seconds else None

    # -- from the client ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Send the request, over a kept connection if there is one; wait while the writer is behind."""
        self._services.active.add(self)
        self.order.session.began()
        self._request.start(self.order.origin_head)
        if self.order.policy.refusal is not None:
            self._turn_away(self.order.policy.refusal)
        elif self.order.policy.limits:
            self._run(self._ask_leave())
        else:
            self._dispatch()

    def _delivery_to(self, client: Client, via: bytes) -> Delivery:
        order = self.order
        if order.part is not None:
            return SliceDelivery(client, order.head, order.part, via)
        if not order.policy.wishes.accept:
            return Delivery(client, order.head, via)
        with_record = CAPTURE_RECORD in order.policy.wishes.accept
        return Telling(client, order.head, self.started, with_record=with_record, via=via)

    async def _ask_leave(self) -> None:
        """Nothing is sent to the origin before the limits allow it."""
        order, settings = self.order, self._settings
        self._holds = uuid.uuid4().hex
        self._deadline += settings.limit_seconds
        refused = await self._services.admission.ask(order.policy.context.collection, order.policy.limits, self._holds)
        if refused is not None:
            self._turn_away(refused)
        elif self.stage is Stage.CONNECTING:
            self._deadline = self._services.loop.time() + settings.connect_seconds
            self._dispatch()
        else:
            self._give_back_leave()

    def _turn_away(self, refused: Refused) -> None:
        self._fail(refused.code, refused.word, refused.status, refused=refused)

    def _give_back_leave(self) -> None:
        if self._holds:
            order = self.order
            self._services.admission.release(order.policy.context.collection, order.policy.limits, self._holds)

    def _dispatch(self) -> None:
        if self.stage is not Stage.CONNECTING:
            return  # it has failed while it waited
        if self._is_kept and self._services.recorder.is_full and self._delivery.is_wanted:
            self._deadline = self._services.loop.time() + self._settings.connect_seconds
            self._services.loop.call_later(_BACK_PRESSURE_SECONDS, self._dispatch)
            return
        kept = self._services.pool.idle(self.order.destination) if self.order.head.method in IDEMPOTENT else None
        if kept is not None:
            self._reused = True
            self._use(kept)
        else:
            self._connect()

    def request_data(self, data: bytes) -> int:
        """The next bytes of the request's body; how many of them belong to it. Raises BadMessage, OSError."""
        taken = self._request_reader.feed(data)
        if self._request_reader.broken:
            raise BadMessage(self._request_reader.broken)
        if self.stage in (Stage.KEEPING, Stage.OVER):
            return taken  # the origin has answered without waiting for these
        piece = data[:taken]
        self._request.add(piece)
        if self._upstream is not None:
            self._upstream.write(piece)
            if self.stage is Stage.HEAD:
                self._deadline = self._services.loop.time() + self._settings.first_byte_seconds
        return taken

    @property
    def request_is_whole(self) -> bool:
        """Whether the request's last byte is here."""
        return self._request_reader.done

    @property
    def ends_with_client(self) -> bool:
        """Whether there is no end but the client's leaving: a stream of events, a switched protocol."""
        return self._incoming.is_endless or self.stage is Stage.UPGRADED

    @property
    def wants_no_more(self) -> bool:
        """Whether the client must stop sending for now: nobody takes the bytes yet."""
        if self._upstream is None:
            return self._request.length > self._settings.spool_bytes
        return self._upstream.is_full

    def client_data(self, data: bytes) -> None:
        """Bytes of a switched protocol."""
        if self._upstream is not None:
            self._upstream.write(data)
            self._write_down(data, by_client=True)

    def client_writable(self) -> None:
        """The client takes more again."""
        if self._upstream is not None:
            self._upstream.resume()

    def client_left(self) -> None:
        """The client is gone. A whole request is fetched to its end all the same, within the limits of orphans."""
        self._delivery.leave()
        if self.stage is Stage.UPGRADED:
            self._end_upgrade(None)
        elif self.stage in (Stage.KEEPING, Stage.OVER):
            return
        elif not self.request_is_whole:
            self._fail(crawl_log.CANCELLED, "client-left", 400)
        elif self._incoming.is_endless:
            self._complete("disconnect")
        elif len(self._services.orphans) >= self._settings.orphans or not self._is_kept:
            self._give_up_orphan()
        else:
            orphaned = self._services.loop.time() + self._settings.orphan_seconds
            self._total_deadline = min(self._total_deadline, orphaned)
            self._length_limit = _least(self._length_limit, self._response.length, self._settings.orphan_bytes)
            self._services.orphans.add(self)
            self.client_writable()

    def _give_up_orphan(self) -> None:
        if self.stage is Stage.BODY:
            self._complete("disconnect")
        else:
            self._fail(crawl_log.CANCELLED, "client-left", 400)

    # -- from the clock -------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """End the exchange when one of its deadlines has passed."""
        if self.stage is Stage.BODY and self._delivery.is_full:
            self._deadline = now + self._settings.idle_seconds  # the silence is the client's: we paused the origin
        if self._socket is not None and self.stage is Stage.UPGRADED:
            self._socket.flush_old(now_micros() - _SOCKET_MICROS)
        if now < self._deadline and now < self._total_deadline:
            return
        if self.stage is Stage.CONNECTING:
            self._fail(crawl_log.CONNECT, "connect-timeout", 504)
        elif self.stage is Stage.HEAD:
            self._fail(crawl_log.TIMEOUT, "timeout", 504)
        elif self.stage is Stage.BODY:
            self._complete("time")
        elif self.stage is Stage.UPGRADED and now >= self._total_deadline:
            self._end_upgrade("time")

    def break_off(self) -> None:
        """End it now, because the process ends: what has come is kept."""
        if self.stage in (Stage.CONNECTING, Stage.HEAD):
            self._fail(crawl_log.RUNTIME, "stopping", 503)
        elif self.stage is Stage.BODY:
            self._complete("time")
        elif self.stage is Stage.UPGRADED:
            self._end_upgrade("time")

    # -- from the origin ------------------------------------------------------------------------------------------

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the origin."""
        self._deadline = self._services.loop.time() + self._settings.idle_seconds
        try:
            if self.stage is Stage.UPGRADED:
                self._delivery.pass_on(data)
                self._write_down(data, by_client=False)
            else:
                self._read(data)
        except BadMessage as error:
            log.info("%s: %s", self.order.url, error, extra={"exchange": self.id})
            self._unreadable(str(error))
        except OSError as error:
            log.error("%s: the spool failed: %s", self.order.url, error, extra={"exchange": self.id})
            self._fail(crawl_log.RUNTIME, "spool", 503, str(error))
        if self._delivery.is_full and self._upstream is not None:
            self._upstream.pause()

    def upstream_closed(self, error: Exception | None) -> None:
        """The origin closed the connection."""
        self._give_up_upstream()
        if self.stage is Stage.HEAD:
            self._closed_before_response(error)
        elif self.stage is Stage.BODY:
            whole = error is None and self._incoming.ended_by_close()
            self._complete(None if whole else "disconnect")
        elif self.stage is Stage.UPGRADED:
            if error is None:
                self._delivery.hang_up()
            self._end_upgrade(None)

    def upstream_writable(self) -> None:
        """The origin takes more of the request."""
        self._delivery.take_more()

    def _read(self, data: bytes) -> None:
        rest = self._incoming.feed(data, client_stays=self._client_may_stay)
        head = self._incoming.head
        if head is None:
            return
        self._enter(Stage.BODY)
        if self._incoming.is_switch:
            self._switch(head, rest)
        elif self._incoming.is_whole:
            self._complete(None)
        elif 0 < self._length_limit <= self._response.length:
            self._complete("length")

    @property
    def _client_may_stay(self) -> bool:
        return self.order.head.keep_alive and self.request_is_whole and not self._services.gate.is_draining

    def _closed_before_response(self, error: Exception | None) -> None:
        if self._reused and not self._incoming.has_begun:
            # The origin had closed the kept connection just as we used it (RFC 9112 section 9.3.1).
            self._reused = False
            self._enter(Stage.CONNECTING)
            self._deadline = self._services.loop.time() + self._settings.connect_seconds
            self._connect()
        elif error is None and not self._incoming.has_begun:
            self._fail(crawl_log.EMPTY, "empty", 502)
        elif error is None and self._incoming.ended_by_close():
            self._complete(None)
        elif self._incoming.unread:
            self._unreadable("the connection ended within the response's head", "lost")
        else:
            self._fail(crawl_log.LOST, "lost", 502)

    # -- connecting -----------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._run(self._connecting())

    def _run(self, steps: Coroutine[None, None, None]) -> None:
        task = self._services.loop.create_task(steps)
        self._services.tasks.add(task)
        task.add_done_callback(self._services.tasks.discard)

    async def _connecting(self) -> None:
        try:
            upstream = await self._services.pool.connect(self.order.destination)
        except OSError as error:
            why = failure_to_connect(error)
            self._fail(why.code, why.word, why.status, why.detail, logged=why.logged, annotations=why.annotations)
        else:
            if self.stage is Stage.CONNECTING:
                self._use(upstream)
            else:
                self._services.pool.give_back(self.order.destination, upstream)

    def _use(self, upstream: Upstream) -> None:
        upstream.user = self
        self._upstream, self._origin, self._facts = upstream, upstream.origin, upstream.facts
        self._enter(Stage.HEAD)
        self._deadline = self._services.loop.time() + self._settings.first_byte_seconds
        pieces = self._request.message().chunks()
        egress = self.order.destination.egress
        if egress is not None and egress.forwards(tls=self.order.destination.tls):
            upstream.write(egress.forwarded(next(pieces), self.order.destination.authority))
        for piece in pieces:
            upstream.write(piece)
        if not self.request_is_whole:
            self._delivery.take_more()

    def _give_up_upstream(self, *, reusable: bool = False) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None and reusable:
            self._services.pool.give_back(self.order.destination, upstream)
        elif upstream is not None:
            self._services.pool.drop(self.order.destination, upstream)

    # -- the end --------------------------------------------------------------------------------------------------

    def _complete(self, truncated: Truncation | None) -> None:
        head = self._incoming.head
        assert head is not None
        self._enter(Stage.KEEPING)
        if truncated is not None:
            self._incoming.cut_off()
        certain = truncated is None and self._incoming.is_certain and self.request_is_whole
        if self._upstream is not None:
            self._upstream.answered()
        self._give_up_upstream(reusable=certain and head.keep_alive)
        if not self._is_kept:
            self._end_delivery(truncated)
            self.order.session.note_relayed(self._response.length + len(head.raw))
            self._over()
            return
        if self._settings.deliver == "at_once":
            self._end_delivery(truncated)
        self._services.recorder.submit(
            self._exchange(head, truncated), lambda outcome: self._answered(outcome, truncated)
        )

    def _answered(self, outcome: Kept | Lost, truncated: Truncation | None) -> None:
        self.order.session.note(outcome, self.order.url, self._response.length + len(self._response.head))
        if isinstance(outcome, Kept):
            self._delivery.kept(outcome)
            self._tell(outcome)
            self._end_delivery(truncated)
        else:
            self._delivery.refuse(503, 0, "not-kept", f"ghostfleet could not keep {self.order.url}: {outcome.reason}\n")
        self._over()

    def _tell(self, outcome: Kept) -> None:
        facts, order = self._facts, self.order
        if facts is not None and outcome.capture is not None and order.policy.context.collection not in facts.told:
            self._services.provenance.tell(facts, order.session, order.policy.context, outcome.capture)

    def _end_delivery(self, truncated: Truncation | None) -> None:
        if truncated is None:
            self._delivery.let_go()
        else:
            self._delivery.cut()

    def _fail(
        self,
        code: int,
        word: str,
        status: int,
        detail: str = "",
        *,
        refused: Refused | None = None,
        logged: int | None = None,
        annotations: tuple[str, ...] = (),
    ) -> None:
        """Nothing to keep: a line in the crawl log, under the code `logged` if given, and an answer that says why."""
        if self.stage in (Stage.KEEPING, Stage.OVER):
            return
        self._enter(Stage.KEEPING)
        self._give_up_upstream()
        self.order.session.note_failure(code)
        text = f"{refused}\n" if refused else f"ghostfleet could not fetch {self.order.url}: {detail or word}\n"
        self._delivery.refuse(status, code, word, text, refused.extra if refused else "")
        self._note(replace(self._exchange(None, None), outcome=logged or code, annotations=annotations or (word,)))

    def _note(self, failed: Exchange) -> None:
        """A line in the crawl log, unless nothing is kept at all."""
        if self._is_kept:
            self._services.recorder.submit(failed, lambda _: self._over())
        else:
            self._over()

    def _unreadable(self, why: str, word: str = "bad-response") -> None:
        """What came is kept as it came, in a record that nobody takes for a response; the client is told why."""
        if self.stage in (Stage.KEEPING, Stage.OVER):
            return
        self._enter(Stage.KEEPING)
        self._give_up_upstream()
        self.order.session.note_failure(crawl_log.LOST)
        raw = self._incoming.unread
        text = f"ghostfleet could not understand {self.order.url}: {why}; {len(raw)} bytes came\n"
        self._delivery.refuse(502, crawl_log.LOST, word, text)
        failed = replace(self._all_of_it(None, None), outcome=crawl_log.LOST, annotations=(word,))
        if raw:
            self._response.add(raw)
            self._response.add_payload(raw)
            failed = self._with_messages(failed, form="metadata")
        self._note(self._as_wished(failed, None))

    def _exchange(self, head: ResponseHead | None, truncated: Truncation | None) -> Exchange:
        return self._as_wished(self._all_of_it(head, truncated), head)

    def _as_wished(self, exchange: Exchange, head: ResponseHead | None) -> Exchange:
        order, redaction = self.order, self.order.session.spec.redaction
        if not order.policy.wishes.filters and redaction is NOTHING_REDACTED:
            return exchange
        content_type = (head.get(b"content-type") if head else None) or b""
        return as_recorded(exchange, order.policy.wishes, redaction, content_type)

    def _all_of_it(self, head: ResponseHead | None, truncated: Truncation | None) -> Exchange:
        order = self.order
        exchange = Exchange(
            id=self.id,
            context=order.policy.context,
            method=order.head.method,
            url=order.url,
            started=self.started,
            duration_ms=int((self._services.loop.time() - self._began) * 1000),
            outcome=head.status if head else 0,
            origin=self._origin,
            truncated=truncated,
            annotations=(f"framing:{self._incoming.doubt.replace(' ', '_')}",) if self._incoming.doubt else (),
        )
        if head is None:
            return exchange
        coding = head.get(b"content-encoding")
        if head is NO_HEAD:
            protocols = ("http/0.9", *self._origin.protocols[1:])
            return self._with_messages(
                exchange,
                context=replace(order.policy.context, dedup=False),
                form="resource",
                mime="text/html",
                origin=replace(self._origin, protocols=protocols),
            )
        return self._with_messages(
            exchange,
            mime=head.mime,
            incompressible=is_incompressible(head.mime, coding.decode("latin-1") if coding else None),
        )

    def _with_messages(self, exchange: Exchange, **facts: Any) -> Exchange:
        return replace(
            exchange,
            request=self._request.message(),
            response=self._response.message(),
            digests=self._response.digests(),
            fields=(("WARC-Proxy-Host", self.order.destination.egress.name),) if self.order.destination.egress else (),
            request_digests=self._request.digests() if self._request.length else None,
            **facts,
        )

    def _enter(self, stage: Stage) -> None:
        if self._watch is not None:
            self._watch.lap(_PHASE_OF[self.stage], self._services.loop.time())
        self.stage = stage

    def _report_slow(self) -> None:
        if self._watch is not None and not self.ends_with_client:
            head, order = self._incoming.head, self.order
            self._enter(self.stage)
            self._watch.report(
                self.id,
                order.head.method,
                order.url,
                head.status if head else None,
                longer_than=self._settings.slow_seconds,
            )

    def _over(self) -> None:
        if self.stage is not Stage.OVER:
            self._report_slow()
            self.stage = Stage.OVER
            self._request.close()
            self._response.close()
            self._services.active.discard(self)
            self._services.orphans.discard(self)
            self._give_back_leave()
            self.order.session.ended()

    # -- switched protocols ---------------------------------------------------------------------------------------

    def _switch(self, head: ResponseHead, rest: bytes) -> None:
        """The handshake is kept as an exchange of its own; then bytes pass both ways as they come."""
        self._enter(Stage.UPGRADED)
        if not self._is_kept:
            self.order.session.note_relayed(len(head.raw))
            self._delivery.switch(head)
            self._delivery.pass_on(rest)
            return
        self.order.session.began()
        handshake = self._exchange(head, None)
        handshake = replace(handshake, fields=(*handshake.fields, RESOURCE_TYPE))
        self._socket = SocketLog(
            handshake.url,
            handshake.context,
            self.order.session,
            agreed_deflate(head.get(b"sec-websocket-extensions")),
            self._settings,
            self._services.recorder,
            self._services.spool_folder,
        )
        self._services.recorder.submit(handshake, self._handshake_kept)
        self._delivery.switch(head)
        self._delivery.pass_on(rest)
        self._write_down(rest, by_client=False)

    def _handshake_kept(self, outcome: Kept | Lost) -> None:
        assert self._socket is not None
        self.order.session.note(outcome, self.order.url, len(self._response.head))
        self.order.session.ended()
        if isinstance(outcome, Kept) and outcome.capture is not None:
            self._socket.handshake_kept(outcome.capture.record_id)
            return
        self._socket.give_up()
        if isinstance(outcome, Lost):  # otherwise it was not to be archived, and goes on
            self._end_upgrade(None)

    def _write_down(self, data: bytes, *, by_client: bool) -> None:
        """For the record, behind the relaying: what is said is never held up."""
        if self._socket is None or self.stage is not Stage.UPGRADED:
            return
        try:
            (self._socket.sent if by_client else self._socket.received)(data)
        except OSError as error:
            log.error("%s: the spool failed: %s", self.order.url, error)
            self._end_upgrade("unspecified")

    def _end_upgrade(self, reason: Truncation | None) -> None:
        if self.stage is not Stage.UPGRADED:
            return
        self._enter(Stage.KEEPING)
        self._give_up_upstream()
        self._delivery.cut()
        if self._socket is None:
            self._over()
        else:
            self._socket.end(reason, self._over)


def _least(limit: int, so_far: int, more: int) -> int:
    """The length at which a body ends, where 0 is no limit: at `limit`, or `more` bytes from here."""
    return min(limit or so_far + more, so_far + more) if more else limit
