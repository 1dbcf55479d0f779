"""The rules of politeness decide how long a host rests, and whether a URL is tried again. Pure.

The delay is that of Heritrix 3: the duration of the last fetch times a factor, between a minimum and a maximum. A
longer Crawl-Delay of robots.txt is obeyed up to a maximum of its own. A bound of a host's bandwidth and the least delay
of its domain make the pause longer, too, and no maximum cuts the latter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus
from typing import Final, Self

from archive import crawl_log
from archive.settings import FrontierSettings
from frontier.definition.job import PolitenessOverrides
from frontier.definition.sheets import NO_VALUES, SheetValues

_EXCLUDED: Final = frozenset(
    {
        crawl_log.ROBOTS,
        crawl_log.ALREADY_SEEN,
        crawl_log.OUT_OF_SCOPE,
        crawl_log.BLOCKED,
        crawl_log.BLOCKED_BY_RULE,
        crawl_log.QUOTA,
    }
)
_NAME_TROUBLE: Final = frozenset({crawl_log.DNS_LOOKUP, crawl_log.DNS})
"""The name of the host was not found. Such a name seldom exists soon after, so that there are few, early retries."""
_HOST_TROUBLE: Final = frozenset(
    {
        crawl_log.CONNECT,
        crawl_log.UNQUEUEABLE,
        crawl_log.ROBOTS_UNREACHABLE,
        crawl_log.PREREQUISITE,
        crawl_log.PREREQUISITE_UNQUEUEABLE,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
    }
)
"""Failures of the whole host (RFC 6585 section 4, RFC 9110 section 15.6.4), after which the host rests."""
_URL_TROUBLE: Final = frozenset(
    {
        crawl_log.LOST,
        crawl_log.TIMEOUT,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Temporary failures that may concern this URL only, after which only the URL rests."""
_MAX_DOUBLINGS: Final = 40
_LONGEST_SLOWING_MS: Final = 86_400_000
"""The bandwidth of a host is bounded by a pause of at most a day."""
_IN_MS: Final = {
    "min_delay_seconds": "min_delay_ms",
    "max_delay_seconds": "max_delay_ms",
    "max_crawl_delay_seconds": "max_crawl_delay_ms",
    "retry_seconds": "retry_ms",
    "max_retry_seconds": "max_retry_ms",
}
POLITE_KEYS: Final = (
    *_IN_MS,
    *("delay_factor", "host_bytes_per_second", "host_failures", "max_retries", "session_budget"),
)
"""The keys of sheets that change politeness."""


class LeaseEnding(StrEnum):
    """A lease ends in one of these ways.

    STALE is false in a condition: the lease had expired, and nothing was changed.
    """

    DONE = "done"
    FAILED = "failed"
    EXCLUDED = "excluded"
    AGAIN = "again"
    STALE = ""


@dataclass(frozen=True, slots=True)
class Politeness:
    """Politeness is the rules for a job: the settings with the overrides of its profile. Times are milliseconds."""

    delay_factor: float
    min_delay_ms: int
    max_delay_ms: int
    max_crawl_delay_ms: int
    per_host: int
    host_failures: int
    max_retries: int
    retry_ms: int
    max_retry_ms: int
    dns_retries: int
    dns_retry_ms: int
    host_bytes_per_second: int = 0
    skip_down: int = 5
    """Every so many claims of a host, a URL of a lower priority is taken."""
    session_budget: int = 1
    """The number of visits after which a host goes behind the hosts that wait."""
    least_delay_ms: int = 0
    """The shortest pause between two visits of the host that the job has for its domain."""

    @classmethod
    def of(cls, settings: FrontierSettings, overrides: PolitenessOverrides) -> Self:
        """Return the rules of the settings with these overrides."""
        own = overrides.model_dump(exclude_none=True)
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
            dns_retries=rules.dns_retries,
            dns_retry_ms=_ms(rules.dns_retry_seconds),
            host_bytes_per_second=rules.host_bytes_per_second,
            skip_down=rules.skip_down,
            session_budget=rules.session_budget,
        )

    def with_values(self, values: SheetValues) -> Self:
        """Return the rules with the values that sheets give to a URL."""
        return _with_values(self, values) if values is not NO_VALUES else self

    def with_least_delay(self, seconds: float) -> Self:
        """Return the rules with the shortest pause that the job has for a domain."""
        return replace(self, least_delay_ms=_ms(seconds)) if seconds else self


