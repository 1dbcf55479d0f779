"""A recorded 206 may hold several ranges in one body (`multipart/byteranges`, RFC 9110 section 14.6). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from proxy.protocol.byte_range import MOST_RANGES, ByteRange, ContentRange, parse_content_range

_TYPE: Final = re.compile(rb'multipart/byteranges\s*;.*?boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.I | re.S)
_FIELD: Final = re.compile(rb"^([^:\r\n]{1,200}):[ \t]*([^\r\n]*)\r?$", re.MULTILINE)
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")
_MOST_HEAD: Final = 4_096
"""Bytes of a part's header lines."""


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A body part is one range of a recorded answer with several."""

    range: ContentRange
    media_type: bytes
    """The type of the part; empty when the part does not tell one."""
    content: bytes


def boundary_of(content_type: bytes | None) -> bytes | None:
    """Return the boundary of a body with several ranges; None for all other types."""
    match = _TYPE.match(content_type.strip()) if content_type else None
    return (match[1] or match[2]) if match else None


def body_parts(body: bytes, boundary: bytes) -> tuple[BodyPart, ...]:
    """Return the ranges that stand in a body, at most MOST_RANGES; none when the body is not well formed."""
    delimiter = re.compile(rb"(?:\A|\r?\n)--%s[ \t]*\r?\n" % re.escape(boundary))
    found: list[BodyPart] = []
    position = 0
    while (line := delimiter.search(body, position)) is not None:
        head = _END_OF_HEAD.search(body, line.end(), line.end() + _MOST_HEAD)
        if head is None or len(found) == MOST_RANGES:
            return ()
        fields = {name.lower(): value for name, value in _FIELD.findall(body[line.end() : head.start()])}
        held = parse_content_range(fields.get(b"content-range"))
        if held is None or held.last < held.first:
            return ()
        position = head.end() + held.last + 1 - held.first
        if position > len(body):
            return ()
        found.append(BodyPart(held, fields.get(b"content-type", b""), body[head.end() : position]))
    return tuple(found)


def are_asked_for(parts: tuple[BodyPart, ...], ranges: tuple[ByteRange, ...]) -> bool:
    """Return whether a request asks for just the ranges that a body holds, in the same order."""
    spans = [(part.range.first, part.range.last + 1) for part in parts]
    return bool(parts) and [asked.within(parts[0].range.total) for asked in ranges] == spans


def part_with(parts: tuple[BodyPart, ...], asked: ByteRange) -> tuple[BodyPart, int, int] | None:
    """Return a part that holds a range, and the start and stop of the range in the part; None when no part does."""
    for part in parts:
        span = asked.within(part.range.total)
        if span is not None and part.range.first <= span[0] and span[1] <= part.range.last + 1:
            return part, span[0] - part.range.first, span[1] - part.range.first
    return None
