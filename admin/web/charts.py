"""A script draws charts over time on a canvas, and without it the server's small SVG stays.

A table beside each chart says the same to people who can't see it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from admin.even_choice import evenly_chosen
from archive.dates import Micros

_WIDTH: Final = 600
_HEIGHT: Final = 48


@dataclass(frozen=True, slots=True)
class Series:
    """The object is a line of a chart; values that are not known are None."""

    label: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class TimeChart:
    """A chart has a title, points in time, and lines. `unit` is `count` or `bytes`."""

    title: str
    times: Sequence[Micros]
    series: Sequence[Series]
    unit: str = "count"

    def __html__(self) -> str:
        """Return the chart as HTML; Jinja calls this."""
        first = next(iter(self.series), Series("", ()))
        known = [value or 0.0 for value in first.values]
        return Markup('<figure class="chart"><figcaption>{}</figcaption><div data-chart="{}">{}</div></figure>').format(
            self.title, json.dumps(self._drawing()), bar_chart(known, self.title)
        )

    def _drawing(self) -> Mapping[str, Any]:
        """Return what the script draws, at most 120 points."""
        places = evenly_chosen(range(len(self.times)))
        return {
            "title": self.title,
            "unit": self.unit,
            "times": [round(self.times[at] / 1_000_000) for at in places],
            "series": [{"label": each.label, "values": [each.values[at] for at in places]} for each in self.series],
        }


def bar_chart(values: Sequence[float], label: str) -> Markup:
    """Return bars for these values, at most 120 of them; `label` is what a screen reader says."""
    shown = evenly_chosen(values)
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


def job_charts(samples: Sequence[Any]) -> list[TimeChart]:
    """Return the charts of a job's progress; none for fewer than two samples."""
    if len(samples) < 2:
        return []
    times = [each.at for each in samples]

    def values(name: str) -> list[float | None]:
        return [_number(each.progress.get(name)) for each in samples]

    objects = (Series("Objects", values("urls")), Series("Queued", values("queued")))
    sizes = (Series("Bytes", values("bytes")), Series("New bytes", values("new_bytes")))
    return [TimeChart("Objects over time", times, objects), TimeChart("Bytes over time", times, sizes, "bytes")]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
