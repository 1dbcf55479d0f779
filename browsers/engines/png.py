"""PNG pictures are packed and joined here, piece by piece, so that no picture is in memory with all its pixels.

The pixels of a PNG picture (PNG specification, third edition) are rows, one after the other in one zlib stream. Each
row begins with the number of its filter, which tells how its bytes refer to the pixel on the left and to the row above.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Self

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_LEVEL: Final = 3
"""Higher levels of zlib take twice the time for 2 % fewer bytes of pages."""
_PIECE: Final = 64 * 1024
"""The number of bytes of pixels that are in memory at the same time."""
_MOST_BYTES: Final = 800_000_000
"""Pictures with more bytes of pixels stay as they are."""
_MOST_ROWS: Final = 2**31 - 1
_HEAD_BYTES: Final = 13
_BYTES_PER_PIXEL: Final = {2: 3, 6: 4}
"""Bytes of a pixel by the colour type of pictures with eight bits in each channel: RGB, and RGB with alpha."""
_NONE, _SUB, _UP, _AVERAGE, _PAETH = range(5)
"""The filters of rows (section 9.2)."""


class UnfitPicture(ValueError):
    """A picture is damaged, or of a kind that can't be joined. The message says which."""


def packed(png: bytes) -> bytes:
    """Return the same picture in fewer bytes, where this is possible at little cost.

    A browser that encodes quickly compresses little. Only the compression changes (PNG specification, section 10), and
    the pixels do not. Bytes that are no PNG picture come back as they are.
    """
    parts = _chunks(png)
    data = [content for kind, content in parts if kind == b"IDAT"]
    size = sum(map(len, data))
    if not data or _is_packed(data[0]):
        return png
    writer = _PixelWriter()
    try:
        for piece in _inflated(data):
            writer.add(piece)
            if writer.size >= size:
                return png
    except UnfitPicture:
        return png
    again = writer.end()
    if writer.size >= size:
        return png
    at = next(index for index, (kind, _) in enumerate(parts) if kind == b"IDAT")
    others = [_chunk(kind, content) for kind, content in parts if kind != b"IDAT"]
    return b"".join([_SIGNATURE, *others[:at], *again, *others[at:]])


def joined(strips: Iterable[bytes]) -> bytes:
    """Return the picture that shows the strips one below the other, packed.

    Strips are pictures of one width with one colour type. The rows stay as they are, except that the first row of a
    strip may not refer to a row above, which is the last row of another strip now. Raises UnfitPicture.
    """
    writer, height = _PixelWriter(), 0
    head: _Head | None = None
    for strip in strips:
        parts = _chunks(strip)
        own = _Head.of(parts)
        if head is not None and own.kind != head.kind:
            raise UnfitPicture("the strips differ in their widths or colour types")
        head, height = own, height + own.height
        for piece in _without_reference(own, _inflated([content for kind, content in parts if kind == b"IDAT"])):
            writer.add(piece)
    if head is None or height > _MOST_ROWS:
        raise UnfitPicture("there are no strips, or more rows than a picture can have")
    ihdr = _chunk(b"IHDR", head.width.to_bytes(4) + height.to_bytes(4) + head.rest)
    return b"".join([_SIGNATURE, ihdr, *writer.end(), _chunk(b"IEND", b"")])


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a picture has its size, and five bytes: depth, colour type, compression, filters, interlace."""

    width: int
    height: int
    rest: bytes

    @classmethod
    def of(cls, parts: list[tuple[bytes, memoryview]]) -> Self:
        """Return the head of a picture that can be joined. Raises UnfitPicture."""
        kind, content = parts[0] if parts else (b"", memoryview(b""))
        if kind != b"IHDR" or len(content) != _HEAD_BYTES:
            raise UnfitPicture("a strip is no whole PNG picture")
        found = cls(int.from_bytes(content[:4]), int.from_bytes(content[4:8]), bytes(content[8:]))
        depth, colour, *others = found.rest
        if depth != 8 or colour not in _BYTES_PER_PIXEL or any(others):
            raise UnfitPicture("a strip has other pixels than eight bits a channel, or it is interlaced")
        if not 0 < found.row_bytes * found.height <= _MOST_BYTES or not found.width:
            raise UnfitPicture("a strip has no pixels, or too many")
        return found

    @property
    def kind(self) -> tuple[int, bytes]:
        """Return all facts that strips of one picture share."""
        return self.width, self.rest

    @property
    def pixel_bytes(self) -> int:
        """Return the number of bytes of a pixel."""
        return _BYTES_PER_PIXEL[self.rest[1]]

    @property
    def row_bytes(self) -> int:
        """Return the number of bytes of a row with the number of its filter."""
        return 1 + self.width * self.pixel_bytes


class _PixelWriter:
    """The writer compresses rows, and makes the one IDAT chunk of a picture of them."""

    def __init__(self) -> None:
        self.size = 0
        """Number of compressed bytes so far."""
        self._compressor = zlib.compressobj(_LEVEL)
        self._parts: list[bytes] = []
        self._checksum = zlib.crc32(b"IDAT")

    def add(self, rows: bytes) -> None:
        """Add bytes of rows."""
        self._keep(self._compressor.compress(rows))

    def end(self) -> list[bytes]:
        """Return the parts of the chunk."""
        self._keep(self._compressor.flush())
        return [self.size.to_bytes(4), b"IDAT", *self._parts, self._checksum.to_bytes(4)]

    def _keep(self, part: bytes) -> None:
        if part:
            self.size += len(part)
            self._parts.append(part)
            self._checksum = zlib.crc32(part, self._checksum)


def _without_reference(head: _Head, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the rows of a strip, of which the first one does not refer to a row above. Raises UnfitPicture."""
    first, left = b"", head.row_bytes * head.height
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            break
        if len(first) >= head.row_bytes:
            yield piece
            continue
        first += piece
        if len(first) >= head.row_bytes:
            yield _first_row(first[: head.row_bytes], head.pixel_bytes)
            yield first[head.row_bytes :]
    if left:
        raise UnfitPicture("a strip has other pixels than its head says")


