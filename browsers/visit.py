"""A visitor gets a `VisitOrder` and returns a `Visit`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, Protocol

from archive.fast_frozen import fast_frozen
from archive.url import host_of

type Hop = Literal["L", "E", "R", "X", "P", "M"]
"""Heritrix's discovery letters: link, embed, redirect, speculative, prerequisite, sitemap or another list of URLs."""

_LOOK: Final = re.compile(r"([0-9a-f]{1,16}) ([0-9]{1,9}) (.*)", re.DOTALL)

UNRECORDED: Final = ("cookie", "authorization")
"""Request headers whose values are not recorded when a stored login is used."""
UNRECORDED_OF_RESPONSES: Final = ("set-cookie",)
"""Response headers whose values are not recorded when a stored login is used. With them, a reader could take the login
over."""


class GhostTrouble(StrEnum):
    """A ghost's page had one of these problems, which crawl.log has as annotations."""

    HANG = "ghost:hang"
    """A script of the page did not end."""
    TIMEOUT = "ghost:timeout"
    """The page did not finish within its time."""
    NEVER_SETTLED = "ghost:never-settled"
    """The page did not stop fetching."""
    OUT_OF_MEMORY = "ghost:out-of-memory"
    """The page used too much memory."""
    CRASH = "ghost:crash"
    """The process of the page or the browser ended unexpectedly."""
    MANY_WINDOWS = "ghost:many-windows"
    """The page opened so many windows that most of them were closed at once."""


@fast_frozen(frozen=True, slots=True)
class FoundLink:
    """A link has a canonical URL, and the place where it was found, such as `a/@href`."""

    url: str
    hop: Hop
    context: str
    changed: int | None = None
    """The time at which the URL changed, in ms since 1970, as a sitemap or a feed says; None when none is named."""


XSLT_CONTEXT: Final = "xml-stylesheet/@href(xslt)"
"""The context of a link to a style sheet by which a browser makes a page of an XML document."""


@dataclass(frozen=True, slots=True)
class OwnHeaders:
    """A job sends these headers with every request. The values of `unrecorded` names are not recorded."""

    values: Mapping[str, str] = field(default_factory=dict)
    unrecorded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VisitOrder:
    """An order has one URL to visit, and its origin, which the proxy notes in records and crawl.log."""

    url: str
    collection: str
    job: str | None = None
    hop_path: str = ""
    via: str | None = None
    source: str | None = None
    log_dir: str | None = None
    prefix: str | None = None
    """The beginning of the names of the WARC files; None for that of the collection."""
    cookies: str = ""
    """The cookies that a chain of redirects to this URL has set (`browsers.plain.chain_cookies`)."""
    attempt: int = 1
    """The number of the try."""
    page_id: str | None = None
    """The page visit to which a plain request belongs; None for one of its own."""

    @property
    def host(self) -> str:
        """Return the host of the URL, with its port when the URL names one."""
        return host_of(self.url)


@dataclass(frozen=True, slots=True)
class PageLook:
    """A look describes title and text of a page, so that two pages can be compared (`page_quality.missing_page`)."""

    title: str
    words: int
    simhash: int

    def text(self) -> str:
        """Return the look as `read` takes it."""
        return f"{self.simhash:x} {self.words} {self.title}"

    @classmethod
    def read(cls, text: str) -> PageLook | None:
        """Return the look of a text that `text` made; None for another text."""
        found = _LOOK.fullmatch(text)
        return cls(found[3], int(found[2]), int(found[1], 16)) if found else None


@dataclass(frozen=True, slots=True)
class Visit:
    """The result of an order. `code` is the HTTP status, or Heritrix's negative code."""

    code: int
    duration_ms: int
    bytes: int = 0
    """Bytes of the body on the wire; for a ghost, of all responses of the page."""
    content_type: str = ""
    """Media type in lower case, without parameters; empty when unknown."""
    links: tuple[FoundLink, ...] = ()
    annotations: tuple[str, ...] = ()
    error: str | None = None
    """A word for a negative code, such as `refused`; None for a response of the site."""
    retry_after: float | None = None
    """Seconds of the site's Retry-After."""
    fetched: tuple[str, ...] = ()
    """Other URLs that this visit fetched: targets of redirects and embeds. They are marked as seen and not queued."""
    cookies: str = ""
    """The cookies of the chain of redirects with which the target of this redirect is visited."""
    set_cookies: tuple[str, ...] = ()
    """The values of Set-Cookie of the answer, when the job keeps cookies; none for other visits."""
    look: PageLook | None = None
    """The look of a page, when the settings ask for it."""
    digest: str = ""
    """Eight bytes of a BLAKE2b digest in hexadecimal: of the body as it came, or of the visible text of a ghost's page.
    Empty when nobody asked for it."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the stages of a ghost's visit, such as load, settle, behaviors, records. A stage with a slash in its
    name is a part of another one, such as behaviors/scroll."""

    @property
    def is_made_by_xslt(self) -> bool:
        """Return whether the document is XML of which a browser makes a page."""
        return any(link.context == XSLT_CONTEXT for link in self.links)


class FleetUnavailable(Exception):
    """Our side can't fetch or record at the moment. This says nothing about the site, so the URL is given back.

    `may_be_the_page` is set when the page may be the reason, for example of a crashed browser. Then the visit counts as
    a try, so that the page fails in the end. `trouble` is the problem of the page, if it is known. `detail` is the
    reason in the words of the proxy.
    """

    def __init__(
        self,
        reason: str,
        retry_after: float | None = None,
        *,
        may_be_the_page: bool = False,
        trouble: GhostTrouble | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.detail = detail
        self.trouble = trouble
        self.reason = reason
        self.retry_after = retry_after
        self.may_be_the_page = may_be_the_page


class FleetMisconfigured(FleetUnavailable):
    """The proxy refuses this worker because of its settings or options, so no later try can succeed."""


class Visitor(Protocol):
    """A visitor visits pages. Several threads may call `visit`."""

    name: str

    def visit(self, order: VisitOrder) -> Visit:
        """Return the result of the visit, once all captures are durable. Raises FleetUnavailable."""
        ...

    def look(self, order: VisitOrder) -> tuple[int, PageLook | None]:
        """Return the status of a page and its look, of which nothing but the traffic is recorded. The look is None for
        a document that is no page. Raises FleetUnavailable, and the plain visitor raises SiteFailure.
        """
        ...

    def close(self) -> None:
        """End sessions, browsers and connections."""
        ...
