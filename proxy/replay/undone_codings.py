"""A payload is replayed without a content coding that it does not have, or that the client does not take.

Some recorders decode a body and keep its Content-Encoding. Some servers send a word there that is no coding. So the
beginning of the payload is looked at. The codings are undone in pieces, in little memory, however long the payload is.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

import brotli  # type: ignore[import-untyped]
import zstandard

from proxy.protocol.http1 import FieldLines

LOOKED_AT: Final = 65_536
"""Bytes at the beginning of a payload that tell which codings it has."""
MOST_UNDONE: Final = 1 << 30
"""Longer content keeps its codings, whatever the client takes: a few kilobytes may stand for terabytes."""
_PIECE: Final = 65_536
_MOST_CODINGS: Final = 4
_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_START: Final = b"\x1f\x8b\x08"
_MAX_WINDOW: Final = 1 << 27
_KEPT: Final = {
    b"compress": b"\x1f\x9d",
    b"x-compress": b"\x1f\x9d",
    b"dcb": b"\xff\x44\x43\x42",
    b"dcz": b"\x5e\x2a\x4d\x18",
    b"exi": b"",
    b"pack200-gzip": b"\xca\xfe\xd0\x0d",
}
"""Codings of IANA's registry that are not undone here, each with the first bytes of its content."""
_SAME: Final = {b"x-gzip": b"gzip", b"x-compress": b"compress"}
_ERRORS: Final = (zlib.error, brotli.error, zstandard.ZstdError)


def named_codings(fields: FieldLines) -> tuple[bytes, ...]:
    """Return the codings that the Content-Encoding lines name, in the order in which they were applied."""
    values = (value for name, value, _ in fields if name == b"content-encoding")
    words = (word.strip().lower() for value in values for word in value.split(b","))
    return tuple(word for word in words if word)


def true_codings(named: tuple[bytes, ...], beginning: bytes, *, is_whole: bool) -> tuple[bytes, ...]:
    """Return the codings that a payload has, of those that its head names; `beginning` may be all of it.

    A word that names no coding stands for none, as in browsers.
    """
    found: list[bytes] = []
    data = beginning
    for at, name in reversed(list(enumerate(named[-_MOST_CODINGS:]))):
        if name in _KEPT:
            if data.startswith(_KEPT[name]):
                return (*named[-_MOST_CODINGS:][: at + 1], *reversed(found))
            continue
        content = _content(name, data, is_whole=is_whole) if name in _UNDONE else None
        if content is not None:
            found.append(name)
            data, is_whole = content, False
    return tuple(reversed(found))


def accepts(fields: FieldLines, codings: Iterable[bytes]) -> bool:
    """Return whether a client takes all the codings (RFC 9110 section 12.5.3). A client that names none takes none."""
    weights: dict[bytes, bool] = {}
    for name, value, _ in fields:
        if name == b"accept-encoding":
            for part in value.lower().split(b","):
                word, *parameters = (each.strip() for each in part.split(b";"))
                weights[_SAME.get(word, word)] = not any(map(_is_nothing, parameters))
    return all(weights.get(_SAME.get(name, name), weights.get(b"*", False)) for name in codings)


def are_undone_here(codings: Iterable[bytes]) -> bool:
    """Return whether this module can undo all the codings."""
    return all(name in _UNDONE for name in codings)


