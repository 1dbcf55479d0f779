"""The ghost takes pictures, text, the final DOM and links from a settled page.

Each step is bounded and may fail alone: a page whose screenshot fails still gives its links.
"""

from __future__ import annotations

from asyncio import sleep, timeout
from contextlib import suppress
from typing import Final

from browsers.engines.interface import Area, BrowserWindow, EngineError
from browsers.links.collector import MAX_LINKS
from browsers.page_quality.probe import MAX_COVER_TEXT, MAX_FIELDS, PROBE_SCRIPT, PageProbe
from browsers.page_records.image_map import AREAS_SCRIPT, MAX_AREAS, MAX_LINK_TEXT, LinkArea, areas_of

MAX_FRAMES: Final = 50
"""Largest number of frames that are searched for links."""
_FRAME_SECONDS: Final = 3.0
_MOMENT_SECONDS: Final = 1.0
"""Time between two pictures of a window that shows a page that changes by itself."""
MAX_TEXT: Final = 2_000_000
"""Largest number of characters of a page's text."""
MAX_TITLE: Final = 1000
_MAX_ADDRESSES: Final = 5_000_000
"""Largest number of characters of the links of one frame."""
_HEAVY_BYTES: Final = 4_000_000
_HEAVY_ELEMENTS: Final = 50_000
_WEIGHT_SCRIPT: Final = """
() => [performance.getEntriesByType('navigation')[0]?.decodedBodySize || 0, document.getElementsByTagName('*').length]
"""
_DOM_PART: Final = 1_000_000
"""Characters of a DOM that are taken at once, so that nobody holds several copies of a large one."""
_DOM_SCRIPT: Final = """
([most, part]) => {
  const root = document.documentElement ? document.documentElement.outerHTML : '';
  if (root.length > most) return null;
  const dom = (document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '') + root;
  if (dom.length <= part) return [dom, true];
  self.ghostfleetDom = {dom, at: 0};
  return ['', false];
}
"""
_DOM_PART_SCRIPT: Final = """
part => {
  const {dom, at} = self.ghostfleetDom;
  const last = dom.charCodeAt(at + part - 1);
  const end = at + part + (last >= 0xD800 && last < 0xDC00 ? 1 : 0);
  if (end >= dom.length) delete self.ghostfleetDom;
  else self.ghostfleetDom.at = end;
  return [dom.slice(at, end), end >= dom.length];
}
"""
_DOM_LENGTH_SCRIPT: Final = "() => document.documentElement ? document.documentElement.outerHTML.length : 0"
_SHOWS_PAGE_SCRIPT: Final = """
() => {
  const root = document.documentElement;
  return root !== null && root.localName === 'html' && root.namespaceURI === 'http://www.w3.org/1999/xhtml'
    && document.getElementById('xml-viewer-style') === null;
}
"""
"""True if an XML document is shown as a page, and not as its source. Chromium's view of the source has that element."""
_TITLE_SCRIPT: Final = "most => document.title.slice(0, most)"

_TEXT_SCRIPT: Final = "most => (document.body ? document.body.innerText : '').slice(0, most)"
_SIZE_SCRIPT: Final = """
() => {
  const parts = document.body ? [document.documentElement, document.body] : [document.documentElement];
  return ['scrollWidth', 'scrollHeight'].map(side => Math.max(...parts.map(part => part[side])));
}
"""
_FITS_SCRIPT: Final = """
most => {
  const parts = document.body ? [document.documentElement, document.body] : [document.documentElement];
  const isAtTop = scrollX === 0 && scrollY === 0 && visualViewport.scale === 1;
  return isAtTop && innerWidth <= most && innerHeight <= most
    && parts.every(part => part.scrollWidth <= innerWidth && part.scrollHeight <= innerHeight);
}
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
  const navigation = performance.getEntriesByType('navigation')[0];
  return [navigation ? navigation.name : document.URL, [...found]];
}
"""
"""The script returns the URL with which the document came, even if a script has changed the URL, and the links."""


async def window_picture(window: BrowserWindow) -> bytes:
    """Return a PNG picture of the window. Raises EngineError."""
    return await window.screenshot()


async def later_picture(window: BrowserWindow, seconds: float) -> bytes | None:
    """Return a picture of the window about a second from now; None when that fails or takes longer than `seconds`."""
    try:
        async with timeout(seconds):
            await sleep(_MOMENT_SECONDS)
            await window.main_frame.evaluate("() => scrollTo(0, 0)")
            return await window.screenshot()
    except (EngineError, TimeoutError):
        return None


