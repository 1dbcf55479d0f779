"""The plain crawler keeps the cookies of a site for all visits of a job, when the profile says so.

The frontier has one text for each registered domain, with at most 30 cookies and 8,000 characters, so that all workers
of the job send the same cookies. A visit changes only the cookies that its answer names. When two visits to a domain
end at the same moment, the cookies of one of them may be lost. A cookie is sent until its date. With more than 100,000
domains in a slot of Redis, the cookies of any other domain are given up for each new one.
"""

from __future__ import annotations

from dataclasses import replace

from archive.url import host_of
from browsers.plain.chain_cookies import ChainCookies
from browsers.visit import Visit
from frontier.definition.networks import without_port
from frontier.definition.scope import registered_domain
from frontier.queue import Frontier


class JobCookies:
    """The cookies of a job are shared by its workers. It is safe to use from several threads."""

    def __init__(self, frontier: Frontier, *, is_on: bool) -> None:
        """`is_on` is false for a job whose visits have the cookies of their chains of redirects alone."""
        self._frontier = frontier
        self._is_on = is_on

    def before(self, url: str, chain: str) -> str:
        """Return the cookies for a visit: those of the chain of redirects to the URL, and those of the job."""
        kept = self._frontier.cookies_of(_domain(url)) if self._is_on else ""
        return ChainCookies.read(chain).with_kept(ChainCookies.read(kept)).text() if kept else chain

    def keep(self, url: str, visit: Visit) -> None:
        """Keep the cookies that the answer to a URL has set, and forget those that it has removed."""
        if not (self._is_on and visit.set_cookies):
            return
        domain = _domain(url)
        before = ChainCookies.read(self._frontier.cookies_of(domain))
        kept = before.after(url, visit.set_cookies).of_domain(domain)
        if not kept.is_like(before):
            self._frontier.keep_cookies(domain, kept.text())

    def without_known(self, visit: Visit, before: str) -> Visit:
        """Return a visit whose queued target takes along only the cookies that the visit itself has changed."""
        if not (self._is_on and visit.cookies):
            return visit
        return replace(visit, cookies=ChainCookies.read(visit.cookies).changed_since(ChainCookies.read(before)).text())


def _domain(url: str) -> str:
    return registered_domain(without_port(host_of(url)))
