"""Pictures of pages are converted here."""

from __future__ import annotations

import io
import zlib
from typing import Final

from PIL import Image

WEBRECORDER_THUMBNAIL_WIDTH: Final = 640
SMALL_THUMBNAIL_WIDTH: Final = 300
"""Width of the thumbnails of brozzler and of UKWA's renderer."""
_MOST_PIXELS: Final = 200_000_000
"""Chromium makes no larger picture of a window."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_LEVEL: Final = 3
"""Higher levels of zlib take twice the time for 2 % fewer bytes of pages."""
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


def packed(png: bytes) -> bytes:
    """Return the same picture in fewer bytes, where this is possible at little cost.

    A browser that encodes quickly compresses little. Only the compression changes (PNG specification, section 10), and
    the pixels do not. Bytes that are no PNG picture come back as they are.
    """
    parts = _chunks(png)
    data = b"".join(content for kind, content in parts if kind == b"IDAT")
    try:
        again = zlib.compress(zlib.decompress(data), _LEVEL)
    except zlib.error:
        return png
    if len(again) >= len(data):
        return png
    at = next(index for index, (kind, _) in enumerate(parts) if kind == b"IDAT")
    others = [(kind, content) for kind, content in parts if kind != b"IDAT"]
    return _SIGNATURE + b"".join(_chunk(*part) for part in [*others[:at], (b"IDAT", again), *others[at:]])


def _chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    """Return type and content of each chunk; an empty list for bytes that are no whole PNG picture."""
    found: list[tuple[bytes, bytes]] = []
    at = len(_SIGNATURE) if png.startswith(_SIGNATURE) else len(png)
    while at + 12 <= len(png):
        size = int.from_bytes(png[at : at + 4])
        found.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + size]))
        at += 12 + size
    return found if found and at == len(png) and found[-1][0] == b"IEND" else []


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4) + kind + content + zlib.crc32(content, zlib.crc32(kind)).to_bytes(4)


def _jpeg(picture: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality)
    return out.getvalue()
