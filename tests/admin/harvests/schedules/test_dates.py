"""admin/harvests/schedules/dates.py: dates over clock changes, month ends and thirty years, beside an oracle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
import whenever
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.each_value import each_value

from admin.harvests.schedules import dates
from admin.harvests.schedules.dates import (
    HOUR,
    LAST_MOMENT,
    NextRun,
    ScheduleRule,
    first_date,
    moment_of,
    next_date,
    next_run,
    preview,
    wall_time,
)
from admin.models.harvest_tables import ScheduleEnd, TimeUnit
from archive.dates import Micros

DAY = 24 * HOUR
COPENHAGEN, NEW_YORK, LORD_HOWE, APIA = "Europe/Copenhagen", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"


def utc(text: str) -> Micros:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )


def date_number(rule: ScheduleRule, anchor: Micros, number: int) -> Micros | None:
    """The date with this number, where the rule's end is not looked at."""
    return dates._date_number(rule, dates._base(rule, anchor), number)


def local(text: str, zone: str) -> Micros:
    return moment_of(datetime.fromisoformat(text), zone)


def walls(rule: ScheduleRule, start: Micros, count: int) -> list[str]:
    """Return the wall times of the first dates, as month-day hour:minute and offset."""
    found = [date_number(rule, start, number) for number in range(count)]
    return [f"{wall_time(each, rule.zone):%m-%d %H:%M%z}"[:-2] for each in found if each is not None]


def daily(zone: str, hour: int, minute: int) -> ScheduleRule:
    return ScheduleRule(TimeUnit.DAY, zone=zone, hour=hour, minute=minute)


@pytest.mark.parametrize(
    ("rule", "start", "expected"),
    [
        # Copenhagen, 28 March 2027: 02:00 becomes 03:00. 31 October 2027: 03:00 becomes 02:00.
        (daily(COPENHAGEN, 2, 30), "2027-03-27T00:00", ["03-27 02:30+01", "03-28 03:30+02", "03-29 02:30+02"]),
        (daily(COPENHAGEN, 2, 30), "2027-10-30T00:00", ["10-30 02:30+02", "10-31 02:30+02", "11-01 02:30+01"]),
        (daily(COPENHAGEN, 3, 0), "2027-03-27T00:00", ["03-27 03:00+01", "03-28 03:00+02", "03-29 03:00+02"]),
        # New York, 14 March 2027 and 7 November 2027.
        (daily(NEW_YORK, 2, 30), "2027-03-13T00:00", ["03-13 02:30-05", "03-14 03:30-04", "03-15 02:30-04"]),
        (daily(NEW_YORK, 1, 30), "2027-11-06T00:00", ["11-06 01:30-04", "11-07 01:30-04", "11-08 01:30-05"]),
        # A week, and a month, that end on the day of the change.
        (
            ScheduleRule(TimeUnit.WEEK, zone=COPENHAGEN, weekday=6, hour=2, minute=30),
            "2027-03-21T00:00",
            ["03-21 02:30+01", "03-28 03:30+02", "04-04 02:30+02"],
        ),
        (
            ScheduleRule(TimeUnit.MONTH, zone=COPENHAGEN, month_day=28, hour=2, minute=30),
            "2027-02-01T00:00",
            ["02-28 02:30+01", "03-28 03:30+02", "04-28 02:30+02"],
        ),
        # Hours are counted in UTC: one comes twice on the wall, one is left out.
        (
            ScheduleRule(TimeUnit.HOUR, zone=COPENHAGEN, minute=30),
            "2027-10-31T01:00",
            ["10-31 01:30+02", "10-31 02:30+02", "10-31 02:30+01", "10-31 03:30+01"],
        ),
        (
            ScheduleRule(TimeUnit.HOUR, zone=COPENHAGEN, minute=30),
            "2027-03-28T01:00",
            ["03-28 01:30+01", "03-28 03:30+02", "03-28 04:30+02"],
        ),
        (
            ScheduleRule(TimeUnit.HOUR, every=6, zone=COPENHAGEN),
            "2027-03-27T22:00",
            ["03-27 22:00+01", "03-28 05:00+02", "03-28 11:00+02"],
        ),
    ],
)
def test_dates_over_a_change_of_clocks(rule: ScheduleRule, start: str, expected: list[str]) -> None:
    assert walls(rule, local(start, rule.zone), len(expected)) == expected


