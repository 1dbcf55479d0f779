"""Pictures of pages are converted here."""

from __future__ import annotations

import io
from typing import Final

from PIL import Image

WEBRECORDER_THUMBNAIL_WIDTH: Final = 640
SMALL_THUMBNAIL_WIDTH: Final = 300
"""Width of the thumbnails of brozzler and of UKWA's renderer."""
_MOST_PIXELS: Final = 200_000_000
"""Chromium makes no larger picture of a window."""
_ALMOST_EQUAL: Final = 2
"""Encoders of gradients and of colour profiles differ by so much in a channel."""


def thumbnail(png: bytes, width: int) -> bytes:
    """Return JPEG of the picture, `width` pixels wide."""
    with Image.open(io.BytesIO(png)) as picture:
        height = max(1, round(picture.height * width / picture.width))
        small = picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    return _jpeg(small, 80)


def of_size(png: bytes, width: int, height: int) -> bytes:
    """Return the picture as PNG of this size. A picture of too many pixels is returned as it is."""
    with Image.open(io.BytesIO(png)) as picture:
        if picture.size == (width, height) or picture.width * picture.height > _MOST_PIXELS:
            return png
        small = picture.resize((width, height), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "PNG")
    return out.getvalue()


def as_jpeg(png: bytes) -> bytes:
    """Return the picture as JPEG of high quality."""
    with Image.open(io.BytesIO(png)) as picture:
        return _jpeg(picture.convert("RGB"), 95)


def is_of_one_colour(png: bytes) -> bool:
    """Return whether all pixels have the same colour, as far as a reader can see."""
    with Image.open(io.BytesIO(png)) as picture:
        if picture.width * picture.height > _MOST_PIXELS:
            return False
        bands = picture.convert("RGB").split()
    extrema = [band.getextrema() for band in bands]
    return all(float(high) - float(low) <= _ALMOST_EQUAL for low, high in extrema)  # type: ignore[arg-type]


def _jpeg(picture: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality)
    return out.getvalue()
