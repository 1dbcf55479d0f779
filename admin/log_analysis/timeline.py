"""A time line counts URLs, bytes, hosts and errors of a log in steps of equal length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from admin.log_analysis.columns.readings import Reading
from admin.log_analysis.error_classes import FAULTS
from archive.dates import Micros

STEPS: Final = (1, 5, 10, 30, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800)
"""Seconds of a step; the shortest one that gives at most `MOST_POINTS` is used."""
MOST_POINTS: Final = 240
_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """A point has the counts of one step, which begins at `at`."""

    at: Micros
    lines: int
    """URLs that were tried or decided."""
    urls: int
    """URLs with a response."""
    bytes: int
    new_hosts: int
    """Hosts whose first line is in the step."""
    finished_hosts: int
    """Hosts whose last line, so far, is in the step."""
    errors: Mapping[str, int]
    """Lines by class of error; classes without a line are left out."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The time line has its step in seconds, and all steps from the first line of the log to the last."""

    seconds: int
    points: tuple[TimelinePoint, ...]


def timeline(reading: Reading, seconds: int = 0) -> Timeline:
    """Return the time line with a step of so many seconds; 0 chooses the step, and a longer one replaces a short one.

    The steps begin at whole multiples of their length.
    """
    first, last = reading.engine.run("SELECT epoch_us(min(time)), epoch_us(max(time)) FROM lines")[0]
    if first is None:
        return Timeline(seconds or STEPS[0], ())
    step = max(seconds, step_for((last - first) // _SECOND))
    width = step * _SECOND
    classes = ", ".join(f"count(*) FILTER (error = '{name}') AS \"{name}\"" for name in FAULTS)
    rows = reading.engine.rows(
        f"SELECT epoch_us(time) // {width} AS place, count(*) AS lines, count(*) FILTER (code > 0) AS urls,"
        f" coalesce(sum(bytes) FILTER (code > 0), 0)::BIGINT AS bytes, {classes} FROM lines GROUP BY place"
    )
    counts = {row["place"]: row for row in rows}
    new, finished = (_hosts(reading, end, width) for end in ("min", "max"))
    return Timeline(
        step,
        tuple(
            TimelinePoint(
                at=place * width,
                lines=row.get("lines", 0),
                urls=row.get("urls", 0),
                bytes=row.get("bytes", 0),
                new_hosts=new.get(place, 0),
                finished_hosts=finished.get(place, 0),
                errors={str(name): count for name in FAULTS if (count := row.get(name, 0))},
            )
            for place in range(first // width, last // width + 1)
            for row in (counts.get(place, {}),)
        ),
    )


def step_for(span_seconds: int) -> int:
    """Return the shortest step that divides a span into at most `MOST_POINTS` steps. Pure."""
    fitting = (step for step in STEPS if span_seconds // step < MOST_POINTS - 1)
    return next(fitting, -(-span_seconds // (MOST_POINTS - 1) // STEPS[-1]) * STEPS[-1] + STEPS[-1])


def _hosts(reading: Reading, end: str, width: int) -> dict[int, int]:
    """Return how many hosts have their first or last line in each step."""
    rows = reading.engine.run(
        f"SELECT place, count(*) FROM (SELECT epoch_us({end}(time)) // {width} AS place FROM lines GROUP BY host)"
        " GROUP BY place"
    )
    return dict(rows)