@pytest.mark.parametrize(
    ("rule", "start", "expected"),
    [
        # Lord Howe changes its clocks by half an hour: 3 October 2027 at 02:00, back on 4 April 2027 at 02:00.
        (daily(LORD_HOWE, 2, 15), "2027-10-02T00:00", ["2027-10-01T15:45", "2027-10-02T15:45", "2027-10-03T15:15"]),
        (daily(LORD_HOWE, 1, 45), "2027-04-03T00:00", ["2027-04-02T14:45", "2027-04-03T14:45", "2027-04-04T15:15"]),
        # Apia had no 30 December 2011: the date moves to the 31st, and the 31st has its own.
        (daily(APIA, 10, 0), "2011-12-28T00:00", ["2011-12-28T20:00", "2011-12-29T20:00", "2011-12-30T20:00"]),
    ],
)
def test_dates_over_a_half_hour_and_a_missing_day(rule: ScheduleRule, start: str, expected: list[str]) -> None:
    found = preview(rule, local(start, rule.zone), local(start, rule.zone), most=3)
    assert [each.moment for each in found] == [utc(each) for each in expected]


def test_the_two_dates_of_a_missing_day_are_one() -> None:
    rule, start = daily(APIA, 10, 0), local("2011-12-28T00:00", APIA)
    numbered = [date_number(rule, start, number) for number in range(5)]
    assert numbered[2] == numbered[3], "the 30th, moved by the gap of a day, is the 31st"
    assert [each.wall[:10] for each in preview(rule, start, start, most=4)] == [
        "2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01",
    ]  # fmt: skip


@each_value(
    ("rule", "start", "expected"),
    [
        (
            ScheduleRule(TimeUnit.MONTH, month_day=31, hour=5, minute=0),
            "2027-01-15T00:00",
            [
                "01-31",
                "02-28",
                "03-31",
                "04-30",
                "05-31",
                "06-30",
                "07-31",
                "08-31",
                "09-30",
                "10-31",
                "11-30",
                "12-31",
            ],
        ),
        (
            ScheduleRule(TimeUnit.MONTH),
            "2028-01-31T23:59",
            ["01-31", "02-29", "03-31", "04-30"],
        ),
        (ScheduleRule(TimeUnit.MONTH, every=12), "2028-02-29T01:00", ["02-29", "02-28", "02-28", "02-28", "02-29"]),
        (
            ScheduleRule(TimeUnit.MONTH, every=5, month_day=30, hour=0, minute=0),
            "2027-09-01T00:00",
            ["09-30", "02-29", "07-30"],
        ),
        (ScheduleRule(TimeUnit.MONTH, month_day=31, hour=5, minute=0), "2027-02-28T06:00", ["03-31", "04-30"]),
        (ScheduleRule(TimeUnit.MONTH, month_day=31, hour=5, minute=0), "2027-02-28T05:00", ["02-28", "03-31"]),
        (ScheduleRule(TimeUnit.MONTH, month_day=1, hour=5, minute=0), "2027-01-15T00:00", ["02-01", "03-01"]),
        (ScheduleRule(TimeUnit.WEEK, weekday=0, hour=5, minute=0), "2027-01-15T08:00", ["01-18", "01-25"]),
        (ScheduleRule(TimeUnit.WEEK, every=2, weekday=4, hour=5, minute=0), "2027-01-15T08:00", ["01-22", "02-05"]),
        (ScheduleRule(TimeUnit.WEEK, every=2, weekday=4, hour=8, minute=0), "2027-01-15T08:00", ["01-15", "01-29"]),
        (ScheduleRule(TimeUnit.DAY, every=3, hour=7, minute=59), "2027-12-31T08:00", ["01-01", "01-04"]),
        (ScheduleRule(TimeUnit.DAY, hour=0, minute=0), "2028-02-28T00:01", ["02-29", "03-01"]),
        (ScheduleRule(TimeUnit.DAY), "2027-02-28T10:00", ["02-28", "03-01"]),
    ],
)
def test_month_ends_leap_days_and_weekdays_do_not_drift(rule: ScheduleRule, start: str, expected: list[str]) -> None:
    assert [each[:5] for each in walls(rule, utc(start), len(expected))] == expected


