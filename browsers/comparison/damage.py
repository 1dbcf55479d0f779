"""Missing resources are weighed by how much a reader misses them (Memento Damage).

The weights and the importance of pictures are from J. F. Brunelle et al., "Not all mementos are created equal", 2015.
The words of a page and the rules of a style sheet are not known here. A style sheet or a script counts whole. Fonts
count as style sheets, and other resources as scripts, since the paper does not name them. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from browsers.comparison.boxes import Box

_WEIGHTS: Final[Mapping[str, float]] = {
    "media": 0.5,
    "image": 0.3,
    "document": 0.3,
    "stylesheet": 0.05,
    "script": 0.05,
    "font": 0.05,
    "other": 0.05,
}
_PLACED: Final = frozenset({"media", "image", "document"})
"""The importance of these kinds depends on their boxes."""
_AREA, _MIDDLE = 0.5, 0.25
_UNKNOWN_PLACE: Final = 0.25
"""Importance of a resource whose box nobody knows. It equals the importance of a small one on one of the middles."""


@dataclass(frozen=True, slots=True)
class WeighedResource:
    """A page needs this resource. `kind` is image, media, stylesheet, script, font, document (a frame) or other."""

    url: str
    kind: str
    is_missing: bool
    box: Box | None
    """The place on the page, or None when nobody knows the place."""
    is_visible: bool = True


@dataclass(frozen=True, slots=True)
class Damage:
    """The damage of a page is the weight of its missing resources, in proportion to the weight of all."""

    potential: float
    """The weight of all resources."""
    actual: float
    """The weight of the missing resources."""
    shares: Mapping[str, float]
    """The share that each missing URL has in the actual damage, largest first. The shares add up to 1."""

    @property
    def value(self) -> float:
        """The damage from 0 (whole) to 1 (everything is missing)."""
        return self.actual / self.potential if self.potential else 0.0


def damage_of(resources: Sequence[WeighedResource], page: Box) -> Damage:
    """Return the damage of the page. Hidden resources and `data:` URLs do not count.

    `page` and the boxes of the resources have the same coordinates. An unknown kind counts as "other".
    """
    potential, by_url = 0.0, defaultdict[str, float](float)
    for resource in resources:
        if not resource.is_visible or resource.url[:5].lower() == "data:":
            continue
        weight = _WEIGHTS.get(resource.kind, _WEIGHTS["other"])
        if resource.kind in _PLACED:
            weight *= _importance(resource.box, page)
        potential += weight
        if resource.is_missing and weight:
            by_url[resource.url] += weight
    actual = sum(by_url.values())
    largest_first = sorted(by_url.items(), key=lambda item: -item[1])
    return Damage(potential, actual, {url: weight / actual for url, weight in largest_first})


def _importance(box: Box | None, page: Box) -> float:
    """Return half the share of the page's area, and a quarter for each middle line of the page that the box crosses."""
    if box is None or not all(map(isfinite, (box.x, box.y, box.width, box.height))):
        return _UNKNOWN_PLACE
    left, right = max(box.x, page.x), min(box.x + box.width, page.x + page.width)
    top, bottom = max(box.y, page.y), min(box.y + box.height, page.y + page.height)
    if left >= right or top >= bottom:
        return 0.0
    share = (right - left) * (bottom - top) / page.area
    return (
        _AREA * share
        + _MIDDLE * (left <= page.x + page.width / 2 <= right)
        + _MIDDLE * (top <= page.y + page.height / 2 <= bottom)
    )
