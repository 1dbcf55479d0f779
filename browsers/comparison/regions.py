"""Changed blocks that lie side by side become regions. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

type _Cells = tuple[int, int, int, int]
"""Left, top, right, bottom. The right and the bottom are the first cells outside."""


def regions_of(changed: NDArray[np.bool_]) -> list[_Cells]:
    """Return the rectangles of cells around each group of changed cells. Two groups are two cells or more apart."""
    height, width = changed.shape
    padded = np.zeros((height + 2, width + 2), bool)
    for down in range(3):
        for right in range(3):
            padded[down : down + height, right : right + width] |= changed
    parents, boxes = list[int](), list[list[int]]()

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = index = parents[parents[index]]
        return index

    above = list[tuple[int, int, int]]()
    edges = np.diff(padded, axis=1, prepend=False, append=False)
    for y in range(height + 2):
        ends = np.flatnonzero(edges[y]).tolist() if padded[y].any() else []
        here = list[tuple[int, int, int]]()
        first = 0
        for left, right in zip(ends[::2], ends[1::2], strict=True):
            index = len(parents)
            parents.append(index)
            boxes.append([left, y, right, y + 1])
            while first < len(above) and above[first][1] < left:
                first += 1
            for other in above[first:]:
                if other[0] > right:
                    break
                parents[root(other[2])] = root(index)
            here.append((left, right, index))
        above = here
    whole = dict[int, list[int]]()
    for index, box in enumerate(boxes):
        known = whole.setdefault(root(index), box)
        known[:] = *map(min, known[:2], box[:2]), *map(max, known[2:], box[2:])
    # The group was grown by one cell on each side, and the grid has one cell more on the left and above.
    return [(left, top, right - 2, bottom - 2) for left, top, right, bottom in whole.values()]
