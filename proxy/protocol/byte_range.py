"""This module parses byte ranges of requests and partial responses (RFC 9110 section 14). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_RANGE: Final = re.compile(rb"\s*bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.IGNORECASE)
_CONTENT_RANGE: Final = re.compile(rb"\s*bytes\s+(\d{1,19})-(\d{1,19})/(\d{1,19})\s*", re.IGNORECASE)

MOST_RANGES: Final = 16
"""Ranges of one request that are answered one by one."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A byte range is one range of a Range header: `first` None means the last `last` bytes; `last` None means to the
    end.
    """

    first: int | None
    last: int | None

    @property
    def is_empty(self) -> bool:
        """Return whether the last byte comes before the first: such a range is ignored."""
        return self.first is not None and self.last is not None and self.last < self.first

    def within(self, total: int) -> tuple[int, int] | None:
        """Start and stop (exclusive) in a representation of that many bytes; None when it lies outside."""
        if self.first is None:
            start, stop = max(0, total - (self.last or 0)), total
        else:
            start, stop = self.first, total if self.last is None else min(self.last + 1, total)
        return (start, stop) if start < stop else None


@dataclass(frozen=True, slots=True)
class ContentRange:
    """A content range says what part of a representation a 206 holds."""

    first: int
    last: int
    total: int


def parse_range(value: bytes | None) -> ByteRange | None:
    """Return the single range asked for; None for no Range header, several ranges or another unit: then all is sent."""
    match = _RANGE.fullmatch(value) if value else None
    if not match or not (match[1] or match[2]):
        return None
    return ByteRange(int(match[1]) if match[1] else None, int(match[2]) if match[2] else None)


def parse_ranges(value: bytes | None) -> tuple[ByteRange, ...]:
    """Return the ranges asked for, up to MOST_RANGES; none for no Range header, more ranges or another unit."""
    if value is None:
        return ()
    unit, _, listed = value.partition(b"=")
    texts = listed.split(b",", MOST_RANGES)
    found = [parse_range(b"%s=%s" % (unit, text)) for text in texts]
    if len(found) > MOST_RANGES:
        return ()
    ranges = tuple(each for each in found if each is not None and not each.is_empty)
    return ranges if len(ranges) == len(found) else ()


def parse_content_range(value: bytes | None) -> ContentRange | None:
    """Return the range a 206 says it holds; None when it doesn't say."""
    match = _CONTENT_RANGE.fullmatch(value) if value else None
    return ContentRange(int(match[1]), int(match[2]), int(match[3])) if match else None
