"""A ghost scrolls a page and clicks nothing. The script scrolls; a pure function decides when to stop.

One step scrolls by three quarters of the window. The visitor then waits for the requests of this step. A page without
lazy content takes a tenth of a second for each step, and a slow page gets the time that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

type Ended = Literal["bottom", "height", "steps", "time"]

MAX_STEPS: Final = 400
"""A page with more steps counts as endless."""
MAX_HEIGHT: Final = 200_000
"""Scrolling stops at this height in CSS pixels."""
PATIENCE: Final = 2
"""The bottom must be seen so many times without growth."""

PREPARE_SCRIPT: Final = """
() => {
  for (const element of document.querySelectorAll('img[loading=lazy], iframe[loading=lazy]')) {
    element.loading = 'eager';
    element.dataset.ghostfleetLazy = '';
  }
}
"""
"""Loads lazy images now, also those in closed carousels, which scrolling does not reach."""

STEP_SCRIPT: Final = """
() => {
  const page = document.scrollingElement || document.documentElement;
  let target = page;
  if (page.scrollHeight <= page.clientHeight + 1) {
    for (const element of document.querySelectorAll('main, div, section, article, ul')) {
      if (element.scrollHeight > element.clientHeight + 50 && element.clientHeight > innerHeight / 2 &&
          /auto|scroll/.test(getComputedStyle(element).overflowY)) { target = element; break; }
    }
  }
  target.scrollBy({top: Math.max(100, target.clientHeight * 0.75), behavior: 'instant'});
  return {top: target.scrollTop, view: target.clientHeight, height: target.scrollHeight};
}
"""
"""Scrolls the page one step, or the first large scrolling box in it, and returns the position."""

RETURN_SCRIPT: Final = """
() => {
  for (const element of document.querySelectorAll('[data-ghostfleet-lazy]')) {
    element.loading = 'lazy';
    delete element.dataset.ghostfleetLazy;
  }
  for (const element of document.querySelectorAll('main, div, section, article, ul'))
    if (element.scrollTop > 0) element.scrollTo({top: 0, behavior: 'instant'});
  scrollTo({top: 0, left: 0, behavior: 'instant'});
}
"""
"""Scrolls to the top and restores the page's attributes."""


@dataclass(frozen=True, slots=True)
class ScrollPosition:
    """A step ended at this position, in CSS pixels."""

    top: float
    view: float
    height: float

    @property
    def is_bottom(self) -> bool:
        """Return whether the bottom is in view. Browsers round, so that up to two pixels may be missing."""
        return self.top + self.view >= self.height - 2


@dataclass(frozen=True, slots=True)
class Scroll:
    """The object has the progress of scrolling a page."""

    steps: int = 0
    height: float = 0
    stalls: int = 0
    ended: Ended | None = None

    def after(self, position: ScrollPosition, *, time_is_up: bool) -> Scroll:
        """Return the next state. `ended` is set at the bottom of the page or at a bound."""
        grown = position.height > self.height
        stalls = 0 if grown or not position.is_bottom else self.stalls + 1
        return Scroll(self.steps + 1, position.height, stalls, self._end(position, stalls, time_is_up=time_is_up))

    def _end(self, position: ScrollPosition, stalls: int, *, time_is_up: bool) -> Ended | None:
        fits = self.steps == 0 and position.top == 0 and position.is_bottom
        if fits or stalls >= PATIENCE:
            return "bottom"
        if time_is_up:
            return "time"
        if position.height > MAX_HEIGHT:
            return "height"
        return "steps" if self.steps + 1 >= MAX_STEPS else None
