"""Redis keeps originals and lengths in few bytes. This module packs and unpacks them.

A packed original has one byte with the length of its record id (0 for a UUID in lower case, of which 16 raw bytes
follow), the id, the date as 8 bytes of big-endian microseconds, and the URL in UTF-8 to the end. When file and offset
are known, a byte 255, the key of the file (see `file_key`) and the offset in 6 bytes come first.
"""

from __future__ import annotations

import hashlib
import re
import struct
import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from archive.capture import Original

_DATE: Final = struct.Struct(">q")
_UUID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACED: Final = b"\xff"
_KEY_BYTES: Final = 8
_OFFSET_BYTES: Final = 6
_PLACE_ENDS: Final = len(_PLACED) + _KEY_BYTES + _OFFSET_BYTES
_LONGEST_ID: Final = 254


def pack_length(length: int) -> bytes:
    """Return the length in big-endian bytes without leading zeros; 0 gives no bytes."""
    return length.to_bytes((length.bit_length() + 7) // 8, "big")


@lru_cache(maxsize=64)
def file_key(filename: str) -> bytes:
    """Return the short key of a WARC file's name: 8 bytes of its SHA-256."""
    return hashlib.sha256(filename.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def pack_original(original: Original) -> bytes:
    """Return the original as bytes. Raises ValueError for a record id of more than 254 bytes."""
    packed = b"".join((_pack_id(original.record_id), _DATE.pack(original.date), original.url.encode()))
    if not original.filename:
        return packed
    return _PLACED + file_key(original.filename) + original.offset.to_bytes(_OFFSET_BYTES, "big") + packed


def file_key_in(packed: bytes) -> bytes | None:
    """Return the key of a packed original's file; None when the file is not known."""
    return packed[1 : 1 + _KEY_BYTES] if packed.startswith(_PLACED) else None


def unpack_original(packed: bytes, names: Mapping[bytes, str]) -> Original:
    """Return the original that `pack_original` packed, with file and offset when `names` has the key of the file."""
    filename, offset = "", 0
    if key := file_key_in(packed):
        filename = names.get(key, "")
        offset = int.from_bytes(packed[1 + _KEY_BYTES : _PLACE_ENDS], "big") if filename else 0
        packed = packed[_PLACE_ENDS:]
    if packed[0]:
        end = 1 + packed[0]
        record_id = packed[1:end].decode()
    else:
        end = 17
        record_id = str(uuid.UUID(bytes=packed[1:17]))
    (date,) = _DATE.unpack_from(packed, end)
    return Original(record_id, packed[end + _DATE.size :].decode(), date, filename, offset)


def _pack_id(record_id: str) -> bytes:
    if _UUID.fullmatch(record_id):
        return b"\0" + bytes.fromhex(record_id.replace("-", ""))
    text = record_id.encode()
    if not 0 < len(text) <= _LONGEST_ID:
        raise ValueError(f"record id {record_id[:80]!r} has {len(text)} bytes; 1 to {_LONGEST_ID} can be kept")
    return bytes((len(text),)) + text
