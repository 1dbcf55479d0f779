"""Which visitor takes a URL: the ghost for pages, the plain crawler for everything else. Pure.

| visitor of the profile | pages | files, embeds, sitemaps |
|---|---|---|
| plain | plain | plain |
| chromium | ghost | plain |
| mixed | the set fraction by ghost, the same URLs every time; the rest plain | plain |

A page is a seed, or what a link or redirect leads to, unless its name ends like a file's. A wrong guess costs little:
the ghost records a file as well, and the plain crawler a page.
"""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import urlsplit

from frontier.job import VisitorKind

_ENDINGS: Final = """
    7z aac atom avi avif bin bmp bz2 css csv deb dmg doc docx ear eot epub exe flac flv gif gz ico ics iso jar jpeg jpg
    js json jsonld m3u8 m4a m4v map mid mjs mkv mobi mov mp3 mp4 mpeg mpg odp ods odt oga ogg ogv otf pdf pls png ppt
    pptx ps rar rdf rpm rss rtf svg swf tar tgz tif tiff torrent ts ttf txt vcf wasm wav webm webmanifest webp wma wmv
    woff woff2 xls xlsx xml xz zip zst
"""
FILES: Final = frozenset(_ENDINGS.split())
"""Endings of names that are no pages."""


def wants_ghost(url: str, hop_path: str, visitor: VisitorKind, rendered_fraction: float) -> bool:
    """Whether a ghost visits this URL; `url` is in canonical form, `hop_path` how it was reached."""
    if visitor == "plain" or not is_page(url, hop_path):
        return False
    return visitor == "chromium" or _share(url) < rendered_fraction


def is_page(url: str, hop_path: str) -> bool:
    """Whether this is probably an HTML document that a reader goes to."""
    if hop_path.rstrip("R")[-1:] not in ("", "L"):
        return False
    name = urlsplit(url).path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() not in FILES or "." not in name


def _share(url: str) -> float:
    """A number from 0 to 1 that is always the same for this URL, and evenly spread over many."""
    return int.from_bytes(hashlib.sha256(url.encode()).digest()[:8]) / 2**64
