"""The text of a gzip member, in the form in which warcio reads it, with bounded headers."""

from __future__ import annotations

from typing import Final

from archive.warc.reading.member_reader import READ_SIZE, MemberReader

MAX_FOREIGN_HEADER: Final = 1 << 18
"""A record with a longer header is left out."""


class Unreadable(Exception):
    """The record can't be taken; the message says why."""


class MemberText:
    """The text of one gzip member, or of an uncompressed file, has the methods that warcio calls on its readers.

    `header` has the lines that were read since `begin_record`, without empty lines before them. `position` is the
    offset in the text, or in an uncompressed file, of the next byte. `record_position` is where `header` begins.
    """

    decompressor = None
    """warcio finds nothing to decompress."""

    def __init__(self, source: MemberReader) -> None:
        """Read the present member of `source`."""
        self._source = source
        self._data = b""
        self._empty = 0
        self.position = 0 if source.is_packed else source.offset
        self.header = bytearray()
        self.skip_empty_lines()
        self.record_position = self.position

    def begin_record(self) -> None:
        """Forget the header of the record before."""
        self.header.clear()
        self._empty = 0

    def peek(self, size: int) -> tuple[bytes, bool]:
        """Return up to `size` bytes that come next, and whether the text ends with them."""
        while len(self._data) <= size:
            if not self._fill():
                return self._data, True
        return self._data[:size], False

    def push(self, data: bytes) -> None:
        """Put bytes before the ones that come next."""
        self._data = data + self._data
        self.position -= len(data)

    def read(self, length: int | None = None) -> bytes:
        """Return up to `length` bytes, and b"" only at the end."""
        size = READ_SIZE if length is None else length
        if not self._data:
            self._fill()
        return self._take(min(size, len(self._data)))

    def readline(self, length: int | None = None) -> bytes:
        """Return the next line. Raises Unreadable for a header that is too long."""
        searched = 0
        while not (end := self._data.find(b"\n", searched) + 1):
            searched = len(self._data)
            self._bound(searched)
            if not self._fill():
                end = searched
                break
        before, line = self.position, self._take(end if length is None else min(end, length))
        if self.header or line.strip():
            if not self.header:
                self.record_position = before
            self.header += line
        else:
            self._empty += len(line)
        self._bound(len(self.header) + self._empty)
        return line

    def skip_empty_lines(self) -> None:
        """Go on to the first byte that is not part of an empty line."""
        while self._data or self._fill():
            kept = self._data.lstrip(b"\r\n")
            self._take(len(self._data) - len(kept))
            if kept:
                return

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self.position

    def rem_length(self) -> int:
        """Return 0, since `tell` counts no byte before it is read."""
        return 0

    def close_decompressor(self) -> None:
        """Do nothing, since the member reader decompresses."""

    def _bound(self, size: int) -> None:
        if size > MAX_FOREIGN_HEADER:
            raise Unreadable(f"its header has more than {MAX_FOREIGN_HEADER} bytes")

    def _take(self, size: int) -> bytes:
        piece, self._data = self._data[:size], self._data[size:]
        self.position += size
        return piece

    def _fill(self) -> bool:
        piece = self._source.read()
        self._data += piece
        return bool(piece)
