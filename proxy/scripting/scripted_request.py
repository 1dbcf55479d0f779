"""Scripts see a client's request first. This module keeps what the client asked for, and writes the line in crawl.log
when scripts answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from archive import crawl_log
from archive.capture import Exchange
from archive.dates import Micros
from proxy.fetch.incoming_request import IncomingRequest
from proxy.sessions.policy import Policy


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """A scripted request is a client's request with the policy of its session."""

    request: IncomingRequest
    policy: Policy

    def exchange_without_fetch(self, exchange: str, started: Micros, duration_ms: int, word: str) -> Exchange:
        """Return the exchange of a request that was not sent to an origin; `word` is the annotation with the reason."""
        return Exchange(
            id=exchange,
            context=self.policy.context,
            method=self.request.head.method,
            url=self.request.target.url,
            started=started,
            duration_ms=duration_ms,
            outcome=crawl_log.BLOCKED_BY_RULE,
            annotations=(word,),
        )
