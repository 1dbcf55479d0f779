"""archive/dates.py: dates to the microsecond, as WARC and CDX files write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.dates import iso_date, now_micros, parse_date, timestamp14

DATES = st.integers(min_value=-62_135_596_800_000_000, max_value=253_402_300_799_999_999)


@given(DATES)
def test_date_survives_being_written_and_read(date: int) -> None:
    assert parse_date(iso_date(date)) == date


@given(st.datetimes(min_value=datetime(1000, 1, 1)))
def test_dates_are_those_of_the_calendar(moment: datetime) -> None:
    date = parse_date(moment.isoformat(timespec="microseconds") + "Z")
    assert iso_date(date) == f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
    assert timestamp14(date) == f"{moment:%Y%m%d%H%M%S}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T08:15:00Z", "2026-11-21T08:15:00.000000Z"),
        ("2026-11-21T08:15:00.5Z", "2026-11-21T08:15:00.500000Z"),
        ("2026-11-21T08:15:00.000123Z", "2026-11-21T08:15:00.000123Z"),
        ("2026-11-21T08:15:00.123456789Z", "2026-11-21T08:15:00.123456Z"),
        ("2026-11-21T08:15Z", "2026-11-21T08:15:00.000000Z"),
        ("2026-11-21", "2026-11-21T00:00:00.000000Z"),
        ("2026", "2026-01-01T00:00:00.000000Z"),
        ("202611", "2026-11-01T00:00:00.000000Z"),
        ("20261121081500", "2026-11-21T08:15:00.000000Z"),
        ("20261121081500123", "2026-11-21T08:15:00.123000Z"),
    ],
)
def test_dates_of_any_precision_are_read(text: str, expected: str) -> None:
    assert iso_date(parse_date(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-13-01T00:00:00Z",
        "20261301",
        "2026-11-21T08:15:00.x1Z",
        "202",
        "20261",
        "202611215",
        "²⁰²⁶",
        "1" * 18,
    ],
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_date(text)


def test_now_is_now() -> None:
    assert abs(now_micros() - datetime.now(UTC).timestamp() * 1_000_000) < 60_000_000
