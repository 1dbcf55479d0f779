"""The bench of QA crawls a site, judges it, follows a second crawl, and tells what each of them costs."""

from __future__ import annotations

import pytest

from bench.crawls.ghosts import is_measurable
from bench.crawls.qa import QaCost, QaRound, lines, measure, table

COST = QaCost("crawl", 2, 10.0, 4.0, 1)


def test_the_lag_of_a_share_is_that_of_the_slowest_page_in_it() -> None:
    found = QaRound(COST, COST, COST, 4, 0, (9.0, 1.0, 2.0, 3.0))
    assert (found.lag(0.5), found.lag(1), QaRound(COST, COST, COST, 0, 0, ()).lag(1)) == (3.0, 9.0, 0.0)
    assert lines(found)[0] == "QA took 1.00 of the crawl's time with as many workers."


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not is_measurable(), reason="only Linux tells the memory that processes share")
def test_a_short_round_is_measured() -> None:
    found = measure(2, 1, print)
    assert (found.judged_pages, found.damaged_pages, len(found.lag_seconds)) == (4, 0, 2)
    assert min(one.cpu_seconds for one in (found.crawl, found.judged, found.followed)) > 0
    assert table(found).row_count == 3
