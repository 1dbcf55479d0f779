"""What people and programs see of a running job."""

from __future__ import annotations

import io
import json

import pytest

from admin.progress import JsonDisplay, PlainDisplay, View, clock, display_for, human_bytes, one_line

VIEW = View(
    name="daily-20261121081500",
    seconds=65,
    pages=12,
    failed=1,
    queued=7,
    in_flight=2,
    hosts_waiting=3,
    urls=40,
    bytes=1_234_567,
    duplicates=10,
    urls_per_second=2.5,
    errors={"timed out (-4)": 1},
)


def test_one_line_has_everything() -> None:
    assert one_line(VIEW) == (
        "00:01:05  12 pages, 7 queued, 2 in flight, 40 URLs at 2.5/s, 1.2 MB, 25% known, 3 hosts waiting, "
        "1 × timed out (-4)"
    )


def test_where_there_is_no_terminal_lines_are_written_now_and_then() -> None:
    stream = io.StringIO()
    display = display_for(stream, as_json=False)
    assert isinstance(display, PlainDisplay)
    display.show(VIEW)
    display.show(VIEW)
    display.note("proxy-0 was killed by SIGKILL and starts again")
    assert len(stream.getvalue().splitlines()) == 2


def test_json_lines_say_which_event_they_are() -> None:
    stream = io.StringIO()
    display = display_for(stream, as_json=True)
    assert isinstance(display, JsonDisplay)
    display.note("hello")
    display.show(VIEW)
    notice, progress = map(json.loads, stream.getvalue().splitlines())
    assert notice == {"event": "notice", "text": "hello"}
    assert progress["event"] == "progress"
    assert progress["duplicate_share"] == 0.25
    assert progress["errors"] == {"timed out (-4)": 1}


def test_a_terminal_gets_a_panel_that_disappears() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    display = display_for(stream, as_json=False)
    display.note("proxy-0 was killed by SIGKILL and starts again")
    display.show(VIEW)
    drawn = stream.getvalue()
    display.close()
    assert "12 done, 2 in flight, 7 queued" in drawn
    assert "proxy-0 was killed" in drawn


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (23_400, "23.4 kB"), (2e12, "2.0 TB"), (5e15, "5000.0 TB")]
)
def test_bytes_are_written_for_people(count: float, text: str) -> None:
    assert human_bytes(count) == text


def test_clock_counts_hours_beyond_a_day() -> None:
    assert clock(90_061) == "25:01:01"
