"""Objects and bytes of each domain of a job are added up from the lines of crawl.log, and limits are noted. Pure.

An object belongs to the domain of the seed from which it was found, so that an image from another site counts for the
page that shows it (NetarchiveSuite's rule); without a known seed, to the domain of its own URL. Counted are lines that
tell of an answer (codes above zero), with the bytes of head and body.

Memory grows with the domains of the job and the hosts of the log, never with its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from admin.harvests.dispatch.queue import ClaimedJob
from admin.harvests.dispatch.reports import DomainResult
from admin.jobs.progress.tally import is_novel, size_of
from admin.jobs.results.ending import SeedEnd
from admin.jobs.results.good_answers import has_good_answer
from admin.jobs.states import SeedState
from admin.models.job_tables import StopReason
from archive import crawl_log
from archive.url import UrlError, ascii_host, host_of

_SEVERAL: Final = ""
_FEW_OBJECTS: Final = 100
_FEW_BYTES: Final = 10_000_000
"""A domain with less than this before its limit is watched, whatever its rate."""
"""The owner of a host that several domains, or none of the job's, lead to."""


class ReachedLimit(StrEnum):
    """A domain came to this limit of its own."""

    BYTES = "bytes"
    OBJECTS = "objects"


_QUOTA_NOTES: Final = {
    "Q:groupMaxAllKb": ReachedLimit.BYTES,
    "Q:groupMaxFetchSuccesses": ReachedLimit.OBJECTS,
    "Q:groupMaxSuccessKb": ReachedLimit.BYTES,
}
"""Annotations with which Heritrix's QuotaEnforcer says why it did not fetch a URL."""


@dataclass(frozen=True, slots=True)
class DomainLimits:
    """A domain has these limits in a job; -1 is no limit."""

    max_bytes: int = -1
    max_objects: int = -1
    harvest_max_bytes: int = -1
    """The limit of the harvest for each domain; a lower one is the configuration's."""
    harvest_max_objects: int = -1

    def in_force(self) -> dict[str, int]:
        """Return the limits that hold, by the names `bytes` and `objects`; -1 is no limit."""
        return {ReachedLimit.BYTES: self.max_bytes, ReachedLimit.OBJECTS: self.max_objects}


@dataclass(slots=True)
class DomainCount:
    """A domain count adds up one domain."""

    objects: int = 0
    bytes: int = 0
    new_bytes: int = 0
    reached: ReachedLimit | None = None
    """The limit that was reached first."""
    _objects_before: int = field(default=0, compare=False)
    _bytes_before: int = field(default=0, compare=False)

    def add(self, size: int, *, novel: bool) -> None:
        """Add one object."""
        self.objects += 1
        self.bytes += size
        self.new_bytes += size if novel else 0

    def is_close(self, limits: DomainLimits) -> bool:
        """Return whether the domain may reach a limit before the next look, at the rate since the last one."""
        if self.reached is not None:
            return False
        objects = limits.max_objects - self.objects <= max(_FEW_OBJECTS, 2 * (self.objects - self._objects_before))
        size = limits.max_bytes - self.bytes <= max(_FEW_BYTES, 2 * (self.bytes - self._bytes_before))
        return (limits.max_objects >= 0 and objects) or (limits.max_bytes >= 0 and size)

    def note_look(self) -> None:
        """Begin to measure the rate until the next look."""
        self._objects_before, self._bytes_before = self.objects, self.bytes

    def note_limit(self, limits: DomainLimits) -> None:
        """Note the limit that is reached now, unless one was reached before."""
        if self.reached is None:
            if 0 <= limits.max_bytes <= self.bytes:
                self.reached = ReachedLimit.BYTES
            elif 0 <= limits.max_objects <= self.objects:
                self.reached = ReachedLimit.OBJECTS


