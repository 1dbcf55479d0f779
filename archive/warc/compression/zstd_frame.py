"""Each WARC record is one Zstandard frame, as the IIPC's convention for `.warc.zst` has it.

https://iipc.github.io/warc-specifications/specifications/warc-zstd/ (1.0, proposed). Every frame has its length and its
checksum. A file may begin with a dictionary in a skippable frame of its own (RFC 8878 section 3.1.2, magic number
0x184D2A5D). The dictionary is plain or is compressed as a frame. Every later frame then names the dictionary's number.
Files of other programs may have further skippable frames, and several frames for one record.
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
    """The writer makes frames, one after the other. Only one thread at a time may use it."""

    def __init__(self, level: int, dictionary: bytes = b"") -> None:
        """Take a `dictionary` that `checked_dictionary` returned."""
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        if known is not None:
            known.precompute_compress(level=level)
        self._packer = zstandard.ZstdCompressor(
            level=level, dict_data=known, write_checksum=True, write_content_size=True, write_dict_id=True
        )
        self.start = DICTIONARY_MAGIC + struct.pack("<I", len(dictionary)) + dictionary if dictionary else b""
        """The bytes with which a file begins, before its first frame."""

    def packed(self, data: bytes) -> bytes:
        """Return one whole frame with bytes that are in memory."""
        return self._packer.compress(data)

    def packed_stream(self, chunks: Iterable[bytes], length: int) -> Iterator[bytes]:
        """Yield the pieces of one frame with a sequence of byte strings of `length` bytes together."""
        frame = self._packer.compressobj(size=length)
        for chunk in chunks:
            if piece := frame.compress(chunk):
                yield piece
        yield frame.flush()


class Unpacker:
    """An unpacker unpacks the frames of one file, one after the other."""

    def __init__(self, dictionary: bytes = b"") -> None:
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._unpacker = zstandard.ZstdDecompressor(dict_data=known)
        self.dictionary_id = known.dict_id() if known else 0
        """0 when the file has no dictionary."""

    def frame(self) -> ZstdFrameReader:
        """Return a reader for the next frame."""
        return ZstdFrameReader(self._unpacker.decompressobj())


class ZstdFrameReader:
    """The reader unpacks one frame. Its interface is that of zlib's decompressobj.

    It returns more bytes than were asked for when a block has more.
    """

    def __init__(self, frame: zstandard.ZstdDecompressionObj) -> None:
        self._frame = frame
        self.unconsumed_tail = b""
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        """Return whether the frame has ended. The bytes after its end are in `unused_data`."""
        return bool(self._frame.eof)

    def decompress(self, data: bytes, size: int) -> bytes:
        """Return the content of a piece of `data`, at least `size` bytes unless all data was used.

        Raises ZstdError.
        """
        found, start = bytearray(), 0
        while start < len(data) and len(found) < size and not self.eof:
            found += self._frame.decompress(data[start : start + _FEED])
            start += _FEED
        self.unconsumed_tail = data[start:]
        if self.eof:
            self.unused_data = self._frame.unused_data + self.unconsumed_tail
        return bytes(found)


def frame_findings(start: bytes, dictionary_id: int) -> Iterator[str]:
    """Yield what the header of a frame lacks. `start` has at least the first 18 bytes of the frame.

    Damage is not reported here.
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
    """Return the length of the skippable frame that begins here, or 0 when none begins here."""
    if len(start) < HEAD_SIZE or start.startswith(DICTIONARY_MAGIC):
        return 0
    magic, length = struct.unpack_from("<II", start)
    return HEAD_SIZE + int(length) if magic in _SKIPPABLE else 0


def checked_dictionary(data: bytes) -> bytes:
    """Return the dictionary itself.

    Raises ValueError when it has no number or not the format of RFC 8878 section 5.
    """
    if not data.startswith(_DICTIONARY_START):
        raise ValueError(f"it is not a zstd dictionary; `{command('dictionary')}` makes one")
    if len(data) > _DICTIONARY_MAX:
        raise ValueError(f"it has {len(data)} bytes; {_DICTIONARY_MAX} are allowed")
    if not zstandard.ZstdCompressionDict(data).dict_id():
        raise ValueError("it has no number (Dictionary_ID)")
    return data


def read_dictionary(file: BinaryIO) -> tuple[bytes, int]:
    """Return the dictionary at the start of a file, and the offset of the first record.

    Without a dictionary, return no bytes and 0. Raises ValueError for a dictionary that can't be used.
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
