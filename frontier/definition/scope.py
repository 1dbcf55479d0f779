"""The scope decides whether a URL is in or out, and names the reason in one word. Pure.

The scope of a job is a set of SURT prefixes of its seeds (`archive.url.key`, which has no scheme, so that http and
https are the same). A leading `www.` is ignored:

| scope | prefix of the seed http://www.example.org/a/b.html | URLs in scope |
|---|---|---|
| page | `org,example)/a/b.html` | the seed |
| prefix | `org,example)/a/` | all URLs below the seed's folder |
| host | `org,example)` | the host on its port |
| domain | `org,example` | all hosts of the registered domain (public suffix list), on any port |
| any | | all URLs |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import IntEnum
from functools import cache
from typing import Final

from publicsuffixlist import PublicSuffixList

from archive.fast_frozen import fast_frozen
from archive.url import UrlError, canonical
from frontier.definition.job import Job, Profile, ScopeKind
from frontier.definition.sheets import coerced
from frontier.definition.url_patterns import UrlPatterns

LINK_HOPS: Final = "LMS"
"""Hops to another page (link, sitemap entry, form). Only these count as depth."""
MAX_CHAIN: Final = 20
"""Largest number of redirects and embeds in a row since the last link. Browsers follow as many redirects."""
MAX_LISTS: Final = 40
"""Largest number of sitemaps and pages of feeds in a row that name each other, with the robots.txt files between."""
CHAINS: Final = {"R": "redirect-chain", "E": "embed-chain", "X": "embed-chain", "M": "list-chain", "P": "list-chain"}
"""The reasons for which a URL is rejected that would make a chain too long, by the URL's last hop."""
REDIRECT_CHAIN: Final = CHAINS["R"]
_LIST_HOPS: Final = "MP"
_SCHEME: Final = re.compile(r"\s*([a-zA-Z][a-zA-Z0-9+.-]*):")
_LONGEST_CYCLE: Final = 6
_PARTS: Final = "EXP"


class Priority(IntEnum):
    """The queue of a host has these priorities, first to last. Every fifth claim takes a URL of the next priority."""

    SYSTEM = 0
    HIGH = 1
    STANDARD = 2


@fast_frozen(frozen=True, slots=True)
class Candidate:
    """A candidate is a URL that may be visited, with its origin.

    `hop_path` has one of Heritrix's letters for each step from the seed to this URL. `source` is the seed.
    """

    url: str
    hop_path: str = ""
    via: str | None = None
    source: str | None = None
    depth: int = 0
    """Number of links from the seed, without embeds and redirects."""
    is_seed: bool = False
    """The URL is a seed or the redirect of a seed. It is in scope in any case, and widens the scope."""
    priority: Priority = Priority.STANDARD
    force: bool = False
    """The URL is visited again after it was seen. It must still be in scope."""
    cookies: str = ""
    """Cookies that a chain of redirects has set so far, as `browsers.plain.chain_cookies` writes them."""


@fast_frozen(frozen=True, slots=True)
class Accepted:
    """A candidate is in scope. Its URL is canonical, and `rule` accepted it."""

    candidate: Candidate
    rule: str


@fast_frozen(frozen=True, slots=True)
class Rejected:
    """A candidate is rejected for a reason of one word. `rule` rejected it."""

    candidate: Candidate
    reason: str
    rule: str = ""


type ScopeDecision = Accepted | Rejected


