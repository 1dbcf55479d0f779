"""The payload of a chunked body is the same in whatever pieces its bytes come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.http.chunked import PayloadReader, dechunk

CHUNKED = [
    (b"5\r\nhello\r\n0\r\n\r\n", b"hello", None),
    (b"5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", b"hello", None),
    (b"5 \r\nhello\r\n1\r\n!\r\n00\r\n\r\n", b"hello!", None),
    (b"5\nhello\n0\n\n", b"hello", None),
    (b"A\r\n0123456789\r\n0\r\n\r\n", b"0123456789", None),
    (b"0\r\n\r\n", b"", None),
    (b"0\r\n\r\nleft over", b"", None),
    (b"5\r\nhel", b"hel", "before its last chunk"),
    (b"5\r\nhello\r\n", b"hello", "before its last chunk"),
    (b"5\r\nhello\r\n0\r\n", b"hello", "before its last chunk"),
    (b"5\r\nhelloXX\r\n0\r\n\r\n", b"hello", "instead of a line end"),
    (b"5\r\nhello\r\nzz\r\nmore", b"hello", "bad chunk size"),
    (b"5\r\nhello\r\n-1\r\nmore", b"hello", "bad chunk size"),
    (b"<html>\n<p>not chunked", b"<html>\n<p>not chunked", "bad chunk size"),
    (b"<html>no line end", b"<html>no line end", "before its last chunk"),
    (b"\r\n5\r\nhello", b"\r\n5\r\nhello", "bad chunk size"),
    (b"x" * 80_000, b"x" * 80_000, "longer than 65536 bytes"),
    (b"%040x\r\nhello\r\n0\r\n\r\n" % 5, b"hello", None),
    (b"", b"", "before its last chunk"),
]


@pytest.mark.parametrize("size", [1, 3, 1_000_000])
def test_chunks_are_taken_off_however_they_come(size: int) -> None:
    for coded, payload, error in CHUNKED:
        decoder = PayloadReader()
        pieces = [coded[start : start + size] for start in range(0, len(coded), size)]
        found = b"".join(part for piece in pieces for part in decoder.feed(piece)) + decoder.finish()
        assert found == payload
        assert (decoder.error is None) if error is None else (error in (decoder.error or "")), coded[:80]


@given(st.lists(st.binary(min_size=1, max_size=50)), st.integers(min_value=1, max_value=20))
def test_chunked_payload_comes_back(parts: list[bytes], size: int) -> None:
    coded = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    pieces = (coded[start : start + size] for start in range(0, len(coded), size))
    assert b"".join(dechunk(pieces)) == b"".join(parts)
