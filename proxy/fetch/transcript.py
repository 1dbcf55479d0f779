"""Both messages of one exchange while they pass, and the `Exchange` for the archive that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from archive.capture import Exchange, Origin, ResponseForm, Truncation
from archive.dates import now_micros
from archive.digest import Algorithm
from archive.ids import new_name
from archive.incompressible import is_incompressible
from archive.sections import ProxySettings
from proxy.http1 import NO_HEAD, ResponseHead
from proxy.order import Order
from proxy.recorded import as_recorded
from proxy.redaction import NOTHING_REDACTED
from proxy.socketrecords import RESOURCE_TYPE
from proxy.spool import Passing, Spool

type Fields = tuple[tuple[str, str], ...]


class Transcript:
    """Of one order, from its start on. `clock` is the event loop's, in seconds."""

    __slots__ = ("_clock", "_order", "began", "id", "keeps", "request", "response", "started")

    def __init__(
        self, order: Order, settings: ProxySettings, folder: Path, digest: Algorithm, clock: Callable[[], float]
    ) -> None:
        self.id = new_name()
        self.started = now_micros()
        self.began = clock()
        self.keeps = order.session.keeps
        """Whether what passes goes into a WARC; a session that changes its mode meanwhile changes that for others."""
        self.request = Spool(settings.spool_bytes, folder, digest, decides=False)
        self.request.start(order.origin_head)
        self.response = (Spool if self.keeps else Passing)(settings.spool_bytes, folder, digest)
        self._order = order
        self._clock = clock

    @property
    def received(self) -> int:
        """Bytes of the response so far, its head included."""
        return len(self.response.head) + self.response.length

    def exchange(
        self,
        head: ResponseHead,
        origin: Origin,
        truncated: Truncation | None = None,
        doubt: str = "",
        fields: Fields = (),
    ) -> Exchange:
        """What is to be kept of a response.

        `doubt` is what made the message's borders uncertain; `fields` go into its record's header.
        """
        annotations = (f"framing:{doubt.replace(' ', '_')}",) if doubt else ()
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
        return self._as_wished(exchange, head.get(b"content-type") or b"")

    def handshake(self, head: ResponseHead, origin: Origin, doubt: str) -> Exchange:
        """The exchange by which client and origin came to speak another protocol."""
        return self.exchange(head, origin, doubt=doubt, fields=(RESOURCE_TYPE,))

    def failure(self, origin: Origin, code: int, annotations: tuple[str, ...]) -> Exchange:
        """Nothing came: only a line in the crawl log."""
        return self._as_wished(self._exchange(origin, code, annotations), b"")

    def unreadable(self, origin: Origin, raw: bytes, code: int, word: str) -> Exchange:
        """What came and is no response: kept as it came, in a record that nobody takes for one."""
        if raw:
            self.response.add(raw)
            self.response.add_payload(raw)
        return self._as_wished(self._exchange(origin, code, (word,), "metadata" if raw else None), b"")

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
        fields: Fields = (),
        mime: str | None = None,
        incompressible: bool = False,
    ) -> Exchange:
        """With both messages, if there is a `form` to keep them in."""
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
            unchanged=order.earlier.original if outcome == 304 and order.earlier else None,
            fields=(("WARC-Proxy-Host", egress.name), *fields) if form and egress else fields,
        )

    def _as_wished(self, exchange: Exchange, content_type: bytes) -> Exchange:
        wishes, redaction = self._order.policy.wishes, self._order.session.spec.redaction
        if not wishes.filters and redaction is NOTHING_REDACTED:
            return exchange
        return as_recorded(exchange, wishes, redaction, content_type)


def _of_old(exchange: Exchange) -> Exchange:
    """HTTP/0.9: a body that nothing is said of."""
    return replace(
        exchange,
        context=replace(exchange.context, dedup=False),
        mime="text/html",
        origin=replace(exchange.origin, protocols=("http/0.9", *exchange.origin.protocols[1:])),
    )