def test_anytime_keeps_the_moment_of_the_anchor_to_the_microsecond() -> None:
    anchor = utc("2027-01-15T08:00:00.123456")
    assert first_date(ScheduleRule(TimeUnit.DAY), anchor) == anchor
    assert next_date(ScheduleRule(TimeUnit.DAY), anchor, anchor) == anchor + DAY
    assert next_date(ScheduleRule(TimeUnit.HOUR, every=5), anchor, anchor) == anchor + 5 * HOUR


def test_an_anchor_in_the_hour_that_comes_twice_stays_where_it_is() -> None:
    second = local("2027-10-31T02:30", COPENHAGEN) + HOUR
    rule = ScheduleRule(TimeUnit.DAY, zone=COPENHAGEN)
    assert first_date(rule, second) == second
    assert walls(rule, second, 2) == ["10-31 02:30+01", "11-01 02:30+01"]


def test_the_first_date_is_the_anchor_when_it_fits_and_never_before_the_start() -> None:
    rule = ScheduleRule(TimeUnit.DAY, hour=8, minute=0, starts=utc("2027-02-01T08:00"))
    assert first_date(rule, utc("2027-01-15T08:00")) == utc("2027-02-01T08:00")
    assert first_date(rule, utc("2027-02-01T08:00")) == utc("2027-02-01T08:00")
    assert first_date(rule, utc("2027-02-01T08:00") + 1) == utc("2027-02-02T08:00")
    assert first_date(ScheduleRule(TimeUnit.HOUR, minute=15), utc("2027-01-15T08:15:00.000001")) == utc(
        "2027-01-15T09:15"
    )
    assert first_date(ScheduleRule(TimeUnit.HOUR, minute=15), utc("2027-01-15T08:15")) == utc("2027-01-15T08:15")


def test_the_minute_is_that_of_the_zone() -> None:
    rule = ScheduleRule(TimeUnit.HOUR, minute=0, zone="Asia/Kolkata")  # UTC+05:30
    assert first_date(rule, utc("2027-01-15T08:00")) == utc("2027-01-15T08:30")


def test_a_schedule_ends_at_its_last_date_inclusive() -> None:
    end = utc("2027-01-17T08:00")
    rule = ScheduleRule(TimeUnit.DAY, ends=ScheduleEnd.DATE, ends_at=end)
    anchor = utc("2027-01-15T08:00")
    assert [each.moment for each in preview(rule, anchor, anchor - 1)] == [anchor, anchor + DAY, end]
    assert next_date(rule, anchor, end) is None
    assert next_date(rule, anchor, end - 1) == end
    assert first_date(rule, end + 1) is None


def test_a_schedule_ends_after_its_number_of_runs() -> None:
    rule = ScheduleRule(TimeUnit.DAY, ends=ScheduleEnd.COUNT, ends_after=3)
    anchor = utc("2027-01-15T08:00")
    assert [next_date(rule, anchor, anchor, made) is None for made in range(5)] == [False, False, False, True, True]
    assert len(preview(rule, anchor, anchor - 1)) == 3
    assert len(preview(rule, anchor, anchor - 1, runs_made=2)) == 1
    once = ScheduleRule(TimeUnit.DAY, ends=ScheduleEnd.COUNT, ends_after=1)
    assert (first_date(once, anchor), next_date(once, anchor, anchor, 1)) == (anchor, None)


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (0, NextRun(HOUR, 0)),
        (1, NextRun(HOUR, 0)),
        (HOUR - 1, NextRun(HOUR, 0)),
        (HOUR, NextRun(2 * HOUR, 1)),
        (HOUR + 1, NextRun(2 * HOUR, 1)),
        (72 * HOUR + 60_000_000, NextRun(73 * HOUR, 72)),
    ],
)
def test_dates_that_passed_are_skipped_and_counted(late: Micros, expected: NextRun) -> None:
    anchor = utc("2027-01-15T08:00")
    found = next_run(ScheduleRule(TimeUnit.HOUR), anchor, anchor, anchor + late, 1)
    assert found.skipped == expected.skipped
    assert found.moment is not None
    assert expected.moment is not None
    assert found.moment - anchor == expected.moment


