"""Long load: what is sampled while it goes on, and what counts as flat."""

from __future__ import annotations

import pytest

from bench.proxies.soak import Sample, SoakResult, soak


def of(*resident_mb: float, descriptors: tuple[int, ...] = ()) -> SoakResult:
    """A minute between samples."""
    counts = descriptors or (50,) * len(resident_mb)
    pairs = enumerate(zip(resident_mb, counts, strict=True))
    return SoakResult([Sample(60.0 * number, int(mb * 1e6), count) for number, (mb, count) in pairs], 1, 0)


@pytest.mark.parametrize(
    ("found", "is_flat"),
    [
        (of(80, 95, 100, 101, 101, 101), True),
        (of(100, 100, 99, 101, 100, 100, 101, 100), True),
        (of(80, 90, 100, 110, 120, 130), False),
        (of(100, 100, 100, 101, 102, 103), False),
        (of(100, 100, 100, 100, descriptors=(50, 60, 70, 80)), False),
        (of(100), True),
    ],
)
def test_flat_means_no_growth_in_the_second_half(found: SoakResult, is_flat: bool) -> None:
    assert found.is_flat is is_flat


def test_a_short_load_is_sampled_and_answered() -> None:
    heard: list[Sample] = []

    found = soak(1.5, 0.3, "connect", 2, heard.append)

    assert list(found.samples) == heard
    assert len(heard) >= 2
    assert found.acknowledged > 0
    assert found.errors == 0
    assert all(sample.resident_bytes > 10_000_000 and sample.descriptors > 10 for sample in heard)
