"""Gzip members: the wrapping of one WARC record each (WARC/1.1 annex D). Bytes in, bytes out.

Time and name are left out of the member's head, so that the same record always gives the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from isal import igzip_lib, isal_zlib

_HEAD: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_MAX: Final = 65_535
_GZIP_WINDOW: Final = 31
_RAW_WINDOW: Final = -15
_SIZE_MODULUS: Final = 1 << 32


def packed(data: bytes, level: int) -> bytes:
    """One whole member around bytes that are in memory."""
    return bytes(igzip_lib.compress(data, level, igzip_lib.COMP_GZIP))


def packed_stream(chunks: Iterable[bytes], level: int) -> Iterator[bytes]:
    """The pieces of one member around bytes that come one after the other."""
    packer = isal_zlib.compressobj(level, isal_zlib.DEFLATED, _GZIP_WINDOW)
    for chunk in chunks:
        if piece := packer.compress(chunk):
            yield piece
    yield packer.flush()


def stored_stream(head: bytes, chunks: Iterable[bytes], level: int) -> Iterator[bytes]:
    """The pieces of one member: `head` is compressed, the chunks (compressed already) only wrapped.

    RFC 1951 section 3.2.4: a stored block begins on a byte border, which the flush after the head provides.
    """
    packer = isal_zlib.compressobj(level, isal_zlib.DEFLATED, _RAW_WINDOW)
    yield _HEAD + packer.compress(head) + packer.flush(isal_zlib.Z_SYNC_FLUSH)
    checksum, size = isal_zlib.crc32(head), len(head)
    for chunk in chunks:
        checksum, size = isal_zlib.crc32(chunk, checksum), size + len(chunk)
        for start in range(0, len(chunk), _STORED_MAX):
            piece = chunk[start : start + _STORED_MAX]
            yield struct.pack("<BHH", 0, len(piece), len(piece) ^ 0xFFFF) + piece
    yield struct.pack("<BHHII", 1, 0, 0xFFFF, checksum, size % _SIZE_MODULUS)
