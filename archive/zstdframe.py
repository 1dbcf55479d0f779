"""Zstandard frames: the wrapping of one WARC record each, as the IIPC's convention for `.warc.zst` has it.

Every frame has its checksum. Files of ours have no dictionary; those of others may begin with one, in a skippable
frame of its own (RFC 8878 section 3.1.2, magic number 0x184D2A5D), as it is or packed in a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

import zstandard

FRAME_MAGIC: Final = b"\x28\xb5\x2f\xfd"
DICTIONARY_MAGIC: Final = b"\x5d\x2a\x4d\x18"
HEAD_SIZE: Final = 8
"""Of a skippable frame: magic number and length."""
ZstdError = zstandard.ZstdError
_FEED: Final = 512
"""Four bytes can stand for a block of 128 KB: so much at once gives 16 MB at most."""
_DICTIONARY_MAX: Final = 1 << 26


class FrameWriter:
    """Makes frames, one after the other. Not for use by several threads at once."""

    def __init__(self, level: int) -> None:
        self._packer = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True)

    def packed(self, data: bytes) -> bytes:
        """One whole frame around bytes that are in memory."""
        return self._packer.compress(data)

    def packed_stream(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces of one frame around bytes that come one after the other."""
        frame = self._packer.compressobj()
        for chunk in chunks:
            if piece := frame.compress(chunk):
                yield piece
        yield frame.flush()


class FrameReader:
    """Unpacks one frame; speaks like zlib's decompressobj, but gives more than asked for when a block does."""

    def __init__(self, dictionary: bytes = b"") -> None:
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._frame = zstandard.ZstdDecompressor(dict_data=known).decompressobj()
        self.unconsumed_tail = b""
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        """Whether the frame has ended; what followed it is in `unused_data`."""
        return bool(self._frame.eof)

    def decompress(self, data: bytes, size: int) -> bytes:
        """What a piece of `data` stands for, at least `size` bytes unless all was taken. Raises ZstdError."""
        found, start = bytearray(), 0
        while start < len(data) and len(found) < size and not self.eof:
            found += self._frame.decompress(data[start : start + _FEED])
            start += _FEED
        self.unconsumed_tail = data[start:]
        if self.eof:
            self.unused_data = self._frame.unused_data + self.unconsumed_tail
        return bytes(found)


def read_dictionary(file: BinaryIO) -> tuple[bytes, int]:
    """The dictionary that a file begins with and where the first record is; nothing and 0 when it has none.

    Raises ValueError for one that can't be used.
    """
    file.seek(0)
    head = file.read(HEAD_SIZE)
    if not head.startswith(DICTIONARY_MAGIC):
        return b"", 0
    length = int.from_bytes(head[4:], "little")
    if len(head) < HEAD_SIZE or length > _DICTIONARY_MAX:
        raise ValueError(f"a dictionary of {length} bytes; {_DICTIONARY_MAX} are allowed")
    found = file.read(length)
    if len(found) < length:
        raise ValueError(f"the dictionary lacks {length - len(found)} of {length} bytes")
    if found.startswith(FRAME_MAGIC):
        found = _unpacked(found)
    return found, HEAD_SIZE + length


def _unpacked(frame: bytes) -> bytes:
    reader, found = FrameReader(), bytearray()
    try:
        while frame and not reader.eof:
            found += reader.decompress(frame, _FEED)
            frame = reader.unconsumed_tail
            if len(found) > _DICTIONARY_MAX:
                raise ValueError(f"a dictionary of more than {_DICTIONARY_MAX} bytes")
    except ZstdError as error:
        raise ValueError(f"the dictionary is damaged: {error}") from error
    return bytes(found)
