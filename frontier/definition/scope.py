"""The scope decides whether a URL is in or out, and names the reason in one word.

The built-in steps come first (`Scope.steps`), and the first of them that decides counts. The profile's `rules`
(`rules.py`) come after them, and the last rule that decides counts. No rule takes in a URL that one of the steps in
`_FINAL` rejects.

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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import lru_cache
from typing import Final, Literal, Protocol

from archive.bounded_memory import BoundedMemory
from archive.fast_frozen import fast_frozen
from archive.url import UrlError, canonical
from frontier.definition.job import Job, ScopeKind
from frontier.definition.networks import read_address
from frontier.definition.public_suffixes import public_suffixes
from frontier.definition.rules.chain import RuleChain, RuleDecision
from frontier.definition.rules.kinds import KnownFacts, RuleNeed
from frontier.definition.rules.surts import authority_of, coerced, parents, without_port
from frontier.definition.rules.url_patterns import UrlPatterns
from frontier.definition.rules.url_shape import path_segments, repeats
from frontier.definition.sheets import LONGEST_URL

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
_PARTS: Final = "EP"
_MOST_ORIGINS: Final = 100_000
_GUESS: Final = "X"


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


@dataclass(frozen=True, slots=True)
class ScopeStep:
    """A step of the scope has made its own decision about a candidate, as if it were the only one."""

    name: str
    decision: Literal["accept", "reject", "pass"]
    reason: str = ""
    rule: str = ""
    is_built_in: bool = True
    is_final: bool = False
    """The step comes before the rules of the profile, so that no rule takes in a URL that the step rejects."""
    needs: RuleNeed | None = None
    """The rule passes each link until these facts are known: the host's addresses, or the answer to the URL."""


@dataclass(frozen=True, slots=True)
class ScopeBounds:
    """These keys of the profile bound a scope. Sheets may set them for some URLs."""

    hops: int | None
    embed_hops: int
    speculative_hops: int
    redirect_hops: int
    max_path_segments: int
    max_path_repeats: int


BOUND_KEYS: Final = tuple(each.name for each in fields(ScopeBounds))
"""Keys of the profile that a sheet may set for the scope of some URLs."""
SCOPE_KEYS: Final = ("include", "exclude", "rules", "max_url_length", *BOUND_KEYS)
"""Keys of the profile that decide the scope and can be edited while the job runs."""
_FINAL: Final = ("Canonical", "TooLong", "RejectByOperator", "Chain")
"""These built-in steps come before the profile's rules. No rule takes in a URL that one of them rejects."""


class SeedPrefixes(Protocol):
    """The SURT prefixes of the seeds are a set of texts."""

    def add(self, prefixes: Iterable[str]) -> int:
        """Add prefixes. Return the number of new ones."""

    def first_of(self, prefixes: Sequence[str]) -> str | None:
        """Return the first of these texts that is in the set; None when none is."""


class KnownPrefixes:
    """The prefixes of a few seeds are kept in memory."""

    def __init__(self) -> None:
        self._known: frozenset[str] = frozenset()

    def add(self, prefixes: Iterable[str]) -> int:
        """Add prefixes. Return the number of new ones."""
        before = len(self._known)
        self._known |= frozenset(prefixes)  # the set is replaced and not changed, since other threads may read it
        return len(self._known) - before

    def first_of(self, prefixes: Sequence[str]) -> str | None:
        """Return the first of these texts that is in the set; None when none is."""
        return next((prefix for prefix in prefixes if prefix in self._known), None)


