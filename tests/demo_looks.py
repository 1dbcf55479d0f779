"""How pages looked when they were crawled, how they look now, and how much the two differ."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image, ImageChops
from warcio.archiveiterator import ArchiveIterator

VIEW: Final = "urn:view:"
CHANNEL_TOLERANCE: Final = 8
"""Of 255: a red, green or blue that is off by no more counts as the same; smoothing of edges may differ that much."""
SHARE_TOLERANCE: Final = 0.001
"""Share of a page's pixels that may be off by more."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Two screenshots compared: how many of how many pixels are off by more than the tolerance."""

    off: int
    pixels: int

    @property
    def share(self) -> float:
        """Of pixels that are off, 0 to 1."""
        return self.off / self.pixels

    @property
    def is_match(self) -> bool:
        """Whether people would call it the same page."""
        return self.share <= SHARE_TOLERANCE


def compare(before: bytes, after: bytes) -> Likeness:
    """Pixel by pixel; pictures of different sizes differ in all that the larger has more."""
    first, second = _pixels(before), _pixels(after)
    width, height = (min(pair) for pair in zip(first.size, second.size, strict=True))
    total = max(first.width, second.width) * max(first.height, second.height)
    common = (0, 0, width, height)
    red, green, blue = ImageChops.difference(first.crop(common), second.crop(common)).split()
    distances = ImageChops.lighter(ImageChops.lighter(red, green), blue).histogram()
    return Likeness(sum(distances[CHANNEL_TOLERANCE + 1 :]) + total - height * width, total)


def read_views(archive: Path) -> dict[str, bytes]:
    """URL to screenshot, for every `urn:view:` record in the WARC files of a folder; the last one of a URL counts."""
    return dict(pair for file in sorted(archive.glob("*.warc.gz")) for pair in _views_of(file))


def _views_of(file: Path) -> Iterator[tuple[str, bytes]]:
    with file.open("rb") as stream:
        for record in ArchiveIterator(stream):
            target = record.rec_headers.get_header("WARC-Target-URI") or ""
            if record.rec_type == "resource" and target.startswith(VIEW):
                yield target.removeprefix(VIEW), record.content_stream().read()


def _pixels(picture: bytes) -> Image.Image:
    with Image.open(io.BytesIO(picture)) as image:
        return image.convert("RGB")
