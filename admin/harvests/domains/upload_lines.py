"""The lines of an upload are read as a stream, with bounded memory whatever the file holds. Pure.

Text is UTF-8, or UTF-16 with a byte order mark, as some table programs write it. Lines end with CR, LF or both.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Final

from admin.models.errors import InvalidInput, Problem

LONGEST_LINE: Final = 70_000
"""Characters; the rest of a longer line is dropped, and the line is reported."""
_PIECE: Final = 65_536
_FILE_KINDS: Final = {
    b"PK\x03\x04": "a ZIP file or a table of a table program",
    b"\xd0\xcf\x11\xe0": "a file of a table or text program",
    b"%PDF": "a PDF file",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
}
_HTML: Final = ("<!doctype", "<html", "<head", "<body", "<?xml")
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class UploadLine:
    """A line with its number, counted from 1."""

    number: int
    text: str
    is_too_long: bool = False

    @property
    def is_blank(self) -> bool:
        """The line is blank or begins with #."""
        text = self.text.strip().lstrip("\ufeff")
        return not text or text.startswith("#")


def pieces_of_file(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of an open file in pieces of one size, since a line may be as long as the file."""
    while piece := file.read(_PIECE):
        yield piece


def lines_of_bytes(chunks: Iterable[bytes]) -> Iterator[UploadLine]:
    """Yield the lines of a file that comes in pieces. Raises InvalidInput when the file is no list of lines."""
    return lines_of_text(_decoded(chunks))


def lines_of_text(pieces: Iterable[str]) -> Iterator[UploadLine]:
    """Yield the lines of a text that comes in pieces, which may be lines or not.

    Raises InvalidInput when the first line shows that the text is a web page.
    """
    is_html_possible = True
    for number, (text, is_too_long) in enumerate(_split(pieces), 1):
        line = UploadLine(number, text.removeprefix("\ufeff") if number == 1 else text, is_too_long)
        if is_html_possible and not line.is_blank:
            is_html_possible = False
            if line.text.lstrip().lower().startswith(_HTML):
                raise InvalidInput(Problem("text", "the upload is a web page and no list; upload a text file", number))
        yield line


def _split(pieces: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, cut off at `LONGEST_LINE`, and whether it was longer."""
    kept: list[str] = []
    length = 0
    ended_with_cr = False
    for piece in pieces:
        begin = 1 if ended_with_cr and piece.startswith("\n") else 0
        if piece:
            ended_with_cr = piece.endswith("\r")
        while begin < len(piece):
            end = _line_end(piece, begin)
            part = piece[begin : len(piece) if end < 0 else end]
            if length <= LONGEST_LINE:
                kept.append(part[: LONGEST_LINE + 1 - length])
            length += len(part)
            if end < 0:
                break
            yield "".join(kept)[:LONGEST_LINE], length > LONGEST_LINE
            kept, length = [], 0
            begin = end + (2 if piece.startswith("\r\n", end) else 1)
    if length:
        yield "".join(kept)[:LONGEST_LINE], length > LONGEST_LINE


def _line_end(piece: str, begin: int) -> int:
    feed = piece.find("\n", begin)
    carriage = piece.find("\r", begin, feed if feed >= 0 else len(piece))
    return carriage if carriage >= 0 else feed


def _decoded(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder: codecs.IncrementalDecoder | None = None
    head = b""
    for chunk in chunks:
        if decoder is None:
            head += chunk
            if len(head) < 4:
                continue
            decoder, chunk = _decoder(head), head
        for begin in range(0, len(chunk), LONGEST_LINE):
            yield decoder.decode(chunk[begin : begin + LONGEST_LINE])
    decoder = decoder or _decoder(head)
    yield decoder.decode(b"" if len(head) >= 4 else head, final=True)


def _decoder(head: bytes) -> codecs.IncrementalDecoder:
    for magic, kind in _FILE_KINDS.items():
        if head.startswith(magic):
            raise InvalidInput(
                Problem("text", f"the upload is {kind}; save it as plain text with one name on each line")
            )
    encoding = "utf-16" if head.startswith(_UTF_16) else "utf-8"
    return codecs.getincrementaldecoder(encoding)(errors="replace")
