"""This module undoes the content codings of a body, within bounds. Pure.

The body decides, and not the header alone: servers name codings that do not exist (`none`, `UTF-8`) and codings that
they did not apply, and programs that record have undone a coding whose header they kept. So an unknown coding is none,
and a body that is not in the named coding is taken as it is.

A body of a few kilobytes may decode to gigabytes. At most `limit` bytes, at most `MAX_RATIO` times the input, and at
most three codings are decoded. The archive has the original.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import brotli  # type: ignore[import-untyped]
import zstandard

MAX_RATIO: Final = 500
"""Real text packs at 3 to 20 times; deflate can do 1,000, brotli and zstd far more."""
_ALWAYS_ALLOWED: Final = 1 << 20
_MAX_CODINGS: Final = 3
_MAX_WINDOW: Final = 1 << 27
"""Largest zstd window taken, 128 MiB: what browsers and the zstd command take by default."""
_MAX_MEMBERS: Final = 10_000
"""Gzip members of one body that are decoded. An empty member has 20 bytes."""
_PIECE: Final = 16_384
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
"""First bytes of a zstd frame, or of a frame to skip."""
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE: Final = 1024
_BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded body has its bytes. When they are incomplete, `problem` is `bomb`, `capped` or `broken`."""

    data: bytes
    problem: str | None = None


class _NotInCoding(Exception):
    """The body is not in this coding."""


def known_codings(content_encoding: str) -> tuple[str, ...]:
    """Return the codings of a field Content-Encoding that can be undone, in the order in which they were applied."""
    names = (name.strip().lower() for name in content_encoding.split(","))
    return tuple(name for name in names if name in _UNPACKERS)


def decode(body: bytes, content_encoding: str, limit: int) -> Decoded:
    """Return `body` with its content codings removed, the last applied first.

    A body that ends short, or breaks off in the middle, gives what there is.
    """
    codings = known_codings(content_encoding) if content_encoding else ()
    if len(codings) > _MAX_CODINGS:
        return Decoded(b"", "bomb")
    problem: str | None = None
    allowed = min(limit, max(_ALWAYS_ALLOWED, len(body) * MAX_RATIO))
    for coding in reversed(codings):
        try:
            unpacked = _UNPACKERS[coding](body, allowed + 1)
        except _NotInCoding:
            continue
        body, problem = unpacked.data, problem or unpacked.problem
        if len(body) > allowed:
            body, problem = body[:allowed], "capped" if allowed == limit else "bomb"
    return Decoded(body[:limit], problem or ("capped" if len(body) > limit else None))


def gunzip(body: bytes, limit: int) -> Decoded:
    """Return the content of a gzip file; `body` itself when it is no gzip file. Sitemaps may be gzip files."""
    return decode(body, "gzip", limit) if is_gzip(body) else Decoded(body[:limit])


def is_gzip(body: bytes) -> bool:
    """Return whether the body begins as a gzip file does."""
    return body.startswith(_GZIP)


def is_text(body: bytes) -> bool:
    """Return whether the beginning of the body may be text, in UTF-16 only with a byte order mark."""
    return body.startswith(_BOMS) or not _BINARY.search(body[:_SAMPLE])


def _gunzipped(body: bytes, most: int) -> Decoded:
    """Return the content of all gzip members. Bytes behind the last one are no part of it."""
    if not is_gzip(body):
        raise _NotInCoding
    found, at = bytearray(), 0
    for _ in range(_MAX_MEMBERS):
        unpacked, at = _inflated(body, at, most - len(found), zlib.MAX_WBITS | 16)
        found += unpacked.data
        if unpacked.problem or len(found) >= most or not body.startswith(_GZIP, at):
            return Decoded(bytes(found), unpacked.problem)
    return Decoded(bytes(found), "bomb")


def _undeflated(body: bytes, most: int) -> Decoded:
    """Return the content of a zlib stream, or of a bare deflate stream, as some servers send it."""
    if is_gzip(body):
        return _gunzipped(body, most)
    if len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and (body[0] << 8 | body[1]) % 31 == 0:
        unpacked, _ = _inflated(body, 0, most, zlib.MAX_WBITS)
        if unpacked.data or not is_text(body):
            return unpacked
    unpacked, _ = _inflated(body, 0, most, -zlib.MAX_WBITS)
    if not unpacked.data or (unpacked.problem and is_text(body)):
        raise _NotInCoding
    return unpacked


def _inflated(body: bytes, at: int, most: int, window: int) -> tuple[Decoded, int]:
    """Return the content of the stream at this place, up to a place where the stream is damaged, and the end."""
    unpacker, found = zlib.decompressobj(window), bytearray()
    while at < len(body) and not unpacker.eof and len(found) < most:
        piece = body[at : at + _PIECE]
        try:
            found += unpacker.decompress(piece, most - len(found))
        except zlib.error:
            break
        at += len(piece) - len(unpacker.unused_data)
    is_whole = unpacker.eof or len(found) >= most
    return Decoded(bytes(found), None if is_whole else "broken"), at


def _unbrotlied(body: bytes, most: int) -> Decoded:
    """Return the content of a brotli stream, which has no first bytes of its own."""
    unpacker = brotli.Decompressor()
    try:
        pieces = [unpacker.process(body, output_buffer_limit=most)]
        size = len(pieces[0])
        while size < most and not unpacker.is_finished() and not unpacker.can_accept_more_data():
            pieces.append(unpacker.process(b"", output_buffer_limit=most - size))
            size += len(pieces[-1])
    except brotli.error as error:
        if is_text(body) or is_gzip(body):
            raise _NotInCoding from error
        return Decoded(b"", "broken")
    is_whole = unpacker.is_finished() or size >= most
    if not is_whole and (is_text(body) or is_gzip(body)):
        raise _NotInCoding
    return Decoded(b"".join(pieces)[:most], None if is_whole else "broken")


def _unzstd(body: bytes, most: int) -> Decoded:
    """Return the content of all zstd frames."""
    if not _ZSTD.match(body):
        raise _NotInCoding
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    reader = unpacker.stream_reader(body, read_across_frames=True)
    found = bytearray()
    try:
        while len(found) < most and (piece := reader.read(min(most - len(found), _ALWAYS_ALLOWED))):
            found += piece
    except zstandard.ZstdError:
        return Decoded(bytes(found), "broken")
    return Decoded(bytes(found))


_UNPACKERS: Final[Mapping[str, Callable[[bytes, int], Decoded]]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _undeflated,
    "br": _unbrotlied,
    "zstd": _unzstd,
}
