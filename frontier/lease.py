"""This module has the answers to a claim, and the progress of a job. The classes are frozen data without I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from archive.url import host_of
from frontier.definition.revisit import RevisitHistory
from frontier.definition.scope import LINK_HOPS, Candidate, Priority

MAX_LOST: Final = 2
"""A URL that lost so many workers is ended without a further visit."""
_SHOWN_HOPS: Final = 50
_SEED_REDIRECTS: Final = 10
"""After so many redirects in a row, the next target of a seed is an ordinary link."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease is the right to visit one URL until the lease expires. A later lease of the URL has another `token`."""

    id: str
    token: str
    worker: str
    url: str
    hop_path: str
    via: str | None
    source: str | None
    depth: int
    is_seed: bool
    priority: Priority
    attempt: int
    """The number of the visit, from 1."""
    host_failures: int
    """Failed visits of this host in a row before this visit."""
    seconds: float
    """The duration of the lease from its claim."""
    cookies: str = ""
    """The cookies that the chain of redirects to this URL has set (`browsers.plain.chain_cookies`)."""
    lost: int = 0
    """Earlier leases of this URL that expired because their workers were gone."""
    history: RevisitHistory | None = None
    """The history that earlier visits of a continuous crawl made; None for the first visit."""

    @property
    def host(self) -> str:
        """Return the host, with its port when that is not the default of the scheme. Politeness is per host."""
        return host_of(self.url)

    def candidate(self, url: str, hop: str, priority: Priority = Priority.STANDARD) -> Candidate:
        """Return a candidate for a link of this visit. `hop` is Heritrix's letter. The redirect of a seed is a seed."""
        return Candidate(
            url=url,
            hop_path=extend(self.hop_path, hop),
            via=self.url,
            source=self.source,
            depth=self.depth + (hop in LINK_HOPS),
            is_seed=self.is_seed and hop == "R" and self.hop_path.count("R") < _SEED_REDIRECTS,
            priority=priority,
        )


@dataclass(frozen=True, slots=True)
class Pause:
    """No URL may be visited now; the worker claims again after this time.

    `why` is politeness, busy, paused, opening, spilled (all that is left waits in segments), scope (URLs whose turn had
    come are out of scope by now), or due: all that is left are visits that are not due yet.
    """

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class JobFinished:
    """The job is finished: no URL is queued or leased."""


@dataclass(frozen=True, slots=True)
class JobStopped:
    """The job has stopped, though URLs may be left: a limit was reached, or a command stopped it."""

    reason: str


type Claim = Lease | Pause | JobFinished | JobStopped


class WaitKind(StrEnum):
    """A host, or a URL, waits for one of these reasons."""

    DELAY = "delay"
    """The pause between two visits must end."""
    RETRY = "retry"
    """The next try after a failure is due later."""
    BLOCKED = "blocked"
    """An operator's block of the host must end."""
    VISITED = "visited"
    """A visit of this job must end."""
    HELD = "held"
    """A visit of another job must end."""
    DUE = "due"
    """The URLs of a continuous crawl are not due again yet."""
    GROUP = "group"
    """The queue group of the host has all its visits, or its delay must end."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A host, or a single URL, may not be visited yet."""

    what: str
    kind: WaitKind
    seconds: float = 0.0
    """Time until the visit is due; 0 when that depends on another visit."""
    code: int = 0
    """The code of the failure that is tried again."""
    job: str = ""
    """The job that visits the host."""


@dataclass(frozen=True, slots=True)
class RenderProgress:
    """The progress of the renders of a job has counts, and lags in seconds."""

    queued: int = 0
    leased: int = 0
    done: int = 0
    failed: int = 0
    excluded: int = 0
    """Renders that robots.txt or an operator forbids, or whose host was set aside."""
    retries: int = 0
    oldest_seconds: float | None = None
    """The time since the oldest render was queued that is not done; None when there is none."""
    p95_seconds: float | None = None
    """The lag that 95 of 100 finished renders did not exceed, to a tenth; None when no render is done."""
    lag_seconds: float = 0.0
    """The sum of the lags of all finished renders."""
    workers: int | None = None
    """Visits at once of all render workers that an operator asked for; None when nobody asked."""

    @property
    def depth(self) -> int:
        """Return the number of renders that are queued or in progress."""
        return self.queued + self.leased

    @property
    def is_used(self) -> bool:
        """Return whether a page of the job was ever queued for a render."""
        return self.depth + self.done + self.failed + self.excluded > 0


