"""HTTP/1 messages as archived bytes: named fields, heads, and the chunked transfer coding taken off. Pure.

Reading is lenient, as browsers read: bare line feeds, folded lines and odd spaces are accepted, since an archive
keeps what was sent, not what should have been sent. `check` names the deviations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

MAX_CHUNK_LINE: Final = 65_536
"""Longest line of a chunk size or trailer, with its line end, that is read as one."""
_STATUS: Final = re.compile(r"(?s:.{0,4}?)(?i:HTTP[^ \t\r\n]{0,40}|ICY)[ \t]+([0-9]{3})(?![0-9])")
_CHUNK_SIZE: Final = re.compile(rb"[ \t]*0*([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_EMPTY_LINE: Final = re.compile(rb"\r?\n\r?\n")
_EMPTY_LINE_MAX: Final = 4


class Fields(tuple[tuple[str, str], ...]):
    """Named fields in the order they came; names are compared without regard to case, repeats are kept."""

    __slots__ = ()

    def get(self, name: str) -> str | None:
        """The first value under this name, None when there is none."""
        wanted = name.lower()
        return next((value for found, value in self if found.lower() == wanted), None)

    def all(self, name: str) -> list[str]:
        """Every value under this name, in order."""
        wanted = name.lower()
        return [value for found, value in self if found.lower() == wanted]


@dataclass(frozen=True, slots=True)
class Head:
    """The start line of an HTTP message and its fields."""

    start_line: str
    fields: Fields

    @property
    def status(self) -> int | None:
        """The status of a response, None for a request or a line that names none."""
        found = _STATUS.match(self.start_line)
        return int(found[1]) if found else None

    @property
    def method(self) -> str:
        """The method of a request."""
        return self.start_line.partition(" ")[0]

    @property
    def mime(self) -> str | None:
        """The media type of the body in lower case, without parameters."""
        return media_type(self.fields.get("Content-Type"))

    @property
    def is_chunked(self) -> bool:
        """Whether the body carries the chunked transfer coding."""
        return is_chunked(self.fields.all("Transfer-Encoding"))


def media_type(content_type: str | None) -> str | None:
    """A Content-Type without parameters in lower case; None when it is missing or names no type."""
    if content_type is None:
        return None
    name = content_type.partition(";")[0].partition(",")[0].strip().lower()
    return name if name and name.isascii() and name.isprintable() and " " not in name else None


def is_chunked(transfer_encodings: Iterable[str]) -> bool:
    """Whether chunked is among the transfer codings: last, says RFC 9112 section 6.1; anywhere, say browsers."""
    return any(coding.strip(" \t").lower() == "chunked" for value in transfer_encodings for coding in value.split(","))


def end_of_head(data: bytes | bytearray, searched: int = 0) -> int:
    """Where a head with its empty line ends in `data`; 0 when the empty line has not come yet.

    `searched` bytes were looked at before: a head that comes in many pieces is searched but once.
    """
    found = _EMPTY_LINE.search(data, max(0, searched - _EMPTY_LINE_MAX))
    return found.end() if found else 0


def end_of_http_head(data: bytes | bytearray, searched: int = 0) -> int:
    """The same of an HTTP head, before which there may be empty lines (RFC 9112 section 2.2)."""
    lead = len(data) - len(data.lstrip(b"\r\n")) if data[:1] in (b"\r", b"\n") else 0
    return end_of_head(data, max(lead + _EMPTY_LINE_MAX, searched))


def parse_head(head: bytes) -> Head:
    """The parts of a head. Bytes that are no UTF-8 are read as Latin-1, as HTTP once had it."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return Head(lines[0], parse_fields(lines[1:]))


def parse_fields(lines: Iterable[str]) -> Fields:
    """Named fields of WARC or HTTP heads; a line that starts with a space continues the one before."""
    found: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and found:
            name, value = found[-1]
            found[-1] = (name, f"{value} {_bare(line)}".strip(" "))
        else:
            name, colon, value = line.partition(":")
            found.append((_bare(name), _bare(value)) if colon else ("", ""))  # what continues this is nameless, too
    return Fields(field for field in found if field[0])


def _bare(text: str) -> str:
    return text.rstrip("\r").strip(" \t")


class _State(Enum):
    """What a chunked body's next byte belongs to."""

    SIZE = auto()
    DATA = auto()
    DATA_END = auto()
    TRAILER = auto()
    DONE = auto()
    BROKEN = auto()
    PLAIN = auto()


class Dechunker:
    """Takes the chunked coding off a body that comes in pieces (RFC 9112 section 7.1).

    What can't be chunks ends the payload: `error` says why, and the bytes decoded before it stand. A body that
    does not even begin as chunks is passed on as it is, since then the header was wrong and not the body.
    """

    def __init__(self) -> None:
        self.error: str | None = None
        self._state = _State.SIZE
        self._line = b""
        self._left = 0
        self._has_begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Payload bytes in `data`; nothing more after the last chunk or an error."""
        position = 0
        while position < len(data) and self._state not in (_State.DONE, _State.BROKEN):
            if self._state is _State.DATA:
                piece = data[position : position + self._left]
                position += len(piece)
                self._left -= len(piece)
                self._state = _State.DATA if self._left else _State.DATA_END
                yield piece
            elif self._is_plain():
                yield data[position:]
                return
            else:
                position = self._read_line(data, position)
                if self._is_plain():
                    yield self._line

    def finish(self) -> bytes:
        """Says that the body is over; gives what was held back. An unfinished chunk becomes an `error`."""
        if self._state in (_State.DONE, _State.BROKEN, _State.PLAIN):
            return b""
        self.error = "the chunked body ends before its last chunk"
        return b"" if self._has_begun else self._line

    def _is_plain(self) -> bool:
        return self._state is _State.PLAIN

    def _read_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position)
        stop = len(data) if end < 0 else end + 1
        self._line += data[position:stop]
        if len(self._line) > MAX_CHUNK_LINE:
            self.error = f"a line of more than {MAX_CHUNK_LINE} bytes between chunks"
            self._state = _State.BROKEN if self._has_begun else _State.PLAIN
        elif end >= 0:
            self._state = self._after_line(self._line.rstrip(b"\r\n"))
            if self._state is not _State.PLAIN:
                self._line = b""
        return stop

    def _after_line(self, line: bytes) -> _State:
        if self._state is _State.TRAILER:
            return _State.TRAILER if line else _State.DONE
        if self._state is _State.DATA_END:
            if not line:
                return _State.SIZE
            self.error = f"a chunk is followed by {line[:20]!r} in place of a line end"
            return _State.BROKEN
        if found := _CHUNK_SIZE.fullmatch(line):
            self._has_begun = True
            self._left = int(found[1], 16)
            return _State.DATA if self._left else _State.TRAILER
        self.error = f"{line[:20]!r} is no chunk size"
        return _State.BROKEN if self._has_begun else _State.PLAIN


def dechunk(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The payload of a chunked body; how far it can be read is how far it goes."""
    decoder = Dechunker()
    for piece in chunks:
        yield from decoder.feed(piece)
    if rest := decoder.finish():
        yield rest
