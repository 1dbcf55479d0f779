"""A client asks for a range that no capture holds whole; captures of neighbouring ranges answer it together.

A player fetches a film in ranges, and the next visit cuts it elsewhere. The pieces have to be of one representation:
the same total length, and the same `ETag` where they have one.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from proxy.protocol.byte_range import ByteRange, ContentRange, parse_content_range
from proxy.protocol.http1 import ResponseHead, parse_response
from proxy.replay.answers import Memento

MOST_READ: Final = 200
"""Records that are opened for one answer."""
_RANGE_LINE: Final = re.compile(rb"^Content-Range:[^\r\n]*\r\n", re.IGNORECASE | re.MULTILINE)
_LENGTH_LINE: Final = re.compile(rb"^Content-Length:[^\r\n]*\r\n", re.IGNORECASE | re.MULTILINE)


def rest_of(answer: Memento, asked: tuple[ByteRange, ...]) -> ByteRange | None:
    """Return the range behind an answer that is shorter than what was asked for; None for all other answers."""
    held = _held(parse_response(answer.head))
    if held is None or len(asked) != 1 or not answer.length:
        return None
    span = asked[0].within(held.total)
    return ByteRange(held.last + 1, span[1] - 1) if span is not None and held.last + 1 < span[1] else None


def continues(answer: Memento, piece: Memento) -> bool:
    """Return whether a piece has the bytes behind an answer."""
    before, behind = parse_response(answer.head), parse_response(piece.head)
    ours, theirs = _held(before), _held(behind)
    if ours is None or theirs is None or before.get(b"etag") != behind.get(b"etag"):
        return False
    return theirs.first == ours.last + 1 and theirs.total == ours.total and piece.length > 0


def joined(answer: Memento, piece: Memento) -> Memento:
    """Return one answer with the bytes of both."""
    ours, theirs = _held(parse_response(answer.head)), _held(parse_response(piece.head))
    assert ours is not None
    assert theirs is not None
    length = answer.length + piece.length
    line = b"Content-Range: bytes %d-%d/%d\r\n" % (ours.first, theirs.last, ours.total)
    head = _LENGTH_LINE.sub(b"Content-Length: %d\r\n" % length, _RANGE_LINE.sub(line, answer.head, 1), 1)

    def close() -> None:
        answer.close()
        piece.close()

    return Memento(head, length, chain(answer.pieces, piece.pieces), close)


def _held(head: ResponseHead) -> ContentRange | None:
    return parse_content_range(head.get(b"content-range")) if head.status == 206 else None
