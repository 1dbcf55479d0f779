"""The garden's film is a real one of a few seconds, made two mebibytes long so that it is fetched by range."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

FILM_BYTES: Final = 2 * 1024 * 1024


@cache
def film(path: Path) -> bytes:
    """Return the MP4 at `path` with a `free` box before its index (`moov`), FILM_BYTES long.

    A player reads the start, then must jump over the padding to the index at the end: a request for a later range.
    """
    boxes = dict(_boxes(path.read_bytes()))
    index = boxes.pop(b"moov")
    media = b"".join(boxes.values())
    padding = FILM_BYTES - len(media) - len(index)
    return media + struct.pack(">I4s", padding, b"free") + _noise(padding - 8) + index


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the top-level boxes of an MP4 (ISO/IEC 14496-12, 4.2): type, and the whole box."""
    at = 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at : at + size]
        at += size


def _noise(length: int) -> bytes:
    """Return bytes that are the same every time and don't compress."""
    blocks = (hashlib.sha256(number.to_bytes(4)).digest() for number in range(length // 32 + 1))
    return b"".join(blocks)[:length]
