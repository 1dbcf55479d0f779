"""Each WARC record is wrapped in one Zstandard frame, as the IIPC's convention for `.warc.zst` has it.

https://iipc.github.io/warc-specifications/specifications/warc-zstd/ (1.0, proposed). Every frame tells its length and
has its checksum. A file may begin with a dictionary, in a skippable frame of its own (RFC 8878 section 3.1.2, magic
number 0x184D2A5D), as it is or packed in a frame; then every frame tells the dictionary's number. Those of others may
have further skippable frames in between, and several frames to a record.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

import zstandard

from archive.program_name import command

FRAME_MAGIC: Final = b"\x28\xb5\x2f\xfd"
DICTIONARY_MAGIC: Final = b"\x5d\x2a\x4d\x18"
"""Of the skippable frame around a dictionary."""
HEAD_SIZE: Final = 8
"""Of a skippable frame: magic number and length."""
ZstdError = zstandard.ZstdError
_DICTIONARY_START: Final = b"\x37\xa4\x30\xec"
_SKIPPABLE: Final = range(0x184D2A50, 0x184D2A60)
_FEED: Final = 512
"""Four bytes can stand for a block of 128 KB: so much at once gives 16 MB at most."""
_DICTIONARY_MAX: Final = 1 << 26


class ZstdFrameWriter:
    """Makes frames, one after the other. Not for use by several threads at once."""

    def __init__(self, level: int, dictionary: bytes = b"") -> None:
        """Take the `dictionary` as `checked_dictionary` returns it."""
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        if known is not None:
            known.precompute_compress(level=level)
        self._packer = zstandard.ZstdCompressor(
            level=level, dict_data=known, write_checksum=True, write_content_size=True, write_dict_id=True
        )
        self.start = DICTIONARY_MAGIC + struct.pack("<I", len(dictionary)) + dictionary if dictionary else b""
        """What a file begins with, before its first frame."""

    def packed(self, data: bytes) -> bytes:
        """Return one whole frame around bytes that are in memory."""
        return self._packer.compress(data)

    def packed_stream(self, chunks: Iterable[bytes], length: int) -> Iterator[bytes]:
        """Yield the pieces of one frame around bytes that come one after the other, `length` of them together."""
        frame = self._packer.compressobj(size=length)
        for chunk in chunks:
            if piece := frame.compress(chunk):
                yield piece
        yield frame.flush()


class Unpacker:
    """Unpacks the frames of one file, one after the other."""

    def __init__(self, dictionary: bytes = b"") -> None:
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._unpacker = zstandard.ZstdDecompressor(dict_data=known)
        self.dictionary_id = known.dict_id() if known else 0
        """0 when the file has no dictionary."""

    def frame(self) -> ZstdFrameReader:
        """Return a reader for the next frame."""
        return ZstdFrameReader(self._unpacker.decompressobj())


class ZstdFrameReader:
    """Unpacks one frame; speaks like zlib's decompressobj, but gives more than asked for when a block does."""

    def __init__(self, frame: zstandard.ZstdDecompressionObj) -> None:
        self._frame = frame
        self.unconsumed_tail = b""
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        """Return whether the frame has ended; what followed it is in `unused_data`."""
        return bool(self._frame.eof)

    def decompress(self, data: bytes, size: int) -> bytes:
        """Return what a piece of `data` stands for, at least `size` bytes unless all was taken. Raises ZstdError."""
        found, start = bytearray(), 0
        while start < len(data) and len(found) < size and not self.eof:
            found += self._frame.decompress(data[start : start + _FEED])
            start += _FEED
        self.unconsumed_tail = data[start:]
        if self.eof:
            self.unused_data = self._frame.unused_data + self.unconsumed_tail
        return bytes(found)


def frame_findings(start: bytes, dictionary_id: int) -> Iterator[str]:
    """Yield what the head of a frame lacks; `start` is the first 18 bytes of it, or more. Says nothing of what is
    damaged.
    """
    try:
        facts = zstandard.get_frame_parameters(start)
    except ZstdError:
        return
    if facts.content_size == zstandard.CONTENTSIZE_UNKNOWN:
        yield "the zstd frame has no content size"
    if not facts.has_checksum:
        yield "the zstd frame has no checksum"
    if facts.dict_id != dictionary_id:
        yield f"the zstd frame names dictionary {facts.dict_id}, the file's is {dictionary_id}"


def extension_length(start: bytes) -> int:
    """Return how long the extension frame is that begins here, 0 when none does."""
    if len(start) < HEAD_SIZE or start.startswith(DICTIONARY_MAGIC):
        return 0
    magic, length = struct.unpack_from("<II", start)
    return HEAD_SIZE + int(length) if magic in _SKIPPABLE else 0


def checked_dictionary(data: bytes) -> bytes:
    """Return the dictionary itself. Raises ValueError when it is not of RFC 8878 section 5's format, or has no
    number.
    """
    if not data.startswith(_DICTIONARY_START):
        raise ValueError(f"it is not a zstd dictionary; `{command('dictionary')}` makes one")
    if len(data) > _DICTIONARY_MAX:
        raise ValueError(f"it has {len(data)} bytes; {_DICTIONARY_MAX} are allowed")
    if not zstandard.ZstdCompressionDict(data).dict_id():
        raise ValueError("it has no number (Dictionary_ID)")
    return data


def read_dictionary(file: BinaryIO) -> tuple[bytes, int]:
    """Return the dictionary that a file begins with and where the first record is; nothing and 0 when it has none.

    Raises ValueError for one that can't be used.
    """
    file.seek(0)
    head = file.read(HEAD_SIZE)
    if not head.startswith(DICTIONARY_MAGIC):
        return b"", 0
    length = int.from_bytes(head[4:], "little")
    if len(head) < HEAD_SIZE or length > _DICTIONARY_MAX:
        raise ValueError(f"the dictionary has {length} bytes; {_DICTIONARY_MAX} are allowed")
    found = file.read(length)
    if len(found) < length:
        raise ValueError(f"the dictionary lacks {length - len(found)} of {length} bytes")
    if found.startswith(FRAME_MAGIC):
        found = _unpacked(found)
    return found, HEAD_SIZE + length


def _unpacked(frame: bytes) -> bytes:
    reader, found = Unpacker().frame(), bytearray()
    try:
        while frame and not reader.eof:
            found += reader.decompress(frame, _FEED)
            frame = reader.unconsumed_tail
            if len(found) > _DICTIONARY_MAX:
                raise ValueError(f"the dictionary has more than {_DICTIONARY_MAX} bytes")
    except ZstdError as error:
        raise ValueError(f"the dictionary is damaged: {error}") from error
    return bytes(found)
