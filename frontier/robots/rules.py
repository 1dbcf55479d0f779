"""A site's robots.txt says what it allows (RFC 9309). Pure: the worker fetches it, through the proxy like all else.

| answer | RFC 9309 | outcome |
|---|---|---|
| 2xx | 2.3.1.1 | parsed, the first 500 KiB (2.5) |
| 4xx but 429, redirects without end | 2.3.1.3 | everything is allowed |
| 429, 5xx, no answer | 2.3.1.4 | nothing is allowed for a while; then it is asked for again |
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urljoin

from protego import Protego

MAX_BYTES: Final = 500 * 1024
"""The largest part of a robots.txt that is read. RFC 9309 section 2.5 asks for at least as much."""
UNREACHABLE_SECONDS: Final = 20.0
"""Seconds until robots.txt is fetched again after a server error.

This is shorter than the pause before a retry (`frontier.retry_seconds`), so that each retry fetches it again.
"""
UNANSWERED_SECONDS: Final = 2.0
"""The same after no answer. Its retries may come sooner (`frontier.dns_retry_seconds`)."""
MAX_REDIRECTS: Final = 5
"""Largest number of redirects from /robots.txt (RFC 9309 section 2.3.1.2). After more, the answer counts as a 404."""
LONGEST_CRAWL_DELAY: Final = 86_400.0
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MAX_SITEMAPS: Final = 1000

type RobotsVerdict = Literal["rules", "open", "unreachable"]

_COMPATIBLE: Final = re.compile(r"compatible;\s*([A-Za-z][A-Za-z_-]*)", re.IGNORECASE)
_PRODUCT: Final = re.compile(r"[A-Za-z][A-Za-z_-]*")
_AGENT_LINE: Final = re.compile(r"\s*user(?:-|\s*)agent(?:\s*:|\s(?![^:#]*:(?:[\s#]|$)))\s*", re.IGNORECASE)
"""The beginning of a line that begins a group. Other words before a colon and a space are the name of another line."""
_EVERY_AGENT: Final = re.compile(r"\*(?![^\s#])")
_OTHER_AGENT: Final = "0"
"""A name that no product token has."""


def robots_url(url: str) -> str:
    """Return the URL of the robots.txt of a canonical URL. Each scheme, host and port has its own."""
    return urljoin(url, "/robots.txt")


def product_token(user_agent: str) -> str:
    """Return the name of a User-Agent in robots.txt: the product after `compatible;`, else the first product."""
    named = _COMPATIBLE.search(user_agent)
    first = _PRODUCT.search(user_agent)
    return named[1] if named else first[0] if first else "*"


@dataclass(frozen=True)
class Robots:
    """A robots.txt is the answer of an origin: the status (or a negative code) and the first 500 KiB of the body."""

    status: int
    body: bytes = b""
    _parsed: dict[str, Protego] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The rules by the product token of the robot."""

    @property
    def verdict(self) -> RobotsVerdict:
        """Return `rules` when the text decides, `open` when all is allowed, `unreachable` when nothing is allowed for a
        while.
        """
        if 200 <= self.status < 300:
            return "rules"
        return "open" if 300 <= self.status < 500 and self.status != 429 else "unreachable"

    def allows(self, url: str, agent: str) -> bool:
        """Return whether this agent (a User-Agent or its product token) may fetch a URL of the site."""
        if self.verdict != "rules":
            return self.verdict == "open"
        return self._rules_for(agent).can_fetch(url, product_token(agent))

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds between visits that the site asks of this agent, at most a day, or None."""
        asked = self._rules_for(agent).crawl_delay(product_token(agent)) if self.verdict == "rules" else None
        return None if asked is None else min(asked, LONGEST_CRAWL_DELAY)

    def sitemaps(self, url: str) -> tuple[str, ...]:
        """Return the absolute URLs of the first thousand sitemaps. `url` is the URL of the robots.txt."""
        found = list(self._rules_for("").sitemaps)[:_MAX_SITEMAPS] if self.verdict == "rules" else []
        return tuple(dict.fromkeys(filter(None, (_joined(url, link) for link in found))))

    def believed_seconds(self, robots_seconds: float) -> float:
        """Return the seconds for which this answer is valid. `robots_seconds` is the setting for usual answers."""
        if self.verdict != "unreachable":
            return robots_seconds
        return min(UNREACHABLE_SECONDS if self.status > 0 else UNANSWERED_SECONDS, robots_seconds)

    def _rules_for(self, agent: str) -> Protego:
        token = product_token(agent)
        if token not in self._parsed:
            lines = (_with_token(line, token) for line in _text(self.body).splitlines())
            self._parsed[token] = Protego.parse("\n".join(lines))
        return self._parsed[token]


def _with_token(line: str, token: str) -> str:
    """Return a line of robots.txt. One that begins a group names `*`, this product token, or no robot.

    Product tokens are compared (RFC 9309 section 2.2.1), and Protego looks for the whole text. A site may name a robot
    by its whole User-Agent, so that the token of the line is found as that of the job. Protego also copies each rule
    for every other robot that its group names.
    """
    match = _AGENT_LINE.match(line)
    if match is None:
        return line
    named = line[match.end() :]
    product = product_token(named.partition("#")[0])
    is_ours = product != "*" and product.lower() == token.lower()
    name = "*" if _EVERY_AGENT.match(named) else token if is_ours else _OTHER_AGENT
    return f"User-agent: {name}"


def _joined(url: str, link: str) -> str | None:
    """Return the absolute URL of a link; None for a link that is no URL."""
    try:
        return urljoin(url, link)
    except ValueError:
        return None


def _text(body: bytes) -> str:
    """Return the whole lines within the size limit, without byte order mark and NULs.

    The text is UTF-8 (RFC 9309 section 2.3.1), or UTF-16 when its byte order mark says so.
    """
    if body.startswith(_UTF16):
        return body[:MAX_BYTES].decode("utf-16", "replace").replace("\0", "")
    if len(body) > MAX_BYTES:
        kept = body[:MAX_BYTES]
        body = kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]
    return body.decode("utf-8-sig", "replace").replace("\0", "")
