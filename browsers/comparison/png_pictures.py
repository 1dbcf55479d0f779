"""PNG pictures of sites are opened within bounds, and masks are read and written. Pure."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MAX_ROWS: Final = 30_000
"""The rest of a higher picture is not looked at."""
MAX_PIXELS: Final = 40_000_000
"""The last rows of a larger picture are not looked at."""
_MOST_PIXELS: Final = 200_000_000
"""Chromium makes no larger picture of a window."""
_MOST_WIDTH: Final = 20_000
_HEAD: Final = struct.Struct(">8sI4sIIBBBBB")
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


class PictureUnreadable(ValueError):
    """The bytes are no PNG picture, or a picture with too many pixels. The message says which."""


def opened(png: bytes) -> tuple[Image.Image, bool]:
    """Return the decoded picture, and whether it is cut to its first rows. Raises PictureUnreadable.

    The head of a large picture is rewritten with fewer rows, so that the decoder makes no others (PNG specification,
    section 11.2.2).
    """
    if len(png) < _HEAD.size + 4 or png[:8] != _SIGNATURE or png[12:16] != b"IHDR":
        raise PictureUnreadable("the bytes are no PNG picture: give a picture that a browser made")
    *_, width, height, depth, colour, compression, filters, interlace = _HEAD.unpack_from(png)
    if not 0 < width <= _MOST_WIDTH or not 0 < width * height <= _MOST_PIXELS:
        raise PictureUnreadable(
            f"the picture has {width} x {height} pixels: give one of at most {_MOST_WIDTH} pixels in width "
            f"and {_MOST_PIXELS} pixels"
        )
    rows = min(height, MAX_ROWS, MAX_PIXELS // width)
    if rows < height:
        if interlace:
            raise PictureUnreadable(f"the picture has {height} interlaced rows: give at most {rows}, or no interlacing")
        head = b"IHDR" + struct.pack(">IIBBBBB", width, rows, depth, colour, compression, filters, interlace)
        png = b"".join([png[:12], head, struct.pack(">I", zlib.crc32(head)), memoryview(png)[_HEAD.size + 4 :]])
    try:
        picture = Image.open(io.BytesIO(png), formats=("PNG",))
        picture.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as exc:
        raise PictureUnreadable(f"the PNG picture is damaged ({exc}): take the picture again") from exc
    return picture, rows < height


def rgb(picture: Image.Image, top: int, bottom: int, width: int) -> Image.Image:
    """Return these rows of the picture with three channels."""
    return picture.crop((0, top, width, bottom)).convert("RGB")


def strips(picture: Image.Image, width: int, rows: int = 256) -> Iterator[Image.Image]:
    """Yield the rows of the picture from the top, with three channels."""
    for top in range(0, picture.height, rows):
        yield rgb(picture, top, min(top + rows, picture.height), width)


class Mask:
    """A mask has one bit for each pixel of a picture. Set bits are pixels that do not count."""

    def __init__(self, size: tuple[int, int], pictures: Sequence[bytes]) -> None:
        """Join these masks for a picture of this size. Raises PictureUnreadable."""
        self._width, height = size
        self._bits: NDArray[np.uint8] | None = None
        if not pictures:
            return
        covered = np.zeros((height, self._width), bool)
        for png in pictures:
            picture, _ = opened(png)
            rows, columns = min(height, picture.height), min(self._width, picture.width)
            covered[:rows, :columns] |= np.asarray(picture.crop((0, 0, columns, rows)).convert("L")) > 127
        self._bits = np.packbits(covered, axis=1)

    def rows(self, indexes: NDArray[np.int32], width: int) -> NDArray[np.bool_] | None:
        """Return the bits of these rows, or None when none is set."""
        if self._bits is None:
            return None
        bits = self._bits[indexes]
        return np.unpackbits(bits, axis=1, count=self._width)[:, :width].astype(bool) if bits.any() else None


def mask_png(covered: NDArray[np.bool_]) -> bytes:
    """Return the mask as PNG of one bit a pixel."""
    out = io.BytesIO()
    Image.fromarray(covered).save(out, "PNG", optimize=True)
    return out.getvalue()
