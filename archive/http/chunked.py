"""This module removes the chunked transfer coding (RFC 9112 section 7.1). No I/O.

The proxy reads bodies with it while they pass, and the archive reads recorded bodies with it later. So both find the
same payload in the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import Final

from archive.capture import Trailers

MAX_LINE: Final = 65_536
"""Longest line of a chunk size or a trailer, with its line end."""
_MOST_TRAILERS: Final = 65_536
_SMALL_CHUNK: Final = 1024
_PLAIN_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,15})(?:;[\t\x20-\x7e\x80-\xff]{0,200})?\r\n")
"""A line that strict and lenient readers understand alike; most lines are plain."""
_SIZE: Final = re.compile(rb"[ \t]*0*([0-9a-fA-F]{1,15})[ \t]*(?:;[^\n]*)?\r*\n")
_STRICT_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,15})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_STRICT_LINE: Final = re.compile(rb"[^\x00\r\n]*\r\n")


class _State(Enum):
    """The state says which part of the coding the next byte belongs to."""

    SIZE = auto()
    DATA = auto()
    DATA_END = auto()
    TRAILER = auto()


class ChunkDecoder:
    """Removes the chunked coding from a body that comes in pieces.

    The payload ends where the chunks are malformed. A body whose first line is no chunk size was never chunked: all
    of its bytes are payload. Lenient reading accepts bare line feeds and spaces, as browsers do; `strict` does not.
    """

    __slots__ = (
        "_has_begun",
        "_line",
        "_pieces",
        "_remaining",
        "_room",
        "_state",
        "_strict",
        "_trailers",
        "done",
        "error",
        "framing_length",
        "payload",
        "payload_length",
    )

    def __init__(self, payload: Callable[[bytes | memoryview], object], *, strict: bool = False) -> None:
        """`payload` is called with decoded bytes, at most twice for each piece of the body."""
        self.payload = payload
        self.done = False
        """The last chunk and the trailers have come."""
        self.error = ""
        """The malformed part, in words; empty while the chunks are well-formed."""
        self.payload_length = 0
        self.framing_length = 0
        """Bytes of chunk sizes, line ends and trailers."""
        self._state = _State.SIZE
        self._has_begun = False
        self._line = bytearray()
        self._remaining = 0
        self._strict = strict
        self._pieces: list[bytes | memoryview] = []
        """Payload that is handed on once all bytes of a piece have been read: one-byte chunks are many."""
        self._room = _MOST_TRAILERS
        self._trailers: list[tuple[bytes, bytes]] | None = None

    @property
    def trailers(self) -> Trailers:
        """Return the fields that have come behind the last chunk, up to 64 KiB of them."""
        return tuple(self._trailers or ())

    def feed(self, data: bytes) -> int:
        """Decode a piece; return how many of its bytes belong to the body. The rest came after the body's end."""
        if self.done:
            return 0
        if self.error:
            return self._feed_malformed(data)
        before = self.payload_length
        taken = self._read(data)
        self._hand_on()
        self.framing_length += taken - (self.payload_length - before)
        return taken

    def finish(self) -> None:
        """Note that no more bytes come. Without a chunk before it, an unfinished first line is payload."""
        if self.done or self.error:
            return
        self.error = "the chunked body ends before its last chunk"
        if not self._has_begun and self._line:
            self.payload(bytes(self._line))

    def _feed_malformed(self, data: bytes | memoryview) -> int:
        if not self._has_begun:
            self.payload(data)
        return len(data)

    def _hand_on(self) -> None:
        pieces = self._pieces
        if pieces:
            self.payload(pieces[0] if len(pieces) == 1 else b"".join(pieces))
            pieces.clear()

    def _plain_chunks(self, data: bytes, position: int) -> int:
        """Read whole chunks with plain sizes, which is fast; return the offset behind the last one."""
        match, add, view = _PLAIN_SIZE.match, self._pieces.append, memoryview(data)
        while (found := match(data, position)) is not None:
            length, start = int(found[1], 16), found.end()
            stop = start + length
            if not length or not data.startswith(b"\r\n", stop):
                break
            add(data[start:stop] if length < _SMALL_CHUNK else view[start:stop])
            self.payload_length += length
            self._has_begun = True
            position = stop + 2
        return position

    def _read(self, data: bytes) -> int:
        view, position, size = memoryview(data), 0, len(data)
        while position < size and not self.done:
            if self._state is _State.DATA:
                taken = min(size - position, self._remaining)
                self._pieces.append(view[position : position + taken])
                self.payload_length += taken
                self._remaining -= taken
                position += taken
                if not self._remaining:
                    self._state = _State.DATA_END
                continue
            if self._state is _State.SIZE and not self._line:
                position = self._plain_chunks(data, position)
                if position == size:
                    break
            end = data.find(b"\n", position)
            stop = end + 1 if end >= 0 else size
            self._line += view[position:stop]
            position = stop
            if len(self._line) > MAX_LINE:
                self.error = f"a line between chunks is longer than {MAX_LINE} bytes"
            elif end >= 0:
                self._end_line(bytes(self._line))
            if self.error:
                self._hand_on()
                self._feed_malformed(bytes(self._line))
                return position + self._feed_malformed(view[position:])
            if end >= 0:
                self._line.clear()
        return position

    def _end_line(self, line: bytes) -> None:
        if self._state is _State.SIZE:
            match = (_STRICT_SIZE if self._strict else _SIZE).fullmatch(line)
            if not match:
                self.error = f"bad chunk size {line[:40]!r}"
                return
            self._has_begun = True
            self._remaining = int(match[1], 16)
            self._state = _State.DATA if self._remaining else _State.TRAILER
        elif self._strict and not _STRICT_LINE.fullmatch(line):
            self.error = f"bad line end behind {line[:40]!r}"
        elif self._state is _State.DATA_END:
            if line.strip(b"\r\n"):
                self.error = f"a chunk is followed by {line[:40]!r} instead of a line end"
            self._state = _State.SIZE
        elif not line.strip(b"\r\n"):
            self.done = True
        else:
            self._add_trailer(line)

    def _add_trailer(self, line: bytes) -> None:
        self._room -= len(line)
        if self._room >= 0:
            name, _, value = line.partition(b":")
            self._trailers = self._trailers or []
            self._trailers.append((name.strip(), value.strip()))


class PayloadReader:
    """Removes the chunked coding from recorded pieces, and keeps the reason when they can't be read to the end."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._decoder = ChunkDecoder(lambda piece: self._pieces.append(bytes(piece)))

    @property
    def error(self) -> str | None:
        """Return the malformed part of the coding, in words; None when the chunks are well-formed and whole."""
        return self._decoder.error or None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the payload bytes in `data`; none after the last chunk."""
        self._decoder.feed(data)
        yield from self._pieces
        self._pieces.clear()

    def finish(self) -> bytes:
        """Note that no more bytes come, and return the payload that was held back."""
        self._decoder.finish()
        rest = b"".join(self._pieces)
        self._pieces.clear()
        return rest


def dechunk(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the payload of a chunked body, as far as it can be read."""
    decoder = PayloadReader()
    for piece in chunks:
        yield from decoder.feed(piece)
    if rest := decoder.finish():
        yield rest
