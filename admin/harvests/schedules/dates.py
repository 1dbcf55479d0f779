"""A rule and an anchor give the dates of a schedule: the k-th date is computed from the anchor, never from date k-1.

Hours are counted in UTC. Days, weeks and months are counted in the wall time of the rule's zone; the zone is attached
afterwards, so that a harvest at 03:00 stays at 03:00 when clocks change. A wall time that does not exist on a day moves
forward by the gap, and one that exists twice is taken the first time. A month without the wanted day has its last day
instead, and the next month has the wanted day again. Pure.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from admin.models.harvest_tables import ScheduleEnd, TimeUnit
from archive.dates import Micros

HOUR: Final = 3_600_000_000
"""In microseconds."""
LAST_MOMENT: Final = 253_370_764_800_000_000
"""The year 9999 begins: there are no dates from then on."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)
_WEEK_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class ScheduleRule:
    """A rule says how often something happens, and when it begins and ends. `ScheduleInput` checks its fields."""

    unit: TimeUnit
    every: int = 1
    minute: int | None = None
    """With an hour, a weekday or a day of the month, as the unit asks; without any, dates are anytime: the k-th date is
    k intervals after the anchor."""
    hour: int | None = None
    weekday: int | None = None
    """0 is Monday."""
    month_day: int | None = None
    zone: str = "UTC"
    starts: Micros | None = None
    ends: ScheduleEnd = ScheduleEnd.NEVER
    ends_at: Micros | None = None
    """The last moment that may be a date."""
    ends_after: int | None = None
    """Runs, those that were skipped not counted."""


@dataclass(frozen=True, slots=True)
class ScheduleDate:
    """A date of a schedule has its moment, its wall time, and what moved it."""

    moment: Micros
    wall: str
    """Wall time with its offset, such as 2027-03-28T03:30:00+02:00."""
    note: str = ""
    """Why the date is not at the wanted wall time; empty when it is."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """The next date after a run, and how many dates had passed in between."""

    moment: Micros | None
    """None when the schedule has ended."""
    skipped: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A wall time is wanted; `day` is the day of the month before it was fitted into the month."""

    wall: datetime
    day: int


def first_date(rule: ScheduleRule, anchor: Micros) -> Micros | None:
    """Return the first date, which is not before the anchor and the rule's start. None when there is none."""
    return _allowed(rule, _date_number(rule, _base(rule, anchor), 0), 0)


def next_date(rule: ScheduleRule, anchor: Micros, after: Micros, runs_made: int = 0) -> Micros | None:
    """Return the first date after a moment. None when the schedule has ended.

    The number of steps does not grow with the time since the anchor.
    """
    base = _base(rule, anchor)
    return _allowed(rule, _date_number(rule, base, _number_after(rule, base, after)), runs_made)


def next_run(rule: ScheduleRule, anchor: Micros, due: Micros, now: Micros, runs_made: int) -> NextRun:
    """Return the date after a run that was due and is made now, and how many dates after `due` have passed.

    `runs_made` counts the run that is made now. Dates that have passed are not made up for.
    """
    base = _base(rule, anchor)
    last = now if rule.ends is not ScheduleEnd.DATE or rule.ends_at is None else min(now, rule.ends_at)
    has_ended = rule.ends is ScheduleEnd.COUNT and runs_made >= (rule.ends_after or 0)
    passed = 0
    if last > due and not has_ended:
        passed = _number_after(rule, base, last) - _number_after(rule, base, due)
    return NextRun(next_date(rule, anchor, max(now, due), runs_made), passed)


