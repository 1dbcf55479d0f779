"""A script looks for what text and picture of a page do not tell: fields for passwords, and a box over the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MAX_COVER_TEXT: Final = 4000
"""Largest number of characters of a box that covers the page. A box with more text is the page itself."""
MAX_FIELDS: Final = 1000

PROBE_SCRIPT: Final = """
([mostText, mostFields]) => {
  const isShown = element => { const box = element.getBoundingClientRect(); return box.width > 1 && box.height > 1; };
  const passwords = [...document.querySelectorAll('input[type=password]')].slice(0, mostFields).filter(isShown).length;
  const layers = new Set();
  let covered = 0;
  const isInside = element => element && element !== document.body && element !== document.documentElement;
  for (const across of [.2, .5, .8]) for (const down of [.2, .5, .8]) {
    let element = document.elementFromPoint(innerWidth * across, innerHeight * down);
    while (isInside(element)) {
      if (getComputedStyle(element).position === 'fixed' || element.matches('dialog[open], [aria-modal=true]')) break;
      element = element.parentElement || element.getRootNode().host;
    }
    if (!isInside(element)) continue;
    covered++;
    layers.add(element);
  }
  if (covered < 5) return {passwords, cover: ''};
  const words = [];
  for (const layer of layers) {
    words.push(layer.id, layer.title, layer.getAttribute('aria-label') || '', layer.getAttribute('name') || '');
    words.push((layer.innerText || layer.shadowRoot?.textContent || '').slice(0, mostText));
    const frames = [...layer.querySelectorAll('iframe')].slice(0, 5);
    for (const frame of layer.localName === 'iframe' ? [layer] : frames) words.push(frame.title, frame.id, frame.name);
  }
  const text = words.join(' ').trim(), page = (document.body.innerText || '').length;
  const isWhole = text.length >= mostText || (page > 200 && text.length > page * 0.9 && !/dialog/.test(
    [...layers].map(layer => layer.localName + layer.getAttribute('role')).join()));
  return {passwords, cover: isWhole ? '' : text.slice(0, mostText)};
}
"""


@dataclass(frozen=True, slots=True)
class PageProbe:
    """The probe has the findings of the script in the main frame of a page."""

    password_fields: int = 0
    """Number of visible fields for passwords."""
    covered_by: str = ""
    """Text and labels of the boxes that cover most of the window; empty when there are none."""

    @classmethod
    def of(cls, answer: Any) -> PageProbe:
        """Return the answer of the script. Values of other types count as nothing."""
        match answer:
            case {"passwords": int() as fields, "cover": str() as text}:
                return cls(fields, text[:MAX_COVER_TEXT])
        return cls()
