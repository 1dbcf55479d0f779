"""This module decides by a host's robots.txt, which is fetched through the proxy, and so archived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol
from urllib.parse import urljoin

from archive import crawl_log
from archive.http.content_coding import decode, gunzip
from archive.url import UrlError, canonical
from browsers.plain.chain_cookies import ChainCookies
from browsers.plain.visitor import PlainAnswer, SiteFailure
from browsers.visit import VisitOrder
from frontier.lease import Lease, extend
from frontier.queue import Frontier
from frontier.robots.rules import MAX_BYTES, MAX_REDIRECTS, Robots, robots_url

_OF_THE_HOST: Final = frozenset((crawl_log.DNS_LOOKUP, crawl_log.CONNECT, crawl_log.DNS, crawl_log.BLOCKED))
"""Failures that any other URL of the host would have, too."""


class Fetcher(Protocol):
    """A fetcher fetches one URL without rendering it."""

    def fetch(self, order: VisitOrder, *, keep: int | None = None) -> PlainAnswer:
        """Return the answer with at most `keep` bytes of its body. Raises SiteFailure."""
        ...


@dataclass(frozen=True, slots=True)
class RobotsDecision:
    """A decision allows or forbids a visit. `code` is None, or Heritrix's code of the reason."""

    code: int | None = None
    crawl_delay_seconds: float | None = None
    """The Crawl-Delay of robots.txt."""


class RobotsRules:
    """The rules ask the frontier for a host's robots.txt, and fetch it when the frontier has none."""

    def __init__(
        self,
        frontier: Frontier,
        fetcher: Fetcher,
        user_agent: str,
        *,
        obey: bool,
        own: Callable[[str], Literal["obey", "ignore"] | None] = lambda _: None,
    ) -> None:
        """Use these rules. `own` returns whether robots.txt holds for a URL; None where `obey` says so."""
        self._own = own
        self._frontier = frontier
        self._fetcher = fetcher
        self._user_agent = user_agent
        self._obey = obey

    def decide(self, lease: Lease, order: VisitOrder) -> RobotsDecision:
        """Return whether `lease.url` may be visited, with the Crawl-Delay. Raises FleetUnavailable."""
        own = self._own(lease.url)
        if own == "ignore" or (own is None and not self._obey):
            return RobotsDecision()
        robots = self._frontier.robots(lease.url) or self._ask(lease, order)
        delay = robots.crawl_delay(self._user_agent)
        if robots.verdict == "unreachable":
            return RobotsDecision(
                robots.status if robots.status in _OF_THE_HOST else crawl_log.ROBOTS_UNREACHABLE, delay
            )
        if lease.url != robots_url(lease.url) and not robots.allows(lease.url, self._user_agent):
            return RobotsDecision(crawl_log.ROBOTS, delay)
        return RobotsDecision(None, delay)

    def _ask(self, lease: Lease, order: VisitOrder) -> Robots:
        """Fetch a robots.txt, store it for all workers, and queue its sitemaps."""
        url = robots_url(lease.url)
        hop_path = extend(lease.hop_path, "P")
        try:
            answer = self._follow(replace(order, url=url, hop_path=hop_path, via=lease.url))
        except SiteFailure as failure:
            return self._frontier.set_robots(lease.url, failure.code)
        body = decode(answer.body, answer.headers.get("content-encoding", ""), MAX_BYTES + 1).data
        body = gunzip(body, MAX_BYTES + 1).data
        robots = self._frontier.set_robots(lease.url, answer.status, body)
        self._frontier.note_delay(lease, robots.crawl_delay(self._user_agent))
        # Targets of its redirects are not marked as seen, since they were not searched for links.
        self._frontier.mark_seen([url])
        candidates = [lease.candidate(address, "M") for address in robots.sitemaps(url)]
        hop_path = extend(hop_path, "M")
        self._frontier.add([replace(candidate, via=url, hop_path=hop_path) for candidate in candidates], lease)
        return robots

    def _follow(self, order: VisitOrder) -> PlainAnswer:
        """Return the answer after up to five redirects (RFC 9309 section 2.3.1.2), with the cookies that they set.

        Raises SiteFailure. The failure of another site, to which a redirect led, says nothing of the first one.
        """
        visited: list[str] = []
        while True:
            try:
                answer = self._fetcher.fetch(order, keep=MAX_BYTES + 1)
            except SiteFailure as failure:
                if not visited or robots_url(order.url) == visited[0]:
                    raise
                raise SiteFailure(crawl_log.ROBOTS_UNREACHABLE, failure.reason) from failure
            visited.append(order.url)
            target = _redirect_target(order.url, answer)
            if target is None or len(visited) > MAX_REDIRECTS:
                return answer
            cookies = ChainCookies.read(order.cookies).after(order.url, answer.set_cookies)
            if target in visited and not cookies.may_revisit:
                return answer
            path = extend(order.hop_path, "R")
            order = replace(order, url=target, hop_path=path, via=order.url, cookies=cookies.text())


def _redirect_target(url: str, answer: PlainAnswer) -> str | None:
    if answer.status not in (301, 302, 303, 307, 308):
        return None
    try:
        return canonical(urljoin(url, answer.headers.get("location", "")))
    except (UrlError, ValueError):
        return None
