"""Originals and lengths as the few bytes that Redis keeps of each.

An original is: one byte, the length of its record id (0: the id is a UUID in its usual lower-case form, and 16 raw
bytes follow), the id, the date as 8 bytes of big-endian microseconds, and the URL in UTF-8 to the end. When its place
is known, a byte 255, its file's key (see `file_key`) and the offset in 6 bytes come before all that.
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
    """Big-endian, without leading zero bytes; 0 is empty."""
    return length.to_bytes((length.bit_length() + 7) // 8, "big")


@lru_cache(maxsize=64)
def file_key(filename: str) -> bytes:
    """What stands for a WARC file's name, which is longer and the same for thousands: 8 bytes of its SHA-256."""
    return hashlib.sha256(filename.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def pack_original(original: Original) -> bytes:
    """The original as bytes. Raises ValueError for a record id of more than 254 bytes."""
    packed = b"".join((_pack_id(original.record_id), _DATE.pack(original.date), original.url.encode()))
    if not original.filename:
        return packed
    return _PLACED + file_key(original.filename) + original.offset.to_bytes(_OFFSET_BYTES, "big") + packed


def file_key_in(packed: bytes) -> bytes | None:
    """The key of the file that a packed original lies in; None when that is not known."""
    return packed[1 : 1 + _KEY_BYTES] if packed.startswith(_PLACED) else None


def unpack_original(packed: bytes, names: Mapping[bytes, str]) -> Original:
    """What `pack_original` packed; with its place when `names` has the file's name by its key."""
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
