"""What a ghost does on a page: it scrolls, clicks nothing. The script moves, the decision when to stop is pure.

One step scrolls by three quarters of the window; the visitor then waits for what the step made the page fetch, so
a page with nothing lazy takes a tenth of a second a step, and a slow one gets the time that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

type Ended = Literal["bottom", "height", "steps", "time"]

MAX_STEPS: Final = 400
"""Steps after which a page counts as endless."""
MAX_HEIGHT: Final = 200_000
"""Height in CSS pixels at which an endless page has given enough."""
PATIENCE: Final = 2
"""Looks at the bottom without growth before it is believed to be the bottom."""

PREPARE_SCRIPT: Final = """
() => {
  for (const element of document.querySelectorAll('img[loading=lazy], iframe[loading=lazy]')) {
    element.loading = 'eager';
    element.dataset.ghostfleetLazy = '';
  }
}
"""
"""Asks for lazy images now, those in closed carousels too, which no scrolling reaches."""

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
"""Scrolls the page one step, or the first large box in it when the page itself does not scroll; tells where it is."""

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
"""Back to the top, and the page's own attributes as they were."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a step ended, in CSS pixels: distance from the top, height of the window, height of the whole."""

    top: float
    view: float
    height: float

    @property
    def is_bottom(self) -> bool:
        """Whether the end is in view; browsers round, so a pixel or two may be missing."""
        return self.top + self.view >= self.height - 2


@dataclass(frozen=True, slots=True)
class Scroll:
    """How scrolling one page went so far."""

    steps: int = 0
    height: float = 0
    stalls: int = 0
    ended: Ended | None = None

    def after(self, position: Position, *, time_is_up: bool) -> Scroll:
        """The next state. `ended` is set when the page has been seen to its bottom, or a bound is reached."""
        grown = position.height > self.height
        stalls = 0 if grown or not position.is_bottom else self.stalls + 1
        return Scroll(self.steps + 1, position.height, stalls, self._end(position, stalls, time_is_up=time_is_up))

    def _end(self, position: Position, stalls: int, *, time_is_up: bool) -> Ended | None:
        fits = self.steps == 0 and position.top == 0 and position.is_bottom
        if fits or stalls >= PATIENCE:
            return "bottom"
        if time_is_up:
            return "time"
        if position.height > MAX_HEIGHT:
            return "height"
        return "steps" if self.steps + 1 >= MAX_STEPS else None