@dataclass(frozen=True, slots=True)
class VisitOutcome:
    """The outcome of a visit. `code` is the HTTP status, or a negative code of Heritrix."""

    code: int
    bytes: int = 0
    duration_ms: int = 0
    crawl_delay_seconds: float | None = None
    """The Crawl-Delay that the host's robots.txt names for us."""
    retry_after_seconds: float | None = None
    """The time that the site named in Retry-After."""
    redirect: str | None = None
    """The target of a redirect, for the report of seeds."""
    is_document: bool = False
    """A document was navigated to. Only such visits count for `limits.pages`."""
    urls: int = 1
    """Number of URLs that the visit fetched, embeds included."""
    is_last: bool = False
    """The URL is not tried again, with any code."""
    fetched: tuple[str, ...] = ()
    """The other canonical URLs that a render fetched."""
    digest: str = ""
    """Eight bytes of the payload's BLAKE2b digest in hexadecimal, for a continuous crawl; empty when there is none."""


@dataclass(frozen=True, slots=True)
class Step:
    """The next step has the ending of the visit, and how long the URL and the host wait."""

    ending: LeaseEnding
    url_wait_ms: int = 0
    host_wait_ms: int = 0
    host_failed: bool = False


@lru_cache(maxsize=1024)
def _with_values[P: Politeness](rules: P, values: SheetValues) -> P:
    own = {key: value for key, value in values.given().items() if key in POLITE_KEYS}
    changes = {_IN_MS.get(key, key): _ms(value) if key in _IN_MS else value for key, value in own.items()}
    changed = replace(rules, **changes)
    # A longer pause of a sheet is not cut by a maximum that the sheet does not know.
    if values.max_delay_seconds is None:
        changed = replace(changed, max_delay_ms=max(changed.max_delay_ms, changed.min_delay_ms))
    if values.max_retry_seconds is None:
        changed = replace(changed, max_retry_ms=max(changed.max_retry_ms, changed.retry_ms))
    return changed


def next_step(outcome: VisitOutcome, rules: Politeness, *, attempt: int, host_failures: int) -> Step:
    """Return the next step after visit number `attempt` (from 1) of a URL.

    `host_failures` is the number of earlier failed visits of the host in a row. The first of these cases decides: the
    URL is excluded (nothing was fetched, no wait); the name was not found (few, early retries); the host failed (the
    host rests, each time longer); the URL failed (only the URL rests). Any other code ends the URL.
    """
    if outcome.code in _EXCLUDED:
        return Step(LeaseEnding.EXCLUDED)
    pause = delay_ms(outcome.duration_ms, rules, outcome.crawl_delay_seconds, outcome.bytes)
    if outcome.code in _NAME_TROUBLE:
        is_worth_it = attempt <= min(rules.dns_retries, rules.max_retries) and not outcome.is_last
        again = LeaseEnding.AGAIN if is_worth_it else LeaseEnding.FAILED
        rest = min(rules.dns_retry_ms << min(host_failures, _MAX_DOUBLINGS), rules.max_retry_ms)
        return Step(again, host_wait_ms=max(pause, rest), host_failed=True)
    again = LeaseEnding.AGAIN if attempt <= rules.max_retries and not outcome.is_last else LeaseEnding.FAILED
    if outcome.code in _HOST_TROUBLE:
        rest = backoff_ms(host_failures + 1, rules, outcome.retry_after_seconds)
        return Step(again, host_wait_ms=max(pause, rest), host_failed=True)
    if outcome.code in _URL_TROUBLE:
        return Step(again, url_wait_ms=backoff_ms(attempt, rules, outcome.retry_after_seconds), host_wait_ms=pause)
    return Step(LeaseEnding.DONE if outcome.code > 0 else LeaseEnding.FAILED, host_wait_ms=pause)


def delay_ms(fetch_ms: int, rules: Politeness, crawl_delay_seconds: float | None = None, fetched_bytes: int = 0) -> int:
    """Return the milliseconds until the next visit of the host, from the end of a fetch that took `fetch_ms`."""
    delay = min(max(int(rules.delay_factor * fetch_ms), rules.min_delay_ms), rules.max_delay_ms)
    asked = min(_ms(crawl_delay_seconds or 0), rules.max_crawl_delay_ms)
    slowed = 0
    if rules.host_bytes_per_second:
        slowed = min(
            1000 * fetched_bytes * rules.per_host // rules.host_bytes_per_second - fetch_ms, _LONGEST_SLOWING_MS
        )
    return max(delay, asked, slowed, rules.per_host * rules.least_delay_ms)


def backoff_ms(failures: int, rules: Politeness, retry_after_seconds: float | None = None) -> int:
    """Return the rest in milliseconds after this many failures in a row: doubled for each, at least Retry-After,
    capped.
    """
    rest = rules.retry_ms << min(max(failures - 1, 0), _MAX_DOUBLINGS)
    return min(max(rest, _ms(retry_after_seconds or 0)), rules.max_retry_ms)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
