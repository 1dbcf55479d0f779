"""Ranges from the start, answered from the whole: the archive gets all of it, the client the part it asked for."""

from __future__ import annotations

from dataclasses import replace

from proxy.delivery.delivery import Client, Delivery
from proxy.protocol.byte_range import ByteRange, parse_range
from proxy.protocol.http1 import Framing, RequestHead, ResponseHead


def range_from_start(head: RequestHead) -> ByteRange | None:
    """Return the range, when fetching the whole serves it: a GET of one range that begins at 0.

    With If-Range it depends on the origin's validator whether there is a part at all: the origin shall decide.
    """
    if head.method != "GET" or head.get(b"if-range") is not None:
        return None
    asked = parse_range(head.get(b"range"))
    return asked if asked is not None and asked.first == 0 else None


def without_range(head: RequestHead) -> RequestHead:
    """Return the request for the whole."""
    return replace(head, fields=tuple(field for field in head.fields if field[0] != b"range"))


class SliceDelivery(Delivery):
    """The delivery hands on the first bytes of a 200 as a 206 (RFC 9110 section 15.3.7), and any other response as it
    is.

    The part's end waits, as every response's end does, until the whole is kept: a short part of a large file takes as
    long as the file. Without Content-Length the part's place in the whole can't be told, and all is sent as 200.
    """

    def __init__(self, client: Client, request: RequestHead, asked: ByteRange, via: bytes = b"") -> None:
        super().__init__(client, request, via)
        self._asked = asked
        self._left: int | None = None
        """Bytes of the part still to come; None when all is sent."""
        self._tail = b""

    def begin(self, head: ResponseHead, framing: Framing, length: int, *, stays: bool) -> bytes:
        """Return the 206's head."""
        place = self._asked.within(length) if head.status == 200 and framing is Framing.LENGTH else None
        if place is None:
            return super().begin(head, framing, length, stays=stays)
        self._left = place[1]
        return super().begin(_partial(head, place[1], length), framing, place[1], stays=stays)

    def shaped(self, piece: bytes) -> bytes:
        """Return the bytes of the part; its last ones wait."""
        if self._left is None:
            return super().shaped(piece)
        part = piece[: self._left]
        self._left -= len(part)
        if self._left:
            return part
        self._tail += part
        return b""

    def hold(self, data: bytes) -> None:
        """Send the slice; the whole is there."""
        super().hold(data + self._tail)


def _partial(head: ResponseHead, stop: int, total: int) -> ResponseHead:
    fields = [field for field in head.fields if field[0] not in (b"content-length", b"content-range")]
    for name, value in ((b"Content-Length", b"%d" % stop), (b"Content-Range", b"bytes 0-%d/%d" % (stop - 1, total))):
        fields.append((name.lower(), value, name + b": " + value + b"\r\n"))
    return replace(head, status=206, reason=b"Partial Content", fields=tuple(fields))