@dataclass(slots=True)
class DomainTally:
    """A domain tally adds up all domains of one job."""

    limits: Mapping[str, DomainLimits]
    """By the name that the job has for the domain."""
    disregard_seed_url: bool = False
    counts: dict[str, DomainCount] = field(default_factory=dict)
    total: DomainCount = field(default_factory=DomainCount)
    """Everything that was answered, also for domains that are not of the job."""
    _names: dict[str, str] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, limits in self.limits.items():
            self.counts[name] = DomainCount()
            self.counts[name].note_limit(limits)
            self._names[ascii_name(name)] = name

    def add(self, line: crawl_log.LogLine) -> None:
        """Count one line."""
        if line.extra.get(crawl_log.ANNOTATES):
            return
        domain = self._domain_of_line(line)
        if line.code == crawl_log.QUOTA and domain is not None:
            self._note_quota(line, self.counts[domain])
        if line.code <= 0:
            return
        size, novel = size_of(line), is_novel(line)
        self.total.add(size, novel=novel)
        host = host_of(line.url)
        owner = domain or _SEVERAL
        if self._owners.setdefault(host, owner) != owner:
            self._owners[host] = _SEVERAL
        if domain is not None:
            self.counts[domain].add(size, novel=novel)
            self.counts[domain].note_limit(self.limits[domain])

    def domain_of_host(self, host: str) -> str | None:
        """Return the domain of the job to which a host belongs, by its name; None for a host of another domain."""
        name = ascii_name(host)
        while name:
            if (found := self._names.get(name)) is not None:
                return found
            name = name.partition(".")[2]
        return None

    def leader_to(self, host: str) -> str | None:
        """Return the domain that answers for a host: its own, else the only one whose pages have led there so far."""
        return self.domain_of_host(host) or self._owners.get(host) or None

    def change_limits(self, name: str, changes: Mapping[str, int]) -> DomainLimits:
        """Give a domain other limits, and return them. Raises KeyError for a domain that is not of the job."""
        limits = changed(self.limits[name], changes)
        self.limits = {**self.limits, name: limits}
        self.counts[name].reached = None
        self.counts[name].note_limit(limits)
        return limits

    @property
    def is_close_to_limit(self) -> bool:
        """Return whether any domain may reach a limit before the next look."""
        return any(count.is_close(self.limits[name]) for name, count in self.counts.items())

    def note_look(self) -> None:
        """Begin to measure the rates of the domains until the next look."""
        for count in self.counts.values():
            count.note_look()

    @property
    def at_limit(self) -> set[str]:
        """Return the domains that have reached a limit."""
        return {name for name, count in self.counts.items() if count.reached is not None}

    def _domain_of_line(self, line: crawl_log.LogLine) -> str | None:
        if line.source and not self.disregard_seed_url:
            return self.domain_of_host(host_of(line.source))
        return self.domain_of_host(host_of(line.url))

    def _note_quota(self, line: crawl_log.LogLine, count: DomainCount) -> None:
        reached = next((_QUOTA_NOTES[note] for note in line.annotations if note in _QUOTA_NOTES), None)
        count.reached = count.reached or reached


def changed(limits: DomainLimits, changes: Mapping[str, int]) -> DomainLimits:
    """Return the limits with those that an operator gave, by the names `bytes` and `objects`; -1 is no limit.

    The harvest's limit for each domain does not count any more for what the operator changed.
    """
    if (most := changes.get(ReachedLimit.BYTES)) is not None:
        limits = replace(limits, max_bytes=most, harvest_max_bytes=-1)
    if (most := changes.get(ReachedLimit.OBJECTS)) is not None:
        limits = replace(limits, max_objects=most, harvest_max_objects=-1)
    return limits


def limits_of(
    job: ClaimedJob, changes: Mapping[str, Mapping[str, int]] = MappingProxyType({})
) -> dict[str, DomainLimits]:
    """Return the limits of each domain of a job: the configuration's or the job's, whichever is lower.

    `changes` are the limits that operators gave to domains of the running job.
    """
    planned = {
        each.domain_name: DomainLimits(
            max_bytes=_lower(each.max_bytes, job.max_bytes),
            max_objects=_lower(each.max_objects, job.max_objects),
            harvest_max_bytes=job.harvest_max_bytes,
            harvest_max_objects=job.harvest_max_objects,
        )
        for each in job.domains
    }
    return {name: changed(limits, changes.get(name, {})) for name, limits in planned.items()}


