"""A redirect may lead to its own URL, or to one that the frontier takes for the same, such as one with a session id.

The frontier has seen the target, so that the visit itself goes on: the plain crawler asks for the target with the
cookies of the chain. The host's pause, robots.txt, the scope and the limit of a chain hold as for a queued URL.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from browsers.links.headers import LOCATION, REDIRECTS
from browsers.plain.chain_cookies import ChainCookies
from browsers.plain.job_cookies import JobCookies
from browsers.plain.robots_rules import RobotsRules
from browsers.visit import FleetUnavailable, Visit, Visitor, VisitOrder
from frontier.definition.scope import Accepted
from frontier.lease import Lease
from frontier.politeness import delay_ms
from frontier.queue import Frontier
from frontier.seen import fingerprint


class OwnRedirects:
    """A follower of redirects to the same URL within a visit of the plain crawler."""

    def __init__(self, frontier: Frontier, rules: RobotsRules, stop: threading.Event, cookies: JobCookies) -> None:
        self._frontier = frontier
        self._rules = rules
        self._stop = stop
        self._cookies = cookies

    def followed(self, lease: Lease, order: VisitOrder, visit: Visit, visitor: Visitor) -> tuple[Lease, Visit]:
        """Return the last visit of the chain, and the lease with the URL and the hop path of that visit.

        Raises FleetUnavailable, FrontierUnavailable and FrontierLost.
        """
        size = visit.bytes
        while (target := self._own_target(lease, visit)) is not None:
            candidate = lease.candidate(target, "R")
            if not isinstance(self._frontier.decide([candidate], 1)[0], Accepted):
                break
            asked = replace(lease, url=target, hop_path=candidate.hop_path, via=lease.url, cookies=visit.cookies)
            order = replace(order, url=target, hop_path=asked.hop_path, via=asked.via, cookies=asked.cookies)
            decision = self._rules.decide(asked, order)
            if decision.code is not None:
                break
            pause = delay_ms(visit.duration_ms, self._frontier.politeness_of(target), decision.crawl_delay_seconds)
            if self._stop.wait(pause / 1000):
                raise FleetUnavailable("stopping")
            self._cookies.keep(lease.url, visit)
            lease, visit = asked, visitor.visit(order)
            size += visit.bytes
        return lease, replace(visit, bytes=size) if size != visit.bytes else visit

    def _own_target(self, lease: Lease, visit: Visit) -> str | None:
        """Return the target of a redirect that the frontier takes for the same URL, if its answer may be another."""
        if visit.code not in REDIRECTS:
            return None
        target = next((link.url for link in visit.links if link.context == LOCATION), None)
        seen = self._frontier.job.profile.seen
        if target is None or fingerprint(target, seen) != fingerprint(lease.url, seen):
            return None
        return target if target != lease.url or ChainCookies.read(visit.cookies).is_new else None
