"""Decide the final state of a job, of its hosts and of its seeds (pure).

The decision uses the counts and reports of the frontier. Where the redirects of a seed led is known from crawl.log
only. The summary, `job show`, the reports and the exit code all show the `JobEnding` made here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from admin.jobs.progress.tally import JobTally
from admin.jobs.results.good_answers import has_good_answer
from admin.jobs.states import EXIT_CODES, HostState, JobState, SeedState
from admin.jobs.status_names import is_failure, status_text
from admin.units import counted
from archive import crawl_log
from archive.url import host_of
from frontier.definition.job import Limits
from frontier.definition.quotas import reached_text
from frontier.definition.scope import CHAINS, MAX_CHAIN, MAX_LISTS, REDIRECT_CHAIN
from frontier.lease import BloomProgress, JobProgress, RenderProgress
from frontier.reports import HostReport, RejectedSeed, SeedFacts, SeedReport

_ASIDE: Final = (HostState.LIMIT, HostState.FAILING, HostState.ASIDE)
_SHOWN: Final = 10
"""The largest number of hosts, and of seeds, that are named; the others are counted. The reports name all."""
_MOST_REASONS: Final = 1_000
_HOST_PAGES: Final = "limits.host_pages"
_REACHED: Final = " reached"
_FAILING: Final = "failing"
_SECONDS: Final = " seconds"
_CHAINS: Final = {
    REDIRECT_CHAIN: ("redirect", f"{MAX_CHAIN} redirects and embeds"),
    CHAINS["E"]: ("embed", f"{MAX_CHAIN} redirects and embeds"),
    CHAINS["M"]: ("sitemap", f"{MAX_LISTS} sitemaps and pages of feeds"),
}
"""Links that would make a chain too long, by the reason of their rejection, with the words for them and the limit."""
_SOMETHING_MISSING: Final = "something is missing"
_SEEDS_OF_CODE: Final = {
    crawl_log.ROBOTS: SeedState.FORBIDDEN,
    crawl_log.QUOTA: SeedState.QUOTA,
    crawl_log.BLOCKED: SeedState.REFUSED,
    crawl_log.BLOCKED_BY_RULE: SeedState.REFUSED,
}


@dataclass(frozen=True, slots=True)
class FrontierFacts:
    """The facts have the frontier's counts and reports after the last visit."""

    progress: JobProgress
    hosts: Iterable[HostReport] = ()
    """The reports of all hosts. They are read once."""
    seeds: Iterable[SeedFacts] = ()
    """The facts about each seed, in the order in which the seeds were given. They are read once."""
    unqueued: int = 0
    """Number of the seeds that were not queued before the end."""
    switched_off: Mapping[str, str] = field(default_factory=dict)
    """The patterns that were switched off, as their search took too long, each with such a URL."""
    quota: str = ""
    """The quota of the whole job that was reached; empty when there is none."""


@dataclass(frozen=True, slots=True)
class HostEnd:
    """The end of a host has its final state. `left` counts its URLs that were not visited."""

    host: str
    state: HostState
    left: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class SeedEnd:
    """The end of a seed has its final state. `code` is that of the last page of its redirects."""

    url: str
    state: SeedState
    code: int = 0
    why: str = ""

    @property
    def text(self) -> str:
        """Return the state in words, such as `answered Not Found (404)`."""
        match self.state:
            case SeedState.ANSWERED | SeedState.HTTP_ERROR:
                return f"answered {status_text(self.code)}"
            case SeedState.REDIRECTED_OUT:
                return f"redirects to {self.why}"
            case SeedState.REJECTED:
                return f"was rejected: {self.why}"
            case SeedState.ASIDE:
                return (
                    f"was not fetched, its host was set aside{f' after {status_text(self.code)}' if self.code else ''}"
                )
            case SeedState.WAITING:
                return "was not fetched yet"
            case _:
                return status_text(self.code)


@dataclass(frozen=True, slots=True)
class JobEnding:
    """The ending has the final state of a run. `reason` is empty when the state alone explains the end."""

    state: JobState
    reason: str = ""
    seeds: Iterable[SeedEnd] = ()
    """All seeds, in the order in which they were given. They can be read any number of times."""
    hosts: tuple[HostEnd, ...] = ()
    """All hosts that the frontier knows."""
    left: int = 0
    """URLs in scope that were not visited, including those of hosts that were set aside."""
    missing: tuple[str, ...] = ()
    """One line for each thing that is missing. Empty for a job that finished."""
    switched_off: Mapping[str, str] = field(default_factory=dict)
    """The patterns that were switched off, as their search took too long, each with such a URL."""

    @property
    def exit_code(self) -> int:
        """Return the exit code of the command `crawl`."""
        return EXIT_CODES[self.state]


