"""One response as it comes in: its raw bytes to the spool, shaped bytes to the client, and when it is whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from archive.capture import Trailers
from proxy.bodyreader import BodyReader
from proxy.delivery import Delivery
from proxy.http1 import (
    NO_HEAD,
    BadMessage,
    Framing,
    ResponseHead,
    announces_body,
    find_head_end,
    may_be_response,
    parse_response,
    response_framing,
)
from proxy.spool import Spool

_NOTHING_YET: Final = BodyReader(Framing.LENGTH, 1, lambda _: None)
"""Stands where the body's reader will be once there is a head."""


class Incoming:
    """Reads a response to a request by `method`; `head` is None until it is there."""

    __slots__ = (
        "_buffer",
        "_delivery",
        "_max_head_bytes",
        "_may_be_simple",
        "_method",
        "_reader",
        "_spool",
        "doubt",
        "head",
    )

    def __init__(
        self, method: str, spool: Spool, delivery: Delivery, max_head_bytes: int, *, may_be_simple: bool = False
    ) -> None:
        self.head: ResponseHead | None = None
        self.doubt = ""
        """What made the message's borders uncertain: such a connection is not used again."""
        self._may_be_simple = may_be_simple
        self._method = method
        self._spool = spool
        self._delivery = delivery
        self._max_head_bytes = max_head_bytes
        self._reader = _NOTHING_YET
        self._buffer = b""

    @property
    def is_whole(self) -> bool:
        """Whether the last byte has come; it is held back from the client."""
        return self.head is not None and self._reader.done

    @property
    def has_begun(self) -> bool:
        """Whether any byte has come."""
        return self.head is not None or bool(self._buffer)

    @property
    def is_switch(self) -> bool:
        """Whether the origin agreed to speak another protocol (101)."""
        return self.head is not None and self.head.status == 101

    @property
    def is_endless(self) -> bool:
        """Whether nobody would ever end it but its client: a stream of server-sent events."""
        return self.head is not None and self.head.mime == "text/event-stream"

    @property
    def is_certain(self) -> bool:
        """Whether the connection stands exactly at the message's end, and nothing more of it can come."""
        if self.head is None or not self.is_whole or self.doubt or self._reader.broken:
            return False
        return self._reader.framing is not Framing.NONE or not announces_body(self.head)

    @property
    def trailers(self) -> Trailers:
        """What came behind the chunks of the body."""
        return self._reader.trailers

    def feed(self, data: bytes, *, client_stays: Callable[[], bool]) -> bytes:
        """Take in the next bytes; those behind a 101 come back. Raises BadMessage, and OSError when spooling fails.

        `client_stays` is asked when the head is there: whether the client's connection may be used again.
        """
        if self.head is not None:
            self._body(data, b"")
            return b""
        buffer = self._buffer + data if self._buffer else data
        try:
            return self._heads(buffer, client_stays)
        except BadMessage:
            self._buffer = buffer
            if not self._is_simple():
                raise
            return self._begin_simple(client_stays)

    def _heads(self, buffer: bytes, client_stays: Callable[[], bool]) -> bytes:
        while (head := self._next_head(buffer)) is not None:
            rest = buffer[len(head.raw) :]
            if 100 <= head.status < 200 and head.status != 101:
                # An interim response is a message of its own (RFC 9110 section 15.2) and no part of the record.
                self._delivery.interim(head)
                buffer, self._buffer = rest, b""
                continue
            self._buffer = b""
            return self._begin(head, rest, client_stays)
        self._buffer = buffer
        return b""

    @property
    def unread(self) -> bytes:
        """What came and is no response."""
        return self._buffer

    def _is_simple(self) -> bool:
        """Whether these bytes are the response of HTTP/0.9: a body without a head."""
        lead = self._buffer.lstrip(b"\r\n")[:5].upper()
        return self._may_be_simple and bool(lead) and lead != b"HTTP/"[: len(lead)]

    def _begin_simple(self, client_stays: Callable[[], bool]) -> bytes:
        buffer, self._buffer = self._buffer, b""
        return self._begin(NO_HEAD, buffer, client_stays)

    def ended_by_close(self) -> bool:
        """The origin closed its connection in order: whether that makes the response whole."""
        if self.head is None and self._is_simple():
            self._begin_simple(_never)
        if self.head is None or self._reader.framing is not Framing.CLOSE:
            return False
        self._delivery.hold(b"")
        return True

    def cut_off(self) -> None:
        """Nothing more of it will be read."""
        self._reader.finish()

    def _next_head(self, buffer: bytes) -> ResponseHead | None:
        lead = len(buffer) - len(buffer.lstrip(b"\r\n"))
        end = find_head_end(buffer[lead:] if lead else buffer, max(0, len(self._buffer) - lead))
        if end >= 0:
            return parse_response(buffer[: lead + end])
        if not may_be_response(buffer):
            raise BadMessage(f"bad status line {buffer[lead : lead + 100]!r}")
        if len(buffer) > self._max_head_bytes:
            raise BadMessage(f"the response's head is larger than {self._max_head_bytes} bytes")
        return None

    def _begin(self, head: ResponseHead, rest: bytes, client_stays: Callable[[], bool]) -> bytes:
        if head.status == 101 and not self._delivery.may_switch:
            raise BadMessage("it switches protocols, which nobody asked it to")
        framing, length, doubt = response_framing(head, self._method)
        self.head, self.doubt = head, head.doubtful or doubt
        self._spool.start(head.raw)
        self._reader = BodyReader(framing, length, self._spool.add_payload)
        if head.status == 101:
            return rest
        self._body(rest, self._delivery.begin(head, framing, stays=client_stays()))
        return b""

    def _body(self, data: bytes, before: bytes) -> None:
        plain: list[bytes] | None = [] if self._delivery.wants_payload else None
        if plain is not None:
            self._reader.payload_to(lambda piece: self._count(piece, plain))
        taken = self._reader.feed(data)
        piece = data if taken == len(data) else data[:taken]
        if piece:
            self._spool.add(piece)
        out = before + (self._delivery.shaped(piece) if plain is None else b"".join(plain))
        if self._reader.done:
            self.doubt = self.doubt or ("bytes behind the message" if taken < len(data) else "")
            self._delivery.hold(out)
        else:
            self._delivery.pass_on(out)

    def _count(self, piece: bytes | memoryview, plain: list[bytes]) -> None:
        self._spool.add_payload(piece)
        plain.append(bytes(piece))


def _never() -> bool:
    return False