def test_dates_after_the_end_are_not_counted_as_skipped() -> None:
    anchor = utc("2027-01-15T08:00")
    dated = ScheduleRule(TimeUnit.DAY, ends=ScheduleEnd.DATE, ends_at=anchor + 2 * DAY)
    assert next_run(dated, anchor, anchor, anchor + 30 * DAY, 1) == NextRun(None, 2)
    counted = ScheduleRule(TimeUnit.DAY, ends=ScheduleEnd.COUNT, ends_after=1)
    assert next_run(counted, anchor, anchor, anchor + 30 * DAY, 1) == NextRun(None, 0)


def test_a_clock_that_was_set_back_repeats_no_date() -> None:
    anchor = utc("2027-01-15T08:00")
    assert next_run(ScheduleRule(TimeUnit.HOUR), anchor, anchor + 5 * HOUR, anchor + 4 * HOUR, 6) == NextRun(
        anchor + 6 * HOUR, 0
    )


@pytest.mark.parametrize(
    ("rule", "start", "notes"),
    [
        (daily(COPENHAGEN, 2, 30), "2027-03-28T00:00", ["02:30 does not exist on 2027-03-28", ""]),
        (daily(COPENHAGEN, 2, 30), "2027-10-31T00:00", ["02:30 comes twice on this day", ""]),
        (
            ScheduleRule(TimeUnit.MONTH, month_day=31, hour=5, minute=0),
            "2027-02-01T00:00",
            ["this month has no day 31", ""],
        ),
        (ScheduleRule(TimeUnit.HOUR, zone=COPENHAGEN), "2027-10-31T02:30", ["", ""]),
    ],
)
def test_a_preview_says_what_moved_a_date(rule: ScheduleRule, start: str, notes: list[str]) -> None:
    anchor = local(start, rule.zone)
    found = [each.note for each in preview(rule, anchor, anchor - 1, most=2)]
    assert [note.startswith(said) and bool(note) == bool(said) for note, said in zip(found, notes, strict=True)] == [
        True,
        True,
    ]


