"""Which delivery an order's client gets: the whole response or a slice, with or without word of the capture."""

from __future__ import annotations

from archive.dates import Micros
from proxy.delivery import Client, Delivery
from proxy.order import Order
from proxy.slices import SliceDelivery
from proxy.telling import Telling
from proxy.unchanged import substitute
from proxy.wishes import CAPTURE_RECORD


def delivery_of(order: Order, client: Client, started: Micros, via: bytes) -> Delivery:
    """For an exchange that began at `started`; `via` is a header line of ours for the client."""
    if order.part is not None:
        return SliceDelivery(client, order.head, order.part, via)
    accept = order.policy.wishes.accept
    with_record = CAPTURE_RECORD in accept
    if order.earlier is not None and order.earlier.questions:
        return substitute(client, order.head, order.earlier, (started, with_record) if accept else None, via)
    if not accept:
        return Delivery(client, order.head, via)
    return Telling(client, order.head, started, with_record=with_record, via=via)
