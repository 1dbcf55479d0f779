"""archive/storage/range_file.py: reads as a file does, and asks for no more than it must."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from archive.storage.range_file import RangeFile

DATA = bytes(number * 7 % 251 for number in range(300_000))


class Far:
    """The bytes elsewhere, and what was asked of them."""

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

    def fetch(self, start: int, end: int) -> bytes:
        assert 0 <= start < end <= len(self.data)
        self.asked.append((start, end))
        return self.data[start:end]


@given(
    st.lists(st.tuples(st.integers(-10, 310_000), st.integers(0, 150_000)), max_size=12),
    st.none() | st.integers(0, 310_000),
)
def test_reads_what_a_file_would(steps: list[tuple[int, int]], wanted_to: int | None) -> None:
    far, near = RangeFile(Far().fetch, len(DATA), wanted_to), io.BytesIO(DATA)

    for place, size in steps:
        if place >= 0:
            assert far.seek(place) == near.seek(place)
        assert far.read(size) == near.read(size)
        assert far.tell() == near.tell()


def test_a_small_record_costs_one_short_range() -> None:
    far = Far()
    file = RangeFile(far.fetch, len(DATA), wanted_to=101_000)
    file.seek(100_000)

    assert file.read(1 << 16) == DATA[100_000:165_536], "what is asked for is given, wanted or not"
    assert far.asked == [(100_000, 165_536)]

    file.seek(100_000)
    far.asked.clear()
    again = RangeFile(far.fetch, len(DATA), wanted_to=101_000)
    again.seek(100_000)
    assert again.read(500) == DATA[100_000:100_500]
    assert again.read(500) == DATA[100_500:101_000]
    assert far.asked == [(100_000, 101_000)]


def test_reading_on_asks_for_ever_longer_ranges() -> None:
    far = Far(bytes(30_000_000))
    file = RangeFile(far.fetch, 30_000_000)

    while file.read(1 << 16):
        pass

    lengths = [end - start for start, end in far.asked]
    assert sum(lengths) == 30_000_000, "nothing is fetched twice"
    assert lengths[:4] == [1 << 16, 1 << 17, 1 << 18, 1 << 19]
    assert max(lengths) == 1 << 22
    assert len(lengths) < 16
