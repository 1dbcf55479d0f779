"""definition/revisit.py: the interval of a URL grows while it does not change, and shrinks when it does."""

from __future__ import annotations

from itertools import islice, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontier.definition.job import RevisitRules
from frontier.definition.revisit import RECENT, RevisitHistory, VisitResult, after_visit

ONE, OTHER = "00000000000000aa", "00000000000000bb"
DAY = 86_400
RULES = RevisitRules(mode="adaptive", interval_seconds=DAY, min_seconds=3_600, max_seconds=30 * DAY)


def visited(rules: RevisitRules, *digests: str) -> RevisitHistory:
    history = None
    for digest in digests:
        history = after_visit(rules, history, digest)
    assert history is not None
    return history


def test_the_first_interval_is_that_of_the_profile() -> None:
    assert visited(RULES, ONE) == RevisitHistory(DAY, 1, 0, 0, ONE, "n")
    assert visited(RULES, "").results == (VisitResult.FAILED,)


def test_an_unchanged_url_is_asked_for_less_often() -> None:
    assert visited(RULES, ONE, ONE).interval_seconds == round(1.4 * DAY)
    long = visited(RULES, *[ONE] * 40)
    assert long.interval_seconds == 30 * DAY
    assert (long.visits, long.changes, long.unchanged) == (40, 0, 39)
    assert long.recent == "u" * RECENT


def test_a_changed_url_is_asked_for_more_often() -> None:
    assert visited(RULES, ONE, OTHER).interval_seconds == round(0.8 * DAY)
    often = visited(RULES, *[ONE, OTHER] * 20)
    assert often.interval_seconds == 3_600
    assert (often.changes, often.unchanged) == (39, 0)


def test_a_failure_is_no_change_and_keeps_the_digest() -> None:
    history = visited(RULES, ONE, "", ONE)
    assert history.recent == "nfu"
    assert (history.changes, history.digest) == (0, ONE)
    assert visited(RULES, ONE, "").interval_seconds == round(1.4 * DAY)
    assert visited(RULES, "", ONE).recent == "fn"


def test_a_fixed_interval_does_not_depend_on_changes() -> None:
    fixed = RevisitRules(mode="fixed", interval_seconds=600)
    assert visited(fixed, ONE, OTHER, OTHER, "").interval_seconds == 600


def test_the_interval_settles_where_changes_are() -> None:
    """A page that changes every ten hours, with equal factors up and down, is visited two or three times in between."""
    rules = RevisitRules(
        mode="adaptive", interval_seconds=DAY, min_seconds=60, changed_factor=0.3, unchanged_factor=0.3
    )
    at, history, seen = 0.0, after_visit(rules, None, f"{0:016x}"), []
    for _ in repeat(None, 400):
        at += history.interval_seconds
        history = after_visit(rules, history, f"{int(at // 36_000):016x}")
        seen.append(history.interval_seconds)
    assert 36_000 / 3 < sum(seen[100:]) / 300 < 36_000 / 2


@given(st.lists(st.sampled_from((ONE, OTHER, "")), min_size=1, max_size=60))
def test_a_history_survives_storage_and_keeps_to_its_bounds(digests: list[str]) -> None:
    history = None
    for digest in digests:
        history = after_visit(RULES, history, digest)
        assert 3_600 <= history.interval_seconds <= 30 * DAY
        assert RevisitHistory.unpacked(history.packed()) == history
        assert len(history.packed()) < 100
        assert history.changes + history.unchanged <= history.visits


@pytest.mark.parametrize("text", ["", "1 2 3", "x 1 1 1 - n", "1 1 1 1 - q", f"1 1 1 1 {'0' * 15} n", "1 1 1 1 - n\n"])
def test_a_damaged_history_is_none(text: str) -> None:
    assert RevisitHistory.unpacked(text) is None


def test_bounds_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="min_seconds = 100 is more than max_seconds = 10"):
        RevisitRules(min_seconds=100, max_seconds=10)


def test_results_have_words() -> None:
    assert [result.word for result in islice(VisitResult, 2)] == ["new", "changed"]
