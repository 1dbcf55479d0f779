"""The block of a record that warcio has found: copied to a temporary file, with a judgement of where it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from admin.collections.transfer.member_text import MemberText, Unreadable
from archive.http.http_message import end_of_http_head
from archive.warc.reading.member_reader import READ_SIZE
from archive.warc.reading.reader import MAX_HTTP_HEAD
from archive.warc.reading.record_end import HEAD_LOOKED_AT, LOOKED_AT, RecordEnd, beyond_declared, record_end
from archive.warc.records.record import RECORD_END

MAX_BLOCK: Final = 8 << 30
"""A record with a larger block is left out."""
NEXT_RECORD: Final = re.compile(
    rb"\n(?=WARC/[0-9]\.[0-9]{1,3}\r?\n"
    rb"|[A-Za-z][A-Za-z0-9+.-]*:[^\r\n ]{1,8000} [0-9A-Fa-f.:-]+ [0-9]{8,17} [^\r\n ]+ [0-9]{1,18}\r?\n)"
)
"""The line end before the header of a WARC or ARC record."""
PATTERN_LENGTH: Final = 16_384
"""NEXT_RECORD matches fewer bytes."""
_LENGTH: Final = re.compile(r"[0-9]{1,18}")


@dataclass(slots=True)
class ForeignBlock:
    """A block is the first `length` bytes of the spool file. `changes` are the differences from the record."""

    length: int
    changes: list[str] = field(default_factory=list)


class BlockReader:
    """A block reader reads the blocks of records, one after the other, to one spool file."""

    def __init__(self, spool: BinaryIO) -> None:
        """Use the spool file, which holds one block at a time."""
        self._spool = spool

    def read(
        self, record: Any, text: MemberText, *, is_arc: bool, is_http: bool, is_packed: bool, before: bytes
    ) -> ForeignBlock:
        """Copy the block, behind the bytes `before`, and leave `text` at an empty line or at its end.

        `is_http` says that the block is an HTTP message that tells its own length. Raises Unreadable.
        """
        self._spool.seek(0)
        self._spool.truncate()
        self._spool.write(before)
        block = ForeignBlock(len(before))
        said = record.rec_headers.get_header("Content-Length")
        if said is None or not _LENGTH.fullmatch(said.strip()):
            if not is_packed:
                raise Unreadable(f"its Content-Length {said!r} is not a length")
            return self._rest_of_member(text, block, f"its Content-Length was {said!r}", is_arc=is_arc)
        if record.length > MAX_BLOCK:
            raise Unreadable(f"its block has {record.length} bytes, more than {MAX_BLOCK}")
        declared = len(before) + record.length
        block.length += self._copied(record.raw_stream.read, record.length)
        if block.length < declared:
            return self._ended_early(block, declared, is_arc=is_arc, is_packed=is_packed)
        following, is_end = text.peek(PATTERN_LENGTH if is_arc else LOOKED_AT)
        more = beyond_declared(self._beginning(), block.length) if is_http else None
        if is_arc:
            end = _arc_end(following, more, is_end=is_end)
        else:
            tail = self._tail(block, len(RECORD_END))
            end = record_end(tail, following, is_end=is_end, is_member=is_packed, more=more)
        if end is not None:
            return self._ended(block, text, end)
        if not is_packed:
            if self._has_next_record():
                raise Unreadable(f"its Content-Length {declared} reaches beyond the next record")
            raise Unreadable(f"{following[:16]!r} follows its block of {block.length} bytes, which is no record")
        return self._rest_of_member(text, block, f"its Content-Length was {block.length}", is_arc=is_arc)

    def http_head(self, block: ForeignBlock) -> bytes:
        """Return the HTTP head at the beginning of the block; b"" when it has no end in reach."""
        self._spool.seek(0)
        found, end = bytearray(), 0
        while not end and len(found) < min(block.length, MAX_HTTP_HEAD):
            found += (piece := self._spool.read(min(READ_SIZE, block.length - len(found))))
            end = end_of_http_head(found, len(found) - len(piece))
        return bytes(found[:end])

    def _copied(self, read: Callable[[int], bytes], limit: int) -> int:
        length = 0
        while length < limit and (piece := read(min(READ_SIZE, limit - length))):
            self._spool.write(piece)
            length += len(piece)
        return length

    def _rest_of_member(self, text: MemberText, block: ForeignBlock, was: str, *, is_arc: bool) -> ForeignBlock:
        """Take everything up to the end of the gzip member as the block. Raises Unreadable."""
        block.length += self._copied(text.read, MAX_BLOCK - block.length)
        if text.peek(1)[0]:
            raise Unreadable(f"its block has more than {MAX_BLOCK} bytes")
        if self._has_next_record():
            raise Unreadable(f"{was}, and other records follow in the same gzip member")
        self._cut_end(block, is_arc=is_arc)
        block.changes.append(f"{was}; it was read by warcio, with the {block.length} bytes of its gzip member")
        return block

    def _ended_early(self, block: ForeignBlock, declared: int, *, is_arc: bool, is_packed: bool) -> ForeignBlock:
        """Decide about a block whose member or file ends before the declared length. Raises Unreadable."""
        found = block.length
        if self._has_next_record():
            raise Unreadable(f"its Content-Length {declared} reaches beyond the next record")
        self._cut_end(block, is_arc=is_arc)
        if not is_packed and beyond_declared(self._beginning(), block.length) != 0:
            raise Unreadable(f"the file ends after {found} of the {declared} bytes of its block")
        block.changes.append(f"its Content-Length was {declared}; it was read by warcio, with {block.length} bytes")
        return block

    def _ended(self, block: ForeignBlock, text: MemberText, end: RecordEnd) -> ForeignBlock:
        """Make the block as long as `end` says, and go on to the next record."""
        passed = b""
        while len(passed) < end.skipped and (piece := text.read(end.skipped - len(passed))):
            passed += piece
        self._spool.seek(block.length)
        self._spool.write(passed[: end.added])
        self._shorten(block, end.cut - end.added)
        if end.finding:
            block.changes.append(end.finding)
        if text.peek(1)[0]:
            text.push(RECORD_END)  # warcio loses a line that follows a block without an empty line
        return block

    def _cut_end(self, block: ForeignBlock, *, is_arc: bool) -> None:
        """Remove the end of the record from a block that was read to the end of its member or file."""
        end = b"\n" if is_arc else RECORD_END
        more = beyond_declared(self._beginning(), block.length)
        if self._tail(block, len(end)) == end and more in (None, -len(end)):
            self._shorten(block, len(end))

    def _shorten(self, block: ForeignBlock, size: int) -> None:
        block.length -= size
        self._spool.truncate(block.length)

    def _tail(self, block: ForeignBlock, size: int) -> bytes:
        self._spool.seek(max(0, block.length - size))
        return self._spool.read(size)

    def _beginning(self) -> bytes:
        self._spool.seek(0)
        return self._spool.read(HEAD_LOOKED_AT)

    def _has_next_record(self) -> bool:
        self._spool.seek(0)
        kept = b""
        while piece := self._spool.read(READ_SIZE):
            if NEXT_RECORD.search(kept := kept[-PATTERN_LENGTH:] + piece):
                return True
        return False


def _arc_end(following: bytes, more: int | None, *, is_end: bool) -> RecordEnd | None:
    """Return how a record of an ARC file ends, as `record_end` does; one empty line or none is usual there."""
    if following.startswith((b"\n", b"\r\n")) or (is_end and not following.strip(b"\r\n\0")):
        return RecordEnd(0 if following.startswith((b"\n", b"\r\n")) else len(following))
    found = NEXT_RECORD.search(b"\n" + following)
    if found is None:
        return None
    between = following[: found.start()]
    if more is not None and 0 < more == len(between.rstrip(b"\r\n")):
        said = f"its length was {more} bytes too small; the block was taken as long as its HTTP message"
        return RecordEnd(len(between), added=more, finding=said)
    said = f"{len(between)} bytes stand between the block and the next record, and were left out" if between else ""
    return RecordEnd(len(between), finding=said)
