"""admin/jobs/results/good_answers.py: the rule by which a site counts as captured at all."""

from __future__ import annotations

import pytest

from admin.jobs.results.good_answers import has_good_answer
from admin.jobs.states import SeedState
from archive import crawl_log

OK, MOVED = (SeedState.ANSWERED, 200), (SeedState.ANSWERED, 301)
DEAD = (SeedState.HTTP_ERROR, 503)


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ([], False),
        ([OK], True),
        ([(SeedState.ANSWERED, 204)], True),
        ([(SeedState.ANSWERED, 304)], True),
        ([OK, DEAD], True),
        ([DEAD, OK], True),
        ([MOVED], True),
        ([MOVED, MOVED], True),
        ([MOVED, DEAD], False),
        ([MOVED, DEAD, OK], True),
        *(([(SeedState.HTTP_ERROR, code)], False) for code in (401, 403, 404, 410, 429, 500, 503)),
        *(
            ([(SeedState.UNREACHABLE, code)], False)
            for code in (crawl_log.DNS, crawl_log.CONNECT, crawl_log.LOST, crawl_log.TIMEOUT)
        ),
        ([(SeedState.FORBIDDEN, crawl_log.ROBOTS)], False),
        ([(SeedState.REDIRECTED_OUT, 302)], False),
        ([(SeedState.QUOTA, crawl_log.QUOTA)], False),
        ([(SeedState.REFUSED, crawl_log.BLOCKED)], False),
        ([(SeedState.REJECTED, 0)], False),
        ([(SeedState.ASIDE, 503)], False),
        ([(SeedState.WAITING, 0)], False),
    ],
)
def test_each_end_of_a_seed(seeds: list[tuple[SeedState, int]], expected: bool) -> None:
    assert has_good_answer(seeds) is expected
