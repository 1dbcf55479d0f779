"""Rules of schedules are checked here, made from rows of the database, and told in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Final
from zoneinfo import available_timezones

from pydantic import Field

from admin.harvests.schedules.dates import LAST_MOMENT, ScheduleRule, moment_of, wall_time
from admin.models.errors import InvalidInput, Problem
from admin.models.harvest_tables import Schedule, ScheduleEnd, TimeUnit
from admin.models.moments import InputMoment
from admin.models.operation import InputModel
from archive.dates import Micros

MOST_UNITS: Final = 10_000
MOST_RUNS: Final = 1_000_000_000
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIELDS: Final = {
    TimeUnit.HOUR: ("minute",),
    TimeUnit.DAY: ("hour", "minute"),
    TimeUnit.WEEK: ("weekday", "hour", "minute"),
    TimeUnit.MONTH: ("month_day", "hour", "minute"),
}
"""The fields that say the place of a date within its unit; all of these, or none for anytime."""
_BOUNDS: Final = {"minute": (0, 59), "hour": (0, 23), "weekday": (0, 6), "month_day": (1, 31)}
_RULE_FIELDS: Final = tuple(ScheduleRule.__dataclass_fields__)
_WALL: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)
_LONGEST_SHOWN: Final = 100


class RuleInput(InputModel):
    """The input says when the dates of a schedule are."""

    unit: TimeUnit
    every: int = Field(1, description="units between two dates")
    minute: int | None = Field(None, description="0 to 59; without it, dates are anytime")
    hour: int | None = Field(None, description="0 to 23, for units from a day on")
    weekday: int | None = Field(None, description="0 (Monday) to 6, for weeks")
    month_day: int | None = Field(None, description="1 to 31, for months; shorter months have their last day")
    zone: str = Field("", description="the name of a time zone, such as Europe/Copenhagen; without it, the own one")
    starts: InputMoment | None = Field(
        None, description="no date is earlier; a date with its zone, such as 2027-01-15T08:00+01:00"
    )
    ends: ScheduleEnd = ScheduleEnd.NEVER
    ends_at: InputMoment | None = Field(None, description="the last moment that may be a date, for ends = date")
    ends_after: int | None = Field(None, description="runs, for ends = count")


def rule_of(schedule: Schedule | RuleInput) -> ScheduleRule:
    """Return the rule of a schedule."""
    values = {name: getattr(schedule, name) for name in _RULE_FIELDS}
    return ScheduleRule(**{**values, "unit": TimeUnit(values["unit"]), "ends": ScheduleEnd(values["ends"])})


def rule_problems(given: RuleInput) -> Iterator[Problem]:
    """Yield everything that keeps the input from being a rule."""
    if not 1 <= given.every <= MOST_UNITS:
        yield Problem("every", f"{_shown(given.every)} is no interval; use 1 to {MOST_UNITS:,}")
    yield from _place_problems(given)
    if given.zone and given.zone not in zones():
        yield Problem("zone", f"{given.zone[:_LONGEST_SHOWN]!r} is no time zone; use a name such as Europe/Copenhagen")
    for name in ("starts", "ends_at"):
        moment = getattr(given, name)
        if moment is not None and not 0 <= moment < LAST_MOMENT:
            yield Problem(name, f"{_shown(moment)} is no date; use one from 1970 to 9998")
    yield from _end_problems(given)


def _place_problems(given: RuleInput) -> Iterator[Problem]:
    needed = _FIELDS[given.unit]
    set_fields = [name for name in _BOUNDS if getattr(given, name) is not None]
    for name in set_fields:
        low, high = _BOUNDS[name]
        value = getattr(given, name)
        if name not in needed:
            yield Problem(name, f"a schedule by the {given.unit} has no {name}; leave it out")
        elif not low <= value <= high:
            yield Problem(name, f"{_shown(value)} is no {name}; use {low} to {high}")
    if set_fields:
        for name in needed:
            if name not in set_fields:
                yield Problem(
                    name, f"the {name} is missing; add it, or leave out all of {', '.join(needed)} for anytime"
                )


def _end_problems(given: RuleInput) -> Iterator[Problem]:
    if given.ends is ScheduleEnd.DATE and given.ends_at is None:
        yield Problem("ends_at", "the last date is missing; add it, or choose another end")
    if given.ends is not ScheduleEnd.DATE and given.ends_at is not None:
        yield Problem("ends_at", f"a schedule that ends {_ENDS[given.ends]} has no last date; leave it out")
    if given.ends is ScheduleEnd.COUNT and given.ends_after is None:
        yield Problem("ends_after", "the number of runs is missing; add it, or choose another end")
    if given.ends is not ScheduleEnd.COUNT and given.ends_after is not None:
        yield Problem("ends_after", f"a schedule that ends {_ENDS[given.ends]} has no number of runs; leave it out")
    if given.ends_after is not None and not 1 <= given.ends_after <= MOST_RUNS:
        yield Problem("ends_after", f"{_shown(given.ends_after)} is no number of runs; use 1 to {MOST_RUNS:,}")
    if given.starts is not None and given.ends_at is not None and given.ends_at < given.starts:
        yield Problem("ends_at", "the schedule ends before it starts; use a later last date")


_ENDS: Final = {ScheduleEnd.NEVER: "never", ScheduleEnd.DATE: "at a date", ScheduleEnd.COUNT: "after some runs"}


def in_words(rule: ScheduleRule) -> str:
    """Return the rule as people say it, such as "every 2 weeks, on Monday at 03:30 (Europe/Copenhagen)"."""
    if rule.ends is ScheduleEnd.COUNT and rule.ends_after == 1:
        often = "once"
    else:
        often = f"every {rule.unit}" if rule.every == 1 else f"every {rule.every:,} {rule.unit}s"
    words = [often, *_place_in_words(rule)]
    if rule.starts is not None:
        words.append(f"from {local_text(rule.starts, rule.zone)} on")
    if rule.ends is ScheduleEnd.DATE and rule.ends_at is not None:
        words.append(f"until {local_text(rule.ends_at, rule.zone)}")
    if rule.ends is ScheduleEnd.COUNT and rule.ends_after != 1:
        words.append(f"{rule.ends_after:,} times")
    return f"{', '.join(words)} ({rule.zone})"


def _place_in_words(rule: ScheduleRule) -> Iterator[str]:
    if rule.minute is None:
        yield "anytime"
    elif rule.unit is TimeUnit.HOUR:
        yield f"at minute {rule.minute}"
    else:
        at = f"at {rule.hour:02d}:{rule.minute:02d}"
        if rule.unit is TimeUnit.WEEK and rule.weekday is not None:
            yield f"on {WEEKDAYS[rule.weekday]} {at}"
        elif rule.unit is TimeUnit.MONTH:
            yield f"on day {rule.month_day} {at}"
        else:
            yield at


def local_text(moment: Micros, zone: str) -> str:
    """Return a moment as the clocks of the zone show it, in the form of `<input type="datetime-local">`."""
    wall = wall_time(moment, zone).replace(tzinfo=None)
    return wall.isoformat(timespec="minutes" if wall.second == wall.microsecond == 0 else "auto")


def local_moment(text: str, zone: str, field: str = "starts") -> Micros:
    """Return the moment of a wall time that a person typed, such as 2027-03-28T03:30. Raises InvalidInput."""
    bare = text.strip()[:_LONGEST_SHOWN]
    if zone not in zones():
        raise InvalidInput(Problem("zone", f"{zone[:_LONGEST_SHOWN]!r} is no time zone; use one such as Europe/Oslo"))
    try:
        moment = moment_of(datetime.fromisoformat(bare), zone) if _WALL.fullmatch(bare) else None
    except (ValueError, OverflowError):
        moment = None
    if moment is None or not 0 <= moment < LAST_MOMENT:
        raise InvalidInput(
            Problem(field, f"{bare!r} is no date; write one such as 2027-03-28T03:30, from 1970 to 9998")
        )
    return moment


@cache
def zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(available_timezones() - {"localtime", "Factory"} | {"UTC"})


def _shown(number: int) -> str:
    return str(number) if abs(number) < 10**30 else "a number of more than 30 digits"
