"""Choose values evenly from a long list, for a chart with fewer points. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

CHART_POINTS: Final = 120
"""Points of a chart; more can't be told apart on a screen."""


def evenly_chosen[T](values: Sequence[T], most: int = CHART_POINTS) -> Sequence[T]:
    """Return at most so many of the values, evenly chosen, the first and the last one among them. `most` is over 1."""
    if len(values) <= most:
        return values
    step = (len(values) - 1) / (most - 1)
    return [values[round(at * step)] for at in range(most)]
