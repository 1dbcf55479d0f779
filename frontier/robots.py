"""What a site's robots.txt allows us (RFC 9309). Pure: the worker fetches it, through the proxy like all else.

| answer | RFC 9309 | outcome |
|---|---|---|
| 2xx | 2.3.1.1 | parsed, the first 500 KiB (2.5) |
| 4xx but 429, redirects without end | 2.3.1.3 | everything is allowed |
| 429, 5xx, no answer | 2.3.1.4 | nothing is allowed for a while; then it is asked for again |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal
from urllib.parse import urljoin

from protego import Protego

MAX_BYTES: Final = 500 * 1024
"""How much of a robots.txt is read; RFC 9309 section 2.5 asks for no less."""
UNREACHABLE_SECONDS: Final = 600.0
"""How long an unreachable robots.txt closes its site before it is asked for again."""
MAX_REDIRECTS: Final = 5
"""How many redirects to follow from /robots.txt (RFC 9309 section 2.3.1.2); then call it a 404."""
LONGEST_CRAWL_DELAY: Final = 86_400.0
_MAX_SITEMAPS: Final = 1000

type Verdict = Literal["rules", "open", "unreachable"]

_COMPATIBLE: Final = re.compile(r"compatible;\s*([A-Za-z][A-Za-z_-]*)", re.IGNORECASE)
_PRODUCT: Final = re.compile(r"[A-Za-z][A-Za-z_-]*")


def robots_url(url: str) -> str:
    """Where the robots.txt that governs a canonical URL lies: each scheme, host and port has its own."""
    return urljoin(url, "/robots.txt")


def product_token(user_agent: str) -> str:
    """The name by which robots.txt knows a User-Agent: the one after `compatible;`, else the first."""
    named = _COMPATIBLE.search(user_agent)
    first = _PRODUCT.search(user_agent)
    return named[1] if named else first[0] if first else "*"


@dataclass(frozen=True)
class Robots:
    """A robots.txt as it was answered: the HTTP status (or a negative code), and the body's first 500 KiB."""

    status: int
    body: bytes = b""

    @property
    def verdict(self) -> Verdict:
        """`rules`: its text decides; `open`: everything goes; `unreachable`: nothing goes for a while."""
        if 200 <= self.status < 300:
            return "rules"
        return "open" if 300 <= self.status < 500 and self.status != 429 else "unreachable"

    def allows(self, url: str, agent: str) -> bool:
        """Whether this agent (a User-Agent or its product token) may fetch a URL of the site."""
        if self.verdict != "rules":
            return self.verdict == "open"
        return self._rules.can_fetch(url, product_token(agent))

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between visits that the site asks of this agent, at most a day; None when it does not say."""
        asked = self._rules.crawl_delay(product_token(agent)) if self.verdict == "rules" else None
        return None if asked is None else min(asked, LONGEST_CRAWL_DELAY)

    def sitemaps(self, url: str) -> tuple[str, ...]:
        """Absolute URLs of the sitemaps it lists, the first thousand; `url` is where the robots.txt was."""
        found = list(self._rules.sitemaps)[:_MAX_SITEMAPS] if self.verdict == "rules" else []
        return tuple(dict.fromkeys(urljoin(url, link) for link in found))

    def believed_seconds(self, robots_seconds: float) -> float:
        """How long this answer holds; `robots_seconds` is the setting for answers that say something."""
        return min(UNREACHABLE_SECONDS, robots_seconds) if self.verdict == "unreachable" else robots_seconds

    @cached_property
    def _rules(self) -> Protego:
        return Protego.parse(_text(self.body))


def _text(body: bytes) -> str:
    """The lines that are whole within the limit, as UTF-8 without byte order mark or NULs."""
    if len(body) > MAX_BYTES:
        kept = body[:MAX_BYTES]
        body = kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]
    return body.decode("utf-8-sig", "replace").replace("\0", "")
