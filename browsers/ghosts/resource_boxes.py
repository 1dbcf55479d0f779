"""A ghost notes where the resources of a page stand, so that a later comparison can weigh a missing one.

The boxes are of the main frame: pictures, films, sounds, frames, plug-ins, pictures in SVG, and CSS backgrounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import isfinite
from typing import Any, Final

from browsers.engines.interface import BrowserWindow

MAX_BOXES: Final = 5_000
"""Largest number of boxes of a page."""
_MOST_ELEMENTS: Final = 5_000
"""Largest number of elements whose backgrounds are looked at. The style of an element costs several microseconds."""
_MAX_URL: Final = 2_000
"""Boxes of longer URLs are left out."""
_MAX_CHARACTERS: Final = 500_000
"""Largest number of characters of all URLs."""
_MOST_PIXELS: Final = 10_000_000
"""Coordinates beyond this are made by scripts, and no picture has them."""
KINDS: Final = frozenset({"image", "media", "document"})

_BOXES_SCRIPT: Final = """
([mostBoxes, mostElements, longest, characters]) => {
  const found = [];
  let looked = 0;
  const add = (element, kind, reference, more) => {
    if (!reference || found.length >= mostBoxes) return;
    let url;
    try { url = new URL(reference, element.baseURI).href; } catch { return; }
    if (url.startsWith('data:') || url.startsWith('about:') || url.startsWith('javascript:')) return;
    if (url.length > longest || url.length > characters) return;
    characters -= url.length;
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left + scrollX, box.top + scrollY];
    const isVisible = box.width > 0 && box.height > 0 && x + box.width > 0 && y + box.height > 0
      && element.checkVisibility({opacityProperty: true, visibilityProperty: true});
    found.push({url, kind, box: [x, y, box.width, box.height].map(Math.round), isVisible, ...more});
  };
  const plugged = (element, reference) => {
    const type = element.type.split('/')[0];
    add(element, type === 'image' ? 'image' : type === 'video' || type === 'audio' ? 'media' : 'document', reference);
  };
  const source = element => element.currentSrc || element.getAttribute('src')
    || element.querySelector('source[src]')?.getAttribute('src');
  const take = {
    img: element => add(element, 'image', element.currentSrc || element.getAttribute('src'),
      element.complete && element.currentSrc && !element.naturalWidth ? {error: 1} : {}),
    image: element => add(element, 'image', element.href?.baseVal),
    audio: element => take.video(element),
    video: element => {
      const {readyState, error} = element;
      add(element, 'media', source(element), {readyState, ...(error ? {error: error.code} : {})});
      add(element, 'image', element.getAttribute('poster'));
    },
    iframe: element => add(element, 'document', element.getAttribute('src')),
    frame: element => take.iframe(element),
    object: element => plugged(element, element.getAttribute('data')),
    embed: element => plugged(element, element.getAttribute('src')),
  };
  const search = root => {
    for (const element of root.querySelectorAll('*')) {
      if (found.length >= mostBoxes) return;
      if (Object.hasOwn(take, element.localName)) take[element.localName](element);
      if (looked++ < mostElements && element.checkVisibility()) {
        const image = getComputedStyle(element).backgroundImage;
        if (image !== 'none' && image.length < 4 * longest)
          for (const [, url] of [...image.matchAll(/url\\("((?:[^"\\\\]|\\\\.)*)"\\)/g)].slice(0, 8))
            add(element, 'image', url.replace(/\\\\(.)/g, '$1'));
      }
      if (element.shadowRoot) search(element.shadowRoot);
    }
  };
  search(document);
  return found;
}
"""
"""Returns the boxes in CSS pixels of the whole page."""


async def resource_boxes(window: BrowserWindow) -> list[dict[str, Any]]:
    """Return the boxes of the main frame's resources, at most `MAX_BOXES`. Raises EngineError.

    | key | value |
    |---|---|
    | `url` | the absolute URL that the browser chose, of at most 2,000 characters; no `data:` URL |
    | `kind` | image, media or document (a frame or a plug-in) |
    | `box` | left, top, width and height in whole CSS pixels of the page |
    | `isVisible` | the element has an area, and no style hides it |
    | `readyState` | for media: 0 when there is nothing, 1 from the metadata on, 4 when the film can play to its end |
    | `error` | for media that can't play: the code of its MediaError (HTML Standard); 1 for an undecodable picture |
    """
    bounds = [MAX_BOXES, _MOST_ELEMENTS, _MAX_URL, _MAX_CHARACTERS]
    found = await window.main_frame.evaluate(_BOXES_SCRIPT, bounds)
    return boxes_of(found if isinstance(found, list) else ())


def boxes_of(found: Iterable[object]) -> list[dict[str, Any]]:
    """Return the entries that the script found. Entries of another form are left out."""
    boxes = []
    for each in islice(found, MAX_BOXES):
        match each:
            case {"url": str(url), "kind": str(kind), "box": [*sides], "isVisible": bool(is_visible), **more} if (
                kind in KINDS
            ):
                pixels = [round(side) for side in sides if isinstance(side, int | float) and isfinite(side)]
                if len(pixels) == 4 and all(abs(side) <= _MOST_PIXELS for side in pixels):
                    states = {key: more[key] for key in ("readyState", "error") if isinstance(more.get(key), int)}
                    boxes.append({"url": url, "kind": kind, "box": pixels, "isVisible": is_visible, **states})
    return boxes