@pytest.mark.parametrize("unit", list(TimeUnit))
@pytest.mark.parametrize("zone", ["UTC", COPENHAGEN, APIA])
def test_the_next_date_takes_the_same_few_steps_thirty_years_after_the_anchor(
    unit: TimeUnit, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = ScheduleRule(unit, zone=zone)
    anchor = utc("1997-01-31T02:30")
    counted: list[int] = []
    real = dates._date_number
    monkeypatch.setattr(dates, "_date_number", lambda *given: counted.append(1) or real(*given))
    found = next_date(rule, anchor, utc("2027-07-15T08:00"))
    assert found is not None
    assert 0 < found - utc("2027-07-15T08:00") <= 31 * DAY
    assert len(counted) <= 8


@pytest.mark.parametrize("unit", list(TimeUnit))
def test_the_calendar_ends_without_an_error(unit: TimeUnit) -> None:
    rule = ScheduleRule(unit, every=10_000, zone=APIA)
    anchor = LAST_MOMENT - 1
    assert first_date(rule, anchor) == anchor
    assert next_date(rule, anchor, anchor) is None
    assert len(preview(rule, anchor, anchor - 1)) == 1
    assert next_run(rule, utc("2027-01-15T08:00"), utc("2027-01-15T08:00"), LAST_MOMENT * 2, 1).moment is None
    assert date_number(rule, 0, 10**12) is None


ZONES = st.sampled_from(
    ["UTC", COPENHAGEN, NEW_YORK, LORD_HOWE, APIA, "Asia/Kolkata", "Africa/Casablanca", "America/St_Johns",
     "Pacific/Chatham", "Asia/Tehran", "Antarctica/Troll", "America/Caracas", "Europe/Dublin"]
)  # fmt: skip
MOMENTS = st.integers(utc("1990-01-01"), utc("2037-12-31"))


@st.composite
def rules(draw: st.DrawFn) -> ScheduleRule:
    """Any rule without an end."""
    unit = draw(st.sampled_from(list(TimeUnit)))
    place: dict[str, Any] = {}
    if draw(st.booleans()):
        place["minute"] = draw(st.integers(0, 59))
        if unit is not TimeUnit.HOUR:
            place["hour"] = draw(st.sampled_from([0, 1, 2, 3, 12, 23]))
        if unit is TimeUnit.WEEK:
            place["weekday"] = draw(st.integers(0, 6))
        if unit is TimeUnit.MONTH:
            place["month_day"] = draw(st.sampled_from([1, 15, 28, 29, 30, 31]))
    return ScheduleRule(unit, every=draw(st.sampled_from([1, 2, 3, 7, 12, 100])), zone=draw(ZONES), **place)


@settings(max_examples=150, deadline=None)
@given(rules(), MOMENTS, st.integers(0, 3000))
def test_the_kth_date_is_what_whenever_says(rule: ScheduleRule, anchor: Micros, number: int) -> None:
    base = first_date(rule, anchor)
    assert base is not None
    start = whenever.Instant.from_timestamp(base * 1000, unit="nanosecond").to_tz(rule.zone)
    if rule.unit is TimeUnit.HOUR:
        expected = start.to_instant().add(hours=number * rule.every)
    else:
        plain = start.to_plain()
        if rule.minute is not None:
            assert rule.hour is not None
            plain = plain.replace(hour=rule.hour, minute=rule.minute)
            # The first date may have moved by a gap, or be a month's last day: count from the wanted one.
            assume(plain.assume_tz(rule.zone, disambiguation="compatible") == start)
            if rule.month_day is not None:
                # Any month of 31 days carries the wanted day.
                months = plain.year * 12 + plain.month - 1
                january = whenever.PlainDateTime(plain.year, 1, rule.month_day, rule.hour, rule.minute)
                plain, shift = january, months - plain.year * 12
            else:
                shift = 0
        else:
            shift = 0
        steps = number * rule.every
        moved = {
            TimeUnit.DAY: lambda: plain.add(days=steps),
            TimeUnit.WEEK: lambda: plain.add(weeks=steps),
            TimeUnit.MONTH: lambda: plain.add(months=steps + shift),
        }
        assume(number > 0 or rule.minute is not None)
        try:
            expected = moved[rule.unit]().assume_tz(rule.zone, disambiguation="compatible").to_instant()
        except (ValueError, OverflowError):
            assert date_number(rule, anchor, number) is None
            return
    found = date_number(rule, anchor, number)
    nanos = expected.timestamp(unit="nanosecond")
    assert found == (nanos // 1000 if nanos // 1000 < LAST_MOMENT else None)


@settings(max_examples=150, deadline=None)
@given(rules(), MOMENTS, MOMENTS)
def test_the_next_date_is_the_first_after_the_moment(rule: ScheduleRule, anchor: Micros, after: Micros) -> None:
    found = next_date(rule, anchor, after)
    first = first_date(rule, anchor)
    assert found is not None
    assert first is not None
    assert found > after
    assert first >= anchor
    if found == first:
        assert after < first
    else:
        # No date lies between: the one after a moment just before `found` is `found`, and the one before is not later.
        assert next_date(rule, anchor, found - 1) == found
        numbers = [dates._number_after(rule, dates._base(rule, anchor), each) for each in (after, found - 1)]
        before = date_number(rule, anchor, numbers[0] - 1)
        assert numbers[0] == numbers[1]
        assert before is not None
        assert before <= after


@settings(max_examples=100, deadline=None)
@given(rules(), MOMENTS, st.integers(0, 60 * DAY))
def test_the_skipped_dates_are_those_that_a_count_finds(rule: ScheduleRule, anchor: Micros, late: Micros) -> None:
    due = first_date(rule, anchor)
    assert due is not None
    counted, number = 0, 1
    while (each := date_number(rule, anchor, number)) is not None and each <= due + late and number < 2000:
        counted, number = counted + 1, number + 1
    assert next_run(rule, anchor, due, due + late, 1).skipped == counted


@settings(max_examples=100, deadline=None)
@given(rules(), MOMENTS)
def test_previewed_dates_follow_each_other_at_their_wall_time(rule: ScheduleRule, anchor: Micros) -> None:
    found = preview(rule, anchor, anchor - 1)
    assert len(found) == 10
    assert all(one.moment < other.moment for one, other in pairwise(found))
    for each in found:
        wall = datetime.fromisoformat(each.wall)
        assert (wall - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1) == each.moment // 1_000_000
        if rule.hour is not None and "does not exist" not in each.note:
            assert (wall.hour, wall.minute) == (rule.hour, rule.minute)
        if rule.weekday is not None and "does not exist" not in each.note:
            assert wall.weekday() == rule.weekday
