"""One response as it comes in: its raw bytes to the spool, shaped bytes to the client, and when it is whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from archive.capture import Trailers
from proxy.delivery.delivery import Delivery
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import (
    MOST_LINES,
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
from proxy.recording.spool import Spool

_MOST_INTERIM: Final = 32
"""Interim heads before a response. Servers send one or two of them."""
_LINE_ENDS: Final = re.compile(rb"[\r\n]*")
_FIRST_BYTES: Final = 100
_NOTHING_YET: Final = BodyReader(Framing.LENGTH, 1, lambda _: None)
"""Stands where the body's reader will be once there is a head."""


class ResponseReader:
    """Reads a response to a request by `method`; `head` is None until it is there."""

    __slots__ = (
        "_buffer",
        "_delivery",
        "_interim",
        "_lead",
        "_lines",
        "_max_head_bytes",
        "_may_be_simple",
        "_method",
        "_most",
        "_reader",
        "_searched",
        "_spool",
        "_start",
        "doubt",
        "head",
        "is_cut",
    )

    def __init__(
        self, method: str, spool: Spool, delivery: Delivery, max_head_bytes: int, *, may_be_simple: bool = False
    ) -> None:
        self.head: ResponseHead | None = None
        self.doubt = ""
        """The reason for which the message's borders are uncertain: such a connection is not used again."""
        self._may_be_simple = may_be_simple
        self._method = method
        self._spool = spool
        self._delivery = delivery
        self._max_head_bytes = max_head_bytes
        self._reader = _NOTHING_YET
        self._buffer: bytes | bytearray = b""
        """All that came before the response's head was whole."""
        self._start = 0
        """Where its next head begins, behind interim ones."""
        self._lead = 0
        """How far the empty lines before that head go."""
        self._searched = 0
        """How much of the buffer was searched for the head's end."""
        self._interim = 0
        self._lines = 0
        self._most = 0
        self.is_cut = False
        """Nothing more of the body is to be read, although it goes on: a limit is reached."""

    @property
    def is_whole(self) -> bool:
        """Return whether the last byte has come; it is held back from the client."""
        return self.head is not None and self._reader.done

    @property
    def has_begun(self) -> bool:
        """Return whether any byte has come."""
        return self.head is not None or self._start < len(self._buffer)

    @property
    def is_switch(self) -> bool:
        """Return whether the origin agreed to speak another protocol (101)."""
        return self.head is not None and self.head.status == 101

    @property
    def is_endless(self) -> bool:
        """Return whether nobody would ever end it but its client: a stream of server-sent events."""
        return self.head is not None and self.head.mime == "text/event-stream"

    @property
    def is_certain(self) -> bool:
        """Return whether the connection stands exactly at the message's end, and nothing more of it can come."""
        if self.head is None or not self.is_whole or self.doubt or self._reader.broken:
            return False
        return self._reader.framing is not Framing.NONE or not announces_body(self.head)

    @property
    def misleads_client(self) -> bool:
        """Return whether the client gets malformed chunks.

        Readers disagree about such chunks. A client could find an end of the body in them, and take the next bytes of
        the origin for the response to its next request, perhaps to another site.
        """
        return bool(self._reader.broken) and not self._delivery.wants_payload

    @property
    def is_wasteful(self) -> bool:
        """Return whether it has so much framing that it should be read slowly."""
        return self._reader.is_wasteful

    @property
    def trailers(self) -> Trailers:
        """Return what came behind the chunks of the body."""
        return self._reader.trailers

    def feed(self, data: bytes, *, client_stays: Callable[[], bool], most: int = 0) -> bytes:
        """Take in the next bytes; those behind a 101 come back. Raises BadMessage, and OSError when spooling fails.

        `client_stays` is asked when the head is there: whether the client's connection may be used again. `most` is
        how many bytes of the body are read; 0 is no limit.
        """
        self._most = most
        if self.head is not None:
            self._body(data, b"")
            return b""
        if not self._buffer:
            self._buffer = data
        else:
            if isinstance(self._buffer, bytes):
                self._buffer = bytearray(self._buffer)
            self._buffer += data
        try:
            return self._heads(client_stays)
        except BadMessage:
            self._start = 0
            if not self._is_simple():
                raise
            return self._begin_simple(client_stays)

    def _heads(self, client_stays: Callable[[], bool]) -> bytes:
        while (head := self._next_head()) is not None:
            end = self._start + len(head.raw)
            if not 100 <= head.status < 200 or head.status == 101:
                rest = self._begin(head, bytes(self._buffer[end:]), client_stays)
                self._buffer, self._start = b"", 0
                return rest
            # An interim response is a message of its own (RFC 9110 section 15.2) and no part of the record.
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                raise BadMessage(f"more than {_MOST_INTERIM} interim responses came before the response")
            self._delivery.interim(head)
            self._start = self._lead = self._searched = end
        return b""

    @property
    def unread(self) -> bytes:
        """Return what came and is no response."""
        return bytes(self._buffer[self._start :])

    def _is_simple(self) -> bool:
        """Return whether these bytes are the response of HTTP/0.9: a body without a head."""
        lead = self._buffer.lstrip(b"\r\n")[:5].upper()
        return self._may_be_simple and bool(lead) and lead != b"HTTP/"[: len(lead)]

    def _begin_simple(self, client_stays: Callable[[], bool]) -> bytes:
        buffer, self._buffer = bytes(self._buffer), b""
        return self._begin(NO_HEAD, buffer, client_stays)

    def ended_by_close(self) -> bool:
        """Return the origin closed its connection in order: whether that makes the response whole."""
        if self.head is None and self._is_simple():
            self._begin_simple(_never)
        if self.head is None or self._reader.framing is not Framing.CLOSE:
            return False
        self._delivery.hold(b"")
        return True

    def cut_off(self) -> None:
        """End: nothing more of the response will be read."""
        self._reader.finish()

    def _next_head(self) -> ResponseHead | None:
        buffer, start = self._buffer, self._start
        if buffer[start : start + 1] in (b"\r", b"\n"):
            found = _LINE_ENDS.match(buffer, max(start, self._lead))
            self._lead = found.end() if found else start
        else:
            self._lead = start
        end = find_head_end(buffer, max(self._lead, self._searched), self._lead)
        if end >= 0:
            return parse_response(bytes(buffer[start:end]))
        self._lines += buffer.count(b"\n", self._searched)
        self._searched = len(buffer)
        if self._lines > MOST_LINES:
            raise BadMessage(f"the response's head has more than {MOST_LINES} lines")
        first = bytes(buffer[self._lead : self._lead + _FIRST_BYTES])
        if not may_be_response(first):
            raise BadMessage(f"bad status line {first!r}")
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
        self._body(rest, self._delivery.begin(head, framing, length, stays=client_stays()))
        return b""

    def _body(self, data: bytes, before: bytes) -> None:
        plain: list[bytes] | None = [] if self._delivery.wants_payload else None
        if plain is not None:
            self._reader.payload_to(lambda piece: self._count(piece, plain))
        length = len(data)
        if self._most and length > self._most - self._spool.length:
            data = data[: self._most - self._spool.length]
        taken = self._reader.feed(data)
        piece = data if taken == len(data) else data[:taken]
        if piece:
            self._spool.add(piece)
        out = before + (self._delivery.shaped(piece) if plain is None else b"".join(plain))
        if self._reader.done:
            self.doubt = self.doubt or ("bytes behind the message" if taken < length else "")
            self._delivery.hold(out)
            return
        self._delivery.pass_on(out)
        if self._reader.is_mostly_framing:
            self.is_cut, self.doubt = True, "more framing than payload"
        elif self._most:
            is_known_to_go_on = len(data) < length or self._reader.framing is not Framing.CLOSE
            self.is_cut = is_known_to_go_on and self._spool.length >= self._most

    def _count(self, piece: bytes | memoryview, plain: list[bytes]) -> None:
        self._spool.add_payload(piece)
        plain.append(bytes(piece))


def _never() -> bool:
    return False
