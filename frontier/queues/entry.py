"""A queue entry is one URL of a frontier with all of its state. Frozen data without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from archive.url import host_of
from frontier.definition.scope import Candidate

type EntryState = Literal["queued", "leased", "failed", "excluded"]

ENTRY_STATES: Final[tuple[EntryState, ...]] = ("queued", "leased", "failed", "excluded")
_SHOWN_COOKIES: Final = "…"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue entry is a URL that is not done. `candidate` has its origin, priority and depth."""

    state: EntryState
    candidate: Candidate
    order: int = 0
    """The number of the URL among all URLs of the job, in the order in which they were queued."""
    code: int = 0
    """The code with which the URL ended; 0 until it has ended."""
    tries: int = 0
    """Visits that failed so far."""
    lost: int = 0
    """Workers that were lost with the URL."""
    rest_seconds: float = 0.0
    """The time until the next try of a URL that rests after a failure; 0 for any other URL."""
    lease_seconds: float = 0.0
    """The time until the lease expires; 0 for a URL that is not leased."""
    worker: str = ""
    """The worker that has the lease."""

    @property
    def url(self) -> str:
        """Return the URL."""
        return self.candidate.url

    @property
    def host(self) -> str:
        """Return the host whose queue has the URL."""
        return host_of(self.candidate.url)

    def as_json(self, *, with_cookies: bool = False) -> dict[str, Any]:
        """Return the fields for JSON, without fields that say nothing. The cookies of redirects may be secrets."""
        candidate = self.candidate
        fields = {
            "url": candidate.url,
            "state": self.state,
            "priority": candidate.priority.name.lower(),
            "depth": candidate.depth,
            "hop_path": candidate.hop_path,
            "via": candidate.via,
            "source": candidate.source,
            "is_seed": candidate.is_seed,
            "order": self.order,
            "code": self.code,
            "tries": self.tries,
            "lost": self.lost,
            "rest_seconds": round(self.rest_seconds, 3),
            "lease_seconds": round(self.lease_seconds, 3),
            "worker": self.worker,
            "cookies": candidate.cookies if with_cookies or not candidate.cookies else _SHOWN_COOKIES,
        }
        kept = ("url", "state", "priority", "depth")
        return {name: value for name, value in fields.items() if value or name in kept}
