"""This module judges the end of a WARC record whose two empty lines are not where Content-Length says. Pure.

Some programs count a byte of the record's end as one of the block, write one line end where two belong, or leave
further bytes behind a record. Such a record can be read when the next record begins within a bounded number of bytes.
The block stays as Content-Length says, unless the HTTP message or the empty lines themselves tell another length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from archive.http.http_message import end_of_http_head, parse_head
from archive.warc.records.record import RECORD_END

LOOKED_AT: Final = 4_096
"""Bytes behind the block among which the next record is looked for."""
HEAD_LOOKED_AT: Final = 65_536
"""Bytes at the beginning of a block among which its HTTP head is looked for."""
_MOST_WITHOUT_REASON: Final = 4
"""The most bytes directly behind a block that are left out when nothing tells whose they are."""
_NEXT: Final = re.compile(rb"WARC/[0-9]\.[0-9]{1,3}\r?\n")
_LENGTH: Final = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class RecordEnd:
    """A record end says where a block really ends, and where the next record begins, seen from the declared end."""

    skipped: int
    """Bytes between the declared end of the block and the next record."""
    cut: int = 0
    """Bytes at the declared end of the block that are not part of the block."""
    added: int = 0
    """Bytes behind the declared end of the block that are part of the block."""
    finding: str = ""
    """The problem and the assumption; empty for a record that ends as the standard says."""


def record_end(tail: bytes, following: bytes, *, is_end: bool, is_member: bool, more: int | None) -> RecordEnd | None:
    """Return how a record ends; None when that can't be told, so that the file is damaged.

    `tail` is the end of the block as declared, and `following` the bytes behind it: LOOKED_AT of them, or fewer when
    `is_end`. With `is_member` that end is the end of a compressed member, and not of a file that may have been cut off.
    `more` is how many bytes the HTTP message has beyond the declared end, or lacks; None when unknown.
    """
    rest = following.removeprefix(RECORD_END)
    has_end = len(rest) < len(following)
    if has_end and (rest.startswith(b"WARC/") or (is_end and not rest)):
        return RecordEnd(len(RECORD_END))
    next_record = _NEXT.search(following)
    between = following[: next_record.start()] if next_record else following
    junk = between.rstrip(b"\r\n\0")
    if next_record is None and not is_end:
        return RecordEnd(len(RECORD_END)) if has_end else None  # the next record is the damaged one
    if more is not None and 0 < more <= len(between) and not between[more:].strip(b"\r\n"):
        said = f"Content-Length is {_bytes(more)} too small; the block was taken as long as its HTTP message"
        return RecordEnd(len(between), added=more, finding=said)
    if (cut := _counted_twice(tail, between, more)) and not has_end:
        said = f"Content-Length is {_bytes(cut)} too large; the block was taken without {tail[-cut:]!r} at its end"
        return RecordEnd(len(between), cut=cut, finding=said)
    if not junk:
        said = f"the record ends with {_shown(between)} instead of two empty lines; the block was taken as declared"
        return RecordEnd(len(between), finding=said)
    if next_record is None and not is_member:
        return RecordEnd(len(RECORD_END)) if has_end else None
    if not between.startswith((b"\r\n", b"\n")) and len(junk) > _MOST_WITHOUT_REASON:
        return None
    said = f"{_bytes(len(between))} stand between the block and the next record ({_shown(between)}) and were left out"
    return RecordEnd(len(between), finding=said)


def beyond_declared(beginning: bytes, declared: int) -> int | None:
    """Return how many bytes an HTTP message has beyond the declared length of its block, by its own Content-Length.

    The number is negative for a message that is shorter. Return None for a message that does not tell its length.
    """
    end = end_of_http_head(beginning)
    if not end:
        return None
    fields = parse_head(beginning[:end].lstrip(b"\r\n")).fields
    said = (fields.get("Content-Length") or "").strip()
    if fields.get("Transfer-Encoding") or not _LENGTH.fullmatch(said):
        return None
    return end + int(said) - declared


def _counted_twice(tail: bytes, between: bytes, more: int | None) -> int:
    """Return how many bytes of the record's end were counted as bytes of the block; 0 for none, and in doubt."""
    lacking = len(RECORD_END) - len(between)
    is_end = 0 < lacking <= len(tail) and tail[-lacking:] + between == RECORD_END
    if more is not None and -len(RECORD_END) <= more <= 0:
        return lacking if is_end and more == -lacking else 0
    return lacking if is_end and between.startswith(b"\n") else 0  # a block may well end with a whole line end


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def _shown(data: bytes) -> str:
    return repr(data) if len(data) <= 16 else f"{data[:16]!r}…"
