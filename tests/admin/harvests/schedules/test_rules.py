"""admin/harvests/schedules/rules.py: what is refused, and how rules read in words."""

from __future__ import annotations

from typing import Any

import pytest
from support.each_value import each_value

from admin.harvests.schedules.dates import LAST_MOMENT
from admin.harvests.schedules.rules import RuleInput, in_words, local_moment, local_text, rule_of, rule_problems, zones
from admin.models.errors import InvalidInput

START = 1_800_000_000_000_000
"""2027-01-15T08:00:00Z."""


@each_value(
    ("given", "problems"),
    [
        ({"unit": "hour"}, {}),
        ({"unit": "hour", "minute": 59}, {}),
        ({"unit": "day", "hour": 0, "minute": 0}, {}),
        ({"unit": "week", "weekday": 6, "hour": 23, "minute": 59}, {}),
        ({"unit": "month", "month_day": 31, "hour": 3, "minute": 0, "zone": "Europe/Copenhagen"}, {}),
        ({"unit": "day", "ends": "date", "ends_at": START}, {}),
        ({"unit": "day", "ends": "count", "ends_after": 1}, {}),
        ({"unit": "day", "every": 0}, {"every": "0 is no interval; use 1 to 10,000"}),
        ({"unit": "day", "every": 10_001}, {"every": "10001 is no interval"}),
        ({"unit": "day", "every": 10**5000}, {"every": "a number of more than 30 digits is no interval"}),
        ({"unit": "hour", "minute": 60}, {"minute": "60 is no minute; use 0 to 59"}),
        ({"unit": "hour", "hour": 3}, {"hour": "by the hour has no hour", "minute": "the minute is missing"}),
        ({"unit": "day", "hour": 3}, {"minute": "the minute is missing; add it, or leave out all of hour, minute"}),
        ({"unit": "day", "minute": 3}, {"hour": "the hour is missing"}),
        ({"unit": "day", "hour": 24, "minute": -1}, {"hour": "24 is no hour", "minute": "-1 is no minute"}),
        ({"unit": "week", "hour": 3, "minute": 0}, {"weekday": "the weekday is missing"}),
        ({"unit": "week", "weekday": 7, "hour": 3, "minute": 0}, {"weekday": "7 is no weekday; use 0 to 6"}),
        (
            {"unit": "week", "month_day": 7},
            {"month_day": "by the week has no month_day", "weekday": "", "hour": "", "minute": ""},
        ),
        ({"unit": "month", "month_day": 32, "hour": 3, "minute": 0}, {"month_day": "32 is no month_day; use 1 to 31"}),
        ({"unit": "day", "zone": "Mars/Olympus"}, {"zone": "'Mars/Olympus' is no time zone; use a name such as"}),
        ({"unit": "day", "zone": "../../etc/passwd"}, {"zone": "is no time zone"}),
        ({"unit": "day", "zone": "x" * 10_000}, {"zone": "is no time zone"}),
        ({"unit": "day", "starts": -1}, {"starts": "-1 is no date; use one from 1970 to 9998"}),
        ({"unit": "day", "starts": LAST_MOMENT}, {"starts": "is no date"}),
        ({"unit": "day", "ends": "date"}, {"ends_at": "the last date is missing"}),
        ({"unit": "day", "ends": "count"}, {"ends_after": "the number of runs is missing"}),
        ({"unit": "day", "ends_at": START}, {"ends_at": "a schedule that ends never has no last date; leave it out"}),
        ({"unit": "day", "ends_after": 3}, {"ends_after": "a schedule that ends never has no number of runs"}),
        ({"unit": "day", "ends": "count", "ends_after": 0}, {"ends_after": "0 is no number of runs; use 1 to"}),
        ({"unit": "day", "ends": "date", "starts": START + 1, "ends_at": START}, {"ends_at": "ends before it starts"}),
    ],
)
def test_a_rule_is_checked_field_by_field(given: dict[str, Any], problems: dict[str, str]) -> None:
    found = {each.field: each.message for each in rule_problems(RuleInput.model_validate(given))}
    assert set(found) == set(problems)
    for field, said in problems.items():
        assert said in found[field]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"unit": "hour"}, "every hour, anytime (UTC)"),
        ({"unit": "hour", "every": 6, "minute": 5}, "every 6 hours, at minute 5 (UTC)"),
        ({"unit": "day", "hour": 3, "minute": 5, "zone": "Europe/Oslo"}, "every day, at 03:05 (Europe/Oslo)"),
        (
            {"unit": "week", "every": 2, "weekday": 0, "hour": 3, "minute": 30, "zone": "Europe/Copenhagen"},
            "every 2 weeks, on Monday at 03:30 (Europe/Copenhagen)",
        ),
        ({"unit": "month", "month_day": 31, "hour": 0, "minute": 0}, "every month, on day 31 at 00:00 (UTC)"),
        ({"unit": "day", "ends": "count", "ends_after": 1}, "once, anytime (UTC)"),
        ({"unit": "day", "ends": "count", "ends_after": 12}, "every day, anytime, 12 times (UTC)"),
        (
            {"unit": "day", "starts": START, "ends": "date", "ends_at": START + 86_400_000_000, "zone": "Europe/Oslo"},
            "every day, anytime, from 2027-01-15T09:00 on, until 2027-01-16T09:00 (Europe/Oslo)",
        ),
    ],
)
def test_a_rule_reads_as_people_say_it(given: dict[str, Any], words: str) -> None:
    assert in_words(rule_of(RuleInput.model_validate({"zone": "UTC", **given}))) == words


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("2027-01-15T08:00", "UTC", START),
        ("2027-01-15 09:00", "Europe/Copenhagen", START),
        (" 2027-01-15T09:00:00.000001 ", "Europe/Copenhagen", START + 1),
        ("2027-03-28T02:30", "Europe/Copenhagen", 1_806_197_400_000_000),
        ("2027-01-15", "UTC", START - 8 * 3_600_000_000),
    ],
)
def test_a_wall_time_that_a_person_typed_is_a_moment(text: str, zone: str, moment: int) -> None:
    assert local_moment(text, zone) == moment


def test_a_moment_is_shown_as_forms_have_it_and_read_back() -> None:
    assert local_text(START, "Europe/Copenhagen") == "2027-01-15T09:00"
    for moment in (START, START + 1, START + 30_000_000):
        assert local_moment(local_text(moment, "America/New_York"), "America/New_York") == moment


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2027-02-30T00:00", "1969-12-31T23:59", "9999-01-01T00:00", "0001-01-01T00:00",
             "2027-01-15T08:00+01:00", "٢٠٢٧-01-15", "2027-01-15T08:00\0", "x" * 100_000],
)  # fmt: skip
def test_what_is_no_wall_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"is no date; write one such as 2027-03-28T03:30") as caught:
        local_moment(text, "UTC", "ends_at")
    assert caught.value.problems[0].field == "ends_at"
    assert len(str(caught.value)) < 300


def test_a_wall_time_needs_a_known_zone() -> None:
    with pytest.raises(InvalidInput, match="'x' is no time zone"):
        local_moment("2027-01-15", "x")


def test_zones_are_those_of_the_database_of_time_zones() -> None:
    assert {"UTC", "Europe/Copenhagen", "Pacific/Apia"} <= zones()
    assert "localtime" not in zones()