class Scope:
    """The scope decides about the candidates of one job. Redirects of seeds widen the scope."""

    def __init__(self, job: Job) -> None:
        self._profile = job.profile
        self._prefixes: dict[str, frozenset[str]] = {}
        self._include = UrlPatterns(job.profile.include)
        self._exclude = UrlPatterns(job.profile.exclude)
        self._rejects = UrlPatterns()
        self.widen(seed.url for seed in job.seeds)

    def widen(self, seeds: Iterable[str]) -> None:
        """Widen the scope by these seeds."""
        further: dict[str, set[str]] = {}
        for url in seeds:
            prefix = surt_prefix(url, self._profile.scope)
            further.setdefault(_authority(prefix), set()).add(prefix)
        # The dict is replaced and not changed, since other threads may read it.
        self._prefixes = self._prefixes | {
            name: self._prefixes.get(name, frozenset()) | more for name, more in further.items()
        }

    def narrow(self, patterns: Iterable[str]) -> None:
        """Take out the URLs in which one of these further patterns is found, seeds among them."""
        self._rejects.add(patterns)

    def rejecting(self, url: str) -> str | None:
        """Return the pattern of an operator that is found in a canonical URL; None when there is none."""
        return self._rejects.first_found(url)

    def take_timeouts(self) -> int:
        """Return in how many URLs a pattern was passed over since the last call, as its search took too long."""
        return sum(each.take_timeouts().total() for each in self._lists())

    def take_switched_off(self) -> dict[str, str]:
        """Return the patterns that were switched off since the last call, each with the URL that was the last one."""
        return {text: url for each in self._lists() for text, url in each.take_switched_off().items()}

    def decide(self, candidate: Candidate) -> ScopeDecision:
        """Decide whether a candidate is in or out. The first of these cases that applies decides.

        No URL (`scheme`, `no-url`), `too-long`, a pattern that excludes (`excluded`), a trap (`deep-path`,
        `repeating-path`), a chain without a link that is too long (`CHAINS`); then a seed is in; too many links from
        the seed (`hops`) is out; within the seeds' prefixes or matched by a pattern that includes is in; an embed or
        redirect of something in scope is in; all else is out (`scope`).
        """
        try:
            url = canonical(candidate.url)
        except UrlError as error:
            return Rejected(candidate, _no_url(candidate.url), str(error))
        candidate = _with_url(candidate, url)
        return self._trapped(candidate) or self._placed(candidate)

    def covers(self, url: str) -> str | None:
        """Return the SURT prefix or the pattern that has a canonical URL in scope; None when there is none."""
        if self._profile.scope == "any":
            return "any"
        prefix = self._prefix_of(url)
        if prefix is not None:
            return f"{self._profile.scope} {prefix}"
        found = self._include.first_found(url)
        return f"include {found}" if found is not None else None

    def _lists(self) -> tuple[UrlPatterns, ...]:
        return self._include, self._exclude, self._rejects

    def _trapped(self, candidate: Candidate) -> Rejected | None:
        profile, url = self._profile, candidate.url
        if len(url) > profile.max_url_length:
            return Rejected(candidate, "too-long", f"max_url_length {profile.max_url_length}")
        if (found := self._exclude.first_found(url)) is not None:
            return Rejected(candidate, "excluded", f"exclude {found}")
        if (found := self.rejecting(url)) is not None:
            return Rejected(candidate, "excluded", f"reject {found}")
        segments = path_segments(url)
        if len(segments) > profile.max_path_segments:
            return Rejected(candidate, "deep-path", f"max_path_segments {profile.max_path_segments}")
        if repeats(segments) > profile.max_path_repeats:
            return Rejected(candidate, "repeating-path", f"max_path_repeats {profile.max_path_repeats}")
        if (rule := chain_limit(candidate.hop_path)) is not None:
            return Rejected(candidate, CHAINS[candidate.hop_path[-1]], rule)
        return None

    def _placed(self, candidate: Candidate) -> ScopeDecision:
        profile = self._profile
        if candidate.is_seed:
            return Accepted(candidate, "seed")
        if profile.hops is not None and candidate.depth > profile.hops:
            return Rejected(candidate, "hops", f"hops {profile.hops}")
        if (rule := self.covers(candidate.url)) is not None:
            return Accepted(candidate, rule)
        if is_transclusion(candidate.hop_path, profile):
            return Accepted(candidate, "embed")
        return Rejected(candidate, "scope", profile.scope)

    def _prefix_of(self, url: str) -> str | None:
        surt = coerced(url)
        authority = _authority(surt)
        match self._profile.scope:
            case "host":
                return authority if authority in self._prefixes else None
            case "domain":
                return next((name for name in _parents(authority) if name in self._prefixes), None)
            case "page":
                return surt if surt in self._prefixes.get(authority, ()) else None
            case _:
                below = self._prefixes.get(authority, ())
                return next((prefix for prefix in below if surt.startswith(prefix)), None)


