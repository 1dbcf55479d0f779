"""The rows of two pictures are aligned, so that rows which one of them has more move nothing else.

Rows that both pictures have once each are anchors (patience difference). The rows between two anchors are aligned by
the longest common subsequence of a rough signature, which survives another rendering of the same text. The rows that
are left between two matches stand opposite each other, from the top. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rapidfuzz.distance import LCSseq

_ROUGH_COLUMNS: Final = 8
_ROUGH_STEPS: Final = 3
"""The rough signature drops so many bits of the mean brightness of each of its columns."""
_MOST_CELLS: Final = 400_000_000
"""A common subsequence needs one bit for each pair of rows. Longer gaps are halved first."""
_STEADY_ROWS: Final = 8
"""Fewer matching rows that move differently from their neighbours match by accident."""


@dataclass(frozen=True, slots=True)
class RowSignatures:
    """Equal rows have equal `exact` values. Rows that look alike have, mostly, equal `rough` values."""

    exact: list[int]
    rough: list[int]


class RowRange(NamedTuple):
    """These rows are in one of the pictures only. `place` is the row of the replay before which they stand."""

    start: int
    stop: int
    place: int


class Alignment(NamedTuple):
    """The rows `ours` of the capture stand opposite the rows `theirs` of the replay. Both only grow."""

    ours: NDArray[np.int32]
    theirs: NDArray[np.int32]
    missing: tuple[RowRange, ...]
    inserted: tuple[RowRange, ...]


class _Run(NamedTuple):
    ours: int
    theirs: int
    rows: int

    @property
    def offset(self) -> int:
        return self.theirs - self.ours


def row_signatures(strips: Iterable[Image.Image]) -> RowSignatures:
    """Return the signatures of all rows of these strips, which are RGB pictures one below the other."""
    exact, rough = list[int](), list[int]()
    for strip in strips:
        exact += [hash(row.tobytes()) for row in np.asarray(strip)]
        columns = min(_ROUGH_COLUMNS, strip.width)
        small = np.asarray(strip.convert("L").resize((columns, strip.height), Image.Resampling.BOX))
        rough += [hash(row.tobytes()) for row in small >> _ROUGH_STEPS]
    return RowSignatures(exact, rough)


def aligned_rows(ours: RowSignatures, theirs: RowSignatures, *, is_window: bool) -> Alignment:
    """Return which rows stand opposite each other, in bounded time.

    `is_window` says that both pictures show a window of the same height. Rows that other rows have pushed out of the
    window below are neither missing nor inserted.
    """
    size = (len(ours.exact), len(theirs.exact))
    anchors = _steady(_unique_runs(ours.exact, theirs.exact), size)
    runs, at = list[_Run](), (0, 0)
    for anchor in [*anchors, _Run(*size, 0)]:
        runs += [*_common_runs(ours.rough, theirs.rough, at, (anchor.ours, anchor.theirs)), anchor]
        at = (anchor.ours + anchor.rows, anchor.theirs + anchor.rows)
    return _with_gaps(_steady([run for run in runs if run.rows], size), ours.rough, theirs.rough, is_window)


def _unique_runs(ours: list[int], theirs: list[int]) -> list[_Run]:
    """Return the longest list of rows that are unique in both pictures and have the same order in both."""
    places = _unique(theirs)
    pairs = [(at, places[key]) for key, at in _unique(ours).items() if key in places]
    lowest, chain = list[int](), list[int]()
    """The lowest last row of the replay in a chain of each length, and the pair that has it."""
    before = [-1] * len(pairs)
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(lowest, place)
        before[index] = chain[length - 1] if length else -1
        lowest[length : length + 1] = [place]
        chain[length : length + 1] = [index]
    found, index = list[tuple[int, int]](), chain[-1] if chain else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return _joined(_Run(our, their, 1) for our, their in reversed(found))


def _unique(keys: list[int]) -> dict[int, int]:
    found, twice = dict[int, int](), set[int]()
    for at, key in enumerate(keys):
        if key in found:
            twice.add(key)
        found[key] = at
    return {key: at for key, at in found.items() if key not in twice}


def _joined(runs: Iterable[_Run]) -> list[_Run]:
    found = list[_Run]()
    for run in runs:
        if found and run.offset == found[-1].offset and run.ours == found[-1].ours + found[-1].rows:
            found[-1] = found[-1]._replace(rows=found[-1].rows + run.rows)
        else:
            found.append(run)
    return found


def _steady(runs: list[_Run], size: tuple[int, int]) -> list[_Run]:
    """Leave out the few rows that move differently from all rows around."""
    found = list[_Run]()
    edges = (0, size[1] - size[0])
    for offset, group in groupby(runs, key=lambda run: run.offset):
        members = list(group)
        if offset in edges or sum(run.rows for run in members) >= _STEADY_ROWS:
            found += members
    return found


def _common_runs(ours: list[int], theirs: list[int], start: tuple[int, int], stop: tuple[int, int]) -> Iterator[_Run]:
    """Yield the runs of rows that look alike in this gap."""
    rows, others = stop[0] - start[0], stop[1] - start[1]
    if not rows or not others:
        return
    if rows * others > _MOST_CELLS:
        middle = (start[0] + rows // 2, start[1] + others // 2)
        yield from _common_runs(ours, theirs, start, middle)
        yield from _common_runs(ours, theirs, middle, stop)
        return
    here, there = ours[start[0] : stop[0]], theirs[start[1] : stop[1]]
    straight = sum(our == their for our, their in zip(here, there, strict=False)) if rows == others else -1
    if straight >= rows * 4 // 5 and rows == others:
        yield _Run(*start, rows)
        return
    blocks = LCSseq.editops(here, there).as_matching_blocks()
    if rows == others and sum(block.size for block in blocks) < straight + max(_STEADY_ROWS, rows // 10):
        yield _Run(*start, rows)
        return
    for block in blocks:
        yield _Run(start[0] + block.a, start[1] + block.b, block.size)


def _with_gaps(runs: list[_Run], ours: list[int], theirs: list[int], is_window: bool) -> Alignment:
    """Return the alignment of these runs and of the rows between them."""
    pairs, missing, inserted = list[_Run](), list[RowRange](), list[RowRange]()
    our, their = 0, 0
    for run in [*runs, _Run(len(ours), len(theirs), 0)]:
        rows, others = run.ours - our, run.theirs - their
        both, is_last = min(rows, others), run.rows == 0
        down = 0
        if rows != others and not (is_last and is_window):
            down = _is_lower(ours[our : run.ours], theirs[their : run.theirs], both) * abs(rows - others)
        our_first, their_first = our + down * (rows > others), their + down * (others > rows)
        pairs += [_Run(our_first, their_first, both), run]
        if not (is_last and is_window):
            our_last, their_last = our_first + both, their_first + both
            missing += [RowRange(our, our_first, their), RowRange(our_last, run.ours, run.theirs)]
            inserted += [RowRange(their, their_first, their), RowRange(their_last, run.theirs, their_last)]
        our, their = run.ours + run.rows, run.theirs + run.rows
    return Alignment(
        np.concatenate([np.arange(pair.ours, pair.ours + pair.rows, dtype=np.int32) for pair in pairs]),
        np.concatenate([np.arange(pair.theirs, pair.theirs + pair.rows, dtype=np.int32) for pair in pairs]),
        tuple(found for found in missing if found.stop > found.start),
        tuple(found for found in inserted if found.stop > found.start),
    )


def _is_lower(ours: list[int], theirs: list[int], both: int) -> bool:
    """Return whether the lower rows of the gap look more alike than the upper rows."""
    if not both:
        return False
    upper = sum(our == their for our, their in zip(ours[:both], theirs[:both], strict=True))
    return sum(our == their for our, their in zip(ours[-both:], theirs[-both:], strict=True)) > upper
