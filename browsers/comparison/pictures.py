"""The picture of a page's capture is compared with the picture of its replay.

| step | why |
|---|---|
| rows are aligned (`browsers.comparison.rows`) | a banner that one picture has more costs its own rows only |
| both are cropped to their common width | one of them may have a scroll bar |
| pixels are compared after a 3 x 3 blur, with the range of the pixels around | sub-pixel rendering of text |
| the largest difference of the three channels counts | two colours can be equally bright |
| blocks of 8 x 8 pixels with changed pixels get their SSIM (Wang et al., 2004), other blocks 1 | structure |

Pictures are worked on in strips. Two pictures and one byte for each pixel of the difference are in memory. Pure.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from browsers.comparison.boxes import Box
from browsers.comparison.png_pictures import Mask, PictureUnreadable, mask_png, opened, rgb, strips
from browsers.comparison.regions import regions_of
from browsers.comparison.rows import Alignment, RowRange, aligned_rows, row_signatures

__all__ = ["MAX_REGIONS", "PictureComparison", "PictureUnreadable", "compare_pictures", "volatility_mask"]

MAX_REGIONS: Final = 50
"""Largest number of regions that a comparison names."""
_TOLERANCE: Final = 12
"""Difference of a channel, of 255, that no reader sees, after the blur."""
_EDGE_SHARE: Final = 2
"""A quarter of the contrast around a pixel is allowed besides. Filters of LCD text take some of the contrast."""
_LEAST_CHANGED: Final = 4
"""A block with fewer changed pixels has noise alone."""
_ALMOST_EQUAL: Final = 2
"""Encoders of gradients and of colour profiles differ by so much in a channel."""
_SCROLL_BAR: Final = 20
_BLOCK: Final = 8
_STRIP: Final = 64
"""Number of rows that are compared at once. They fit into the cache of a processor."""
_HALO: Final = 2
"""The blur and the range of the pixels around look at so many rows above and below."""
_DILATION: Final = 9
"""Pixels by which a mask grows. An animation is somewhat elsewhere in the next picture."""
_C1: Final = (0.01 * 255) ** 2
_C2: Final = (0.03 * 255) ** 2
_GREYS: Final = 100
_CHANGED, _MISSING = 2 * _GREYS, 2 * _GREYS + 1
_PALETTE: Final = bytes(
    [
        *(90 + grey for grey in range(_GREYS) for _ in range(3)),
        *(value for grey in range(_GREYS) for value in (20 + grey, 120 + grey, 60 + grey)),
        *(255, 0, 80),
        *(255, 150, 0),
    ]
)
"""Colours of the difference picture: dim greys, greens for inserted rows, red for changes, orange for missing rows."""
_MARK_ROWS: Final = 3
"""Height of the line where rows are missing."""

type _Pixels = NDArray[np.uint8]
type _Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PictureComparison:
    """The two pictures differ so. Shares are from 0 to 1, and what the masks cover does not count."""

    similarity: float
    """The mean SSIM of all blocks. Blocks without a change that a reader sees have 1, missing and inserted ones 0."""
    changed_share: float
    """The share of pixels that a reader sees changed, inserted or missing. Rows of one colour are only space."""
    inserted_rows: int
    """Number of rows that only the replay has."""
    missing_rows: int
    """Number of rows that only the capture has."""
    regions: tuple[Box, ...]
    """Changed and inserted regions in the picture of the replay, largest first, at most 50."""
    capture_is_blank: bool
    replay_is_blank: bool
    is_cut: bool
    """A picture is so large that its last rows were not compared."""
    difference: bytes
    """PNG: the replay in dim grey with changes in red, inserted rows in green, and orange lines where rows are missing.

    The value is empty when nothing differs.
    """


def compare_pictures(capture: bytes, replay: bytes, masks: Sequence[bytes] = ()) -> PictureComparison:
    """Return how the two PNG pictures differ.

    Masks are PNG pictures of one bit a pixel, in which white pixels do not count. Masks have the coordinates of the
    capture. A mask of another size is cropped or padded. Raises PictureUnreadable.
    """
    ours, ours_cut = opened(capture)
    mask = Mask(ours.size, masks)
    theirs, theirs_cut = opened(replay)
    width = min(ours.width, theirs.width)
    alignment = aligned_rows(
        row_signatures(strips(ours, width)),
        row_signatures(strips(theirs, width)),
        is_window=ours.height == theirs.height,
    )
    blocks = _AlignedBlocks(ours, theirs, mask, alignment, width)
    only_ours = sum(_visible_pixels(ours, found, width, mask) for found in alignment.missing)
    shown = [(found, _visible_pixels(theirs, found, width, None)) for found in alignment.inserted]
    apart = only_ours + sum(pixels for _, pixels in shown)
    compared = blocks.compared + apart
    regions = [*blocks.regions(), *(Box(0, rows.start, width, rows.stop - rows.start) for rows, size in shown if size)]
    differs = bool(regions or alignment.missing or alignment.inserted)
    return PictureComparison(
        similarity=blocks.similar / compared if compared else 1.0,
        changed_share=(blocks.changed_pixels + apart) / compared if compared else 0.0,
        inserted_rows=sum(rows.stop - rows.start for rows in alignment.inserted),
        missing_rows=sum(rows.stop - rows.start for rows in alignment.missing),
        regions=tuple(sorted(regions, key=lambda box: -box.area)[:MAX_REGIONS]),
        capture_is_blank=_is_blank(ours),
        replay_is_blank=_is_blank(theirs),
        is_cut=ours_cut or theirs_cut,
        difference=_difference(theirs, blocks, alignment, width) if differs else b"",
    )


def volatility_mask(first: bytes, second: bytes) -> bytes | None:
    """Return a PNG mask with the size of the first picture, in which the pixels that differ are white, or None.

    Both pictures show the same window at two moments. The mask is some pixels larger than the differences. Nothing
    outside both pictures is white. Raises PictureUnreadable.
    """
    before, after = opened(first)[0], opened(second)[0]
    width, height = min(before.width, after.width), min(before.height, after.height)
    covered = np.zeros((before.height, before.width), bool)
    for top in range(0, height, _STRIP):
        bottom = min(top + _STRIP, height)
        ours, theirs = (np.asarray(rgb(picture, top, bottom, width)) for picture in (before, after))
        covered[top:bottom, :width] = _largest_difference(ours, theirs) > _ALMOST_EQUAL
    if not covered.any():
        return None
    for axis in (0, 1):
        covered = _dilated(covered, axis)
    return mask_png(covered)


def _dilated(covered: _Bits, axis: int) -> _Bits:
    at = covered if axis == 0 else covered.T
    grown, reach = at.copy(), 0
    while reach < _DILATION:
        # The mask is as wide again with each round, so that few rounds are needed.
        step = min(reach + 1, _DILATION - reach)
        source = grown.copy()
        grown[step:] |= source[:-step]
        grown[:-step] |= source[step:]
        reach += step
    return grown if axis == 0 else grown.T


def _largest_difference(ours: _Pixels, theirs: _Pixels) -> _Pixels:
    """Return the largest difference of the three channels of each pixel."""
    apart = np.maximum(ours, theirs) - np.minimum(ours, theirs)
    largest: _Pixels = np.maximum(np.maximum(apart[..., 0], apart[..., 1]), apart[..., 2])
    return largest


class _AlignedBlocks:
    """The rows that stand opposite each other are compared in blocks of 8 x 8 pixels."""

    def __init__(self, ours: Image.Image, theirs: Image.Image, mask: Mask, alignment: Alignment, width: int) -> None:
        self._alignment, self._width = alignment, width
        rows, columns = -(-len(alignment.ours) // _BLOCK), -(-width // _BLOCK)
        self._changed = np.zeros((rows, columns), bool)
        self._bits = dict[int, NDArray[np.uint8]]()
        """The changed pixels of each strip with changes, packed."""
        self.changed_pixels, self.compared, self.similar = 0, 0, 0.0
        for start in range(0, len(alignment.ours), _STRIP):
            self._add(start, ours, theirs, mask)

    def _add(self, start: int, ours: Image.Image, theirs: Image.Image, mask: Mask) -> None:
        """Compare the strip of rows that begins here."""
        size = len(self._alignment.ours)
        stop = min(start + _STRIP, size)
        top, bottom = max(0, start - _HALO), min(size, stop + _HALO)
        here = _rows(ours, self._alignment.ours[top:bottom], self._width)
        there = _rows(theirs, self._alignment.theirs[top:bottom], self._width)
        masked = mask.rows(self._alignment.ours[top:bottom], self._width)
        inner = slice(start - top, stop - top)
        counted = (stop - start) * self._width
        if masked is not None:
            np.copyto(here, there, where=masked[..., None])
            counted -= int(masked[inner].sum())
        self.compared += counted
        self.similar += counted
        if not (_largest_difference(here, there) > _TOLERANCE).any():
            return
        changed = _changed(here, there)[inner]
        if masked is not None:
            changed &= ~masked[inner]
        cells = _block_sums(changed) >= _LEAST_CHANGED
        if not cells.any():
            return
        changed &= cells.repeat(_BLOCK, axis=0).repeat(_BLOCK, axis=1)[: stop - start, : self._width]
        self._changed[start // _BLOCK : start // _BLOCK + len(cells)] = cells
        self._bits[start] = np.packbits(changed, axis=1)
        self.changed_pixels += int(changed.sum())
        weights = _block_sums(np.ones_like(changed) if masked is None else ~masked[inner])
        self.similar -= float((weights * cells * (1 - _ssim(here[inner], there[inner]))).sum())

    def regions(self) -> list[Box]:
        """Return the changed regions in the picture of the replay."""
        found, rows = list[Box](), self._alignment.theirs
        for left, top, right, bottom in regions_of(self._changed):
            first, last = rows[top * _BLOCK], rows[min(bottom * _BLOCK, len(rows)) - 1]
            x, end = left * _BLOCK, min(right * _BLOCK, self._width)
            found.append(Box(x, int(first), end - x, int(last - first) + 1))
        return found

    def changed_between(self, top: int, bottom: int) -> tuple[NDArray[np.int32], _Bits] | None:
        """Return the rows of the replay from `top` to `bottom` that have changed pixels, and these pixels."""
        first, last = np.searchsorted(self._alignment.theirs, (top, bottom)).tolist()
        rows, bits = list[NDArray[np.int32]](), list[_Bits]()
        for start in range(first - first % _STRIP, last, _STRIP):
            if start in self._bits:
                lower, upper = max(first, start), min(last, start + _STRIP)
                rows.append(self._alignment.theirs[lower:upper])
                packed = self._bits[start][lower - start : upper - start]
                bits.append(np.unpackbits(packed, axis=1, count=self._width).astype(bool))
        return (np.concatenate(rows), np.concatenate(bits)) if rows else None


def _rows(picture: Image.Image, indexes: NDArray[np.int32], width: int) -> _Pixels:
    """Return these rows of the picture. They are mostly one below the other."""
    cuts = [0, *(np.flatnonzero(np.diff(indexes) != 1) + 1).tolist(), len(indexes)]
    parts = [
        np.asarray(rgb(picture, int(indexes[first]), int(indexes[last - 1]) + 1, width))
        for first, last in pairwise(cuts)
    ]
    return np.concatenate(parts)


def _changed(ours: _Pixels, theirs: _Pixels) -> _Bits:
    """Return the pixels that a reader sees changed.

    A pixel is unchanged when it lies, after a 3 x 3 blur, in the range of the nine pixels of the other picture. Text
    that begins some fraction of a pixel further left, or has coloured edges, looks the same after such a blur.
    """
    our_sum, their_sum = _sum_of_nine(ours), _sum_of_nine(theirs)
    found = np.zeros(ours.shape, bool)
    for one, other in ((our_sum, their_sum), (their_sum, our_sum)):
        low, high = _of_nine(np.minimum, other), _of_nine(np.maximum, other)
        room = 9 * _TOLERANCE + ((high - low) >> _EDGE_SHARE)
        found |= (one > high + room) | (one < low - room)
    return found[..., 0] | found[..., 1] | found[..., 2]


def _sum_of_nine(pixels: _Pixels) -> NDArray[np.int16]:
    return _of_nine(np.add, pixels.astype(np.int16))


def _of_nine(join: np.ufunc, values: NDArray[np.int16]) -> NDArray[np.int16]:
    """Join each pixel with the eight pixels around. Pixels at an edge count twice."""
    wide = np.concatenate([values[:, :1], values, values[:, -1:]], axis=1)
    rows: NDArray[np.int16] = join(join(wide[:, :-2], wide[:, 1:-1]), wide[:, 2:])
    high = np.concatenate([rows[:1], rows, rows[-1:]])
    nine: NDArray[np.int16] = join(join(high[:-2], high[1:-1]), high[2:])
    return nine


def _block_sums(values: NDArray[Any]) -> NDArray[np.int32]:
    """Return the sums of the blocks of a strip, by row and column. The last blocks may be smaller."""
    height, width = values.shape[:2]
    if height % _BLOCK or width % _BLOCK:
        channels = [(0, 0)] * (values.ndim - 2)
        values = np.pad(values, [(0, -height % _BLOCK), (0, -width % _BLOCK), *channels])
    # Eight additions are ten times as fast as a sum over a short axis.
    high = values.reshape(-1, _BLOCK, *values.shape[1:])
    rows = sum((high[:, row] for row in range(1, _BLOCK)), start=high[:, 0].astype(np.int32))
    wide = rows.reshape(len(rows), -1, _BLOCK, *values.shape[2:])
    return sum((wide[:, :, column] for column in range(1, _BLOCK)), start=wide[:, :, 0])


def _ssim(ours: _Pixels, theirs: _Pixels) -> NDArray[np.float64]:
    """Return the SSIM of each pair of blocks, of the channel with the lowest. Negative values become 0."""
    one, other = ours.astype(np.int32), theirs.astype(np.int32)
    size = _block_sums(np.ones(ours.shape[:2], np.int32))[..., None]
    our_mean, their_mean = _block_sums(one) / size, _block_sums(other) / size
    our_variance = _block_sums(one * one) / size - our_mean**2
    their_variance = _block_sums(other * other) / size - their_mean**2
    covariance = _block_sums(one * other) / size - our_mean * their_mean
    value = (2 * our_mean * their_mean + _C1) * (2 * covariance + _C2)
    value /= (our_mean**2 + their_mean**2 + _C1) * (our_variance + their_variance + _C2)
    lowest: NDArray[np.float64] = np.clip(value.min(axis=2), 0, 1)
    return lowest


def _visible_pixels(picture: Image.Image, rows: RowRange, width: int, mask: Mask | None) -> int:
    """Return the number of pixels of these rows that count, or 0 when they are of one colour."""
    visible, colours = 0, _Colours()
    for top in range(rows.start, rows.stop, _STRIP):
        bottom = min(top + _STRIP, rows.stop)
        colours.add(rgb(picture, top, bottom, width))
        masked = mask.rows(np.arange(top, bottom, dtype=np.int32), width) if mask else None
        visible += (bottom - top) * width - (0 if masked is None else int(masked.sum()))
    return 0 if colours.is_one else visible


def _is_blank(picture: Image.Image) -> bool:
    """Return whether the picture has one colour, except at its right edge, where a scroll bar can be."""
    width = picture.width - _SCROLL_BAR if picture.width > 2 * _SCROLL_BAR else picture.width
    colours = _Colours()
    for strip in strips(picture, width):
        colours.add(strip)
        if not colours.is_one:
            return False
    return True


class _Colours:
    """The lowest and the highest value of each channel so far."""

    def __init__(self) -> None:
        self._low, self._high = np.full(3, 255), np.zeros(3, int)

    def add(self, strip: Image.Image) -> None:
        """Look at the pixels of a picture with three channels."""
        low, high = np.array(strip.getextrema()).T
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)

    @property
    def is_one(self) -> bool:
        """True if a reader sees one colour."""
        return int((self._high - self._low).max()) <= _ALMOST_EQUAL


def _difference(replay: Image.Image, blocks: _AlignedBlocks, alignment: Alignment, width: int) -> bytes:
    """Return the difference picture, which has the height of the replay."""
    picture = Image.new("P", (width, replay.height))
    picture.putpalette(_PALETTE)
    top = 0
    for strip in strips(replay, width):
        bottom = top + strip.height
        pixels = (np.asarray(strip.convert("L")) * np.float32((_GREYS - 1) / 255)).astype(np.uint8)
        for rows in alignment.inserted:
            pixels[max(0, rows.start - top) : max(0, rows.stop - top)] += _GREYS
        changes = blocks.changed_between(top, bottom)
        if changes is not None:
            rows_with_changes, bits = changes
            pixels[rows_with_changes - top] = np.where(bits, _CHANGED, pixels[rows_with_changes - top])
        for rows in alignment.missing:
            first = min(rows.place, replay.height - _MARK_ROWS) - top
            pixels[max(0, first) : max(0, first + _MARK_ROWS)] = _MISSING
        picture.paste(Image.fromarray(pixels), (0, top))
        top = bottom
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=3)
    return out.getvalue()
