"""This module chooses the visitor of a URL: a ghost for pages, the plain crawler for all other URLs. Pure.

With `rendering: asynchronous`, the plain crawler fetches a page first, and a ghost renders the page later.

| visitor of the profile | pages | files, embeds, sitemaps |
|---|---|---|
| plain | plain | plain |
| browser | ghost | plain |
| mixed | a fixed share by ghost, always the same URLs; the others plain | plain |

A page is a seed, or the target of a link or redirect, unless its name ends like that of a file. A wrong choice costs
little, since the ghost records files and the plain crawler records pages.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from frontier.definition.sheets import PageRules, Sheets, VisitorKind

_ENDINGS: Final = """
    7z aac atom avi avif bin bmp bz2 css csv deb dmg doc docx ear eot epub exe flac flv gif gz ico ics iso jar jpeg jpg
    js json jsonld m3u8 m4a m4v map mid mjs mkv mobi mov mp3 mp4 mpeg mpg odp ods odt oga ogg ogv otf pdf pls png ppt
    pptx ps rar rdf rpm rss rtf svg swf tar tgz tif tiff torrent ts ttf txt vcf wasm wav webm webmanifest webp wma wmv
    woff woff2 xls xlsx xml xz zip zst
"""
FILES: Final = frozenset(_ENDINGS.split())
"""File name endings of URLs that are not pages."""


class VisitKind(StrEnum):
    """A URL is visited in one of these ways."""

    PLAIN = "plain"
    GHOST = "ghost"
    """A ghost opens the page at its turn in the crawl."""
    PLAIN_AND_RENDER = "plain-and-render"
    """The plain crawler fetches the page at its turn, and a ghost opens the page later."""


def visit_kind(url: str, hop_path: str, sheets: Sheets, *, is_known_page: bool = False) -> VisitKind:
    """Return how a canonical URL is visited. `hop_path` leads to the URL.

    With `is_known_page`, the URL leads to a page, whatever its name.
    """
    rules = sheets.rules_for(url)
    if not wants_ghost(url, hop_path, rules.visitor, rules.rendered_fraction, is_known_page=is_known_page):
        return VisitKind.PLAIN
    return VisitKind.GHOST if rules.rendering == "synchronous" else VisitKind.PLAIN_AND_RENDER


def needs_ghost(sheets: Sheets) -> bool:
    """Return whether a ghost may open pages of the job at their turn in the crawl."""
    return any(_renders(rules) and rules.rendering == "synchronous" for rules in sheets.all_rules())


def needs_renders(sheets: Sheets) -> bool:
    """Return whether pages of the job may be rendered by the queue of renders."""
    return any(_renders(rules) and rules.rendering == "asynchronous" for rules in sheets.all_rules())


def _renders(rules: PageRules) -> bool:
    return rules.visitor == "browser" or (rules.visitor == "mixed" and rules.rendered_fraction > 0)


def wants_ghost(
    url: str, hop_path: str, visitor: VisitorKind, rendered_fraction: float, *, is_known_page: bool = False
) -> bool:
    """Return whether a ghost visits this URL. `url` is canonical, and `hop_path` leads to it."""
    if visitor == "plain" or not (_is_navigated_to(hop_path) if is_known_page else is_page(url, hop_path)):
        return False
    return visitor == "browser" or _share(url) < rendered_fraction


def is_embed(hop_path: str) -> bool:
    """Return whether the URL is a part of a page."""
    return hop_path.rstrip("R")[-1:] == "E"


def is_page(url: str, hop_path: str) -> bool:
    """Return whether the URL is probably an HTML document that a reader opens."""
    if not _is_navigated_to(hop_path):
        return False
    name = urlsplit(url).path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() not in FILES or "." not in name


def _is_navigated_to(hop_path: str) -> bool:
    return hop_path.rstrip("R")[-1:] in ("", "L")


def _share(url: str) -> float:
    """Return a number from 0 to 1 that is always the same for this URL, and evenly distributed over many URLs."""
    return int.from_bytes(hashlib.sha256(url.encode()).digest()[:8]) / 2**64
