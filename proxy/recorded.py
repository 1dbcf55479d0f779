"""What of an exchange goes into the archive, as its client and session wish: nothing, or all but the secrets. Pure.

And what came behind the body, or could not be said in HTTP/1.1.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Final

from archive.capture import Exchange, Trailers
from proxy.redaction import NOTHING_REDACTED, Redaction
from proxy.rules import is_wanted
from proxy.wishes import Wishes

_MOST_TRAILERS: Final = 16_384
"""Bytes of trailers in a record's header: readers need not expect more of a header than servers do."""


def with_trailers(
    exchange: Exchange, trailers: Trailers, remarks: tuple[str, ...], *, are_apart: bool = True
) -> Exchange:
    """The exchange with the response's trailers as far as a record's header takes them, and with these remarks.

    When they `are_apart` from the body, as in HTTP/2, those left out are lost, and one more remark says so.
    """
    sizes = accumulate(len(name) + len(value) for name, value in trailers)
    kept = sum(size <= _MOST_TRAILERS for size in sizes)
    if are_apart and kept < len(trailers):
        remarks = (*remarks, f"trailers:cut:{len(trailers) - kept}")
    return replace(exchange, trailers=trailers[:kept], annotations=(*exchange.annotations, *remarks))


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
