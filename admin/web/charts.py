"""Small charts as SVG, made on the server; a table beside each says the same to people who can't see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from markupsafe import Markup

_WIDTH: Final = 600
_HEIGHT: Final = 48
_MOST: Final = 120


def bar_chart(values: Sequence[float], label: str) -> Markup:
    """Return bars for these values, at most 120 of them; `label` is what a screen reader says."""
    shown = thinned(values)
    highest = max(shown, default=0) or 1
    width = _WIDTH / max(len(shown), 1)
    bars = "".join(
        f'<rect x="{at * width:.1f}" y="{_HEIGHT - value / highest * _HEIGHT:.1f}" width="{max(width - 1, 0.5):.1f}"'
        f' height="{value / highest * _HEIGHT:.1f}"/>'
        for at, value in enumerate(shown)
    )
    return Markup(
        '<svg class="bar-chart" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none"'
        ' fill="currentColor">{}</svg>'
    ).format(label, _WIDTH, _HEIGHT, Markup(bars))


def progress_chart(samples: Sequence[Any]) -> Markup:
    """Return bars of the objects of a job's samples."""
    values = [float(each.progress.get("urls", 0)) for each in samples]
    return bar_chart(values, f"Objects grew from {values[0]:.0f} to {values[-1]:.0f}")


def thinned(values: Sequence[float]) -> Sequence[float]:
    """Return at most 120 of the values, evenly chosen, the last one among them."""
    if len(values) <= _MOST:
        return values
    step = (len(values) - 1) / (_MOST - 1)
    return [values[round(at * step)] for at in range(_MOST)]
