"""A body that the index has in Base64 is read again: lines of JSON, JSON that the client compressed, and binary calls.

The index writes names and values of forms and JSON texts alone (`archive.warc.records.request_query`). Other bodies
differ at each visit when they have the time or a random number in them. Pure.
"""

from __future__ import annotations

import binascii
import json
import zlib
from base64 import b64decode
from typing import Final

from archive.warc.records.request_query import asked_query

_BINARY: Final = "__wb_post_data="
_MOST: Final = 65_536
"""Bytes of a compressed body that are read."""
_GZIP_OR_ZLIB: Final = 47
_PACKED: Final = (b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda")
_SMALL: Final = 2
"""Bytes in which two bodies differ when they ask for two pages of a list, for example."""


def readable(query: str) -> str:
    """Return the names and values of a body that the index has in Base64; the query itself when it has none."""
    data = binary(query)
    if data is None:
        return query
    if data.startswith(_PACKED):
        data = _unpacked(data)
    found = asked_query("POST", "text/plain", (data,)) or query
    if not found.startswith(_BINARY):
        return found
    lines = [line for line in data.split(b"\n") if _is_json(line)]
    return (asked_query("POST", "application/json", (b"[" + b",".join(lines) + b"]",)) if lines else None) or found


def binary(query: str) -> bytes | None:
    """Return the beginning of a body that the index has in Base64; None for another one."""
    if not query.startswith(_BINARY):
        return None
    text = query.removeprefix(_BINARY)
    try:
        return b64decode(text[: len(text) // 4 * 4])
    except (binascii.Error, ValueError):
        return None


def likeness(asked: bytes, recorded: bytes) -> float:
    """Return which part of two binary bodies is the same at their beginnings and their ends.

    Return -1 when they differ in few bytes only: a small number there may be that of a page.
    """
    shorter, longer = sorted((len(asked), len(recorded)))
    head = next((at for at in range(shorter) if asked[at] != recorded[at]), shorter)
    tail = next((at for at in range(shorter - head) if asked[-1 - at] != recorded[-1 - at]), shorter - head)
    if longer - head - tail <= _SMALL:
        return -1.0 if longer - head - tail else 1.0
    return (head + tail) / max(longer, 1)


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(_GZIP_OR_ZLIB).decompress(data, _MOST)
    except zlib.error:
        return data


def _is_json(line: bytes) -> bool:
    if not line.strip().startswith((b"{", b"[")):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