class Scope:
    """The scope decides about the candidates of one job. Redirects of seeds widen the scope."""

    def __init__(self, job: Job, prefixes: SeedPrefixes | None = None) -> None:
        """Look the prefixes of the seeds up in `prefixes`. Without them, the seeds of the job are taken."""
        self._profile = job.profile
        self.is_edited = False
        """The scope was edited while the job ran, so that it may reject queued URLs, which it accepted as links."""
        self._prefixes = KnownPrefixes() if prefixes is None else prefixes
        self._origins = BoundedMemory[bool](_MOST_ORIGINS, 64 * _MOST_ORIGINS)
        """Schemes and hosts whose prefixes were added. Many seeds of a list have the same ones."""
        self._include = UrlPatterns(job.profile.include)
        self._exclude = UrlPatterns(job.profile.exclude)
        self._rejects = UrlPatterns()
        self._rules = RuleChain(job.profile.rules)
        self.sheets = job.profile.page_rules()
        self._bounds = ScopeBounds(*(getattr(job.profile, key) for key in BOUND_KEYS))
        self._has_sheets = self.sheets.may_set(*BOUND_KEYS)
        if prefixes is None:
            self.widen(seed.url for seed in job.seeds)

    def widen(self, seeds: Iterable[str]) -> int:
        """Widen the scope by these seeds. Return the number of new prefixes."""
        kind = self._profile.scope
        if kind == "any":
            return 0
        if kind in ("page", "prefix"):
            return self._prefixes.add({surt_prefix(url, kind) for url in seeds})
        # The prefix depends on scheme and host alone.
        origins = {"/".join(url.split("/", 3)[:3]) for url in seeds}
        wanted = [origin for origin in origins if not self._origins.get(origin)]
        new = self._prefixes.add({surt_prefix(f"{origin}/", kind) for origin in wanted})
        for origin in wanted:
            self._origins.put(origin, True)
        return new

    def narrow(self, patterns: Iterable[str]) -> None:
        """Take out the URLs in which one of these further patterns is found, seeds among them."""
        self._rejects.add(patterns)

    @property
    def may_reject_queued(self) -> bool:
        """Return whether the scope became narrower while the job ran, so that queued URLs may be out of scope."""
        return self.is_edited or bool(self._rejects)

    def rejecting_queued(self, candidate: Candidate) -> Rejected | None:
        """Return the rejection of a URL that was in scope when it was queued; None when it is in scope still."""
        if not self.is_edited:
            return self._rejected_by_operator(candidate)
        decision = self.decide(candidate)
        return decision if isinstance(decision, Rejected) else None

    def take_timeouts(self) -> int:
        """Return in how many URLs a pattern was passed over since the last call, as its search took too long."""
        return sum(each.take_timeouts().total() for each in self._lists())

    def take_switched_off(self) -> dict[str, str]:
        """Return the patterns that were switched off since the last call, each with the URL that was the last one."""
        return {text: url for each in self._lists() for text, url in each.take_switched_off().items()}

    def load_lists(self) -> None:
        """Read the list files of all rules. Raises ListFileError."""
        self._rules.load_files()

    def decide(self, candidate: Candidate) -> ScopeDecision:
        """Decide whether a candidate is in or out. The first of these cases that applies decides.

        No URL (`scheme`, `no-url`), `too-long`, a pattern that excludes (`excluded`), a trap (`deep-path`,
        `repeating-path`), a chain without a link that is too long (`CHAINS`); then a seed is in; too many links from
        the seed (`hops`) is out; within the seeds' prefixes or matched by a pattern that includes is in; an embed or
        redirect of something in scope is in; all else is out (`scope`).

        After that, the last of the profile's rules that decides about the URL counts, unless the URL is none, is too
        long, makes a chain too long, or is rejected by an operator.
        """
        try:
            url = canonical(candidate.url)
        except UrlError as error:
            return Rejected(candidate, _no_url(candidate.url), str(error))
        candidate = _with_url(candidate, url)
        if self._rules:
            final = self._too_long(candidate) or self._rejected_by_operator(candidate) or _chained(candidate)
            if final is not None:
                return final
            if (decided := self._rules.decide(candidate)) is not None:
                return _ruled(candidate, decided)
        return self._built_in(candidate)

    def steps(self, candidate: Candidate) -> Iterator[ScopeStep]:
        """Yield each step with its own decision about a candidate, in order, for people.

        The first built-in step that decides counts, and after it the last rule that decides.
        """
        try:
            url = canonical(candidate.url)
        except UrlError as error:
            yield ScopeStep("Canonical", "reject", _no_url(candidate.url), str(error), is_final=True)
            return
        candidate = _with_url(candidate, url)
        yield ScopeStep("Canonical", "pass", is_final=True)
        bounds, segments = self._bounds_of(url), path_segments(url)
        for name, decision in (
            ("TooLong", self._too_long(candidate)),
            ("Exclude", self._excluded(candidate)),
            ("RejectByOperator", self._rejected_by_operator(candidate)),
            ("TooManyPathSegments", _deep(candidate, segments, bounds)),
            ("PathologicalPath", _repeating(candidate, segments, bounds)),
            ("Chain", _chained(candidate)),
            ("SeedAccept", _seed(candidate)),
            ("TooManyHops", _far(candidate, bounds)),
            ("SurtPrefixed", self._covered(candidate)),
            ("Transclusion", _embedded(candidate, bounds)),
            ("Reject", Rejected(candidate, "scope", self._profile.scope)),
        ):
            yield _step(name, decision, is_built_in=True)
        for each in self._rules.steps(candidate):
            found = None if each.decision is None else _ruled(candidate, each.decision)
            yield replace(_step(each.name, found, is_built_in=False), needs=each.needs)

    @property
    def needs(self) -> frozenset[RuleNeed]:
        """Return the facts besides links that the rules need."""
        return self._rules.needs

    def rejecting_rule(self, candidate: Candidate, known: KnownFacts) -> Rejected | None:
        """Return the rejection of a URL by a rule that has been waiting for these facts; None when there is none.

        The last rule that decides counts. Rules that need no further facts have decided about the link.
        """
        if not self._rules.needs:
            return None
        found = self._rules.decide(candidate, known)
        if found is None or found.decision == "ACCEPT" or found.needs is None:
            return None
        return Rejected(candidate, found.reason, found.rule)

    def covers(self, url: str) -> str | None:
        """Return the SURT prefix or the pattern that has a canonical URL in scope; None when there is none."""
        if self._profile.scope == "any":
            return "any"
        prefix = self._prefix_of(url)
        if prefix is not None:
            return f"{self._profile.scope} {prefix}"
        found = self._include.first_found(url)
        return f"include {found}" if found is not None else None

    def list_problems(self) -> tuple[str, ...]:
        """Return why list files of the rules can't be used at present."""
        return self._rules.file_problems()

    def _lists(self) -> Iterator[UrlPatterns]:
        yield from (self._include, self._exclude, self._rejects)
        yield from self._rules.patterns()
        yield from self.sheets.patterns()

    def _built_in(self, candidate: Candidate) -> ScopeDecision:
        bounds = self._bounds_of(candidate.url) if self._has_sheets else self._bounds
        return (
            self._too_long(candidate)
            or self._excluded(candidate)
            or self._rejected_by_operator(candidate)
            or _deep(candidate, segments := path_segments(candidate.url), bounds)
            or _repeating(candidate, segments, bounds)
            or _chained(candidate)
            or _seed(candidate)
            or _far(candidate, bounds)
            or self._covered(candidate)
            or _embedded(candidate, bounds)
            or Rejected(candidate, "scope", self._profile.scope)
        )

    def _too_long(self, candidate: Candidate) -> Rejected | None:
        most = self._profile.max_url_length
        return Rejected(candidate, "too-long", f"max_url_length {most}") if len(candidate.url) > most else None

    def _excluded(self, candidate: Candidate) -> Rejected | None:
        found = self._exclude.first_found(candidate.url)
        return Rejected(candidate, "excluded", f"exclude {found}") if found is not None else None

    def _rejected_by_operator(self, candidate: Candidate) -> Rejected | None:
        found = self._rejects.first_found(candidate.url)
        return Rejected(candidate, "excluded", f"reject {found}") if found is not None else None

    def _covered(self, candidate: Candidate) -> Accepted | None:
        rule = self.covers(candidate.url)
        return Accepted(candidate, rule) if rule is not None else None

    def _bounds_of(self, url: str) -> ScopeBounds:
        given = self.sheets.values_for(url).given() if self._has_sheets and len(url) <= LONGEST_URL else {}
        own = {key: given[key] for key in BOUND_KEYS if key in given}
        return replace(self._bounds, **own) if own else self._bounds

    def _prefix_of(self, url: str) -> str | None:
        surt = coerced(url)
        authority = authority_of(surt)
        match self._profile.scope:
            case "host":
                wanted = [authority]
            case "domain":
                wanted = parents(authority)
            case "page":
                wanted = [surt]
            case _:
                path = surt.partition("?")[0]
                wanted = [path[:end] for end in range(len(path), len(authority), -1) if path[end - 1] == "/"]
        return self._prefixes.first_of(wanted)


