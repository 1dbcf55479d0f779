"""archive/capture.py: dates to the microsecond, bodies in memory and in files."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from captured import capture
from hypothesis import given
from hypothesis import strategies as st

from archive.capture import Body, Message, compact_json, iso_date, now_micros, parse_date, timestamp14

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


def test_body_gives_memory_first_and_its_file_from_the_start_each_time() -> None:
    body = Body((b"a", b"b"), io.BytesIO(b"c" * 600_000), 600_002)
    for _ in range(2):
        assert b"".join(body.chunks()) == b"ab" + b"c" * 600_000
    assert max(map(len, body.chunks())) < 600_000


def test_message_is_head_and_body() -> None:
    message = Message(b"head\r\n\r\n", Body((b"body",), None, 4))
    assert b"".join(message.chunks()) == b"head\r\n\r\nbody"
    assert message.length == 12


def test_revisit_has_its_own_media_type_in_an_index() -> None:
    assert capture().cdx_mime == "text/html"
    assert capture(kind="revisit").cdx_mime == "warc/revisit"
    assert capture(date="20260102030405").timestamp == "20260102030405"


def test_json_is_on_one_line_and_readable() -> None:
    assert compact_json({"a": ["é", 1]}) == '{"a":["é",1]}'