async def whole_picture(window: BrowserWindow, most: int) -> bytes:
    """Return a PNG picture of the page, at most `most` CSS pixels high and wide. Raises EngineError."""
    width, height = await window.main_frame.evaluate(_SIZE_SCRIPT)
    return await window.screenshot(Area(0, 0, max(1, min(width, most)), max(1, min(height, most))))


async def fits_window(window: BrowserWindow, most: int) -> bool:
    """Return whether a picture of the window shows what `whole_picture` would show. Raises EngineError."""
    return bool(await window.main_frame.evaluate(_FITS_SCRIPT, most))


async def is_heavy(window: BrowserWindow) -> bool:
    """Return whether the document is so large that a new layout of it costs much time and memory.

    Raises EngineError.
    """
    size, elements = await window.main_frame.evaluate(_WEIGHT_SCRIPT)
    return bool(size > _HEAVY_BYTES or elements > _HEAVY_ELEMENTS)


async def page_sizes(window: BrowserWindow) -> tuple[int, ...]:
    """Return width and height of the page in CSS pixels, and the characters of its DOM. Raises EngineError."""
    width, height = await window.main_frame.evaluate(_SIZE_SCRIPT)
    return int(width), int(height), int(await window.main_frame.evaluate(_DOM_LENGTH_SCRIPT))


async def page_probe(window: BrowserWindow) -> PageProbe:
    """Return the signs of walls in the main frame. Raises EngineError."""
    return PageProbe.of(await window.main_frame.evaluate(PROBE_SCRIPT, [MAX_COVER_TEXT, MAX_FIELDS]))


async def link_areas(window: BrowserWindow) -> tuple[LinkArea, ...]:
    """Return the boxes of the links of the main frame. Raises EngineError."""
    found = await window.main_frame.evaluate(AREAS_SCRIPT, [MAX_AREAS, MAX_LINK_TEXT])
    return areas_of(found if isinstance(found, list) else ())


async def page_text(window: BrowserWindow) -> str:
    """Return the visible text in laid-out lines. Raises EngineError."""
    return str(await window.main_frame.evaluate(_TEXT_SCRIPT, MAX_TEXT))


async def page_dom(window: BrowserWindow, most: int) -> str | None:
    """Return the DOM as HTML; None when it has more than `most` characters. Raises EngineError."""
    frame = window.main_frame
    answer = await frame.evaluate(_DOM_SCRIPT, [most, _DOM_PART])
    if answer is None:
        return None
    parts = [str(answer[0])]
    while not answer[1]:
        answer = await frame.evaluate(_DOM_PART_SCRIPT, _DOM_PART)
        parts.append(str(answer[0]))
    return "".join(parts)


async def shows_page(window: BrowserWindow) -> bool:
    """Return whether the browser shows an XML document as a page, such as the result of XSLT. Raises EngineError."""
    return bool(await window.main_frame.evaluate(_SHOWS_PAGE_SCRIPT))


async def page_title(window: BrowserWindow) -> str:
    """Return the beginning of the page's title. Raises EngineError."""
    return str(await window.main_frame.evaluate(_TITLE_SCRIPT, MAX_TITLE))


async def collect_links(
    window: BrowserWindow, found: list[tuple[str, str]], searched: list[str], unsearched: list[str]
) -> None:
    """Add (absolute URL, context) of each link in the final DOM of every frame, shadow roots included.

    `searched` gets the URLs with which the documents of searched frames came, and `unsearched` the URLs of the other
    frames. A frame without a document, as one of a `mailto:`, is left out.
    """
    frames = window.frames
    unsearched += [frame.url for frame in frames if not frame.is_main and frame.url.startswith("http")]
    for frame in frames[:MAX_FRAMES]:
        address = frame.url
        try:
            async with timeout(_FRAME_SECONDS):
                came_as, pairs = await frame.evaluate(_LINKS_SCRIPT, [MAX_LINKS, _MAX_ADDRESSES])
        except (EngineError, TimeoutError):
            continue
        found += [(str(url), str(context)) for url, context in pairs]
        searched.append(str(came_as))
        with suppress(ValueError):
            unsearched.remove(address)
