"""Delays, back-off, Retry-After, and what becomes of a URL."""

from __future__ import annotations

import pytest

from archive.settings import FrontierSettings
from frontier.definition.job import PolitenessOverrides
from frontier.politeness import (
    LeaseEnding,
    Politeness,
    Step,
    VisitOutcome,
    backoff_ms,
    delay_ms,
    next_step,
)

RULES = Politeness.of(FrontierSettings(), PolitenessOverrides())


@pytest.mark.parametrize(
    ("fetch_ms", "crawl_delay", "expected"),
    [
        (200, None, 3000),
        (800, None, 4000),
        (10_000, None, 30_000),
        (200, 60, 60_000),
        (200, 900, 300_000),
        (10_000, 20, 30_000),
        (0, 0, 3000),
    ],
)
def test_the_delay_is_heritrix_s(fetch_ms: int, crawl_delay: float | None, expected: int) -> None:
    assert delay_ms(fetch_ms, RULES, crawl_delay) == expected


@pytest.mark.parametrize(
    ("fetched", "per_host", "expected"),
    [(1_000, 1, 100), (3_000_000, 1, 2_000), (3_000_000, 2, 5_000), (10**15, 1, 86_400_000)],
)
def test_the_bandwidth_of_a_host_is_bounded_by_its_pause(fetched: int, per_host: int, expected: int) -> None:
    given = PolitenessOverrides(
        min_delay_seconds=0.1, delay_factor=0, per_host=per_host, host_bytes_per_second=1_000_000
    )
    rules = Politeness.of(FrontierSettings(), given)
    assert next_step(VisitOutcome(200, fetched, 1_000), rules, attempt=1, host_failures=0).host_wait_ms == expected


def test_a_profile_overrides_the_settings() -> None:
    rules = Politeness.of(FrontierSettings(), PolitenessOverrides(min_delay_seconds=0.5, delay_factor=1, per_host=4))
    assert delay_ms(800, rules) == 800
    assert delay_ms(100, rules) == 500
    assert (rules.per_host, rules.max_retries) == (4, 3)


@pytest.mark.parametrize(
    ("failures", "retry_after", "expected"),
    [
        (1, None, 30_000),
        (2, None, 60_000),
        (4, None, 240_000),
        (8, None, 3_600_000),
        (10_000, None, 3_600_000),
        (1, 120, 120_000),
        (3, 5, 120_000),
        (1, 1e9, 3_600_000),
        (0, None, 30_000),
    ],
)
def test_back_off_doubles_heeds_retry_after_and_is_capped(
    failures: int, retry_after: float | None, expected: int
) -> None:
    assert backoff_ms(failures, RULES, retry_after) == expected


@pytest.mark.parametrize("code", [200, 204, 301, 304, 401, 403, 404, 410, 500])
def test_an_answer_ends_the_url_and_the_host_rests(code: int) -> None:
    assert next_step(VisitOutcome(code, duration_ms=800), RULES, attempt=1, host_failures=0) == Step(
        LeaseEnding.DONE, host_wait_ms=4000
    )


@pytest.mark.parametrize("code", [-7, -404, -9, -5])
def test_a_failure_that_will_not_pass_ends_the_url(code: int) -> None:
    assert next_step(VisitOutcome(code), RULES, attempt=1, host_failures=0).ending is LeaseEnding.FAILED


@pytest.mark.parametrize("code", [-2, -61, 429, 503])
def test_trouble_of_the_host_gives_the_whole_host_a_rest_that_doubles(code: int) -> None:
    first = next_step(VisitOutcome(code), RULES, attempt=1, host_failures=0)
    third = next_step(VisitOutcome(code), RULES, attempt=1, host_failures=2)
    assert first == Step(LeaseEnding.AGAIN, host_wait_ms=30_000, host_failed=True)
    assert third.host_wait_ms == 120_000


@pytest.mark.parametrize("code", [-1, -6])
def test_a_name_that_is_not_found_fails_after_two_retries_that_come_soon(code: int) -> None:
    """T17: three retries after 30, 60 and 120 s kept a job busy for 3 min 38 s."""
    steps = [next_step(VisitOutcome(code), RULES, attempt=tries, host_failures=tries - 1) for tries in (1, 2, 3)]
    assert [step.ending for step in steps] == [LeaseEnding.AGAIN, LeaseEnding.AGAIN, LeaseEnding.FAILED]
    assert [step.host_wait_ms for step in steps[:2]] == [5_000, 10_000]
    assert all(step.host_failed for step in steps)


@pytest.mark.parametrize("code", [-3, -4, 408, 502, 504])
def test_trouble_of_a_url_lets_only_the_url_wait(code: int) -> None:
    step = next_step(VisitOutcome(code, duration_ms=200), RULES, attempt=2, host_failures=0)
    assert step == Step(LeaseEnding.AGAIN, url_wait_ms=60_000, host_wait_ms=3000)


@pytest.mark.parametrize("code", [-2, -4, 503])
def test_the_last_retry_that_fails_ends_the_url(code: int) -> None:
    assert next_step(VisitOutcome(code), RULES, attempt=3, host_failures=0).ending is LeaseEnding.AGAIN
    assert next_step(VisitOutcome(code), RULES, attempt=4, host_failures=0).ending is LeaseEnding.FAILED


def test_too_many_requests_with_retry_after_is_heeded() -> None:
    step = next_step(VisitOutcome(429, retry_after_seconds=90), RULES, attempt=1, host_failures=0)
    assert step == Step(LeaseEnding.AGAIN, host_wait_ms=90_000, host_failed=True)


def test_what_robots_txt_excludes_costs_its_host_no_wait() -> None:
    assert next_step(VisitOutcome(-9998, crawl_delay_seconds=60), RULES, attempt=1, host_failures=0) == Step(
        LeaseEnding.EXCLUDED
    )


def test_only_a_stale_ending_is_false() -> None:
    assert [ending for ending in LeaseEnding if not ending] == [LeaseEnding.STALE]
