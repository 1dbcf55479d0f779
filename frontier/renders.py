"""The renders of a job wait in a queue of their own, so that the crawl goes on before Chromium has opened the pages.

This is `rendering: asynchronous` of a profile:

1. The plain crawler fetches a page at its turn. The links of the page are queued at once.
2. The worker queues the render of the page (`add`, in one script) before it finishes the page. The embeds of the page
   that nobody has seen yet are left to the render: they are marked as seen, and are not queued.
3. A render worker claims the render under a lease, and a ghost visits the page. The ghost's links are added to the
   frontier, and its fetched URLs are marked as seen, as in a synchronous visit.
4. The render is finished. In the same script, those embeds that were left to the render and that it did not fetch are
   queued for the plain crawler. So no resource of a rendered page is fetched again by the plain crawler, and none is
   lost, also when the render failed for good.

The queue has the scripts and keys of a job, with the job's name and the ending `=renders`, so that leases, retries,
lost workers, hosts that are set aside and a second start of the job have the same rules as in the frontier:

- A page is queued for a render once (a seen set of the renders). A render whose worker died is done again; a render
  that was finished is not.
- Pauses, blocks and visits of a host are those of the host, for visits and renders together. While the plain crawler
  has URLs of the host, it gets the host after each render for as long as the render took.
- A pause, a stop and the limits of the job hold for renders. Their bytes and the URLs that they fetch count for the
  limits; a page counts once, when the plain crawler fetches it. The limit of pages lets the renders of these pages end.
- The job is finished when both queues are empty. When the job ends before, renders stay queued as URLs do.

The lag of a render is the time from its queueing to its end, with all tries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from archive.settings import FrontierSettings
from archive.url import host_of
from frontier.definition.job import Job
from frontier.definition.scope import Accepted, Candidate, Rejected, ScopeDecision
from frontier.lease import Lease
from frontier.lease_queue import LeaseQueue
from frontier.packing import candidate_of, pack, queue_score
from frontier.politeness import Politeness, VisitOutcome
from frontier.store import ScriptArgument, Store


class JobRules(Protocol):
    """The frontier of a job has these rules, which hold for the renders, too."""

    @property
    def name(self) -> str:
        """Return the name of the job."""
        ...

    @property
    def job(self) -> Job:
        """Return the job."""
        ...

    @property
    def politeness(self) -> Politeness:
        """Return the rules of politeness of the job."""
        ...

    def politeness_of(self, url: str) -> Politeness:
        """Return the rules of politeness for a URL."""
        ...

    def max_links(self, url: str) -> int:
        """Return how many links are taken from a page."""
        ...

    def decide(self, candidates: Iterable[Candidate], most: int) -> list[ScopeDecision]:
        """Return whether candidates are in scope."""
        ...

    def note_rejected(self, decisions: Sequence[ScopeDecision]) -> None:
        """Count rejected candidates."""
        ...

    def rejecting_queued(self, leases: Sequence[Lease], scope_length: int) -> Sequence[Rejected | None]:
        """Return for each URL the rejection by a scope that was changed since the URL was queued."""
        ...

    def assign_groups(self, version: str, hosts: Sequence[str]) -> None:
        """Look up the queue groups of these hosts."""
        ...

    def wake_within_limits(self) -> None:
        """Take back the hosts and URLs whose limits and quotas are not reached any more."""
        ...

    def spender_of(self, lease: Lease) -> Sequence[str]:
        """Return the domain and the seed whose quotas a visit counts for."""
        ...


class RenderQueue(LeaseQueue):
    """The queue hands out the renders of one job. It is safe to share between threads."""

    def __init__(self, frontier: JobRules, store: Store, settings: FrontierSettings) -> None:
        super().__init__(frontier.name, store.renders(), settings)
        self._frontier = frontier
        self._job_store = store

    @property
    def politeness(self) -> Politeness:
        """Return the rules of politeness of the job."""
        return self._frontier.politeness

    def politeness_of(self, url: str) -> Politeness:
        """Return the rules of politeness for a URL."""
        return self._frontier.politeness_of(url)

    def add(self, lease: Lease, embeds: Sequence[Candidate], *, links: int = 0) -> bool:
        """Queue the render of a leased page, and leave these embeds to the render. `links` were taken from the page.

        Return False, and change nothing, when the page was queued for a render before, or the lease is over.
        """
        most = max(self._frontier.max_links(lease.url) - links, 0)
        decisions = self._frontier.decide(embeds, most)
        mark = self._job_store.fingerprint(lease.url)
        page = candidate_of(lease)
        arguments: list[ScriptArgument] = [lease.id, lease.token, lease.worker]
        arguments += [mark.place, lease.host, queue_score(page), pack(page)]
        for decision in decisions:
            if isinstance(decision, Accepted):
                embed = decision.candidate
                mark = self._job_store.fingerprint(embed.url)
                arguments += [mark.id, mark.place, host_of(embed.url), queue_score(embed), pack(embed)]
        is_new = bool(self._job_store.run("render", *arguments))
        if is_new:
            self._frontier.note_rejected(decisions)
        return is_new

    def set_workers(self, at_once: int) -> None:
        """Ask the command that runs the job for render workers with so many visits at once in all."""
        with self._job_store.guarded():
            self._job_store.client.hset(self._job_store.key("state"), "render_workers", at_once)

    def rejecting_queued(self, leases: Sequence[Lease], scope_length: int) -> Sequence[Rejected | None]:
        """Return for each URL the rejection by a scope that was changed since the URL was queued."""
        return self._frontier.rejecting_queued(leases, scope_length)

    def note_rejected(self, decisions: Sequence[ScopeDecision]) -> None:
        """Count rejected candidates, and store them for the report."""
        self._frontier.note_rejected(decisions)

    def assign_groups(self, version: str, hosts: Sequence[str]) -> None:
        """Look up the queue groups of these hosts, and store them for all workers."""
        self._frontier.assign_groups(version, hosts)

    def wake_within_limits(self) -> None:
        """Take back the hosts and URLs whose limits and quotas are not reached any more."""
        self._frontier.wake_within_limits()

    def _spender(self, lease: Lease) -> Sequence[str]:
        return self._frontier.spender_of(lease)

    def _fetched_by_render(self, outcome: VisitOutcome) -> Sequence[str]:
        return tuple(self._job_store.fingerprint(url).id for url in outcome.fetched)
