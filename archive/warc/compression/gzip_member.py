"""Each WARC record is wrapped in one gzip member (WARC/1.1 annex D). Bytes in, bytes out.

Time and name are left out of the member's head, so that the same record always gives the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

from isal import igzip_lib, isal_zlib

_HEAD: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_MAX: Final = 65_535
_RAW_WINDOW: Final = -15
_SIZE_MODULUS: Final = 1 << 32
_WORTH_JUDGING: Final = 16_384
_POOR: Final = 0.95
_STORED_RUN: Final = 16


def packed(data: bytes, level: int) -> bytes:
    """Return one whole member around bytes that are in memory.

    Half of the memory that the packer takes by default: as small and as fast, and the heap of a recording process can
    do without blocks of a quarter megabyte (`admin.fleet.memory`).
    """
    return bytes(igzip_lib.compress(data, level, igzip_lib.COMP_GZIP, igzip_lib.MEM_LEVEL_MEDIUM))


def packed_stream(chunks: Iterable[bytes], level: int) -> Iterator[bytes]:
    """Yield the pieces of one member around bytes that come one after the other.

    A chunk that does not get smaller is stored as it is, and so are the next ones without trying: of a video or a
    disk image, whatever its media type says, packing would only make the writer ten times slower.
    """
    packer = _raw_packer(level)
    checksum, size, untried = 0, 0, 0
    yield _HEAD
    for chunk in chunks:
        checksum, size = isal_zlib.crc32(chunk, checksum), size + len(chunk)
        if untried:
            yield from _stored(chunk)
            untried -= 1
            continue
        if packer is None:  # what it had seen last is not what a reader has seen last
            packer = _raw_packer(level)
        piece = packer.compress(chunk) + packer.flush(isal_zlib.Z_SYNC_FLUSH)
        if len(chunk) < _WORTH_JUDGING or len(piece) < _POOR * len(chunk):
            yield piece
        else:
            yield from _stored(chunk)
            packer, untried = None, _STORED_RUN
    yield _end(checksum, size)


def stored_stream(head: bytes, chunks: Iterable[bytes], level: int) -> Iterator[bytes]:
    """Yield the pieces of one member: `head` is compressed, the chunks (compressed already) only wrapped.

    RFC 1951 section 3.2.4: a stored block begins on a byte border, which the flush after the head provides.
    """
    packer = _raw_packer(level)
    yield _HEAD + packer.compress(head) + packer.flush(isal_zlib.Z_SYNC_FLUSH)
    checksum, size = isal_zlib.crc32(head), len(head)
    for chunk in chunks:
        checksum, size = isal_zlib.crc32(chunk, checksum), size + len(chunk)
        yield from _stored(chunk)
    yield _end(checksum, size)


def _raw_packer(level: int) -> Any:
    return isal_zlib.compressobj(level, isal_zlib.DEFLATED, _RAW_WINDOW)


def _stored(chunk: bytes) -> Iterator[bytes]:
    """Yield the bytes as stored blocks; what is written before must end on a byte border."""
    for start in range(0, len(chunk), _STORED_MAX):
        piece = chunk[start : start + _STORED_MAX]
        yield struct.pack("<BHH", 0, len(piece), len(piece) ^ 0xFFFF) + piece


def _end(checksum: int, size: int) -> bytes:
    """Return an empty last block, and the member's trailer (RFC 1952 section 2.3.1)."""
    return struct.pack("<BHHII", 1, 0, 0xFFFF, checksum, size % _SIZE_MODULUS)
