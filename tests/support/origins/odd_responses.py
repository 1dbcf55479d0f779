"""Responses as origins really send them, odd ones too: what is sent, what a record holds, what a client gets.

Each is built around a tag, so that no two are alike and none becomes a revisit of another. What browsers accept we
must keep; the framing is that of RFC 9112.
"""

from __future__ import annotations

from support.origins.odd_bodies import BODIES
from support.origins.odd_heads import HEADS
from support.origins.odd_response import HTML, OK, Odd, chunked, page

__all__ = ["HEALTHY", "HTML", "OK", "RESPONSES", "Odd", "chunked", "page"]

RESPONSES = (*HEADS, *BODIES)

HEALTHY = tuple(
    odd
    for odd in RESPONSES
    if odd.name
    in ("plain", "large", "chunked", "gzip", "deflate-chunked", "no-content", "redirect", "empty-body", "trailers")
)
"""Those that every reader and validator must find right."""
