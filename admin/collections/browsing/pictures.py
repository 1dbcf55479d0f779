"""Archived pictures are drawn anew before a browser gets them, so that nothing but their pixels leaves the archive."""

from __future__ import annotations

import io
import struct
import threading
import warnings
from dataclasses import dataclass
from typing import Final

from PIL import Image

from admin.collections.browsing.records import RecordTrouble, read_block
from archive.capture import Capture
from archive.settings.load import Settings

MOST_BYTES: Final = 32_000_000
MOST_PIXELS: Final = 40_000_000
_WIDEST, _HIGHEST = 1600, 20_000
_FORMATS: Final = ("PNG", "JPEG", "WEBP")
_QUALITY: Final = 85
_ONE_AT_A_TIME: Final = threading.Semaphore(2)
"""A picture takes up to 160 MB of memory while it is drawn."""


@dataclass(frozen=True, slots=True)
class RedrawnPicture:
    """A picture that is safe to show: made here, of the pixels of an archived one."""

    data: bytes
    media_type: str


def safe_picture(settings: Settings, capture: Capture) -> RedrawnPicture:
    """Return the picture of a record, drawn anew. Raises RecordTrouble."""
    place = f"{capture.filename} at {capture.offset}"
    block, is_whole = read_block(settings, capture, MOST_BYTES)
    if not is_whole:
        raise RecordTrouble(f"the picture in {place} has more than {MOST_BYTES:,} bytes; download its WARC file")
    if not is_picture(block):
        raise RecordTrouble(f"the record in {place} is no PNG, JPEG or WebP picture, whatever its type says")
    with _ONE_AT_A_TIME:
        return _drawn(block, place)


def is_picture(block: bytes) -> bool:
    """Return whether the bytes begin as those of a PNG, JPEG or WebP picture."""
    is_webp = block[:4] == b"RIFF" and block[8:12] == b"WEBP"
    return block.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")) or is_webp


def _drawn(block: bytes, place: str) -> RedrawnPicture:
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(block), formats=_FORMATS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise RecordTrouble(
                    f"the picture in {place} has {picture.width} × {picture.height} pixels, which is too many to show;"
                    " download its WARC file"
                )
            picture.load()
            drawn = picture.convert("RGB")
        drawn.thumbnail((_WIDEST, _HIGHEST))
        out = io.BytesIO()
        drawn.save(out, "JPEG", quality=_QUALITY)
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, Image.DecompressionBombError) as error:
        raise RecordTrouble(f"the picture in {place} can't be drawn: it is damaged") from error
    return RedrawnPicture(out.getvalue(), "image/jpeg")