def stop_reason(
    count: DomainCount, limits: DomainLimits, default: StopReason, left: int | None, *, is_answered: bool = True
) -> StopReason:
    """Return why the harvest of a domain ended. The first of these cases that applies decides.

    | case | reason |
    |---|---|
    | the domain is at a limit of its own, and URLs are left, or the job was cut off | that limit |
    | no seed of the domain gave a good answer, and none waits for its visit | no-good-answer |
    | the job is complete, and URLs of the domain are left | unfinished |
    | any other | `default`, the reason that follows from the end of the job |

    `left` counts the domain's URLs that were not visited; None when that is not known.
    """
    if count.reached is not None and not (default is StopReason.COMPLETE and left == 0):
        return _limit_reason(count.reached, limits)
    if not is_answered:
        return StopReason.NO_GOOD_ANSWER
    if default is StopReason.COMPLETE and count.reached is None and left:
        return StopReason.UNFINISHED
    return default


def domain_results(
    tally: DomainTally,
    default: StopReason,
    left_by_host: Mapping[str, int] | None,
    seeds: Iterable[SeedEnd] | None = None,
) -> list[DomainResult]:
    """Return what the job harvested of each of its domains, by name.

    `left_by_host` and `seeds`, the ends of all seeds, are None when they are not known.
    """
    unanswered = _unanswered(tally, seeds) if seeds is not None else frozenset()
    left: dict[str, int] | None = None
    if left_by_host is not None:
        left = dict.fromkeys(tally.counts, 0)
        for host, count in left_by_host.items():
            if (domain := tally.leader_to(host)) is not None:
                left[domain] += count
    return [
        DomainResult(
            domain_name=name,
            objects=count.objects,
            bytes=count.bytes,
            new_bytes=count.new_bytes,
            stop_reason=stop_reason(
                count,
                tally.limits[name],
                default,
                None if left is None else left[name],
                is_answered=name not in unanswered,
            ),
        )
        for name, count in sorted(tally.counts.items())
    ]


def _unanswered(tally: DomainTally, seeds: Iterable[SeedEnd]) -> frozenset[str]:
    """Return the domains without a good answer. A domain with a seed that waits for its visit is not among them.

    A domain without a seed of its own has had an answer when an object counts for it.
    """
    ends: dict[str, list[tuple[SeedState, int]]] = {name: [] for name in tally.counts}
    for seed in seeds:
        if (domain := tally.domain_of_host(host_of(seed.url))) is not None:
            ends[domain].append((seed.state, seed.code))
    return frozenset(
        name
        for name, found in ends.items()
        if not has_good_answer(found)
        and all(state is not SeedState.WAITING for state, _ in found)
        and (found or not tally.counts[name].objects)
    )


def hosts_to_set_aside(tally: DomainTally, waiting: Iterable[str]) -> dict[str, str]:
    """Return which of the waiting hosts are to be set aside, each with the domain whose limit is reached."""
    at_limit = tally.at_limit
    if not at_limit:
        return {}
    found = ((host, tally.leader_to(host)) for host in waiting)
    return {host: domain for host, domain in found if domain in at_limit}


@lru_cache(maxsize=65_536)
def ascii_name(host: str) -> str:
    """Return a host's name without its port, in the form that URLs have; a name that can't be one in lower case."""
    bare = host if host.endswith("]") else host.rpartition(":")[0] or host
    try:
        return ascii_host(bare)
    except UrlError:
        return bare.lower()


def _lower(first: int, second: int) -> int:
    """Return the lower one of two limits, of which -1 is none."""
    return min((limit for limit in (first, second) if limit >= 0), default=-1)


def _limit_reason(reached: ReachedLimit, limits: DomainLimits) -> StopReason:
    if reached is ReachedLimit.BYTES:
        is_of_harvest = _is_of_harvest(limits.harvest_max_bytes, limits.max_bytes)
        return StopReason.SIZE_LIMIT if is_of_harvest else StopReason.CONFIGURATION_SIZE_LIMIT
    is_of_harvest = _is_of_harvest(limits.harvest_max_objects, limits.max_objects)
    return StopReason.OBJECT_LIMIT if is_of_harvest else StopReason.CONFIGURATION_OBJECT_LIMIT


def _is_of_harvest(harvest: int, in_force: int) -> bool:
    return harvest >= 0 and (in_force < 0 or harvest <= in_force)
