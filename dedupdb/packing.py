"""Originals and lengths as the few bytes that Redis keeps of each.

An original is: one byte, the length of its record id (0: the id is a UUID in its usual lower-case form, and 16 raw
bytes follow), the id, the date as 8 bytes of big-endian microseconds, and the URL in UTF-8 to the end.
"""

from __future__ import annotations

import re
import struct
import uuid
from typing import Final

from archive.capture import Original

_DATE: Final = struct.Struct(">q")
_UUID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def pack_length(length: int) -> bytes:
    """Big-endian, without leading zero bytes; 0 is empty."""
    return length.to_bytes((length.bit_length() + 7) // 8, "big")


def pack_original(original: Original) -> bytes:
    """The original as bytes. Raises ValueError for a record id of more than 255 bytes."""
    return b"".join((_pack_id(original.record_id), _DATE.pack(original.date), original.url.encode()))


def unpack_original(packed: bytes) -> Original:
    """What `pack_original` packed."""
    if packed[0]:
        end = 1 + packed[0]
        record_id = packed[1:end].decode()
    else:
        end = 17
        record_id = str(uuid.UUID(bytes=packed[1:17]))
    (date,) = _DATE.unpack_from(packed, end)
    return Original(record_id, packed[end + _DATE.size :].decode(), date)


def _pack_id(record_id: str) -> bytes:
    if _UUID.fullmatch(record_id):
        return b"\0" + bytes.fromhex(record_id.replace("-", ""))
    text = record_id.encode()
    if not 0 < len(text) < 256:
        raise ValueError(f"record id {record_id[:80]!r} has {len(text)} bytes; 1 to 255 can be kept")
    return bytes((len(text),)) + text
