"""A log is read in blocks of whole lines: plain or gzip, growing or finished, whatever bytes it has.

Bytes that are no text become question marks, and a line that is too long becomes a note of its length, so that each
line of the log is one line of a block.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Final

from archive.rotated_log import log_size, open_log

BLOCK: Final = 32_000_000
"""Bytes that are held at a time."""
LONGEST_LINE: Final = 65_536
_WINDOW: Final = LONGEST_LINE // 2
"""A line that is too long has a whole window of this size without a line end."""
_HEAD: Final = 4_096
_GZIP: Final = b"\x1f\x8b"
_PLAIN: Final = bytes(
    32 if byte in (9, 13) else byte if byte == 10 or (byte >= 32 and byte != 127) else 63 for byte in range(256)
)


class LogTrouble(Exception):
    """A log can't be analysed. The message is one line with the name of the file, the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class LogHead:
    """The head of a log tells it from another one that has its name later."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LogBlock:
    """A block has whole lines. `end` is the place after its last one in the log, in bytes without compression."""

    text: bytes
    end: int
    done: int
    """Bytes of the file that were read, for the display of progress; fewer than `end` with gzip."""


@dataclass(frozen=True, slots=True)
class _LongLine:
    """The note that takes the place of a line that is too long."""

    length: int

    def text(self) -> bytes:
        return f"(a line of {self.length:,} bytes)\n".encode()


class LogReader:
    """The reader goes through a log from a place on. `tail` is the number of bytes after the last line end."""

    def __init__(self, path: Path, block: int = BLOCK) -> None:
        self.path = path
        self._block = block
        self.tail = 0
        self.trouble = ""
        """Why the reader could not come to the end of a compressed log; empty when it could."""

    def head(self, size: int = _HEAD) -> LogHead:
        """Return the head of the log, of at most so many bytes of the file. Raises LogTrouble."""
        with self._open() as file:
            found = file.read(size)
        return LogHead(len(found), hashlib.sha256(found).hexdigest())

    def file_size(self) -> int:
        """Return the bytes of the file, or of all parts of a rotated log. Raises LogTrouble."""
        try:
            return log_size(self.path)
        except OSError as error:
            raise _trouble(self.path, error) from error

    def blocks(self, start: int) -> Iterator[LogBlock]:
        """Yield the whole lines after `start`, a place without compression. Raises LogTrouble."""
        with self._open() as raw:
            is_gzip = raw.read(2) == _GZIP
            raw.seek(0)
            file: BufferedIOBase = gzip.GzipFile(fileobj=raw) if is_gzip else raw
            try:
                yield from self._blocks(file, raw, start, is_gzip=is_gzip)
            except OSError as error:
                raise _trouble(self.path, error) from error

    def _blocks(self, file: BufferedIOBase, raw: BufferedIOBase, start: int, *, is_gzip: bool) -> Iterator[LogBlock]:
        if is_gzip:
            while start > (skipped := file.tell()) and self._read(file, start - skipped):
                pass
        else:
            file.seek(start)
        rest, place, discarded = b"", start, 0
        while new := self._read(file, self._block - len(rest)):
            rest += new
            cut = rest.rfind(b"\n") + 1
            if discarded and cut:  # the long line ends in this block
                first = rest.index(b"\n") + 1
                text = _LongLine(discarded + first - 1).text() + _shortened(rest[first:cut])
                place += discarded + cut
                discarded = 0
            elif cut:
                text, place = _shortened(rest[:cut]), place + cut
            else:
                if len(rest) >= self._block:
                    discarded, rest = discarded + len(rest), b""
                continue
            rest = rest[cut:]
            yield LogBlock(_as_text(text), place, raw.tell() if is_gzip else place)
        self.tail = discarded + len(rest)

    def _read(self, file: BufferedIOBase, size: int) -> bytes:
        """Return the next bytes, at most `size`; nothing at the end, or where compressed data break off."""
        pieces: list[bytes] = []
        left = min(size, self._block)
        while left > 0 and not self.trouble:
            try:
                piece = file.read1(min(left, 1_000_000))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                self.trouble = f"the compressed data of {self.path} break off or are damaged ({error})"
                break
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    @contextmanager
    def _open(self) -> Iterator[BufferedIOBase]:
        try:
            file = open_log(self.path)
        except OSError as error:
            raise _trouble(self.path, error) from error
        with file:
            yield file


def _shortened(text: bytes) -> bytes:
    """Return whole lines, with a note in place of each line that is too long."""
    windows = range(0, len(text) - _WINDOW, _WINDOW)
    if all(text.find(b"\n", at, at + _WINDOW) >= 0 for at in windows):
        return text
    return b"".join(
        _LongLine(len(line)).text() if len(line) > LONGEST_LINE else line + b"\n" for line in text[:-1].split(b"\n")
    )


def _as_text(lines: bytes) -> bytes:
    """Return lines in UTF-8 without control characters, with one space between columns."""
    plain = lines.translate(_PLAIN)
    plain = plain.replace(b"    ", b" ")
    while b"  " in plain:
        plain = plain.replace(b"  ", b" ")
    return plain if plain.isascii() else plain.decode("utf-8", "replace").encode()


def _trouble(path: Path, error: OSError) -> LogTrouble:
    return LogTrouble(f"{path} can't be read: {error.strerror or error}; check the path and its permissions")
