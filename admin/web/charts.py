"""The server draws charts as SVG, so that they are read without a script; a script adds detail to charts over time.

A table beside each chart says the same to people who can't see it. Positions across a chart are percentages and sizes
of texts are those of the page, so that a chart fits every window. The numbers of the scale stand left of the picture.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from markupsafe import Markup

from admin.even_choice import evenly_chosen
from admin.web import formats
from archive.dates import Micros

type Unit = Literal["count", "bytes"]

_TOP: Final = 22
_PLOT: Final = 130
_BELOW: Final = 40
_HEIGHT: Final = _TOP + _PLOT + _BELOW
_MOST_BARS: Final = 60
_LABELS: Final = {"wide": 10, "slim": 3}
"""Labels below a chart, by the windows that show them."""
_STEPS: Final = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Series:
    """A series is a line of a chart; values that are not known are None."""

    label: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class TimeChart:
    """A chart has a title, points in time, and lines. `ends` are the texts of the first and of the last point."""

    title: str
    times: Sequence[Micros]
    ends: tuple[str, str]
    series: Sequence[Series]
    unit: Unit = "count"

    def __html__(self) -> str:
        """Return the chart as HTML; Jinja calls this."""
        return Markup(
            '<figure class="chart"><figcaption>{}</figcaption><div data-chart="{}">{}{}</div></figure>'
        ).format(self.title, json.dumps(self._drawing()), _key([each.label for each in self.series]), self._lines())

    def _drawing(self) -> Mapping[str, Any]:
        """Return what the script draws, at most 120 points."""
        places = evenly_chosen(range(len(self.times)))
        return {
            "title": self.title,
            "unit": self.unit,
            "times": [round(self.times[at] / 1_000_000) for at in places],
            "series": [{"label": each.label, "values": [each.values[at] for at in places]} for each in self.series],
        }

    def _lines(self) -> Markup:
        """Return the lines from the first point in time to the last, with both dates below."""
        places = evenly_chosen(range(len(self.times)))
        top = _scale_top([value or 0 for each in self.series for value in each.values], self.unit)
        first, span = self.times[0], max(self.times[-1] - self.times[0], 1)
        shapes = []
        for number, each in enumerate(self.series):
            points = " ".join(
                f"{(self.times[at] - first) / span * 1000:.1f},{_PLOT - value / top * _PLOT:.1f}"
                for at in places
                if (value := each.values[at]) is not None
            )
            shapes.append(Markup('<polyline class="line series-{}" points="{}"/>').format(number, points))
        drawn = Markup(
            '<svg x="0" y="{}" width="100%" height="{}" viewBox="0 0 1000 {}" preserveAspectRatio="none">{}</svg>'
        ).format(_TOP, _PLOT, _PLOT, Markup("").join(shapes))
        ends = [
            _text(0, _TOP + _PLOT + 18, self.ends[0], "start"),
            _text(100, _TOP + _PLOT + 18, self.ends[1], "end"),
        ]
        return _frame(f"{self.title}; the table below has the numbers", top, self.unit, [drawn, *ends])


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart stands for one run, job or month. Its parts lie on one another, the first one lowest."""

    label: str
    date: str
    """The second line of the label."""
    title: str
    """The words that a pointer on the bar shows before its numbers."""
    parts: Sequence[float]


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart has one bar for each run, job or month, all by one scale that begins at zero.

    `parts` names the parts of the bars where they have several.
    """

    title: str
    bars: Sequence[Bar]
    parts: Sequence[str] = ()
    unit: Unit = "count"

    def __html__(self) -> str:
        """Return the chart as HTML; Jinja calls this."""
        return Markup('<figure class="chart"><figcaption>{}</figcaption>{}{}</figure>').format(
            self.title, _key(self.parts), self._drawn()
        )

    def _drawn(self) -> Markup:
        bars = list(self.bars[-_MOST_BARS:])
        top = _scale_top([sum(each.parts) for each in bars], self.unit)
        width = 100 / max(len(bars), 1)
        shapes = list[Markup]()
        for at, bar in enumerate(bars):
            left = at * width
            shapes += self._bar(bar, left, width, top)
            shapes += _labels_below(bar, at, len(bars), left + width / 2)
            words = _words(sum(bar.parts), self.unit)
            shapes += [
                _text(left + width / 2, _TOP + _PLOT - sum(bar.parts) / top * _PLOT - 5, words, "middle", window)
                for window, most in _LABELS.items()
                if len(bars) <= most
            ]
        left_out = len(self.bars) - len(bars)
        note = f", the last {len(bars)} of {len(self.bars)}" if left_out > 0 else ""
        return _frame(f"{self.title}{note}; the table below has the numbers", top, self.unit, shapes)

    def _bar(self, bar: Bar, left: float, width: float, top: float) -> Iterator[Markup]:
        """Yield the parts of a bar; a pointer that rests on the bar shows its numbers."""
        names = self.parts or ("",)
        numbers = ", ".join(
            f"{_words(value, self.unit)} {name}".strip() for name, value in zip(names, bar.parts, strict=True)
        )
        below = 0.0
        rects = []
        thickness = min(width * 0.7, 12)
        for number, value in enumerate(bar.parts):
            height = value / top * _PLOT
            rects.append(
                Markup('<rect class="series-{}" x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}"/>').format(
                    number, left + (width - thickness) / 2, _TOP + _PLOT - below - height, thickness, height
                )
            )
            below += height
        yield Markup("<g><title>{}: {}</title>{}</g>").format(bar.title, numbers, Markup("").join(rects))


@dataclass(frozen=True, slots=True)
class Yield:
    """A job or a run gave this."""

    number: int
    date: str
    objects: int
    bytes: tuple[int, int]
    """The bytes that were new, and the bytes that the archive had already."""


def charts_of_work(word: str, yields: Sequence[Yield]) -> list[BarChart]:
    """Return a chart of objects and a chart of bytes, in which each bar stands for a `word`: a job or a run."""

    def bar(each: Yield, *parts: int) -> Bar:
        return Bar(f"{word} {each.number}", each.date[:10], f"{word.capitalize()} {each.number}, {each.date}", parts)

    return [
        BarChart(f"Objects of each {word}", [bar(each, each.objects) for each in yields]),
        BarChart(f"Bytes of each {word}", [bar(each, *each.bytes) for each in yields], ("new", "known"), "bytes"),
    ]


def job_charts(samples: Sequence[Any], zone: ZoneInfo) -> list[TimeChart]:
    """Return the charts of a job's progress; none for fewer than two samples."""
    if len(samples) < 2:
        return []
    times = [each.at for each in samples]
    ends = formats.date_text(times[0], zone), formats.date_text(times[-1], zone)

    def values(name: str) -> list[float | None]:
        return [_number(each.progress.get(name)) for each in samples]

    objects = (Series("Objects", values("urls")), Series("Queued", values("queued")))
    sizes = (Series("Bytes", values("bytes")), Series("New bytes", values("new_bytes")))
    return [
        TimeChart("Objects over time", times, ends, objects),
        TimeChart("Bytes over time", times, ends, sizes, "bytes"),
    ]