def _deep(candidate: Candidate, segments: list[str], bounds: ScopeBounds) -> Rejected | None:
    most = bounds.max_path_segments
    is_deep = len(segments) > most
    return Rejected(candidate, "deep-path", f"max_path_segments {most}") if is_deep else None


def _repeating(candidate: Candidate, segments: list[str], bounds: ScopeBounds) -> Rejected | None:
    most = bounds.max_path_repeats
    is_repeating = repeats(segments) > most
    return Rejected(candidate, "repeating-path", f"max_path_repeats {most}") if is_repeating else None


def _chained(candidate: Candidate) -> Rejected | None:
    rule = chain_limit(candidate.hop_path)
    return Rejected(candidate, CHAINS[candidate.hop_path[-1]], rule) if rule is not None else None


def _seed(candidate: Candidate) -> Accepted | None:
    return Accepted(candidate, "seed") if candidate.is_seed else None


def _far(candidate: Candidate, bounds: ScopeBounds) -> Rejected | None:
    is_far = bounds.hops is not None and candidate.depth > bounds.hops
    return Rejected(candidate, "hops", f"hops {bounds.hops}") if is_far else None


def _embedded(candidate: Candidate, bounds: ScopeBounds) -> Accepted | None:
    return Accepted(candidate, "embed") if is_transclusion(candidate.hop_path, bounds) else None


