"""What the frontier hands out and tells: leases, other answers to a claim, progress. Frozen, no I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from archive.url import host_of
from frontier.scope import LINK_HOPS, Candidate, Priority

_SHOWN_HOPS: Final = 50
_SEED_REDIRECTS: Final = 10
"""Redirects in a row after which a seed's next target is a link like any other."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to visit one URL, until it runs out or is renewed. `token` proves it: a later lease has another."""

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
    """1 for the first visit."""
    host_failures: int
    """Visits of this host that failed in a row before this one."""
    seconds: float
    """How long the lease lasts from when it was given."""

    @property
    def host(self) -> str:
        """The host in whose name the frontier is polite: with its port when that is not the scheme's default."""
        return host_of(self.url)

    def candidate(self, url: str, hop: str, priority: Priority = Priority.STANDARD) -> Candidate:
        """A link found by this visit. `hop` is Heritrix's letter; where a seed redirects to is a seed again."""
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
    """Nothing may be visited now: ask again after this time. `why` is politeness, busy, paused or opening."""

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is queued and nothing leased: the job is at its end."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The job hands out nothing any more though URLs may be left: a limit was reached, or somebody stopped it."""

    reason: str


type Claim = Lease | Pause | Finished | Stopped


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a job stands. Accepted URLs are the sum of queued, leased, done, failed and excluded."""

    queued: int
    leased: int
    done: int
    failed: int
    excluded: int
    """Ruled out by robots.txt, or waiting on a host that was set aside."""
    hosts: int
    """Hosts with queued URLs."""
    hosts_waiting: int
    """Those of them that may not be visited yet."""
    next_due_seconds: float | None
    """Time until something may be visited, at the latest (a visit that goes on may end sooner); None for never."""
    bytes: int
    retries: int
    swept: int
    """Leases that ran out and were taken back."""
    codes: Mapping[int, int]
    """URLs that ended, by status code."""
    rejected: Mapping[str, int]
    """Candidates that were not taken in, by reason."""
    paused: str | None
    stopped: str | None

    @property
    def accepted(self) -> int:
        """URLs that were taken in."""
        return self.queued + self.leased + self.done + self.failed + self.excluded

    @property
    def errors(self) -> dict[int, int]:
        """URLs that ended with a negative code or an HTTP status from 400 up, by code."""
        return {code: count for code, count in self.codes.items() if code < 0 or code >= 400}


def extend(hop_path: str, hop: str) -> str:
    """The hop path one step longer; of more than 50 steps, the first are only counted: `3+LLE…`."""
    dropped, plus, shown = hop_path.rpartition("+")
    path = shown + hop
    beyond = len(path) - _SHOWN_HOPS
    count = (int(dropped) if plus and re.fullmatch(r"\d+", dropped) else 0) + max(beyond, 0)
    return f"{count}+{path[max(beyond, 0) :]}" if count else path
