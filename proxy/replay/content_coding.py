"""Content codings of small payloads are undone here, within a bound: gzip, deflate, Brotli and Zstandard."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import brotli  # type: ignore[import-untyped]
import zstandard

_GZIP, _ZLIB, _RAW = 31, 15, -15


class TooLong(Exception):
    """The content is longer than the bound."""


class Undecodable(Exception):
    """The content has a coding that is not known here, or is damaged."""


def decoded(pieces: Iterable[bytes], codings: bytes | None, most: int) -> bytes:
    """Return the whole content without its codings. Raises TooLong when it has more than `most` bytes, coded or not,
    and Undecodable.
    """
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > most:
            raise TooLong
    content = bytes(data)
    names = [name.strip().lower() for name in (codings or b"").split(b",") if name.strip()]
    for name in reversed(names[-4:]):
        if name == b"identity":
            continue
        try:
            content = _UNDONE[name](content, most)
        except KeyError as error:
            raise Undecodable(f"the content coding {name[:40]!r} is unknown") from error
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise Undecodable(str(error)) from error
        if len(content) > most:
            raise TooLong
    return content


def _inflated(data: bytes, most: int, window: int = _GZIP) -> bytes:
    return zlib.decompressobj(window).decompress(data, most + 1)


def _deflated(data: bytes, most: int) -> bytes:
    """Return what is behind `deflate`: with zlib's head, or without it as some servers send it."""
    try:
        return _inflated(data, most, _ZLIB)
    except zlib.error:
        return _inflated(data, most, _RAW)


def _without_brotli(data: bytes, most: int) -> bytes:
    unpacker, found = brotli.Decompressor(), bytearray()
    found += unpacker.process(data, output_buffer_limit=most + 1)
    while len(found) <= most and not unpacker.is_finished():
        piece = unpacker.process(b"", output_buffer_limit=most + 1)
        if not piece:
            break
        found += piece
    return bytes(found)


def _without_zstandard(data: bytes, most: int) -> bytes:
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data) as reader:
        return reader.read(most + 1)


_UNDONE: dict[bytes, Callable[[bytes, int], bytes]] = {
    b"gzip": _inflated,
    b"x-gzip": _inflated,
    b"deflate": _deflated,
    b"br": _without_brotli,
    b"zstd": _without_zstandard,
}
