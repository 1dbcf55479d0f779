"""Byte ranges, asked for and held."""

from __future__ import annotations

import pytest

from proxy.protocol.byte_range import ByteRange, ContentRange, parse_content_range, parse_range


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"bytes=0-4", ByteRange(0, 4)),
        (b"bytes=5-", ByteRange(5, None)),
        (b"bytes=-5", ByteRange(None, 5)),
        (b" Bytes = 0 - 4 ", ByteRange(0, 4)),
        (None, None),
        (b"", None),
        (b"bytes=-", None),
        (b"bytes=0-1,3-4", None),
        (b"items=0-4", None),
        (b"bytes=a-b", None),
        (b"bytes=" + b"9" * 5000 + b"-", None),
    ],
)
def test_a_single_range_is_understood_and_nothing_else(value: bytes | None, found: ByteRange | None) -> None:
    assert parse_range(value) == found


@pytest.mark.parametrize(
    ("asked", "total", "found"),
    [
        (ByteRange(0, 4), 10, (0, 5)),
        (ByteRange(0, 99), 10, (0, 10)),
        (ByteRange(9, None), 10, (9, 10)),
        (ByteRange(10, None), 10, None),
        (ByteRange(None, 3), 10, (7, 10)),
        (ByteRange(None, 99), 10, (0, 10)),
        (ByteRange(None, 0), 10, None),
        (ByteRange(4, 2), 10, None),
        (ByteRange(0, 0), 0, None),
    ],
)
def test_a_range_lies_within_or_nowhere(asked: ByteRange, total: int, found: tuple[int, int] | None) -> None:
    assert asked.within(total) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"bytes 0-4/10", ContentRange(0, 4, 10)),
        (b" BYTES  5-9/10 ", ContentRange(5, 9, 10)),
        (b"bytes 0-4/*", None),
        (b"bytes */10", None),
        (b"bytes 0-" + b"4" * 5000 + b"/10", None),
        (b"", None),
        (None, None),
    ],
)
def test_a_content_range_with_all_its_numbers_is_understood(value: bytes | None, found: ContentRange | None) -> None:
    assert parse_content_range(value) == found