def decide_ending(
    facts: FrontierFacts,
    limits: Limits,
    tally: JobTally,
    *,
    interrupted: bool,
    keep: Callable[[Iterable[SeedEnd]], Iterable[SeedEnd]] = tuple,
) -> JobEnding:
    """Return the ending of a job whose workers have ended.

    `keep` gets the ends of all seeds, and returns them so that they can be read any number of times.

    The first of these cases that applies decides: URLs are queued, or will be visited again (`interrupted`, `stopped`,
    `limit`); no seed gave a good answer (`failed`); hosts were set aside at their limit (`limit`); something is
    missing (`gaps`); `finished`. A URL that will be visited again is not missing.
    """
    progress = facts.progress
    hosts = tuple(_host_ends(facts.hosts))
    seeds = keep(_seed_ends(facts.seeds, tally, {host.host for host in hosts if host.state in _ASIDE}))
    totals = _SeedTotals.of(seeds)
    renders = progress.renders
    queued = progress.queued + progress.leased + progress.revisits + renders.depth + facts.unqueued
    left = progress.queued + progress.leased + facts.unqueued + sum(host.left for host in hosts if host.state in _ASIDE)
    missing = (
        *_left_lines(facts, limits, interrupted=interrupted),
        *totals.lines(),
        *_host_lines(hosts),
        *_url_lines(progress),
        *_chain_lines(progress),
        *_render_lines(renders),
    )
    state, reason = _state(queued, facts, limits, totals, hosts, missing, interrupted=interrupted)
    further = (*ghost_lines(tally), *_bloom_lines(progress.bloom))
    return JobEnding(state, reason, seeds, hosts, left, (*missing, *further), facts.switched_off)


def is_time_limit(state: JobState, reason: str) -> bool:
    """Return whether a job with this state and reason reached its time limit."""
    return state is JobState.LIMIT and reason.endswith(_SECONDS)


def fleet_failed(reason: str, tally: JobTally) -> JobEnding:
    """Return the ending of a job whose fleet failed, so that the frontier can't be asked."""
    return JobEnding(JobState.FAILED, reason, missing=tuple(ghost_lines(tally)))


def with_gaps(ending: JobEnding, lines: Sequence[str]) -> JobEnding:
    """Return the ending with further lines about what is missing. A job that had finished has gaps then."""
    if not lines:
        return ending
    missing = (*lines, *ending.missing)
    if ending.state is not JobState.FINISHED:
        return replace(ending, missing=missing)
    return replace(ending, state=JobState.GAPS, reason=_SOMETHING_MISSING, missing=missing)


def ghost_lines(tally: JobTally) -> Iterator[str]:
    """Yield one line with the errors of browser visits, by kind, and one with the flaws of pages.

    A later try may have succeeded, so these errors alone are no gap.
    """
    if tally.ghost_errors:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in tally.ghost_errors.most_common())
        yield f"failed browser visits: {kinds}"
    if tally.page_flaws:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in tally.page_flaws.most_common())
        yield f"flawed pages: {kinds}"


def _state(
    queued: int,
    facts: FrontierFacts,
    limits: Limits,
    seeds: _SeedTotals,
    hosts: Sequence[HostEnd],
    missing: Sequence[str],
    *,
    interrupted: bool,
) -> tuple[JobState, str]:
    if queued:
        return _why_cut_off(facts, limits, interrupted=interrupted)
    if not seeds.has_good_answer:
        return JobState.FAILED, seeds.why_none()
    at_limit = [host for host in hosts if host.state is HostState.LIMIT and host.left]
    if at_limit:
        reached = dict.fromkeys(host.why.removesuffix(_REACHED) for host in at_limit)
        what = f"{limits.host_pages} pages of a host" if list(reached) == [_HOST_PAGES] else ", ".join(reached)
        return JobState.LIMIT, f"{what}, on {counted(len(at_limit), 'host')}"
    if retired := facts.progress.codes.get(crawl_log.QUOTA, 0):
        return JobState.LIMIT, f"quotas: seed, with {counted(retired, 'URL')} left out"
    return (JobState.GAPS, _SOMETHING_MISSING) if missing else (JobState.FINISHED, "")