@dataclass(frozen=True, slots=True)
class BloomProgress:
    """The Bloom filter of a job's seen test has an estimated number of URLs, by the bits that are set."""

    urls: int
    expected_urls: int
    false_positives: float
    """The share of new URLs that are taken for seen ones now."""
    dropped: float
    """The number of new URLs that were taken for seen ones so far, by expectation."""

    @property
    def is_overfull(self) -> bool:
        """Return whether the filter has more URLs than it was made for."""
        return self.urls > self.expected_urls

    @property
    def text(self) -> str:
        """The state of the filter in one line."""
        return (
            f"Bloom filter with about {self.urls:,} of {self.expected_urls:,} expected URLs;"
            f" takes {self.false_positives:.2g} of new URLs for seen ones now, about {self.dropped:,.0f} URLs so far"
        )


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of a job has counts. Accepted URLs are the sum of queued, leased, done, failed and excluded."""

    queued: int
    leased: int
    done: int
    failed: int
    excluded: int
    """URLs that robots.txt forbids, or whose host was set aside."""
    hosts: int
    """Hosts with queued URLs."""
    hosts_waiting: int
    """The hosts among them that may not be visited yet."""
    next_due_seconds: float | None
    """Time until something may be visited, at the latest (a visit that goes on may end sooner); None for never."""
    bytes: int
    retries: int
    swept: int
    """Leases that expired and were taken back."""
    codes: Mapping[int, int]
    """URLs that ended, by status code."""
    rejected: Mapping[str, int]
    """Rejected candidates by reason."""
    paused: str | None
    stopped: str | None
    pages: int = 0
    """Done URLs that are documents and were navigated to."""
    fetched_along: int = 0
    """URLs that visits fetched besides their own."""
    paused_seconds: float | None = None
    """Seconds since the pause; None when the job is not paused."""
    added: int = 0
    """Number of seeds that were added to the running job."""
    waits: tuple[Wait, ...] = ()
    """Some waiting hosts and URLs, in the order in which they are due."""
    spilled: int = 0
    """Queued and excluded URLs that wait in segments, and not in memory."""
    lost: int = 0
    """URLs of segments whose files are missing or damaged. They were queued, and are not visited."""
    revisits: int = 0
    """URLs that will be visited again. They are not among the queued ones."""
    renders: RenderProgress = RenderProgress()
    """The queue of renders (`frontier.renders`). Its URLs are not among the other counts."""
    bloom: BloomProgress | None = None
    """The Bloom filter of the seen test; None for a job whose seen test is exact."""

    @property
    def visits(self) -> int:
        """Return the number of visits in progress, with those of render workers."""
        return self.leased + self.renders.leased

    @property
    def accepted(self) -> int:
        """Return the number of accepted URLs."""
        return self.queued + self.leased + self.done + self.failed + self.excluded

    @property
    def errors(self) -> dict[int, int]:
        """Return the numbers of URLs that ended with a negative code, or an HTTP status from 400 on, by code."""
        return {code: count for code, count in self.codes.items() if code < 0 or code >= 400}


def extend(hop_path: str, hop: str) -> str:
    """Return the hop path with one more step. Of a path with more than 50 steps, the first are counted: `3+LLE…`."""
    dropped, plus, shown = hop_path.rpartition("+")
    path = shown + hop
    beyond = len(path) - _SHOWN_HOPS
    count = (int(dropped) if plus and re.fullmatch(r"\d+", dropped) else 0) + max(beyond, 0)
    return f"{count}+{path[max(beyond, 0) :]}" if count else path
