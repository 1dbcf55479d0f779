"""Where a body ends in a stream of bytes, by the framing its head announced (RFC 9112 sections 6 and 7). No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from archive.capture import Trailers
from archive.message import MAX_CHUNK_LINE
from proxy.http1 import Framing

_MOST_TRAILERS: Final = 65_536
_CHUNK_SIZE: Final = re.compile(rb"[ \t]*0*([0-9a-fA-F]{1,15})[ \t]*(?:;[^\n]*)?\r*\n")
_STRICT_CHUNK_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,15})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_STRICT_LINE: Final = re.compile(rb"[^\x00\r\n]*\r\n")


class BodyReader:
    """Finds a body's end in a stream of bytes, and hands on its payload: the body without transfer coding."""

    __slots__ = (
        "_has_begun",
        "_line",
        "_payload",
        "_remaining",
        "_room",
        "_state",
        "_strict",
        "_trailers",
        "broken",
        "done",
        "framing",
    )

    def __init__(
        self, framing: Framing, length: int, payload: Callable[[bytes | memoryview], object], *, strict: bool = False
    ) -> None:
        self.framing = framing
        self.done = framing is Framing.NONE or (framing is Framing.LENGTH and length == 0)
        self.broken = ""
        """What is wrong with the chunks; then the rest of the connection has no message borders any more."""
        self._payload = payload
        self._remaining = length
        self._state = "size"
        self._has_begun = False
        self._line = bytearray()
        self._strict = strict
        self._room = _MOST_TRAILERS
        self._trailers: list[tuple[bytes, bytes]] | None = None

    @property
    def trailers(self) -> Trailers:
        """Those that have come so far behind the chunks, of 64 KiB at most; more are bytes of the body all the same."""
        return tuple(self._trailers or ())

    def payload_to(self, payload: Callable[[bytes | memoryview], object]) -> None:
        """Hand the payload to another from now on."""
        self._payload = payload

    def feed(self, data: bytes) -> int:
        """How many of these bytes belong to the body; the rest came after its end."""
        if self.done:
            return 0
        if self.framing is Framing.LENGTH:
            taken = min(len(data), self._remaining)
            self._payload(data if taken == len(data) else memoryview(data)[:taken])
            self._remaining -= taken
            self.done = self._remaining == 0
            return taken
        if self.framing is Framing.CLOSE:
            self._payload(data)
            return len(data)
        return self._feed_broken(data) if self.broken else self._feed_chunks(data)

    def finish(self) -> None:
        """The stream ended here. A first line that could have become a chunk size was payload, then."""
        if self.framing is Framing.CHUNKED and not (self._has_begun or self.done or self.broken) and self._line:
            self._payload(bytes(self._line))

    def _feed_broken(self, data: bytes | memoryview) -> int:
        """Payload ends where its chunks break; a body that never was in chunks is payload as it stands."""
        if not self._has_begun:
            self._payload(data)
        return len(data)

    def _feed_chunks(self, data: bytes) -> int:
        view, position, size = memoryview(data), 0, len(data)
        while position < size and not self.done:
            if self._state == "data":
                taken = min(size - position, self._remaining)
                self._payload(view[position : position + taken])
                self._remaining -= taken
                position += taken
                if not self._remaining:
                    self._state = "data end"
                continue
            end = data.find(b"\n", position)
            stop = end + 1 if end >= 0 else size
            self._line += view[position:stop]
            position = stop
            if len(self._line) > MAX_CHUNK_LINE:
                self.broken = "chunk line too long"
            elif end >= 0:
                self._end_of_line(bytes(self._line))
            if self.broken:
                self._feed_broken(bytes(self._line))
                return position + self._feed_broken(view[position:])
            if end >= 0:
                self._line.clear()
        return position

    def _end_of_line(self, line: bytes) -> None:
        if self._state == "size":
            match = (_STRICT_CHUNK_SIZE if self._strict else _CHUNK_SIZE).fullmatch(line)
            if not match:
                self.broken = f"bad chunk size {line[:40]!r}"
                return
            self._has_begun = True
            self._remaining = int(match[1], 16)
            self._state = "data" if self._remaining else "trailer"
        elif self._strict and not _STRICT_LINE.fullmatch(line):
            self.broken = f"bad line end behind {line[:40]!r}"
        elif self._state == "data end":
            if line.strip(b"\r\n"):
                self.broken = "bytes behind a chunk"
            self._state = "size"
        elif not line.strip(b"\r\n"):
            self.done = True
        else:
            self._trailer(line)

    def _trailer(self, line: bytes) -> None:
        self._room -= len(line)
        if self._room >= 0:
            name, _, value = line.partition(b":")
            self._trailers = self._trailers or []
            self._trailers.append((name.strip(), value.strip()))