def _first_row(row: bytes, pixel_bytes: int) -> bytes:
    """Return the first row of a picture with a filter that does not refer to the row above.

    There is no row above, and filters take zeros for its bytes: Up is the same as no filter, and Paeth the same as Sub.
    """
    number = row[0]
    if number > _PAETH:
        raise UnfitPicture("a row has an unknown filter")
    if number != _AVERAGE:
        return bytes([{_UP: _NONE, _PAETH: _SUB}.get(number, number)]) + row[1:]
    plain = bytearray(row)
    plain[0] = _NONE
    for at in range(1 + pixel_bytes, len(plain)):
        plain[at] = (plain[at] + plain[at - pixel_bytes] // 2) % 256
    return bytes(plain)


def _inflated(data: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces. Raises UnfitPicture for data that is damaged, too long or broke off."""
    stream, left = zlib.decompressobj(), _MOST_BYTES
    try:
        for part in data:
            rest: bytes | memoryview = part
            while rest and not stream.eof:
                piece = stream.decompress(rest, _PIECE)
                rest = stream.unconsumed_tail
                left -= len(piece)
                if left < 0:
                    raise UnfitPicture("a picture has too many pixels")
                yield piece
        while not stream.eof and (piece := stream.decompress(b"", _PIECE)):
            yield piece
    except zlib.error as error:
        raise UnfitPicture("the pixels of a picture are damaged") from error
    if not stream.eof:
        raise UnfitPicture("the pixels of a picture broke off")


def _is_packed(data: bytes | memoryview) -> bool:
    """Return whether a zlib stream says that it was not compressed in the quickest way (FLEVEL of RFC 1950)."""
    return len(data) > 1 and data[1] >> 6 > 0


def _chunks(png: bytes) -> list[tuple[bytes, memoryview]]:
    """Return type and content of each chunk; an empty list for bytes that are no whole PNG picture."""
    found: list[tuple[bytes, memoryview]] = []
    at, view = len(_SIGNATURE) if png.startswith(_SIGNATURE) else len(png), memoryview(png)
    while at + 12 <= len(png):
        size = int.from_bytes(png[at : at + 4])
        found.append((png[at + 4 : at + 8], view[at + 8 : at + 8 + size]))
        at += 12 + size
    return found if found and at == len(png) and found[-1][0] == b"IEND" else []


def _chunk(kind: bytes, content: bytes | memoryview) -> bytes:
    return len(content).to_bytes(4) + kind + content + zlib.crc32(content, zlib.crc32(kind)).to_bytes(4)