def _frame(label: str, top: float, unit: Unit, shapes: Sequence[Markup]) -> Markup:
    """Return the picture: three lines of the scale with their numbers, and the shapes over them."""
    scale = []
    for part in (0, 1, 2):
        y = _TOP + _PLOT - part * _PLOT / 2
        scale.append(Markup('<line x1="0" x2="100%" y1="{}" y2="{}"/>').format(y, y))
        words = _words(top * part / 2, unit)
        scale.append(Markup('<text x="0" dx="-8" y="{}" text-anchor="end">{}</text>').format(y + 4, words))
    return Markup('<svg class="drawn" role="img" aria-label="{}" height="{}">{}{}</svg>').format(
        label, _HEIGHT, Markup("").join(scale), Markup("").join(shapes)
    )


def _labels_below(bar: Bar, at: int, count: int, middle: float) -> Iterator[Markup]:
    """Yield the labels of a bar, for the windows in which there is room for them."""
    for window, most in _LABELS.items():
        step = -(-count // most)
        if (count - 1 - at) % step == 0:
            yield _text(middle, _TOP + _PLOT + 16, bar.label, "middle", window)
            yield _text(middle, _TOP + _PLOT + 32, bar.date, "middle", window)


def _text(x: float, y: float, text: str, anchor: str, window: str = "") -> Markup:
    shown = Markup(' class="{}"').format(window) if window else ""
    return Markup('<text x="{:.2f}%" y="{:.1f}" text-anchor="{}"{}>{}</text>').format(x, y, anchor, shown, text)


def _key(names: Sequence[str]) -> Markup:
    """Return what the colours mean; nothing for a chart of one colour."""
    if len(names) < 2:
        return Markup("")
    items = Markup("").join(
        Markup(
            '<li><svg width="12" height="12" aria-hidden="true"><rect class="series-{}" width="12" height="12"/></svg>'
            " {}</li>"
        ).format(number, name)
        for number, name in enumerate(names)
    )
    return Markup('<ul class="key">{}</ul>').format(items)


def _scale_top(values: Sequence[float], unit: Unit) -> float:
    """Return the number at the top of the scale; half of it stands in the middle, so that it is even for counts."""
    highest = max(values, default=0)
    if highest <= 10 and unit == "count":
        return max(2, highest + highest % 2)
    if highest <= 1:
        return 1
    power = 10.0 ** (len(str(int(highest))) - 1)
    return next(step * power for step in _STEPS if step * power >= highest)


def _words(value: float, unit: Unit) -> str:
    return formats.size_text(value) if unit == "bytes" else formats.count_text(round(value))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
