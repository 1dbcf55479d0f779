"""What a visitor is asked (`VisitOrder`) and what it tells (`Visit`): frozen, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

type Hop = Literal["L", "E", "R", "X", "P"]
"""Heritrix's discovery letters: link, embed, redirect, speculative, prerequisite."""


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A URL in canonical form and where it was found, such as `a/@href`."""

    url: str
    hop: Hop
    context: str


@dataclass(frozen=True, slots=True)
class VisitOrder:
    """One URL to visit, and on whose behalf; the proxy notes all of it in records and crawl.log."""

    url: str
    collection: str
    job: str | None = None
    hop_path: str = ""
    via: str | None = None
    source: str | None = None
    log_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of an order. `code` is the HTTP status, or Heritrix's negative code when there was none."""

    code: int
    duration_ms: int
    bytes: int = 0
    """Bytes of the visited document's body as it crossed the wire; for a ghost, of everything its page fetched."""
    content_type: str = ""
    """Media type in lower case, without parameters; empty when unknown."""
    links: tuple[FoundLink, ...] = ()
    annotations: tuple[str, ...] = ()
    error: str | None = None
    """One word for a negative code, such as `refused`; None for an answer of the site."""
    retry_after: float | None = None
    """Seconds that the site asked us to stay away."""
    fetched: tuple[str, ...] = ()
    """Other URLs that this visit fetched too: where redirects led and what the page embeds. Seen, never queued."""


class FleetUnavailable(Exception):
    """Our side can't fetch or keep at the moment; nothing is said about the site, so the URL is to be given back.

    `may_be_the_page` is set when it could be this page's doing, as when it brings a browser down: then it counts as
    a try, so that such a page is given up in the end.
    """

    def __init__(self, reason: str, retry_after: float | None = None, *, may_be_the_page: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        self.may_be_the_page = may_be_the_page


class Visitor(Protocol):
    """Something that visits pages. `visit` may be called by several threads at once."""

    name: str

    def visit(self, order: VisitOrder) -> Visit:
        """The visit's result, once everything it fetched is durable. Raises FleetUnavailable when we can't work."""
        ...

    def close(self) -> None:
        """Ends sessions, browsers and connections."""
        ...
