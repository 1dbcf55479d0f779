"""An order is what a client asks for, judged and ready to be fetched, and the way in which the client gets it."""

from __future__ import annotations

from archive.dates import Micros
from archive.fast_frozen import fast_frozen
from proxy.delivery.capture_header import CaptureHeader
from proxy.delivery.delivery import Client, Delivery
from proxy.delivery.earlier import Earlier
from proxy.delivery.not_modified import substitute
from proxy.delivery.slices import SliceDelivery
from proxy.origins.upstream import Destination
from proxy.protocol.byte_range import ByteRange
from proxy.protocol.http1 import Framing, RequestHead
from proxy.sessions.policy import Policy
from proxy.sessions.request_options import CAPTURE_RECORD
from proxy.sessions.session import Session


@fast_frozen(frozen=True, slots=True)
class Order:
    """An order is one request: its head as the client sent it, and what the origin is to get."""

    session: Session
    head: RequestHead
    url: str
    destination: Destination
    origin_head: bytes
    framing: Framing
    length: int
    policy: Policy
    part: ByteRange | None = None
    """The part of the whole that the client gets; None for all of it."""
    earlier: Earlier | None = None
    """The capture that the origin is asked about; None when it is not asked."""

    @property
    def shown_url(self) -> str:
        """The URL as log lines may have it."""
        return self.session.spec.redaction.url(self.url)


def delivery_of(order: Order, client: Client, started: Micros, via: bytes) -> Delivery:
    """Return the delivery for an exchange that began at `started`; `via` is a header line of ours for the client."""
    if order.part is not None:
        return SliceDelivery(client, order.head, order.part, via)
    accept = order.policy.options.accept
    with_record = CAPTURE_RECORD in accept
    if order.earlier is not None and order.earlier.questions:
        return substitute(client, order.head, order.earlier, (started, with_record) if accept else None, via)
    if not accept:
        return Delivery(client, order.head, via)
    return CaptureHeader(client, order.head, started, with_record=with_record, via=via)
