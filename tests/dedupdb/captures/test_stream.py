"""What a stream entry says is the capture itself, and nothing else passes for one."""

from __future__ import annotations

import json
import sys

import pytest
from support.archive.capture_rows import capture

from archive.capture import Original
from dedupdb.captures.stream import FIELD, from_entry, to_entries


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
    assert [from_entry({FIELD: entry}) for entry in to_entries([announced])] == [[announced]]


def test_many_captures_share_an_entry() -> None:
    announced = [capture(offset=number) for number in range(100)]
    entries = [from_entry({FIELD: entry}) for entry in to_entries(announced)]
    assert [len(some) for some in entries] == [64, 36]
    assert [one for some in entries for one in some] == announced


def test_an_entry_leaves_no_memory_behind() -> None:
    announced = [[capture(offset=offset) for offset in range(count)] for count in range(1, 19)] * 400
    before = sys.getallocatedblocks()
    for some in announced:
        to_entries(some)
    # 2,000 tuples as long as a capture has fields may stay: Python 3.12 keeps them, and once they are there, no more.
    assert sys.getallocatedblocks() - before < 3_000 < len(announced)


def test_an_entry_from_before_the_last_fields_were_added_is_read() -> None:
    (entry,) = to_entries([capture()])
    ((*facts, _buckets),) = json.loads(entry)
    assert from_entry({FIELD: json.dumps([facts]).encode()}) == [capture()]


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {b"c": b"x"},
        {b"c": b"{}"},
        {b"c": b"[]"},
        {b"c": b"[5]"},
        {b"c": b'{"collection":"a"}'},
        {b"c": b'[["a", "key"]]'},
    ],
)
def test_a_stream_entry_that_is_no_capture_is_refused_in_one_line(entry: dict[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match=r"stream gf:captures: .* is not a capture"):
        from_entry(entry)