def _why_cut_off(facts: FrontierFacts, limits: Limits, *, interrupted: bool) -> tuple[JobState, str]:
    if interrupted:
        return JobState.INTERRUPTED, ""
    if facts.progress.stopped:
        return JobState.STOPPED, facts.progress.stopped
    return JobState.LIMIT, facts.quota or _limit(facts.progress, limits)


def reached_limit(progress: JobProgress, limits: Limits) -> str:
    """Return the limit of pages, URLs or bytes that a job has reached, such as `500 pages`; empty for none."""
    if limits.pages is not None and progress.pages >= limits.pages:
        return f"{limits.pages} pages"
    if limits.urls is not None and progress.done + progress.fetched_along >= limits.urls:
        return f"{limits.urls} URLs"
    if limits.bytes is not None and progress.bytes >= limits.bytes:
        return f"{limits.bytes} bytes"
    return ""


def _limit(progress: JobProgress, limits: Limits) -> str:
    if reached := reached_limit(progress, limits):
        return reached
    return f"{limits.seconds:.0f}{_SECONDS}" if limits.seconds is not None else "a limit"


def _code_is_enough(seed: SeedEnd) -> bool:
    return seed.state not in (SeedState.REDIRECTED_OUT, SeedState.REJECTED, SeedState.ASIDE)


# -- seeds


def _seed_ends(seeds: Iterable[SeedFacts], tally: JobTally, aside: Collection[str]) -> Iterator[SeedEnd]:
    for each in seeds:
        url, report, outcome = each.url, each.report, tally.seed(each.url)
        code = outcome.final_code if outcome.redirect else (report.code if report and report.code else outcome.code)
        yield _seed_end(url, code, report, each.astray, is_aside=host_of(url) in aside)


def _seed_end(
    url: str, code: int, report: SeedReport | None, astray: RejectedSeed | None, *, is_aside: bool
) -> SeedEnd:
    is_unvisited = code in (0, crawl_log.OUT_OF_SCOPE)
    if astray is not None and astray.url == url and is_unvisited:
        return SeedEnd(url, SeedState.REJECTED, code, _rule(astray))
    if astray is not None and astray.url != url and (is_unvisited or 300 <= code < 400):
        return SeedEnd(url, SeedState.REDIRECTED_OUT, code, f"{astray.url}, which is out of scope: {_rule(astray)}")
    if report is not None and report.state in ("queued", "again"):
        return SeedEnd(url, SeedState.ASIDE if is_aside else SeedState.WAITING, code)
    if code in _SEEDS_OF_CODE:
        return SeedEnd(url, _SEEDS_OF_CODE[code], code)
    if code == 0:
        return SeedEnd(url, SeedState.ASIDE if is_aside else SeedState.WAITING)
    if code < 0:
        return SeedEnd(url, SeedState.UNREACHABLE, code)
    return SeedEnd(url, SeedState.HTTP_ERROR if code >= 400 else SeedState.ANSWERED, code)


def _rule(astray: RejectedSeed) -> str:
    return f"{astray.reason} ({astray.rule})" if astray.rule else astray.reason


@dataclass(slots=True)
class _SeedTotals:
    """The totals of all seeds name a few of them, so that their memory does not grow with the number of seeds."""

    has_good_answer: bool = False
    waiting: int = 0
    missing: int = 0
    named: list[SeedEnd] = field(default_factory=list)
    reasons: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, seeds: Iterable[SeedEnd]) -> _SeedTotals:
        totals = cls()
        for seed in seeds:
            totals.has_good_answer = totals.has_good_answer or has_good_answer([(seed.state, seed.code)])
            totals.waiting += seed.state is SeedState.WAITING
            if len(totals.reasons) < _MOST_REASONS:
                totals.reasons[status_text(seed.code) if _code_is_enough(seed) else seed.text] = None
            if seed.state not in (SeedState.ANSWERED, SeedState.WAITING):
                totals.missing += 1
                if len(totals.named) < _SHOWN:
                    totals.named.append(seed)
        return totals

    def lines(self) -> Iterator[str]:
        """Yield what is missing."""
        for seed in self.named:
            yield f"seed {seed.url} {seed.text}" if _is_clause(seed) else f"seed {seed.url}: {seed.text}"
        if self.missing > len(self.named):
            yield f"{counted(self.missing - len(self.named), 'more seed')}; seeds-report.txt names them"
        if self.waiting:
            yield f"{counted(self.waiting, 'seed')} not fetched yet"

    def why_none(self) -> str:
        """Return why no seed gave a good answer."""
        shown = list(self.reasons)[:_SHOWN]
        more = len(self.reasons) - len(shown)
        return f"no seed could be captured: {', '.join(shown)}{f', and {counted(more, "more reason")}' if more else ''}"


