"""Indicators judge a crawl against a reference run of the same harvest, as the Web Curator Tool does. Pure.

Each indicator has a tolerance: a share by which it may differ from the reference, a number below which a difference
does not matter, and absolute bounds. The verdict of a crawl is the worst of its indicators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from admin.log_analysis.measures import LogMeasures, UrlChange


class CrawlVerdict(StrEnum):
    """The verdict of an indicator; the order is from good to bad."""

    ACCEPT = "accept"
    INVESTIGATE = "investigate"
    """A person should look."""
    REJECT = "reject"
    """An absolute bound is broken."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The tolerance of one indicator. `share` is the part of the reference's number by which this run may differ."""

    share: float = 0.1
    least: int = 1
    """Smaller differences than this count as none."""
    floor: int | None = None
    """A smaller number breaks the bound."""
    ceiling: int | None = None
    """A larger number breaks the bound."""
    only_more: bool = False
    """Fewer than in the reference run is no fault."""


@dataclass(frozen=True, slots=True)
class IndicatorThresholds:
    """The tolerances of all indicators. Shares and bounds are WCT's; `least` keeps small crawls from false alarms."""

    seconds: Tolerance = Tolerance(0.1, least=60, ceiling=7 * 86_400)
    urls: Tolerance = Tolerance(0.1, floor=1)
    bytes: Tolerance = Tolerance(0.1, least=100_000, floor=1_048_576)
    errors: Tolerance = Tolerance(0.1, least=10, only_more=True)
    long_urls: Tolerance = Tolerance(0.1, least=10, only_more=True)
    missing: Tolerance = Tolerance(0.05, least=5)
    new: Tolerance = Tolerance(0.1, least=10)
    off_seed: Tolerance = Tolerance(0.05, least=10)
    robots: Tolerance = Tolerance(0.1, least=5)
    unknown_types: Tolerance = Tolerance(0.1, least=10, only_more=True)
    sub_domains: Tolerance = Tolerance(0.15, least=2)
    repeating: Tolerance = Tolerance(0.1, least=10, only_more=True)


THRESHOLDS: Final = IndicatorThresholds()


@dataclass(frozen=True, slots=True)
class Indicator:
    """An indicator has this run's number, the reference run's, and a verdict with its reason."""

    name: str
    title: str
    value: int
    reference: int | None
    verdict: CrawlVerdict
    reason: str


_TITLES: Final = {
    "seconds": "Run time in seconds",
    "urls": "URLs",
    "bytes": "Bytes",
    "errors": "Errors",
    "long_urls": "URLs longer than 125 characters",
    "off_seed": "URLs outside the domain of their seed",
    "robots": "URLs that robots.txt forbids",
    "unknown_types": "Responses without a media type",
    "sub_domains": "Hosts",
    "repeating": "URLs with repeating paths",
}
"""Titles of the measures that are compared as numbers."""


def indicators(
    now: LogMeasures,
    before: LogMeasures | None,
    change: UrlChange | None,
    thresholds: IndicatorThresholds = THRESHOLDS,
) -> tuple[Indicator, ...]:
    """Return the indicators of a run; without a reference run, only absolute bounds are judged."""
    found = [
        _compared(
            name,
            title,
            getattr(now, name),
            None if before is None else getattr(before, name),
            getattr(thresholds, name),
        )
        for name, title in _TITLES.items()
    ]
    if change is not None:
        found += _changes(change, thresholds)
    if before is not None and now.bytes == before.bytes and now.urls == before.urls and now.bytes > 0:
        reason = "the run has exactly the URLs and bytes of the reference run; the site may not change any more"
        found.append(Indicator("delist", "Unchanged site", now.bytes, before.bytes, CrawlVerdict.INVESTIGATE, reason))
    return tuple(found)


def worst(found: tuple[Indicator, ...]) -> CrawlVerdict:
    """Return the worst verdict; `accept` without an indicator."""
    order = list(CrawlVerdict)
    return max((each.verdict for each in found), key=order.index, default=CrawlVerdict.ACCEPT)


def _compared(name: str, title: str, value: int, reference: int | None, tolerance: Tolerance) -> Indicator:
    def told(verdict: CrawlVerdict, reason: str) -> Indicator:
        return Indicator(name, title, value, reference, verdict, reason)

    if tolerance.floor is not None and value < tolerance.floor:
        return told(CrawlVerdict.REJECT, f"{value:,} is below the smallest acceptable number, {tolerance.floor:,}")
    if tolerance.ceiling is not None and value > tolerance.ceiling:
        return told(CrawlVerdict.REJECT, f"{value:,} is above the largest acceptable number, {tolerance.ceiling:,}")
    if reference is None:
        return told(CrawlVerdict.ACCEPT, "there is no reference run to compare with")
    difference = value - reference
    allowed = max(reference * tolerance.share, tolerance.least)
    words = f"{difference:+,} to the reference run's {reference:,}"
    part = f" ({difference / reference:+.0%})" if reference else ""
    if abs(difference) <= allowed or (difference < 0 and tolerance.only_more):
        return told(
            CrawlVerdict.ACCEPT, f"{words}{part}, within the tolerance" if difference else "as in the reference run"
        )
    return told(
        CrawlVerdict.INVESTIGATE,
        f"{words}{part}; the tolerance is ±{tolerance.share:.0%}, and at least {tolerance.least:,}",
    )


def _changes(change: UrlChange, thresholds: IndicatorThresholds) -> Iterator[Indicator]:
    for name, title, count, tolerance in (
        ("missing", "URLs of the reference run that are missing", change.missing, thresholds.missing),
        ("new", "URLs that the reference run did not have", change.new, thresholds.new),
    ):
        is_much = count > max(change.known * tolerance.share, tolerance.least)
        part = f", {count / change.known:.0%} of its {change.known:,}" if change.known else ""
        limit = f"; the tolerance is {tolerance.share:.0%}, and at least {tolerance.least:,}" if is_much else ""
        verdict = CrawlVerdict.INVESTIGATE if is_much else CrawlVerdict.ACCEPT
        yield Indicator(name, title, count, 0, verdict, f"{count:,} URLs{part}{limit}")
