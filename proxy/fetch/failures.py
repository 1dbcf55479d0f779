"""A failure of an order has three forms: crawl.log's code, a word, an HTTP status. Pure."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from typing import Final

from archive import crawl_log
from proxy.origins.dead_hosts import DeadHost
from proxy.origins.egress import EgressFailed
from proxy.origins.resolver import AddressRefused, NameNotFound
from proxy.origins.upstream import PoolExhausted


@dataclass(frozen=True, slots=True)
class Failure:
    """`code` and `word` go to the client as Ghostfleet-Error, with `status`; `logged` is the code in crawl.log."""

    code: int
    word: str
    status: int
    detail: str = ""
    was_known: bool = False
    """The host was found dead before, and nothing was sent now."""

    @property
    def logged(self) -> int:
        """Return code in crawl.log: for hosts known to be dead -404, as warcprox has it."""
        return crawl_log.EMPTY if self.was_known else self.code

    @property
    def annotations(self) -> tuple[str, ...]:
        """Return what crawl.log notes beside the code."""
        return (self.word, "dead-host") if self.was_known else (self.word,)


BAD_RESPONSE: Final = Failure(crawl_log.LOST, "bad-response", 502)
CLIENT_LEFT: Final = Failure(crawl_log.CANCELLED, "client-left", 400)
CONNECT_TIMEOUT: Final = Failure(crawl_log.CONNECT, "connect-timeout", 504)
TIMEOUT: Final = Failure(crawl_log.TIMEOUT, "timeout", 504)
STOPPING: Final = Failure(crawl_log.RUNTIME, "stopping", 503)
EMPTY: Final = Failure(crawl_log.EMPTY, "empty", 502)
LOST: Final = Failure(crawl_log.LOST, "lost", 502)


def spool_failure(error: OSError) -> Failure:
    """Return the spool's disk is full, or broken."""
    return Failure(crawl_log.RUNTIME, "spool", 503, str(error))


def failure_to_connect(error: OSError) -> Failure:
    """Return what an error of `Pool.connect` means."""
    if isinstance(error, DeadHost):
        return replace(failure_to_connect(error.reason), detail=str(error), was_known=True)
    if isinstance(error, NameNotFound):
        return Failure(crawl_log.DNS, "dns", 502, str(error))
    if isinstance(error, AddressRefused):
        return Failure(crawl_log.BLOCKED, "private", 403, str(error))
    if isinstance(error, EgressFailed):
        return Failure(crawl_log.CONNECT, "egress", 502, str(error))
    if isinstance(error, PoolExhausted):
        return Failure(crawl_log.RUNTIME, "crowded", 503, str(error))
    if isinstance(error, TimeoutError):
        return Failure(crawl_log.CONNECT, "connect-timeout", 504, str(error))
    if isinstance(error, ssl.SSLError):
        return Failure(crawl_log.CONNECT, "tls", 502, str(error))
    return Failure(crawl_log.CONNECT, "refused", 502, str(error))
