"""The bench of revisits counts what a schedule misses, and runs the real frontier in simulated time."""

from __future__ import annotations

import pytest

from bench.crawls.revisits import HOUR, RATES, judged, measure, table


def test_misses_staleness_and_lag_are_counted() -> None:
    changes, visits = [10 * HOUR, 11 * HOUR, 30 * HOUR, 95 * HOUR], [0.0, 20 * HOUR, 40 * HOUR, 60 * HOUR]
    found = judged("any", "any", [(changes, visits)], 100 * HOUR)
    assert (found.fetches, found.changes, found.missed) == (4, 4, 1)
    assert found.stale_share == pytest.approx((10 + 10 + 5) / 100)
    assert found.lag_hours == pytest.approx((9 + 10) / 2)
    assert found.missed_share == 0.25


def test_adaptive_is_better_than_fixed_with_as_many_fetches() -> None:
    rounds = measure(4, 14, print)
    whole = {each.schedule: each for each in rounds if each.rate == "all"}
    adaptive, same = whole["adaptive"], whole["fixed, as many fetches"]
    assert same.fetches == pytest.approx(adaptive.fetches, rel=0.15)
    assert adaptive.missed < same.missed
    often, never = (next(each for each in rounds if each.rate == rate) for rate in ("4 hours", "never"))
    assert often.fetches > 5 * never.fetches
    assert table(rounds).row_count == 4 * (len(RATES) + 2)
