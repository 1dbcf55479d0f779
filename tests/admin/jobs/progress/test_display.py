"""What people and programs see of a running job."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from admin.jobs.progress.display import JsonDisplay, PlainDisplay, View, clock, display_for, one_line, wait_text
from admin.units import human_bytes
from frontier.lease import Wait, WaitKind

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
        "00:01:05  12 pages, 7 queued, 2 in progress, 40 URLs at 2.5/s, 1.2 MB, 25% duplicates, 3 hosts waiting, "
        "1 × timed out (-4)"
    )


def test_the_line_has_the_queue_of_renders_and_its_lag() -> None:
    view = replace(VIEW, renders=7, rendered=12, render_oldest_seconds=65.0, render_p95_seconds=9.2, renders_lag=True)

    assert ", 7 renders queued (oldest 00:01:05), 12 rendered (95% within 00:00:09), lagging behind, " in one_line(view)


@pytest.mark.parametrize(
    ("wait", "text"),
    [
        (Wait("a.example", WaitKind.DELAY, 11.2), "a.example: next visit in 12 s"),
        (Wait("a.example", WaitKind.HELD, job="other-1"), "a.example: in use by job other-1"),
        (Wait("a.example", WaitKind.VISITED), "a.example: a visit is in progress"),
        (Wait("a.example", WaitKind.BLOCKED, 600), "a.example: blocked for 600 s"),
        (Wait("a.example", WaitKind.RETRY, 4.5, code=-6), "a.example: name not found (-6), next try in 5 s"),
        (Wait("http://a.example/x", WaitKind.RETRY, 30), "http://a.example/x: next try in 30 s"),
    ],
)
def test_the_line_says_what_hosts_wait_for(wait: Wait, text: str) -> None:
    """T5, T17: one unchanging line with "1 hosts waiting" told nothing."""
    assert wait_text(wait) == text
    line = one_line(replace(VIEW, hosts_waiting=1, waits=[text], errors={}))
    assert line.endswith(f"1 host waiting ({text})")
    assert one_line(replace(VIEW, hosts_waiting=0, waits=[text], errors={})).endswith(f"waiting: {text}")


def test_without_a_terminal_a_line_is_printed_every_few_seconds() -> None:
    stream = io.StringIO()
    display = display_for(stream, as_json=False)
    assert isinstance(display, PlainDisplay)
    display.show(VIEW)
    display.show(VIEW)
    display.note("proxy-0 was killed by SIGKILL and is restarted")
    assert len(stream.getvalue().splitlines()) == 2


def test_json_lines_name_their_event() -> None:
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
    display.note("proxy-0 was killed by SIGKILL and is restarted")
    display.show(VIEW)
    drawn = stream.getvalue()
    display.close()
    assert "12 done, 2 in progress, 7 queued" in drawn
    assert "proxy-0 was killed" in drawn


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (23_400, "23.4 kB"), (2e12, "2.0 TB"), (5e15, "5000.0 TB")]
)
def test_bytes_are_formatted_for_people(count: float, text: str) -> None:
    assert human_bytes(count) == text


def test_clock_counts_hours_beyond_a_day() -> None:
    assert clock(90_061) == "25:01:01"