def surt_prefix(url: str, kind: ScopeKind) -> str:
    """Return the SURT prefix of a seed in a scope of this kind."""
    surt = coerced(url)
    authority = _authority(surt)
    match kind:
        case "page":
            return surt
        case "prefix":
            return surt[: surt.partition("?")[0].rindex("/") + 1]
        case "domain":
            return _registered(_without_port(authority))
        case _:
            return authority


def chain_limit(hop_path: str) -> str | None:
    """Return the limit that a hop path exceeds with its steps since the last link to a page; None when it does not.

    The steps are counted together, whatever their kinds and hosts, so that a site can't begin the count again by
    changing them.
    """
    if len(hop_path) <= MAX_CHAIN or hop_path[-1] not in CHAINS:
        return None
    tail = hop_path[max(hop_path.rfind("L"), hop_path.rfind("S")) + 1 :]
    if len(tail) <= MAX_CHAIN:
        return None
    lists = sum(map(tail.count, _LIST_HOPS))
    if lists > MAX_LISTS:
        return f"at most {MAX_LISTS} sitemaps in a row"
    return f"at most {MAX_CHAIN} redirects and embeds in a row" if len(tail) - lists > MAX_CHAIN else None


def is_transclusion(hop_path: str, profile: Profile) -> bool:
    """Return whether the URL is embedded in a page within the limits of the profile.

    The steps since the last link must be embeds, guesses and redirects, at least one and not too many. Without this
    rule, which is Heritrix's, a page would lack style sheets and images of other hosts.
    """
    tail = re.split(f"[{LINK_HOPS}]", hop_path)[-1]
    counts = {hop: tail.count(hop) for hop in "EXR"}
    return (
        0 < len(tail) == sum(counts.values())
        and counts["E"] <= profile.embed_hops
        and counts["X"] <= profile.speculative_hops
        and counts["R"] <= profile.redirect_hops
    )


def is_embedded(hop_path: str) -> bool:
    """Return whether the URL is a part of a page: an embed or a guess follows the last link."""
    for hop in reversed(hop_path):
        if hop in LINK_HOPS:
            return False
        if hop in _PARTS:
            return True
    return False


def path_segments(url: str) -> list[str]:
    """Return the segments of the path, without the empty one after a last slash."""
    path = url.partition("?")[0].partition("://")[2].partition("/")[2]
    return path.removesuffix("/").split("/") if path else []


def repeats(segments: list[str]) -> int:
    """Return how often the same run of up to six segments is repeated: 3 for /a/b/a/b/a/b/c."""
    most = 1
    for cycle in range(1, min(_LONGEST_CYCLE, len(segments) // 2) + 1):
        same = 0
        for place in range(cycle, len(segments)):
            same = same + 1 if segments[place] == segments[place - cycle] else 0
            most = max(most, same // cycle + 1)
    return most


def _with_url(candidate: Candidate, url: str) -> Candidate:
    return candidate if url == candidate.url else replace(candidate, url=url)


def _no_url(text: str) -> str:
    scheme = _SCHEME.match(text)
    return "scheme" if scheme and scheme[1].lower() not in ("http", "https") else "no-url"


def _authority(surt: str) -> str:
    """Return the authority of a SURT, such as `org,example:8080)`, or the SURT of a domain unchanged."""
    end = surt.find(")")
    return surt[: end + 1] if end >= 0 else surt


def _without_port(authority: str) -> str:
    bare = authority.removesuffix(")")
    name, _, port = bare.rpartition(":")
    return name if port.isdigit() and not bare.endswith("]") else bare


def _parents(authority: str) -> list[str]:
    """Return `org,example,a` and everything above it: `org,example`, `org`."""
    labels = _without_port(authority).split(",")
    return [",".join(labels[:count]) for count in range(len(labels), 0, -1)]


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _registered(name: str) -> str:
    """Return the registered domain with reversed labels. An address, or a name without a registered domain, is
    unchanged.
    """
    if "," not in name:
        return name
    found: str | None = _suffixes().privatesuffix(".".join(reversed(name.split(","))))
    return ",".join(reversed(found.split("."))) if found else name
