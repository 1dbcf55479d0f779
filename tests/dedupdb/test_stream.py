"""What a stream entry says is the capture itself, and nothing else passes for one."""

from __future__ import annotations

import pytest
from captured import capture

from archive.capture import Original
from dedupdb.stream import FIELD, from_entry, to_entry


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"kind": "revisit", "refers_to": Original("id", "http://example.org/ä", 5), "sha256": None},
        {"status": None, "digest": None, "truncated": "length", "method": "POST", "job": "daily", "page_id": "p"},
    ],
)
def test_a_capture_survives_the_stream(changed: dict[str, object]) -> None:
    announced = capture(**changed)
    assert from_entry({FIELD: to_entry(announced)}) == announced


@pytest.mark.parametrize("entry", [{}, {b"c": b"x"}, {b"c": b"{}"}, {b"c": b"[]"}, {b"c": b'{"collection":"a"}'}])
def test_a_stream_entry_that_is_no_capture_is_refused_in_one_line(entry: dict[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match=r"stream gf:captures: .* is no capture"):
        from_entry(entry)
