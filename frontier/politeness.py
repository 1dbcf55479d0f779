"""How long a host is left in peace, and whether a URL is tried again. Pure: no clock, no I/O.

The delay is Heritrix 3's: the last fetch's duration times a factor, held between a minimum and a maximum; a
Crawl-Delay of robots.txt counts above that, up to its own maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final, Self

from archive.sections import FrontierSettings
from frontier.job import Manner

ROBOTS_EXCLUDED: Final = -9998
"""Heritrix: robots.txt rules the URL out."""
ROBOTS_UNREACHABLE: Final = -61
"""Heritrix: the robots.txt that must come first could not be fetched."""
RUNTIME_FAILURE: Final = -5
"""Heritrix: something unforeseen; here also a URL whose workers died of it, or a record that can't be read."""

_EXCLUDED: Final = frozenset({ROBOTS_EXCLUDED, -4100, -5000, -5001, -5002, -5003})
_HOST_TROUBLE: Final = frozenset({-1, -2, -6, -60, ROBOTS_UNREACHABLE, -62, -63, 429, 503})
"""Failures that say something of the whole host (RFC 6585 section 4, RFC 9110 section 15.6.4): it gets a rest."""
_URL_TROUBLE: Final = frozenset({-3, -4, 408, 502, 504})
"""Failures that may be this URL's own and may pass: only it has to wait."""
_MAX_DOUBLINGS: Final = 40


class Ending(StrEnum):
    """What became of a lease. STALE is false in a condition: the lease was another's by then, nothing changed."""

    DONE = "done"
    FAILED = "failed"
    EXCLUDED = "excluded"
    AGAIN = "again"
    STALE = ""


@dataclass(frozen=True, slots=True)
class Politeness:
    """The rules in force for a job: the settings, with what its profile overrides. Times are milliseconds."""

    delay_factor: float
    min_delay_ms: int
    max_delay_ms: int
    max_crawl_delay_ms: int
    per_host: int
    host_failures: int
    max_retries: int
    retry_ms: int
    max_retry_ms: int

    @classmethod
    def of(cls, settings: FrontierSettings, manner: Manner) -> Self:
        """The settings, overridden."""
        own = manner.model_dump(exclude_none=True)
        rules = FrontierSettings.model_validate({**settings.model_dump(), **own})
        return cls(
            delay_factor=rules.delay_factor,
            min_delay_ms=_ms(rules.min_delay_seconds),
            max_delay_ms=_ms(rules.max_delay_seconds),
            max_crawl_delay_ms=_ms(rules.max_crawl_delay_seconds),
            per_host=rules.per_host,
            host_failures=rules.host_failures,
            max_retries=rules.max_retries,
            retry_ms=_ms(rules.retry_seconds),
            max_retry_ms=_ms(rules.max_retry_seconds),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a visit came to. `code` is the HTTP status, or Heritrix's negative code when there was none."""

    code: int
    bytes: int = 0
    duration_ms: int = 0
    crawl_delay_seconds: float | None = None
    """Crawl-Delay of the host's robots.txt for us, if it has one."""
    retry_after_seconds: float | None = None
    """What the site asked for in Retry-After."""
    redirect: str | None = None
    """Where the URL led to; noted in the report of seeds."""


@dataclass(frozen=True, slots=True)
class Step:
    """What follows from an outcome: the URL's ending, and how long URL and host wait."""

    ending: Ending
    url_wait_ms: int = 0
    host_wait_ms: int = 0
    host_failed: bool = False


def next_step(outcome: Outcome, rules: Politeness, *, attempt: int, host_failures: int) -> Step:
    """What becomes of a URL after its visit number `attempt` (from 1).

    `host_failures` is how many visits of the host failed in a row before this one. Cases, in this order:
    excluded by rule (nothing was fetched: no wait); trouble of the host (the host rests, longer each time);
    trouble of the URL (it rests alone); any other code ends it.
    """
    if outcome.code in _EXCLUDED:
        return Step(Ending.EXCLUDED)
    pause = delay_ms(outcome.duration_ms, rules, outcome.crawl_delay_seconds)
    again = Ending.AGAIN if attempt <= rules.max_retries else Ending.FAILED
    if outcome.code in _HOST_TROUBLE:
        rest = backoff_ms(host_failures + 1, rules, outcome.retry_after_seconds)
        return Step(again, host_wait_ms=max(pause, rest), host_failed=True)
    if outcome.code in _URL_TROUBLE:
        return Step(again, url_wait_ms=backoff_ms(attempt, rules, outcome.retry_after_seconds), host_wait_ms=pause)
    return Step(Ending.DONE if outcome.code > 0 else Ending.FAILED, host_wait_ms=pause)


def delay_ms(fetch_ms: int, rules: Politeness, crawl_delay_seconds: float | None = None) -> int:
    """Milliseconds until the host may be visited again, counted from the end of a fetch that took `fetch_ms`."""
    delay = min(max(int(rules.delay_factor * fetch_ms), rules.min_delay_ms), rules.max_delay_ms)
    asked = min(_ms(crawl_delay_seconds or 0), rules.max_crawl_delay_ms)
    return max(delay, asked)


def backoff_ms(failures: int, rules: Politeness, retry_after_seconds: float | None = None) -> int:
    """Milliseconds of rest after this many failures in a row: doubled for each, at least Retry-After, capped."""
    rest = rules.retry_ms << min(max(failures - 1, 0), _MAX_DOUBLINGS)
    return min(max(rest, _ms(retry_after_seconds or 0)), rules.max_retry_ms)


def retry_after_seconds(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds named by a Retry-After field (RFC 9110 section 10.2.3), a number or a date; None for garbage.

    A date in the past is 0. The value is not capped here: `backoff_ms` does that.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
