"""The picture of a page becomes an HTML document whose areas are the links of the page (UKWA's image map)."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import islice
from math import isfinite
from typing import Final

MAX_AREAS: Final = 2000
"""Largest number of links in an image map."""
MAX_LINK_TEXT: Final = 1_000_000
"""Largest number of characters of the links of an image map."""

AREAS_SCRIPT: Final = """
([most, room]) => {
  const found = [];
  for (const link of document.querySelectorAll('a[href], area[href]')) {
    if (found.length >= most) break;
    let url;
    try { url = new URL(link.getAttribute('href'), link.baseURI).href; } catch { continue; }
    if (!url.startsWith('http') || url.length > room) continue;
    for (const box of [...link.getClientRects()].slice(0, 8)) {
      if (box.width < 1 || box.height < 1 || found.length >= most) continue;
      room -= url.length;
      found.push([box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY, url]);
    }
  }
  return found;
}
"""
"""Returns [left, top, right, bottom, URL] of each visible box of a link, in CSS pixels of the whole page."""


@dataclass(frozen=True, slots=True)
class LinkArea:
    """A link of the page lies in this rectangle, in CSS pixels from the upper left corner of the page."""

    left: int
    top: int
    right: int
    bottom: int
    url: str


def areas_of(boxes: Iterable[object]) -> tuple[LinkArea, ...]:
    """Return the areas that the script found. Values that are no boxes are skipped."""
    found = []
    for box in islice(boxes, MAX_AREAS):
        match box:
            case [*sides, str() as url]:
                pixels = [round(side) for side in sides if isinstance(side, int | float) and isfinite(side)]
                if len(pixels) == 4:
                    left, top, right, bottom = pixels
                    found.append(LinkArea(left, top, right, bottom, url))
    return tuple(found)


def image_map(picture: bytes, content_type: str, url: str, areas: Iterable[LinkArea]) -> str:
    """Return the HTML document. The picture has one pixel for each CSS pixel of the page."""
    data = base64.b64encode(picture).decode("ascii")
    lines = "".join(
        f'<area shape="rect" coords="{area.left},{area.top},{area.right},{area.bottom}" href="{escape(area.url)}">\n'
        for area in areas
    )
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{escape(url)}</title></head>\n'
        f'<body style="margin:0"><map name="links">\n{lines}</map>\n'
        f'<img usemap="#links" alt="" src="data:{content_type};base64,{data}"></body></html>\n'
    )
