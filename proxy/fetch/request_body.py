"""One request's body as it goes out: to the spool, and to the origin once there is a connection."""

from __future__ import annotations

from proxy.fetch.order import Order
from proxy.fetch.origin_line import OriginLine
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import BadMessage
from proxy.recording.spool import Spool


class RequestBody:
    """A request body is forwarded to the origin while it comes. Its head has already been spooled."""

    __slots__ = ("_in_memory", "_line", "_reader", "_spool")

    def __init__(self, order: Order, spool: Spool, line: OriginLine, in_memory: int) -> None:
        """`in_memory` is how many bytes may wait here for a connection before the client must."""
        self._spool = spool
        self._line = line
        self._in_memory = in_memory
        self._reader = BodyReader(order.framing, order.length, spool.add_payload, strict=True)

    @property
    def is_whole(self) -> bool:
        """Return whether the request's last byte is here."""
        return self._reader.done

    @property
    def is_backed_up(self) -> bool:
        """Return whether nobody takes more for now: the origin is slow, or not reached yet."""
        if not self._line.is_open:
            return self._spool.length > self._in_memory
        return self._line.is_full

    def measure(self, data: bytes) -> int:
        """Return how many of the next bytes are the body's. To be passed on if anybody still wants them. Raises
        BadMessage.
        """
        taken = self._reader.feed(data)
        if self._reader.broken:
            raise BadMessage(self._reader.broken)
        if self._reader.is_mostly_framing and not self._reader.done:
            raise BadMessage("the request's chunks have more framing than payload")
        return taken

    def pass_on(self, piece: bytes) -> None:
        """Forward the next bytes of the body. Raises OSError when they can't be spooled."""
        self._spool.add(piece)
        self._line.write(piece)
