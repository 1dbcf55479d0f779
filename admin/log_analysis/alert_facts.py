"""The facts of alerts are few rows of a log: its worst hosts and domains, pauses, minutes with errors, long URLs."""

from __future__ import annotations

from typing import Final

from admin.log_analysis.alerts import THRESHOLDS, AlertFacts, AlertThresholds, DomainHosts, ErrorMinute, LogPause
from admin.log_analysis.columns.readings import Reading
from admin.log_analysis.error_classes import FAULTS
from admin.log_analysis.host_table import AnalysedHost, HostOrder, hosts
from archive.dates import Micros

_MOST: Final = 20
"""Rows of each kind, so that a crawl of a million bad hosts gives a list that a person can read."""
_LONG: Final = 100
"""Characters of a URL whose compressibility is looked at."""
_SAMPLE: Final = 50
_FAULTS: Final = ", ".join(f"'{name}'" for name in FAULTS)
_ORDERS: Final = (HostOrder.MALFORMED, HostOrder.DEEP, HostOrder.REPEATING, HostOrder.CAPPED, HostOrder.URLS)


def alert_facts(
    reading: Reading, now: Micros, *, is_running: bool, thresholds: AlertThresholds = THRESHOLDS
) -> AlertFacts:
    """Return the facts at this moment of a log; a running crawl is judged by its present rate too."""
    run = reading.engine.run
    first, last = run("SELECT epoch_us(min(time)), epoch_us(max(time)) FROM lines")[0]
    if first is None:
        return AlertFacts(now, is_running, now, now)
    found: dict[str, AnalysedHost] = {}
    for order in _ORDERS:
        found |= {each.host: each for each in hosts(reading, order=order, limit=_MOST).hosts}
    domains = run(f"SELECT domain, count(*) FROM hosts WHERE domain <> '' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MOST}")
    minutes = run(
        "SELECT epoch_us(date_trunc('minute', time)) AS start, count(*) AS lines,"
        f" count(*) FILTER (error IN ({_FAULTS})) AS errors FROM lines GROUP BY start"
        f" HAVING lines >= {thresholds.burst_lines} AND errors >= {thresholds.burst_share} * lines"
        f" ORDER BY errors DESC, start LIMIT {_MOST}"
    )
    since = now - thresholds.low_rate_seconds * 1_000_000
    last_urls = run("SELECT count(*) FROM lines WHERE code > 0 AND epoch_us(time) >= $1", [since])[0][0]
    return AlertFacts(
        now=now,
        is_running=is_running,
        first=first,
        last=last,
        hosts=tuple(found.values()),
        domains=tuple(DomainHosts(*each) for each in domains),
        long_urls=_long_urls(reading),
        pauses=_pauses(reading),
        minutes=tuple(ErrorMinute(*each) for each in minutes),
        last_urls=last_urls,
    )


def _pauses(reading: Reading) -> tuple[LogPause, ...]:
    """Return the longest pauses, each with the longest one before, by the seconds that have lines."""
    rows = reading.engine.run(
        "WITH seconds AS (SELECT DISTINCT epoch_us(time) // 1000000 AS second FROM lines),"
        " gaps AS (SELECT second, lead(second) OVER (ORDER BY second) - second AS gap FROM seconds)"
        " SELECT second * 1000000, gap, coalesce(longest, 0) FROM (SELECT *, max(gap) OVER (ORDER BY second ROWS"
        " BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS longest FROM gaps WHERE gap IS NOT NULL)"
        f" WHERE gap >= 60 ORDER BY gap DESC, second LIMIT {_MOST}"
    )
    return tuple(LogPause(*each) for each in rows)


def _long_urls(reading: Reading) -> dict[str, tuple[str, ...]]:
    """Return a sample of the longest URLs of the hosts that have the most long ones."""
    rows = reading.engine.run(
        f"SELECT host, max(left(url, 2000), {_SAMPLE}) FROM lines WHERE length(url) >= {_LONG} GROUP BY host"
        f" ORDER BY count(*) DESC, host LIMIT {_MOST}"
    )
    return {host: tuple(urls) for host, urls in rows}
