"""The plain crawler keeps the cookies of a site for all visits of a job, when the profile says so.

The frontier has one text for each registered domain, with at most 30 cookies and 8,000 characters, so that all workers
of the job send the same cookies. When two visits to a domain end at the same time, the cookies of one of them may be
lost. A cookie that runs out by its date is sent until the end of the job.
"""

from __future__ import annotations

from archive.url import host_of
from browsers.plain.chain_cookies import ChainCookies
from frontier.definition.networks import without_port
from frontier.definition.scope import registered_domain
from frontier.queue import Frontier


class JobCookies:
    """The cookies of a job are shared by its workers. It is safe to use from several threads."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    def before(self, url: str, chain: str) -> str:
        """Return the cookies for a visit: those of the chain of redirects to the URL, and those of the job."""
        kept = self._frontier.cookies_of(_domain(url))
        return ChainCookies.read(chain).with_kept(ChainCookies.read(kept)).text() if kept else chain

    def keep(self, url: str, after: str) -> None:
        """Keep the cookies that a visit of the URL has left."""
        domain = _domain(url)
        self._frontier.keep_cookies(domain, ChainCookies.read(after).of_domain(domain).text())


def _domain(url: str) -> str:
    return registered_domain(without_port(host_of(url)))
