"""A record's bytes as its file holds them: a gzip member or a zstd frame of its own. Bytes in, bytes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from archive.warc.compression.gzip_member import packed, packed_stream, stored_stream
from archive.warc.compression.zstd_frame import ZstdFrameWriter
from archive.warc.records.record import RECORD_END, Record

_ONE_SHOT_MAX: Final = 1 << 20
"""Larger blocks are packed piece by piece."""


def gzip_member(record: Record, level: int) -> Iterable[bytes]:
    """Return the pieces of the record's gzip member; compressed bodies are not compressed again."""
    if record.packed:
        return stored_stream(record.header + record.block.head, _rest(record, record.block.body.chunks()), level)
    if record.block_length > _ONE_SHOT_MAX:
        return packed_stream(_rest(record, record.chunks(), record.header), level)
    return (packed(_whole(record), level),)


def zstd_frame(record: Record, zstd: ZstdFrameWriter) -> Iterable[bytes]:
    """Return the pieces of the record's zstd frame; what can't be compressed costs zstd little."""
    if record.block_length <= _ONE_SHOT_MAX:
        return (zstd.packed(_whole(record)),)
    pieces = _rest(record, record.chunks(), record.header)
    return zstd.packed_stream(pieces, len(record.header) + record.block_length + len(RECORD_END))


def _whole(record: Record) -> bytes:
    """Return all of the record; raises as `_rest` does."""
    body = record.block.body
    if body.file is not None or sum(map(len, body.parts)) != body.length:
        return b"".join(_rest(record, record.chunks(), record.header))
    return b"".join((record.header, record.block.head, *body.parts, RECORD_END))


def _rest(record: Record, chunks: Iterable[bytes], before: bytes = b"") -> Iterator[bytes]:
    """Yield `before`, the chunks that the block ends with, RECORD_END.

    Raises OSError when the chunks are not as long as declared: a spool file that was cut, for instance.
    """
    yield before
    left = record.block_length if before else record.block.body.length
    for chunk in chunks:
        left -= len(chunk)
        yield chunk
    if left:
        raise OSError(f"the block of record {record.record_id} lacks {left} of {record.block_length} bytes")
    yield RECORD_END
