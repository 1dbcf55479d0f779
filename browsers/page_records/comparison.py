"""The browser's list of what a page asked for is compared with the proxy's list of what was kept. Pure.

A request that the browser's cache answered is no difference: an earlier visit kept the answer.

| difference | meaning |
|---|---|
| asked-not-kept | the browser sent a request that the proxy did not get, and gave no reason of its own |
| kept-not-asked | the proxy kept a request that the browser did not report: CORS preflights, some beacons and workers |
| aborted | the page or the browser broke the request off |
| blocked | a rule of the proxy, a limit, or the browser itself refused the request |
| failed | the site gave no response |
| truncated | the archive has the beginning of the response only |
| not-archived | the site answered, and a rule said that the response is not archived |
| lost | the site answered, and the response could not be written |
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from archive import crawl_log
from archive.ended_exchange import EndedExchange, ExchangeEnd
from browsers.engines.traffic import AskedExchange
from browsers.proxying.control_client import SessionExchanges

MAX_NAMED: Final = 500
"""Largest number of requests that are named for each kind of difference. All are counted."""
_BLOCKED: Final = frozenset(
    {crawl_log.BLOCKED, crawl_log.BLOCKED_BY_RULE, crawl_log.QUOTA, crawl_log.TIME_LIMIT, crawl_log.OUT_OF_SCOPE}
)
_SCHEMES: Final = {"ws": "http", "wss": "https"}
_ABORTED: Final = "ERR_ABORTED"
_BLOCKED_BY_BROWSER: Final = ("ERR_BLOCKED_BY", "csp", "mixed-content", "inspector")


class TrafficDifference(StrEnum):
    """The two lists differ in one of these ways about a request."""

    ASKED_NOT_KEPT = "asked-not-kept"
    KEPT_NOT_ASKED = "kept-not-asked"
    ABORTED = "aborted"
    BLOCKED = "blocked"
    FAILED = "failed"
    TRUNCATED = "truncated"
    NOT_ARCHIVED = "not-archived"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class NamedDifference:
    """The two lists differ about this request. `detail` is the reason, in the words of the proxy or the browser."""

    difference: TrafficDifference
    method: str
    url: str
    status: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TrafficComparison:
    """The comparison has the first differences of each kind, and the number of all."""

    named: tuple[NamedDifference, ...] = ()
    counts: Mapping[TrafficDifference, int] | None = None
    kept: int = 0
    """Number of exchanges that the archive has."""
    unlisted: int = 0
    """Number of exchanges that the proxy did not list, since the list was full."""
    in_flight: int = 0
    """Number of exchanges that had not ended when the lists were compared."""


type _Key = tuple[str, str]


def compare(asked: Sequence[AskedExchange], kept: SessionExchanges) -> TrafficComparison:
    """Return the differences of the two lists, in the order of the browser's, then of the proxy's."""
    by_key: defaultdict[_Key, list[EndedExchange]] = defaultdict(list)
    for exchange in kept.exchanges:
        by_key[_key(exchange.method, exchange.url)].append(exchange)
    reported: dict[_Key, AskedExchange] = {}
    for each in asked:
        key = _key(each.request.method, each.request.url)
        if key[1].startswith("http") and (key not in reported or not each.error):
            reported[key] = each
    found = [_difference(each, by_key.get(key, ())) for key, each in reported.items()]
    extra = [exchanges[-1] for key, exchanges in by_key.items() if key not in reported]
    differences = [each for each in found if each is not None] + [_unasked(exchange) for exchange in extra]
    counts: Counter[TrafficDifference] = Counter()
    named = []
    for difference in differences:
        counts[difference.difference] += 1
        if counts[difference.difference] <= MAX_NAMED:
            named.append(difference)
    in_archive = sum(exchange.end.is_in_archive for exchange in kept.exchanges)
    return TrafficComparison(tuple(named), dict(counts), in_archive, kept.unlisted, kept.in_flight)


def bare_url(url: str) -> str:
    """Return the URL as it is sent: without fragment and credentials, and with http for WebSockets."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((_SCHEMES.get(parts.scheme, parts.scheme), host, parts.path or "/", parts.query, ""))
    except ValueError:
        return url.partition("#")[0]


def _key(method: str, url: str) -> _Key:
    return method, bare_url(url)


def _difference(asked: AskedExchange, kept: Sequence[EndedExchange]) -> NamedDifference | None:
    """Return the difference about one request of the browser; None when the archive has the whole response."""
    request, error = asked.request, asked.error

    def named(difference: TrafficDifference, status: int, detail: str) -> NamedDifference:
        return NamedDifference(difference, request.method, request.url, status, detail)

    stored = [exchange for exchange in kept if exchange.end.is_in_archive]
    whole = [exchange for exchange in stored if not exchange.truncated]
    if whole:
        return named(TrafficDifference.ABORTED, whole[-1].status, f"{error}; kept") if _is_aborted(error) else None
    if stored:
        return named(TrafficDifference.TRUNCATED, stored[-1].status, stored[-1].truncated)
    if kept:
        last = kept[-1]
        return named(_without_record(last), last.status, last.reason or last.end.value)
    if _is_aborted(error):
        return named(TrafficDifference.ABORTED, asked.status, error)
    if error.removeprefix("net::").startswith(_BLOCKED_BY_BROWSER):
        return named(TrafficDifference.BLOCKED, asked.status, error)
    if asked.is_cached and not error:
        return None  # an earlier visit kept the answer
    return named(TrafficDifference.ASKED_NOT_KEPT, asked.status, error)


def _without_record(exchange: EndedExchange) -> TrafficDifference:
    if exchange.end is ExchangeEnd.LOST:
        return TrafficDifference.LOST
    if exchange.end is ExchangeEnd.FAILED:
        return TrafficDifference.BLOCKED if exchange.status in _BLOCKED else TrafficDifference.FAILED
    return TrafficDifference.NOT_ARCHIVED


def _unasked(exchange: EndedExchange) -> NamedDifference:
    """Return the difference about an exchange that the browser did not report."""
    if not exchange.end.is_in_archive:
        kind, detail = _without_record(exchange), exchange.reason or exchange.end.value
    elif exchange.truncated:
        kind, detail = TrafficDifference.TRUNCATED, exchange.truncated
    else:
        kind, detail = TrafficDifference.KEPT_NOT_ASKED, "preflight" if exchange.method == "OPTIONS" else ""
    return NamedDifference(kind, exchange.method, exchange.url, exchange.status, detail)


def _is_aborted(error: str) -> bool:
    return error.removeprefix("net::").startswith(_ABORTED)
