"""A box is a rectangle of a page or of a picture. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """The rectangle has its upper left corner at `x` and `y`. All values are pixels of the page."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        """The area in square pixels, which is 0 when a side is negative."""
        return max(0.0, self.width) * max(0.0, self.height)