def undone(pieces: Iterable[bytes], codings: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield the content without its codings. Content that is damaged or cut off ends there, as in browsers."""
    content: Iterator[bytes] = iter(pieces)
    for name in reversed(codings):
        content = _UNDONE[name](content)
    try:
        yield from content
    except _ERRORS:
        return


def length_of(content: Iterable[bytes]) -> int | None:
    """Return how many bytes a content has; None for more than MOST_UNDONE."""
    length = 0
    for piece in content:
        length += len(piece)
        if length > MOST_UNDONE:
            return None
    return length


def _is_nothing(parameter: bytes) -> bool:
    name, _, value = parameter.partition(b"=")
    try:
        return name.strip() == b"q" and float(value) == 0
    except ValueError:
        return False


def _content(name: bytes, data: bytes, *, is_whole: bool) -> bytes | None:
    """Return the beginning of the content of coded data; None for data that has not this coding."""
    if name in (b"gzip", b"x-gzip") and not data.startswith(_GZIP_START):
        return None
    if name == b"zstd" and not _is_zstd(data):
        return None
    found = bytearray()
    try:
        for piece in _UNDONE[name](iter((data,))):
            found += piece
            if len(found) > LOOKED_AT:
                break
    except _ERRORS:
        if name in (b"br", b"deflate"):  # without a mark of its own, only its syntax tells
            return None
    if is_whole and ((name == b"br" and not _is_whole_brotli(data)) or (name == b"deflate" and not _is_whole(data))):
        return None
    return None if name == b"deflate" and not found else bytes(found)


def _is_zstd(data: bytes) -> bool:
    is_skippable = data[1:4] == b"\x2a\x4d\x18" and 0x50 <= data[0] <= 0x5F
    return data.startswith(b"\x28\xb5\x2f\xfd") or is_skippable


def _is_whole(deflated: bytes) -> bool:
    """Return whether deflated data has its end. A text may be read as the beginning of such data."""
    unpack = zlib.decompressobj(_ZLIB if _has_zlib_head(deflated) else _RAW)
    rest, length = deflated, 0
    while rest and not unpack.eof and length < MOST_UNDONE >> 6:
        length += len(unpack.decompress(rest, _PIECE))
        rest = unpack.unconsumed_tail
    return unpack.eof or bool(rest)


def _has_zlib_head(data: bytes) -> bool:
    return len(data) > 1 and data[0] & 15 == 8 and int.from_bytes(data[:2]) % 31 == 0


def _is_whole_brotli(data: bytes) -> bool:
    unpacker = brotli.Decompressor()
    piece, length = unpacker.process(data, output_buffer_limit=_PIECE), 0
    while piece and not unpacker.is_finished() and length < MOST_UNDONE >> 6:
        length += len(piece)
        piece = unpacker.process(b"", output_buffer_limit=_PIECE)
    return bool(unpacker.is_finished()) or bool(piece)


def _inflated(pieces: Iterator[bytes], window: int = _GZIP) -> Iterator[bytes]:
    """Yield the content of one or several gzip members, or of one deflate stream. Bytes behind it are left out."""
    unpack = zlib.decompressobj(window)
    for piece in pieces:
        data = piece
        while data:
            if unpack.eof:
                if window != _GZIP or not data.startswith(_GZIP_START[: len(data)]):
                    return
                unpack = zlib.decompressobj(window)
            if content := unpack.decompress(data, _PIECE):
                yield content
            data = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
    if content := unpack.flush():
        yield content


def _deflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what is behind `deflate`: with zlib's head, or without it as some servers send it."""
    first = next(pieces, b"")
    if len(first) == 1:
        first += next(pieces, b"")
    return _inflated(chain((first,), pieces), _ZLIB if _has_zlib_head(first) else _RAW)


def _without_brotli(pieces: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = brotli.Decompressor()
    for piece in pieces:
        if unpacker.is_finished():
            return
        content = unpacker.process(piece, output_buffer_limit=_PIECE)
        while content:
            yield content
            content = unpacker.process(b"", output_buffer_limit=_PIECE) if not unpacker.is_finished() else b""


def _without_zstandard(pieces: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    with unpacker.stream_reader(io.BufferedReader(_Stream(pieces)), read_across_frames=True) as reader:
        while content := reader.read(_PIECE):
            yield content


class _Stream(io.RawIOBase):
    """The stream has the bytes of an iterator."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the beginning of the buffer, and return how many bytes were put there; 0 at the end."""
        self._rest = self._rest or next((piece for piece in self._pieces if piece), b"")
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


_UNDONE: Final[dict[bytes, Callable[[Iterator[bytes]], Iterator[bytes]]]] = {
    b"gzip": _inflated,
    b"x-gzip": _inflated,
    b"deflate": _deflated,
    b"br": _without_brotli,
    b"zstd": _without_zstandard,
}
