"""What a client asked for whose request scripts will see first, and its line in crawl.log when they answer it."""

from __future__ import annotations

from dataclasses import dataclass

from archive import crawl_log
from archive.capture import Exchange
from archive.dates import Micros
from proxy.gate import Session
from proxy.http1 import Framing, RequestHead
from proxy.policy import Policy
from proxy.target import Target


@dataclass(frozen=True, slots=True)
class Asking:
    """What the client asked for, on whose behalf."""

    head: RequestHead
    framing: Framing
    length: int
    target: Target
    session: Session
    policy: Policy

    def unasked(self, exchange: str, started: Micros, duration_ms: int, word: str) -> Exchange:
        """The exchange with that id that never got to an origin, for the reason that `word` tells."""
        return Exchange(
            id=exchange,
            context=self.policy.context,
            method=self.head.method,
            url=self.target.url,
            started=started,
            duration_ms=duration_ms,
            outcome=crawl_log.BLOCKED_BY_RULE,
            annotations=(word,),
        )