def _is_clause(seed: SeedEnd) -> bool:
    return seed.text.startswith(("answered", "redirects", "was"))


# -- hosts


def _host_ends(hosts: Iterable[HostReport]) -> Iterator[HostEnd]:
    for host in hosts:
        match host.aside:
            case None:
                yield HostEnd(host.host, HostState.LEFT if host.queued else HostState.VISITED, host.queued)
            case why if limit := reached_text(why):
                yield HostEnd(host.host, HostState.LIMIT, host.queued, f"{limit}{_REACHED}")
            case why if why == _FAILING:
                yield HostEnd(host.host, HostState.FAILING, host.queued, "too many failures in a row")
            case why:
                yield HostEnd(host.host, HostState.ASIDE, host.queued, why)


def _host_lines(hosts: Sequence[HostEnd]) -> Iterator[str]:
    aside = sorted((host for host in hosts if host.state in _ASIDE), key=lambda host: -host.left)
    for host in aside[:_SHOWN]:
        yield f"host {host.host} was set aside ({host.why}): {counted(host.left, 'URL')} left"
    if rest := aside[_SHOWN:]:
        left = sum(host.left for host in rest)
        yield f"{counted(len(rest), 'more host')} set aside: {counted(left, 'URL')} left; hosts-report.txt names them"


# -- URLs


def _left_lines(facts: FrontierFacts, limits: Limits, *, interrupted: bool) -> Iterator[str]:
    progress = facts.progress
    queued, renders = progress.queued + progress.leased + facts.unqueued, progress.renders.depth
    if queued or renders:
        state, reason = _why_cut_off(facts, limits, interrupted=interrupted)
        why = {JobState.INTERRUPTED: "the job was interrupted", JobState.STOPPED: f"the job was stopped ({reason})"}
        reached = why.get(state, f"the limit of {reason} was reached")
        if queued:
            yield f"{counted(queued, 'URL')} not visited: {reached}"
        if renders:
            yield f"{counted(renders, 'page')} not rendered: {reached}"


def _render_lines(renders: RenderProgress) -> Iterator[str]:
    if renders.failed:
        yield f"{counted(renders.failed, 'page')} not rendered after all tries; the plain crawler has fetched them"
    if renders.excluded:
        yield f"{counted(renders.excluded, 'page')} not rendered: robots.txt, an operator or a failing host forbids it"


def _url_lines(progress: JobProgress) -> Iterator[str]:
    if progress.failed:
        known = {code: count for code, count in progress.errors.items() if _is_final_failure(code)}
        kinds = ", ".join(f"{count} × {status_text(code)}" for code, count in Counter(known).most_common())
        yield f"{counted(progress.failed, 'URL')} failed after all tries{f': {kinds}' if kinds else ''}"
    for code in (crawl_log.QUOTA, crawl_log.BLOCKED):
        if count := progress.codes.get(code, 0):
            yield f"{counted(count, 'URL')} not fetched: {status_text(code)}"
    if progress.lost:
        yield f"{counted(progress.lost, 'queued URL')} lost with the files of long queues; they were not visited"
    if count := progress.rejected.get("too-many-links", 0):
        yield f"{counted(count, 'link')} not followed: their pages have more links than max_links allows"


def _bloom_lines(bloom: BloomProgress | None) -> Iterator[str]:
    """Yield one line with the URLs that a Bloom filter has hidden. This is an estimate, so that it is no gap."""
    if bloom is not None and (dropped := round(bloom.dropped)):
        yield (
            f"about {counted(dropped, 'URL')} not visited: the Bloom filter of the seen test took them for seen ones,"
            f" with about {bloom.urls:,} of {bloom.expected_urls:,} expected URLs"
        )


def _chain_lines(progress: JobProgress) -> Iterator[str]:
    for reason, (things, limit) in _CHAINS.items():
        if count := progress.rejected.get(reason, 0):
            yield f"{counted(count, things)} not followed after {limit} in a row without a link ({reason} in crawl.log)"


def _is_final_failure(code: int) -> bool:
    """Return whether a URL that ended with this code failed: no answer came, or a status that asks for a retry."""
    return (is_failure(code) and code != crawl_log.BLOCKED) or code in (408, 429, 502, 503, 504)
