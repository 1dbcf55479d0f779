"""Rows of two pictures are aligned, in bounded time for any input."""

from __future__ import annotations

import random

import pytest

from browsers.comparison.rows import Alignment, RowRange, RowSignatures, aligned_rows

MOST = 30_000


def aligned(ours: list[int], theirs: list[int], is_window: bool = False) -> Alignment:
    return aligned_rows(RowSignatures(ours, ours), RowSignatures(theirs, theirs), is_window=is_window)


def text(rows: int) -> list[int]:
    """Rows of a text: each line has ten rows of its own, and ten white rows follow."""
    return [0 if row // 10 % 2 else row + 1 for row in range(rows)]


def test_rows_that_one_picture_has_more_move_nothing_else() -> None:
    ours = text(300)
    theirs = [*ours[:100], *range(1000, 1060), *ours[100:220], *ours[250:]]

    found = aligned(ours, theirs)

    assert found.inserted == (RowRange(100, 160, 100),)
    assert found.missing == (RowRange(220, 250, 280),)
    assert found.ours.tolist() == [*range(220), *range(250, 300)]
    assert [theirs[their] for their in found.theirs] == [ours[our] for our in found.ours]


def test_changed_rows_stand_opposite_each_other() -> None:
    ours = text(300)
    theirs = [*ours[:100], *range(1000, 1040), *ours[140:]]

    found = aligned(ours, theirs)

    assert (found.missing, found.inserted) == ((), ())
    assert found.ours.tolist() == found.theirs.tolist() == list(range(300))


def test_rows_that_are_pushed_out_of_a_window_are_not_missing() -> None:
    ours = text(300)
    theirs = [*range(1000, 1060), *ours[:240]]

    assert aligned(ours, theirs, is_window=True).missing == ()
    assert aligned(ours, theirs, is_window=True).inserted == (RowRange(0, 60, 0),)
    assert aligned(ours, theirs).missing == (RowRange(240, 300, 300),)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([0] * MOST, [0] * (MOST - 1)),
        (list(range(MOST)), list(range(MOST, 2 * MOST))),
        (list(range(MOST)), list(range(MOST))[::-1]),
        ([row % 2 for row in range(MOST)], [row % 3 for row in range(MOST)]),
        (random.Random(1).choices(range(200), k=MOST), random.Random(2).choices(range(200), k=MOST - 100)),
        ([1], [0] * MOST),
        ([1] * 5, [2] * 3),
    ],
    ids=["blank", "unlike", "reversed", "periods", "random", "one row", "few rows"],
)
def test_each_row_is_aligned_or_named_whatever_the_pictures_are(ours: list[int], theirs: list[int]) -> None:
    found = aligned(ours, theirs)

    for rows, ranges, size in ((found.ours, found.missing, len(ours)), (found.theirs, found.inserted, len(theirs))):
        named = [row for each in ranges for row in range(each.start, each.stop)]
        assert sorted([*rows.tolist(), *named]) == list(range(size))
        assert rows.tolist() == sorted(rows.tolist())
    assert len(found.ours) == len(found.theirs)
