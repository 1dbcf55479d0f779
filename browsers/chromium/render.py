"""The ghost takes pictures, text, the final DOM and links from a settled page.

Each step is bounded and may fail alone: a page whose screenshot fails still gives its links.
"""

from __future__ import annotations

import io
from asyncio import timeout
from typing import Final

from PIL import Image
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import FloatRect, Page

from browsers.links.collector import MAX_LINKS

THUMBNAIL_WIDTH: Final = 640
MAX_FRAMES: Final = 50
"""Largest number of frames that are searched for links."""
_FRAME_SECONDS: Final = 3.0
MAX_TEXT: Final = 2_000_000
"""Largest number of characters of a page's text."""
MAX_TITLE: Final = 1000
_MAX_ADDRESSES: Final = 5_000_000
"""Largest number of characters of the links of one frame."""
_SIZE_SCRIPT: Final = "() => document.documentElement ? document.documentElement.outerHTML.length : 0"
_TITLE_SCRIPT: Final = "most => document.title.slice(0, most)"

_TEXT_SCRIPT: Final = "most => (document.body ? document.body.innerText : '').slice(0, most)"
_HEIGHT_SCRIPT: Final = """
() => Math.max(document.documentElement.scrollHeight, document.body ? document.body.scrollHeight : 0)
"""
_LINKS_SCRIPT: Final = """
([most, room]) => {
  const found = new Map();
  const search = root => {
    for (const element of root.querySelectorAll('*')) {
      if (found.size >= most) return;
      if (element.shadowRoot) search(element.shadowRoot);
      const name = element.localName;
      if (name !== 'a' && name !== 'area') continue;
      const reference = element.getAttribute('href') ?? element.getAttribute('xlink:href');
      if (!reference) continue;
      try {
        const url = new URL(reference, element.baseURI).href;
        if (!url.startsWith('http') || found.has(url) || url.length > room) continue;
        room -= url.length;
        found.set(url, name + '/@href');
      } catch { /* no URL */ }
    }
  };
  search(document);
  return [...found];
}
"""


async def window_picture(page: Page, timeout_seconds: float) -> bytes:
    """Return a PNG picture of the window. Raises PlaywrightError."""
    return await page.screenshot(type="png", scale="css", timeout=timeout_seconds * 1000)


async def whole_picture(page: Page, width: int, most_height: int, timeout_seconds: float) -> bytes:
    """Return a PNG picture of the page down to `most_height` CSS pixels. Raises PlaywrightError."""
    height = int(await page.evaluate(_HEIGHT_SCRIPT))
    if height <= most_height:
        return await page.screenshot(type="png", scale="css", full_page=True, timeout=timeout_seconds * 1000)
    clip = FloatRect(x=0, y=0, width=width, height=most_height)
    return await page.screenshot(type="png", scale="css", full_page=True, clip=clip, timeout=timeout_seconds * 1000)


async def page_text(page: Page) -> str:
    """Return the visible text in laid-out lines. Raises PlaywrightError."""
    return str(await page.evaluate(_TEXT_SCRIPT, MAX_TEXT))


async def page_dom(page: Page, most: int) -> str | None:
    """Return the DOM as HTML; None when it has more than `most` characters. Raises PlaywrightError."""
    if int(await page.evaluate(_SIZE_SCRIPT)) > most:
        return None
    return await page.content()


async def page_title(page: Page) -> str:
    """Return the beginning of the page's title. Raises PlaywrightError."""
    return str(await page.evaluate(_TITLE_SCRIPT, MAX_TITLE))


async def collect_links(page: Page, found: list[tuple[str, str]]) -> None:
    """Add (absolute URL, context) of each link in the final DOM of every frame, shadow roots included."""
    for frame in page.frames[:MAX_FRAMES]:
        try:
            async with timeout(_FRAME_SECONDS):
                pairs = await frame.evaluate(_LINKS_SCRIPT, [MAX_LINKS, _MAX_ADDRESSES])
        except (PlaywrightError, TimeoutError):
            continue  # the frame went away, or it never had a document, as one of a `mailto:`
        found += [(str(url), str(context)) for url, context in pairs]


def thumbnail(png: bytes) -> bytes:
    """Return JPEG of the picture, 640 pixels wide."""
    with Image.open(io.BytesIO(png)) as picture:
        height = max(1, round(picture.height * THUMBNAIL_WIDTH / picture.width))
        small = picture.convert("RGB").resize((THUMBNAIL_WIDTH, height), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=80)
    return out.getvalue()
