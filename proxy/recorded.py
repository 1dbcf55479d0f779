"""What of an exchange goes into the archive, as its client and session wish: nothing, or all but the secrets. Pure."""

from __future__ import annotations

from dataclasses import replace

from archive.capture import Exchange
from proxy.redaction import NOTHING_REDACTED, Redaction
from proxy.rules import is_wanted
from proxy.wishes import Wishes


def as_recorded(exchange: Exchange, wishes: Wishes, redaction: Redaction, content_type: bytes) -> Exchange:
    """The exchange to hand to the recorder. What was sent and what the client gets stay as they are."""
    if wishes.filters and exchange.response is not None:
        archived = exchange.context.archived and is_wanted(wishes.filters, content_type.decode("latin-1"))
        exchange = replace(exchange, context=replace(exchange.context, archived=archived))
    if redaction is NOTHING_REDACTED:
        return exchange
    exchange = replace(exchange, url=redaction.url(exchange.url))
    if exchange.request is None:
        return exchange
    request, missing = redaction.request(exchange.request)
    if not missing:
        return exchange
    return replace(
        exchange,
        request=request,
        request_digests=None,  # those were of the secrets too
        annotations=(*exchange.annotations, f"redacted:{len(missing)}"),
        fields=(*exchange.fields, ("WARC-Redacted", "; ".join(missing))),
    )
