"""The transcript holds both messages of one exchange while they pass, and makes the `Exchange` for the archive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Final

from archive import crawl_log
from archive.capture import Exchange, Origin, ResponseForm, Trailers, Truncation
from archive.dates import now_micros
from archive.digest import Algorithm
from archive.names.ids import new_name
from archive.settings import ProxySettings
from archive.warc.compression.incompressible import is_incompressible
from proxy.delivery.not_modified import unchanged
from proxy.fetch.order import Order
from proxy.protocol.http1 import NO_HEAD, ResponseHead
from proxy.protocol.validators import is_about
from proxy.recording.spool import DiscardingSpool, RedactingSpool, Spool
from proxy.sessions.navigation import NAVIGATION, opens_page
from proxy.sessions.request_options import RequestOptions
from proxy.sessions.rules import is_wanted
from proxy.sessions.secrets.redaction import NOTHING_REDACTED, Redaction
from proxy.sessions.secrets.typed_secrets import TypedSecrets
from proxy.websocket.records import RESOURCE_TYPE

_MOST_TRAILERS: Final = 16_384
"""Bytes of trailers in a record's header: readers need not expect more of a header than servers do."""

type TextFields = tuple[tuple[str, str], ...]


class Transcript:
    """The transcript follows one order from its start on. `clock` is the event loop's, in seconds."""

    __slots__ = ("_clock", "_order", "began", "id", "keeps", "request", "response", "started")

    def __init__(
        self, order: Order, settings: ProxySettings, folder: Path, digest: Algorithm, clock: Callable[[], float]
    ) -> None:
        self.id = new_name()
        self.started = now_micros()
        self.began = clock()
        self.keeps = order.session.keeps
        """The passing bytes go into a WARC; a session that changes its mode meanwhile changes that for others."""
        self.request = Spool(settings.spool_bytes, folder, digest, needs_sha256=False)
        self.request.start(order.origin_head)
        self.response = (Spool if self.keeps else DiscardingSpool)(settings.spool_bytes, folder, digest)
        redaction = order.session.spec.redaction
        if redaction.response_headers and self.keeps:
            self.response = RedactingSpool(settings.spool_bytes, folder, digest, redaction.response_head)
        self._order = order
        self._clock = clock

    @property
    def received(self) -> int:
        """Return bytes of the response so far, its head included."""
        return len(self.response.head) + self.response.length

    def exchange(
        self,
        head: ResponseHead,
        origin: Origin,
        truncated: Truncation | None = None,
        doubt: str = "",
        fields: TextFields = (),
    ) -> Exchange:
        """Return what is to be kept of a response.

        `doubt` is what made the message's borders uncertain; `fields` go into its record's header.
        """
        annotations: tuple[str, ...] = (f"framing:{doubt.replace(' ', '_')}",) if doubt else ()
        if self._order.session.spec.notes_navigation and opens_page(self._order.head):
            annotations += (NAVIGATION,)
        if head is NO_HEAD:
            exchange = self._exchange(origin, head.status, annotations, "resource", truncated=truncated, fields=fields)
            return self._as_wished(_of_old(exchange), b"")
        mime, coding = head.mime, head.get(b"content-encoding")
        exchange = self._exchange(
            origin,
            head.status,
            annotations,
            "response",
            truncated=truncated,
            fields=fields,
            mime=mime,
            incompressible=is_incompressible(mime, coding.decode("latin-1") if coding else None),
        )
        earlier, asked = self._order.earlier, self._order.head.fields
        # A 304 to a question of ours gives the client the earlier page, so the archive gets this page too.
        if earlier and head.status == 304 and (earlier.questions or is_about(head, earlier.head, asked)):
            exchange = replace(exchange, unchanged=unchanged(earlier, head))
        return self._as_wished(exchange, head.get(b"content-type") or b"")

    def handshake(self, head: ResponseHead, origin: Origin, doubt: str) -> Exchange:
        """Return the exchange by which client and origin came to speak another protocol."""
        found = self.exchange(head, origin, doubt=doubt, fields=(RESOURCE_TYPE,))
        secrets = self.secrets
        is_shown = secrets is not None and found.response is not None and secrets.is_shown_by(found.response)
        return showing_secret(found) if is_shown else found

    def failure(self, origin: Origin, code: int, annotations: tuple[str, ...]) -> Exchange:
        """Return an exchange without a response: only a line in the crawl log."""
        return self._as_wished(self._exchange(origin, code, annotations), b"")

    def unreadable(self, origin: Origin, raw: bytes, code: int, word: str) -> Exchange:
        """Return what came and is no response: kept as it came, in a record that nobody takes for one."""
        if raw:
            self.response.add(raw)
            self.response.add_payload(raw)
        return self._as_wished(self._exchange(origin, code, (word,), "metadata" if raw else None), b"")

    def learn_secrets(self) -> None:
        """Remember what a person typed into secret fields, to find responses that show these values."""
        session = self._order.session
        if session.spec.redaction.fields:
            session.typed_secrets = session.typed_secrets or TypedSecrets()
            session.typed_secrets.learn(self.request.message(), session.spec.redaction)

    @property
    def secrets(self) -> TypedSecrets | None:
        """The secrets that responses of the session are searched for; None when nothing is searched."""
        session = self._order.session
        return session.typed_secrets if session.spec.redaction.fields else None

    def close(self) -> None:
        """Let go of the bytes."""
        self.request.close()
        self.response.close()

    def _exchange(
        self,
        origin: Origin,
        outcome: int,
        annotations: tuple[str, ...],
        form: ResponseForm | None = None,
        *,
        truncated: Truncation | None = None,
        fields: TextFields = (),
        mime: str | None = None,
        incompressible: bool = False,
    ) -> Exchange:
        """Return the exchange with both messages, if there is a `form` to keep them in."""
        order, egress = self._order, self._order.destination.egress
        return Exchange(
            id=self.id,
            context=order.policy.context,
            method=order.head.method,
            url=order.url,
            started=self.started,
            duration_ms=int((self._clock() - self.began) * 1000),
            outcome=outcome,
            request=self.request.message() if form else None,
            response=self.response.message() if form else None,
            digests=self.response.digests() if form else None,
            request_digests=self.request.digests() if form and self.request.length else None,
            mime=mime,
            incompressible=incompressible,
            origin=origin,
            truncated=truncated,
            annotations=annotations,
            form=form or "response",
            fields=(("WARC-Proxy-Host", egress.name), *fields) if form and egress else fields,
        )

    def _as_wished(self, exchange: Exchange, content_type: bytes) -> Exchange:
        options, redaction = self._order.policy.options, self._order.session.spec.redaction
        if not options.filters and redaction is NOTHING_REDACTED:
            return exchange
        recorded = as_recorded(exchange, options, redaction, content_type)
        if redaction.fields and exchange.request is not None and recorded.request is not exchange.request:
            self.learn_secrets()
        return recorded


