"""A moment in an input is a date with its zone, or microseconds since 1970."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from admin.harvests.definitions.definition import HarvestChange
from admin.harvests.schedules.timetable import PreviewInput
from admin.models.moments import moment_of

MOMENT = 1_799_996_400_000_000


@pytest.mark.parametrize(
    "text",
    [
        "2027-01-15T08:00+01:00",
        "2027-01-15 07:00:00Z",
        "20270115T070000Z",
        "2027-01-15T07:00",
        "20270115070000",
        " 1799996400000000 ",
    ],
)
def test_every_form_of_a_moment_is_the_same(text: str) -> None:
    assert moment_of(text) == MOMENT
    assert HarvestChange(first_run=text).first_run == MOMENT  # type: ignore[arg-type]


def test_days_begin_in_utc_and_longer_numbers_are_microseconds() -> None:
    assert moment_of("20270115") == moment_of("2027-01-15") == moment_of("2027-01-15T00:00Z")
    assert moment_of("999999999999999") == 999_999_999_999_999
    assert moment_of("100000000000000000") == 10**17
    assert PreviewInput.model_validate({"unit": "day", "starts": MOMENT, "after": "0"}).after == 0
    assert PreviewInput.model_validate({"unit": "day", "starts": MOMENT, "after": 2027}).after == 2027


def test_a_start_time_of_crawl_log_is_a_date() -> None:
    assert moment_of("20270115070000123") == MOMENT + 123_000
    assert moment_of("20270115070000000") == MOMENT


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2027-13-01", "2027-01-15T25:00", "1.5", "-1", "٣", "9" * 5000 + "x"),
        *("1", "2027", "202701", "2027011507", "20270115012", "202701150700", "2027011501012"),
        *("20271315", "20271315070000", "20270115250000", "20271315070000123"),
    ],
)
def test_another_text_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValidationError, match=r"this is no date; write 2027-01-15, or 2027-01-15T08:00\+01:00"):
        PreviewInput.model_validate({"unit": "day", "starts": text})