def preview(
    rule: ScheduleRule, anchor: Micros, after: Micros, runs_made: int = 0, most: int = 10
) -> list[ScheduleDate]:
    """Return the next dates after a moment, with their wall times and notes."""
    return list(_preview(rule, anchor, after, runs_made, most))


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of this name, which is one of `rules.zones`."""
    return ZoneInfo(name)


def wall_time(moment: Micros, zone: str) -> datetime:
    """Return the moment as the clocks of the zone show it, with its offset."""
    return (_EPOCH + moment * _MICRO).astimezone(zone_of(zone))


def moment_of(wall: datetime, zone: str) -> Micros:
    """Return the moment at which the clocks of the zone show this wall time.

    One that does not exist is moved forward by the gap, one that exists twice is taken the first time.
    """
    return _micros(wall.replace(tzinfo=zone_of(zone), fold=0))


@dataclass(frozen=True, slots=True)
class _Base:
    """All dates are counted from the date with number 0."""

    moment: Micros
    wall: datetime
    """Without a zone."""
    day: int
    """The wanted day of the month."""


@lru_cache(maxsize=1024)
def _base(rule: ScheduleRule, anchor: Micros) -> _Base:
    start = anchor if rule.starts is None else max(anchor, rule.starts)
    wall = wall_time(start, rule.zone).replace(tzinfo=None)
    is_anytime = rule.minute is None
    if is_anytime:
        return _Base(start, wall.replace(fold=0), wall.day)
    assert rule.minute is not None
    if rule.unit is TimeUnit.HOUR:
        late = timedelta(minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond)
        wait = (timedelta(minutes=rule.minute) - late) % timedelta(hours=1)
        moment = start + wait // _MICRO
        return _Base(moment, wall_time(moment, rule.zone).replace(tzinfo=None, fold=0), wall.day)
    assert rule.hour is not None
    at = time(rule.hour, rule.minute)
    for first in _candidates(rule, wall.date()):
        found = datetime.combine(first, at)
        moment = moment_of(found, rule.zone)
        if moment >= start:
            return _Base(moment, found, rule.month_day or found.day)
    raise AssertionError("one of the candidates is after the start")


def _candidates(rule: ScheduleRule, today: date) -> Iterator[date]:
    """Yield days on which the first date may be; the day before counts, as clocks may be set back at midnight."""
    if rule.unit is TimeUnit.DAY:
        yield from (today + timedelta(days=days) for days in range(-1, 4))
    elif rule.unit is TimeUnit.WEEK:
        assert rule.weekday is not None
        first = today - timedelta(days=1)
        first += timedelta(days=(rule.weekday - first.weekday()) % _WEEK_DAYS)
        yield from (first + timedelta(days=days) for days in (0, _WEEK_DAYS, 2 * _WEEK_DAYS))
    else:
        assert rule.month_day is not None
        months = _months(today) - 1
        yield from (_in_month(each, rule.month_day) for each in range(months, months + 4))


def _date_number(rule: ScheduleRule, base: _Base, number: int) -> Micros | None:
    """Return the date with this number; None beyond the last moment."""
    if number == 0:
        return base.moment if base.moment < LAST_MOMENT else None
    if rule.unit is TimeUnit.HOUR:
        found = base.moment + number * rule.every * HOUR
        return found if found < LAST_MOMENT else None
    wanted = _wanted(rule, base, number)
    if wanted is None:
        return None
    found = moment_of(wanted.wall, rule.zone)
    return found if found < LAST_MOMENT else None


def _wanted(rule: ScheduleRule, base: _Base, number: int) -> _Wanted | None:
    """Return the wall time of a date by days, weeks or months; None beyond the calendar."""
    steps = number * rule.every
    if rule.unit is TimeUnit.MONTH:
        months = _months(base.wall.date()) + steps
        if months >= 12 * 9_999:
            return None
        return _Wanted(datetime.combine(_in_month(months, base.day), base.wall.time()), base.day)
    days = steps * (_WEEK_DAYS if rule.unit is TimeUnit.WEEK else 1)
    if days > (date.max - base.wall.date()).days:
        return None
    wall = base.wall + timedelta(days=days)
    return _Wanted(wall, wall.day)


def _number_after(rule: ScheduleRule, base: _Base, after: Micros) -> int:
    """Return the number of the first date after a moment.

    The wall time of the moment gives a number that is right but for the clocks' changes; a few steps correct it.
    """
    if after < base.moment:
        return 0
    after = min(after, LAST_MOMENT)
    if rule.unit is TimeUnit.HOUR:
        return (after - base.moment) // (rule.every * HOUR) + 1
    wall = wall_time(after, rule.zone).replace(tzinfo=None)
    if rule.unit is TimeUnit.MONTH:
        number = (_months(wall.date()) - _months(base.wall.date())) // rule.every
    else:
        days = _WEEK_DAYS if rule.unit is TimeUnit.WEEK else 1
        number = (wall.date() - base.wall.date()).days // (days * rule.every)
    number = max(0, number - 2)
    while (found := _date_number(rule, base, number)) is not None and found <= after:
        number += 1
    return number


def _allowed(rule: ScheduleRule, found: Micros | None, runs_made: int) -> Micros | None:
    """Return the date unless the schedule has ended before it."""
    if found is None:
        return None
    if rule.ends is ScheduleEnd.DATE and rule.ends_at is not None and found > rule.ends_at:
        return None
    if rule.ends is ScheduleEnd.COUNT and runs_made >= (rule.ends_after or 0):
        return None
    return found


def _preview(rule: ScheduleRule, anchor: Micros, after: Micros, runs_made: int, most: int) -> Iterator[ScheduleDate]:
    base = _base(rule, anchor)
    for made in range(runs_made, runs_made + most):
        number = _number_after(rule, base, after)
        found = _allowed(rule, _date_number(rule, base, number), made)
        if found is None:
            return
        wall = wall_time(found, rule.zone)
        yield ScheduleDate(found, wall.isoformat(timespec="seconds"), _note(rule, base, number, found, wall))
        after = found


def _note(rule: ScheduleRule, base: _Base, number: int, found: Micros, wall: datetime) -> str:
    if rule.unit is TimeUnit.HOUR or (number == 0 and rule.minute is None):
        return ""
    wanted = _wanted(rule, base, number)
    assert wanted is not None
    shown = f"{wanted.wall:%H:%M}"
    if wanted.wall != wall.replace(tzinfo=None, fold=0):
        return f"{shown} does not exist on {wanted.wall:%Y-%m-%d}, as clocks go forward; the date moves by the gap"
    zone = zone_of(rule.zone)
    if _micros(wanted.wall.replace(tzinfo=zone, fold=1)) > found:
        return f"{shown} comes twice on this day, as clocks go back; the first is taken"
    if wanted.wall.day != wanted.day:
        return f"this month has no day {wanted.day}; its last day is taken"
    return ""


def _months(day: date) -> int:
    return day.year * 12 + day.month - 1


def _in_month(months: int, day: int) -> date:
    """Return the day in this month, counted from the year 0, or the month's last day."""
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day, calendar.monthrange(year, month + 1)[1]))


def _micros(moment: datetime) -> Micros:
    return (moment.astimezone(UTC) - _EPOCH) // _MICRO