def _of_old(exchange: Exchange) -> Exchange:
    """Return HTTP/0.9: a body that nothing is said of."""
    return replace(
        exchange,
        context=replace(exchange.context, dedup=False),
        mime="text/html",
        origin=replace(exchange.origin, protocols=("http/0.9", *exchange.origin.protocols[1:])),
    )


def showing_secret(exchange: Exchange) -> Exchange:
    """Return the exchange with the note that its response shows a secret that was typed in the session."""
    return replace(exchange, annotations=(*exchange.annotations, crawl_log.SHOWS_SECRET))


def with_trailers(exchange: Exchange, trailers: Trailers, remarks: tuple[str, ...]) -> Exchange:
    """Return the exchange with the response's trailers as far as a record's header takes them, and with these remarks.

    The block of a response has all its trailers. Only a revisit, which has no body, needs them in its header.
    """
    sizes = accumulate(len(name) + len(value) for name, value in trailers)
    kept = sum(size <= _MOST_TRAILERS for size in sizes)
    return replace(exchange, trailers=trailers[:kept], annotations=(*exchange.annotations, *remarks))


def as_recorded(exchange: Exchange, options: RequestOptions, redaction: Redaction, content_type: bytes) -> Exchange:
    """Return the exchange to hand to the recorder. What was sent and what the client gets stay as they are."""
    if options.filters and exchange.response is not None:
        archived = exchange.context.archived and is_wanted(options.filters, content_type.decode("latin-1"))
        exchange = replace(exchange, context=replace(exchange.context, archived=archived))
    if redaction is NOTHING_REDACTED:
        return exchange
    exchange = replace(exchange, url=redaction.url(exchange.url))
    if exchange.request is None:
        return exchange
    request, missing = redaction.request(exchange.request)
    if missing:
        exchange = replace(exchange, request=request, request_digests=None)  # those were of the secrets too
    if exchange.response is not None:
        missing += redaction.response_head(exchange.response.head)[1]  # the spool left the values out
    if exchange.unchanged is not None and exchange.unchanged.head is not None:
        head, _ = redaction.response_head(exchange.unchanged.head)
        exchange = replace(exchange, unchanged=replace(exchange.unchanged, head=head))
    if not missing:
        return exchange
    return replace(
        exchange,
        annotations=(*exchange.annotations, f"redacted:{len(missing)}"),
        fields=(*exchange.fields, ("WARC-Redacted", "; ".join(missing))),
    )
