"""Why a job is over: a table of what the frontier and the log say, and what people are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from admin.ending import Ending, ending
from admin.tally import Tally
from admin.vigil import NOTHING_YET
from archive.crawl_log import LogLine
from frontier.job import Limits

SEED = "http://example.org/"


def _tally(code: int) -> Tally:
    tally = Tally([SEED])
    tally.add(LogLine(0, code, None, SEED))
    return tally


@pytest.mark.parametrize(
    ("counts", "limits", "interrupted", "expected"),
    [
        ({"done": 5}, Limits(), False, Ending("finished")),
        ({"done": 5}, Limits(), True, Ending("finished")),
        ({"done": 5}, Limits(pages=5), False, Ending("finished")),
        ({"done": 5, "queued": 2}, Limits(), True, Ending("stopped")),
        ({"done": 5, "leased": 1}, Limits(pages=5), True, Ending("stopped")),
        ({"done": 5, "queued": 2}, Limits(pages=5), False, Ending("limit", "5 pages")),
        ({"done": 5, "queued": 2, "bytes": 900}, Limits(pages=9, bytes=800), False, Ending("limit", "800 bytes")),
        ({"done": 5, "queued": 2}, Limits(seconds=60), False, Ending("limit", "60 seconds")),
        ({"done": 5, "queued": 2, "stopped": "by J."}, Limits(pages=9), False, Ending("stopped", "by J.")),
    ],
)
def test_the_ending_follows_from_what_is_left_and_why(
    counts: dict[str, Any], limits: Limits, interrupted: bool, expected: Ending
) -> None:
    assert ending(replace(NOTHING_YET, **counts), limits, _tally(200), interrupted=interrupted) == expected


def test_a_job_none_of_whose_seeds_answered_has_failed() -> None:
    found = ending(replace(NOTHING_YET, failed=1), Limits(), _tally(-2), interrupted=False)
    assert found == Ending("failed", "no seed could be captured: no connection (-2)")


def test_an_http_error_is_an_answer() -> None:
    assert ending(replace(NOTHING_YET, done=1), Limits(), _tally(404), interrupted=False).status == "finished"
