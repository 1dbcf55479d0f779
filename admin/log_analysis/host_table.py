"""The table of hosts says how a crawl got on with each host."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from admin.log_analysis.columns.readings import Reading
from admin.log_analysis.error_classes import FAULTS
from archive.dates import Micros

DEEP_PATH: Final = 15
"""Segments; Heritrix's TooManyPathSegments refuses URLs with more than 20."""
REPEATS: Final = 3
"""A path repeats itself when so many of its segments occurred in it before."""
MOST_HOSTS: Final = 500
_FAULTS: Final = ", ".join(f"'{name}'" for name in FAULTS)
_QUOTA: Final = -5003
_LARGEST: Final = 2**62


class HostOrder(StrEnum):
    """Hosts are listed in one of these orders, the largest number first."""

    ERRORS = "errors"
    URLS = "urls"
    BYTES = "bytes"
    RETRIES = "retries"
    ROBOTS = "robots"
    DELAY = "delay_ms"
    MALFORMED = "malformed"
    DEEP = "deep"
    REPEATING = "repeating"
    CAPPED = "capped"


@dataclass(frozen=True, slots=True)
class AnalysedHost:
    """The facts of one host; `urls` are those with a response, and `lines` all that were tried or decided."""

    host: str
    domain: str
    lines: int
    urls: int
    bytes: int
    errors: int
    """Wanted URLs without a response, and responses from 400 on."""
    retries: int
    """Tries after the first one: of each URL, the largest number that its lines are annotated with, less one."""
    robots: int
    """URLs that robots.txt forbids."""
    redirects: int
    status_2xx: int
    status_3xx: int
    status_4xx: int
    status_5xx: int
    no_response: int
    capped: int
    """URLs that were not fetched because of a quota."""
    text: int
    """Responses with text."""
    other: int
    """Responses with images, films and other data."""
    malformed: int
    deep: int
    repeating: int
    deepest: int
    delay_ms: int
    """The mean time from the beginning of a fetch to that of the next one."""
    fetch_ms: int
    """The mean duration of a fetch."""
    first: Micros
    last: Micros

    @property
    def text_share(self) -> float:
        """The part of the responses that is text, from 0 to 1."""
        return self.text / max(self.urls, 1)


@dataclass(frozen=True, slots=True)
class HostDelays:
    """The time from the beginning of a fetch to that of the next one of a host, in milliseconds."""

    median_ms: int
    p95_ms: int
    longest_ms: int


@dataclass(frozen=True, slots=True)
class AnalysedHosts:
    """A page of hosts. `next` is the place after which the next page begins; empty at the end."""

    hosts: tuple[AnalysedHost, ...]
    next: str = ""


def hosts(
    reading: Reading,
    *,
    order: HostOrder = HostOrder.ERRORS,
    text: str = "",
    domain: str = "",
    after: str = "",
    limit: int = 100,
) -> AnalysedHosts:
    """Return hosts, the largest number of the order first, then by name.

    `text` is a part of the name, and `domain` the registered domain. Raises ValueError for an `after` that no page
    gave.
    """
    number, name = _mark(after)
    reading.engine.run(
        "CREATE TEMP TABLE IF NOT EXISTS host_facts AS SELECT facts.*, domain, coalesce(retries, 0) AS retries"
        f" FROM ({_FACTS}) AS facts JOIN hosts USING (host) LEFT JOIN ({_RETRIES}) AS tried USING (host)"
    )
    rows = reading.engine.rows(
        "SELECT * FROM host_facts WHERE ($text = '' OR contains(host, lower($text)))"
        " AND ($domain = '' OR domain = lower($domain))"
        f" AND ($number IS NULL OR {order} < $number OR {order} = $number AND host > $name)"
        f" ORDER BY {order} DESC, host LIMIT $limit",
        {"text": text, "domain": domain, "number": number, "name": name, "limit": limit + 1},
    )
    found = [AnalysedHost(**row) for row in rows]
    last = found[limit - 1] if len(found) > limit else None
    return AnalysedHosts(
        tuple(found[:limit]), json.dumps([getattr(last, order), last.host]) if last is not None else ""
    )


def delays(reading: Reading, host: str) -> HostDelays | None:
    """Return the delays of one host; None for fewer than two fetches."""
    median, p95, longest = reading.engine.run(
        "SELECT median(gap), quantile_cont(gap, 0.95), max(gap) FROM (SELECT epoch_ms(started) -"
        " lag(epoch_ms(started)) OVER (ORDER BY started) AS gap FROM lines WHERE host = $host AND started IS NOT NULL)",
        {"host": host},
    )[0]
    return None if median is None else HostDelays(round(median), round(p95), round(longest))


_FACTS: Final = f"""
SELECT host, count(*) AS lines, count(*) FILTER (code > 0) AS urls,
  coalesce(sum(bytes) FILTER (code > 0), 0)::BIGINT AS bytes, count(*) FILTER (error IN ({_FAULTS})) AS errors,
  count(*) FILTER (error = 'robots') AS robots,
  count(*) FILTER (code IN (301, 302, 303, 307, 308)) AS redirects,
  count(*) FILTER (code BETWEEN 200 AND 299) AS status_2xx, count(*) FILTER (code BETWEEN 300 AND 399) AS status_3xx,
  count(*) FILTER (code BETWEEN 400 AND 499) AS status_4xx, count(*) FILTER (code >= 500) AS status_5xx,
  count(*) FILTER (code <= 0) AS no_response, count(*) FILTER (code = {_QUOTA}) AS capped,
  count(*) FILTER (code > 0 AND is_text) AS text, count(*) FILTER (code > 0 AND NOT is_text AND mime <> '') AS other,
  count(*) FILTER (malformed) AS malformed, count(*) FILTER (path_depth > {DEEP_PATH}) AS deep,
  count(*) FILTER (repeats >= {REPEATS}) AS repeating, max(path_depth) AS deepest,
  coalesce((epoch_ms(max(started)) - epoch_ms(min(started))) // nullif(count(started) - 1, 0), 0) AS delay_ms,
  coalesce(avg(duration_ms) FILTER (code > 0), 0)::BIGINT AS fetch_ms,
  epoch_us(min(time)) AS first, epoch_us(max(time)) AS last
FROM lines GROUP BY host"""

_RETRIES: Final = """
SELECT host, sum(most - 1)::BIGINT AS retries
FROM (SELECT host, max(tries) AS most FROM lines WHERE tries > 1 GROUP BY host, hash(url)) GROUP BY host"""
"""A log of ours has a line for each try, with the number of the try; one of Heritrix has a line for the last try."""


def _mark(after: str) -> tuple[int | None, str]:
    if not after:
        return None, ""
    try:
        number, name = json.loads(after)
        name.encode()  # JSON may have half a character, which is no text
        return max(-_LARGEST, min(int(number), _LARGEST)), name
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{after[:100]!r} is no place in this list; use the `next` of the page before") from error
