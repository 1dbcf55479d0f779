"""Alerts name anomalies of a crawl: each rule looks at facts of the log, and has a threshold with a name. Pure.

The rules are those of Monitrix and of the crawl monitoring of the UK Web Archive.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from admin.log_analysis.host_table import DEEP_PATH, AnalysedHost
from admin.units import counted
from archive.dates import Micros

_SECOND: Final = 1_000_000


class AlertRule(StrEnum):
    """An alert comes from one of these rules."""

    MALFORMED_URLS = "malformed-urls"
    DEEP_PATHS = "deep-paths"
    REPEATING_PATHS = "repeating-paths"
    MANY_SUB_DOMAINS = "many-sub-domains"
    COMPRESSIBLE_URLS = "compressible-urls"
    TEXT_SHARE = "text-share"
    HOST_CAPPED = "host-capped"
    SUDDEN_SILENCE = "sudden-silence"
    ERROR_BURST = "error-burst"
    LOW_RATE = "low-rate"
    LOG_NOT_GROWING = "log-not-growing"


@dataclass(frozen=True, slots=True)
class AlertThresholds:
    """The thresholds of all rules."""

    malformed_urls: int = 10
    """URLs of a host that are malformed, and `malformed_share` of its URLs."""
    malformed_share: float = 0.01
    deep_urls: int = 20
    """URLs of a host with more than 15 segments."""
    repeating_urls: int = 20
    """URLs of a host whose path repeats itself."""
    sub_domains: int = 100
    """Hosts of one registered domain."""
    compressible_urls: int = 20
    """Long URLs of a host that were looked at, at least."""
    compressed_share: float = 0.5
    """The size to which half of these URLs can be compressed, each by itself."""
    text_urls: int = 1000
    """Responses of a host, at least, before the share of text is judged."""
    text_share: float = 0.98
    capped_urls: int = 1
    """URLs of a host that a quota left out."""
    silence_seconds: int = 1800
    """No line for so long in the middle of a crawl, and ten times the longest pause before."""
    burst_lines: int = 50
    """Lines in a minute, at least, before its errors are judged."""
    burst_share: float = 0.5
    low_rate_urls: int = 10
    """Responses of a running crawl in `low_rate_seconds`."""
    low_rate_seconds: int = 4 * 3600
    not_growing_seconds: int = 3600
    """The log of a running crawl has no new line for so long."""


THRESHOLDS: Final = AlertThresholds()


@dataclass(frozen=True, slots=True)
class DomainHosts:
    """The domain has so many hosts in the log."""

    domain: str
    hosts: int


@dataclass(frozen=True, slots=True)
class LogPause:
    """A pause is a time without a line. `longest_before` is the longest one that the log had had until then."""

    start: Micros
    seconds: int
    longest_before: int


@dataclass(frozen=True, slots=True)
class ErrorMinute:
    """The minute that begins at `at` has so many lines and errors."""

    at: Micros
    lines: int
    errors: int


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """The rules look at these facts. `hosts` are the worst by each number; `last_urls` those of the low-rate window."""

    now: Micros
    is_running: bool
    first: Micros
    last: Micros
    hosts: Sequence[AnalysedHost] = ()
    domains: Sequence[DomainHosts] = ()
    long_urls: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """A sample of the long URLs of some hosts."""
    pauses: Sequence[LogPause] = ()
    """The longest pauses of at least a minute."""
    minutes: Sequence[ErrorMinute] = ()
    """The minutes with the most errors."""
    last_urls: int = 0


@dataclass(frozen=True, slots=True)
class LogAlert:
    """An alert has the rule, its subject, the number that was found, and the threshold that the number passed."""

    rule: AlertRule
    subject: str
    """A host, a domain or a moment; empty for the crawl as a whole."""
    value: float
    threshold: float
    text: str
    at: Micros | None = None


def alerts(facts: AlertFacts, thresholds: AlertThresholds = THRESHOLDS) -> tuple[LogAlert, ...]:
    """Return the alerts of all rules."""
    return tuple(each for rule in _RULES for each in rule(facts, thresholds))


def _malformed(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for host in facts.hosts:
        if host.malformed >= limits.malformed_urls and host.malformed >= limits.malformed_share * host.lines:
            text = f"{host.malformed:,} of {host.lines:,} URLs are malformed; look where their links come from"
            yield LogAlert(AlertRule.MALFORMED_URLS, host.host, host.malformed, limits.malformed_urls, text)


def _deep(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for host in facts.hosts:
        if host.deep >= limits.deep_urls:
            text = f"{host.deep:,} URLs have more than {DEEP_PATH} path segments, up to {host.deepest}"
            yield LogAlert(AlertRule.DEEP_PATHS, host.host, host.deep, limits.deep_urls, text)


def _repeating(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for host in facts.hosts:
        if host.repeating >= limits.repeating_urls:
            text = f"{host.repeating:,} URLs repeat segments of their path; this is probably a crawler trap"
            yield LogAlert(AlertRule.REPEATING_PATHS, host.host, host.repeating, limits.repeating_urls, text)


def _sub_domains(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for each in facts.domains:
        if each.hosts > limits.sub_domains:
            text = f"the domain has {each.hosts:,} hosts; wildcard names may be a trap, or the domain hosts many sites"
            yield LogAlert(AlertRule.MANY_SUB_DOMAINS, each.domain, each.hosts, limits.sub_domains, text)


def _compressible(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for host, urls in facts.long_urls.items():
        if len(urls) < limits.compressible_urls:
            continue
        shares = sorted(len(zlib.compress(url.encode(), 9)) / len(url.encode()) for url in urls)
        middle = shares[len(shares) // 2]
        if middle < limits.compressed_share:
            text = f"long URLs can be compressed to {middle:.0%} of their size, because they repeat themselves"
            yield LogAlert(AlertRule.COMPRESSIBLE_URLS, host, round(middle, 3), limits.compressed_share, text)


def _text_share(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for host in facts.hosts:
        if host.text + host.other >= limits.text_urls and host.text_share > limits.text_share:
            text = (
                f"{host.text_share:.1%} of {host.urls:,} responses are text; calendars and search pages look like this"
            )
            yield LogAlert(AlertRule.TEXT_SHARE, host.host, round(host.text_share, 4), limits.text_share, text)


def _capped(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for host in facts.hosts:
        if host.capped >= limits.capped_urls:
            count = f"{counted(host.capped, 'URL')} {'was' if host.capped == 1 else 'were'}"
            text = f"{count} left out because of a quota, after {counted(host.urls, 'response')}"
            yield LogAlert(AlertRule.HOST_CAPPED, host.host, host.capped, limits.capped_urls, text)


def _silence(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    for each in facts.pauses:
        if each.seconds >= max(limits.silence_seconds, 10 * each.longest_before):
            text = (
                f"the log has no line for {_time(each.seconds)}; the longest pause before was {each.longest_before} s"
            )
            yield LogAlert(AlertRule.SUDDEN_SILENCE, "", each.seconds, limits.silence_seconds, text, each.start)


def _burst(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    bursts = [
        each
        for each in facts.minutes
        if each.lines >= limits.burst_lines and each.errors >= limits.burst_share * each.lines
    ]
    if bursts:
        top = max(bursts, key=lambda each: each.errors)
        count = "a minute" if len(bursts) == 1 else f"{len(bursts)} minutes"
        text = f"{count} had mostly errors, the worst one {top.errors:,} in {top.lines:,} lines"
        yield LogAlert(AlertRule.ERROR_BURST, "", round(top.errors / top.lines, 3), limits.burst_share, text, top.at)


def _low_rate(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    age = (facts.now - facts.first) // _SECOND
    if facts.is_running and age >= limits.low_rate_seconds and facts.last_urls < limits.low_rate_urls:
        text = f"the crawl got {facts.last_urls} responses in the last {_time(limits.low_rate_seconds)}"
        yield LogAlert(AlertRule.LOW_RATE, "", facts.last_urls, limits.low_rate_urls, text)


def _not_growing(facts: AlertFacts, limits: AlertThresholds) -> Iterator[LogAlert]:
    age = (facts.now - facts.last) // _SECOND
    if facts.is_running and age >= limits.not_growing_seconds:
        text = f"the crawl runs, and its log has had no new line for {_time(age)}"
        yield LogAlert(AlertRule.LOG_NOT_GROWING, "", age, limits.not_growing_seconds, text, facts.last)


_RULES: Final[tuple[Callable[[AlertFacts, AlertThresholds], Iterator[LogAlert]], ...]] = (
    _not_growing,
    _low_rate,
    _silence,
    _burst,
    _capped,
    _malformed,
    _deep,
    _repeating,
    _sub_domains,
    _compressible,
    _text_share,
)


def _time(seconds: int) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 5400 else f"{seconds // 60} minutes"
