"""In or out, and the reason as a word. Pure.

The scope of a job is a set of SURT prefixes made from its seeds (`archive.url.key`, which has no scheme, so http and
https are one), in which a leading `www.` counts for nothing:

| scope | prefix of the seed http://www.example.org/a/b.html | takes in |
|---|---|---|
| page | `org,example)/a/b.html` | the very URL |
| prefix | `org,example)/a/` | everything below the seed's folder |
| host | `org,example)` | the host on its port |
| domain | `org,example` | all hosts of the registered domain (public suffix list), on any port |
| any | | everything |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Final

from publicsuffixlist import PublicSuffixList

from archive.url import UrlError, canonical, key
from frontier.job import Job, Profile, ScopeKind

LINK_HOPS: Final = "LMS"
"""Hops that lead to another page (link, sitemap entry, form); only these count as depth."""
_WWW: Final = re.compile(r"^([^,:)]+(?:,[^,:)]+)+),www\d*(?=[:)])")
_SCHEME: Final = re.compile(r"\s*([a-zA-Z][a-zA-Z0-9+.-]*):")
_LONGEST_CYCLE: Final = 6


class Priority(IntEnum):
    """Bands of a host's queue, first to last. One claim in five skips to a lower band."""

    SYSTEM = 0
    HIGH = 1
    STANDARD = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL that might be visited, and how it was found.

    `hop_path` has one of Heritrix's letters for each step from the seed, this one included; `source` is the seed.
    """

    url: str
    hop_path: str = ""
    via: str | None = None
    source: str | None = None
    depth: int = 0
    """Links followed from the seed; embeds and redirects do not count."""
    is_seed: bool = False
    """A seed, or where a seed redirects to: in scope whatever the rules say, and it widens the scope."""
    priority: Priority = Priority.STANDARD
    force: bool = False
    """Visit it though it was seen already; it must still be in scope."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A candidate that is in scope, its URL in canonical form, and the rule that took it in."""

    candidate: Candidate
    rule: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate that is not visited: the reason in a word, and the rule that decided."""

    candidate: Candidate
    reason: str
    rule: str = ""


type Decision = Accepted | Rejected


class Scope:
    """What one job takes in. Seeds that turn up later, where seeds redirect to, widen it."""

    def __init__(self, job: Job) -> None:
        self._profile = job.profile
        self._prefixes: dict[str, frozenset[str]] = {}
        self._include = [re.compile(pattern) for pattern in job.profile.include]
        self._exclude = [re.compile(pattern) for pattern in job.profile.exclude]
        self.widen(seed.url for seed in job.seeds)

    def widen(self, seeds: Iterable[str]) -> None:
        """Take in what these further seeds span."""
        further: dict[str, set[str]] = {}
        for url in seeds:
            prefix = surt_prefix(url, self._profile.scope)
            further.setdefault(_authority(prefix), set()).add(prefix)
        # Replaced and not changed, as other threads may be reading.
        self._prefixes = self._prefixes | {
            name: self._prefixes.get(name, frozenset()) | more for name, more in further.items()
        }

    def decide(self, candidate: Candidate) -> Decision:
        """In or out. The first of these cases that applies decides:

        no URL (`scheme`, `no-url`), `too-long`, a pattern that excludes (`excluded`), a trap (`deep-path`,
        `repeating-path`); then a seed is in; too many links from the seed (`hops`) is out; within the seeds'
        prefixes or matched by a pattern that includes is in; an embed or redirect of something in scope is in;
        all else is out (`scope`).
        """
        try:
            url = canonical(candidate.url)
        except UrlError as error:
            return Rejected(candidate, _no_url(candidate.url), str(error))
        candidate = _with_url(candidate, url)
        return self._trapped(candidate) or self._placed(candidate)

    def covers(self, url: str) -> str | None:
        """The SURT prefix of a seed, or the pattern, that takes in a canonical URL; None when nothing does."""
        if self._profile.scope == "any":
            return "any"
        prefix = self._prefix_of(url)
        if prefix is not None:
            return f"{self._profile.scope} {prefix}"
        return next((f"include {pattern.pattern}" for pattern in self._include if pattern.search(url)), None)

    def _trapped(self, candidate: Candidate) -> Rejected | None:
        profile, url = self._profile, candidate.url
        if len(url) > profile.max_url_length:
            return Rejected(candidate, "too-long", f"max_url_length {profile.max_url_length}")
        for pattern in self._exclude:
            if pattern.search(url):
                return Rejected(candidate, "excluded", f"exclude {pattern.pattern}")
        segments = path_segments(url)
        if len(segments) > profile.max_path_segments:
            return Rejected(candidate, "deep-path", f"max_path_segments {profile.max_path_segments}")
        if repeats(segments) > profile.max_path_repeats:
            return Rejected(candidate, "repeating-path", f"max_path_repeats {profile.max_path_repeats}")
        return None

    def _placed(self, candidate: Candidate) -> Decision:
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
    """The SURT prefix that a seed spans in a scope of this kind."""
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


def coerced(url: str) -> str:
    """The key of a canonical URL without a leading `www.`: http and https, www and bare are one."""
    return _WWW.sub(r"\1", key(url))


def is_transclusion(hop_path: str, profile: Profile) -> bool:
    """Whether the steps since the last link are embeds, guesses and redirects only, at least one and not too many.

    Without this, a page would be kept without its style sheets and images from elsewhere (Heritrix's rule).
    """
    tail = re.split(f"[{LINK_HOPS}]", hop_path)[-1]
    counts = {hop: tail.count(hop) for hop in "EXR"}
    return (
        0 < len(tail) == sum(counts.values())
        and counts["E"] <= profile.embed_hops
        and counts["X"] <= profile.speculative_hops
        and counts["R"] <= profile.redirect_hops
    )


def path_segments(url: str) -> list[str]:
    """The path's segments, the empty one after a last slash left out."""
    path = url.partition("?")[0].partition("://")[2].partition("/")[2]
    return path.removesuffix("/").split("/") if path else []


def repeats(segments: list[str]) -> int:
    """How many times in a row the same run of up to six segments occurs: 3 for /a/b/a/b/a/b/c."""
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
    """`org,example:8080)` of a SURT; a bare domain prefix is its own."""
    end = surt.find(")")
    return surt[: end + 1] if end >= 0 else surt


def _without_port(authority: str) -> str:
    bare = authority.removesuffix(")")
    name, _, port = bare.rpartition(":")
    return name if port.isdigit() and not bare.endswith("]") else bare


def _parents(authority: str) -> list[str]:
    """`org,example,a` and everything above it: `org,example`, `org`."""
    labels = _without_port(authority).split(",")
    return [",".join(labels[:count]) for count in range(len(labels), 0, -1)]


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _registered(name: str) -> str:
    """The registered domain, labels turned round; an address, or a name without one, stands for itself."""
    if "," not in name:
        return name
    found: str | None = _suffixes().privatesuffix(".".join(reversed(name.split(","))))
    return ",".join(reversed(found.split("."))) if found else name