def _ruled(candidate: Candidate, found: RuleDecision) -> ScopeDecision:
    if found.decision == "ACCEPT":
        return Accepted(candidate, found.rule)
    return Rejected(candidate, found.reason, found.rule)


def _step(name: str, decision: ScopeDecision | None, *, is_built_in: bool) -> ScopeStep:
    is_final = is_built_in and name in _FINAL
    match decision:
        case None:
            return ScopeStep(name, "pass", is_built_in=is_built_in, is_final=is_final)
        case Accepted():
            return ScopeStep(name, "accept", rule=decision.rule, is_built_in=is_built_in, is_final=is_final)
        case Rejected():
            return ScopeStep(name, "reject", decision.reason, decision.rule, is_built_in, is_final)


def surt_prefix(url: str, kind: ScopeKind) -> str:
    """Return the SURT prefix of a seed in a scope of this kind."""
    surt = coerced(url)
    authority = authority_of(surt)
    match kind:
        case "page":
            return surt
        case "prefix":
            return surt[: surt.partition("?")[0].rindex("/") + 1]
        case "domain":
            return _registered(without_port(authority))
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


class _EmbedLimits(Protocol):
    @property
    def embed_hops(self) -> int: ...

    @property
    def speculative_hops(self) -> int: ...

    @property
    def redirect_hops(self) -> int: ...


def is_transclusion(hop_path: str, limits: _EmbedLimits) -> bool:
    """Return whether the URL is embedded in a page within the limits of the profile, or of a sheet.

    The steps since the last link must be embeds, guesses and redirects, at least one and not too many. Without this
    rule, which is Heritrix's, a page would lack style sheets and images of other hosts.
    """
    tail = re.split(f"[{LINK_HOPS}]", hop_path)[-1]
    counts = {hop: tail.count(hop) for hop in "EXR"}
    return (
        0 < len(tail) == sum(counts.values())
        and counts["E"] <= limits.embed_hops
        and counts["X"] <= limits.speculative_hops
        and counts["R"] <= limits.redirect_hops
    )


def is_embedded(hop_path: str) -> bool:
    """Return whether the URL is a part of a page: an embed follows the last link or guess.

    A guess may be a page, which then counts as one, so that a limit of pages holds for sites of scripts, too.
    """
    for hop in reversed(hop_path):
        if hop in LINK_HOPS or hop == _GUESS:
            return False
        if hop in _PARTS:
            return True
    return False


def _with_url(candidate: Candidate, url: str) -> Candidate:
    return candidate if url == candidate.url else replace(candidate, url=url)


def _no_url(text: str) -> str:
    scheme = _SCHEME.match(text)
    return "scheme" if scheme and scheme[1].lower() not in ("http", "https") else "no-url"


@lru_cache(maxsize=10_000)
def registered_domain(name: str) -> str:
    """Return the registered domain of a host's name; the name itself for an address, or a name without a domain."""
    found: str | None = None if read_address(name) is not None else public_suffixes().privatesuffix(name)
    return found or name


def _registered(name: str) -> str:
    """Return the registered domain with reversed labels. An address, or a name without a registered domain, is
    unchanged.
    """
    if "," not in name:
        return name
    found: str | None = public_suffixes().privatesuffix(".".join(reversed(name.split(","))))
    return ",".join(reversed(found.split("."))) if found else name
