"""Jobs are filled with candidates one after another: a job is closed when the next candidate can't be added to it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import batched
from typing import Any, Final, cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from admin.harvests.domains.aliases import aliases_in_force
from admin.harvests.domains.crawler_traps import active_domain_traps
from admin.harvests.generation.candidates import LeftOut, chunks
from admin.harvests.generation.expectations import BudgetLimits, both
from admin.harvests.generation.plan import RunPlan
from admin.harvests.generation.profiles import JobTemplate, merged, newest_version, trap_of_domain
from admin.harvests.generation.splitting import ConfigurationCandidate, OpenJob, added, opened, refusal
from admin.harvests.permission_book import PermissionBook, PermissionStanding, read_book
from admin.models.domain_tables import CONFIGURATION_SEED_LISTS, SeedList
from archive.fast_frozen import fast_frozen
from archive.settings.curation import PermissionRule
from archive.settings.load import Settings
from archive.url import UrlError, canonical

PAGE: Final = 500
"""Configurations whose seeds are read together."""
PAGE_CHARACTERS: Final = 10_000_000
"""Characters of seeds that are read together, unless a single list has more."""
_JOB_SEED_CHARACTERS: Final = 50_000_000
"""Most characters of the seeds of a job; a longer seed list has a job of its own."""
FITS: Final = "fits"


@fast_frozen(frozen=True, slots=True)
class JobEntry:
    """An entry is one configuration in a job."""

    configuration_id: int
    domain_name: str
    configuration_name: str
    expected: int
    limits: BudgetLimits
    """Of the harvest and of the configuration, whichever is tighter."""
    reason: str


@dataclass(frozen=True, slots=True)
class FilledJob:
    """A filled job is complete and can be stored."""

    template: str
    template_version: int
    profile: Mapping[str, Any]
    seeds: Sequence[str]
    limits: BudgetLimits
    """Per domain, as far as they hold for the whole job."""
    expected: int
    entries: Sequence[JobEntry]
    aliases: Mapping[str, str]

    @property
    def seed_characters(self) -> int:
        """Return the length of all seeds together."""
        return sum(map(len, self.seeds)) + len(self.seeds)


@dataclass(slots=True)
class Tally:
    """The tally has the counts of one run."""

    jobs: int = 0
    configurations: int = 0
    expected: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    bad_seeds: int = 0
    """Seeds that are no URLs; the others of their lists are harvested."""
    barred_seeds: int = 0
    """Seeds that are left out because their sites have no permission; the others of their lists are harvested."""


@fast_frozen(frozen=True, slots=True)
class _Surroundings:
    """The surroundings of the configurations of one page are their seeds, aliases and traps."""

    seeds: Mapping[int, Sequence[str]]
    aliases: Mapping[int, Sequence[str]]
    traps: Mapping[int, Sequence[str]]


@dataclass(slots=True)
class _Filling:
    """A filling is the job that is being filled."""

    state: OpenJob
    domains: set[str]
    attributes: str
    entries: list[JobEntry] = field(default_factory=list)
    seeds: dict[str, None] = field(default_factory=dict)
    seed_characters: int = 0
    aliases: dict[str, str] = field(default_factory=dict)
    traps: dict[str, None] = field(default_factory=dict)


def filled_jobs(
    session: Session, plan: RunPlan, settings: Settings, tally: Tally, *, domain: str | None = None
) -> Iterator[FilledJob]:
    """Yield the jobs of a run, one after another; `tally` counts along.

    Raises UseCaseError when a template makes no profile.
    """
    templates: dict[str, JobTemplate] = {}
    rule = cast(PermissionRule, plan.permission or settings.curation.harvest_permission)
    book = read_book(session, rule, plan.now)
    for chunk in chunks(session, plan, settings, tally.left_out, domain=domain):
        filling: _Filling | None = None
        for candidate, surroundings in _with_surroundings(session, plan, settings, chunk):
            seeds = _usable(surroundings.seeds.get(candidate.configuration_id, ()), tally)
            if not seeds:
                tally.left_out[LeftOut.NO_SEEDS] += 1
                continue
            seeds, barred = _permitted(seeds, book)
            if not seeds:
                tally.left_out[LeftOut(f"permission-{barred[0]}")] += 1
                continue
            tally.barred_seeds += len(barred)
            why = _refusal(filling, candidate, seeds, settings)
            if filling is None or why is not None:
                if filling is not None:
                    yield _closed(session, plan, filling, templates, tally)
                filling = _begun(candidate, plan, settings)
            else:
                filling.domains.add(candidate.domain_name)
                filling.state = added(filling.state, candidate)
            _put(filling, candidate, seeds, surroundings, plan, why)
            for trap in book.barred_parts(candidate.domain_name):
                filling.traps[trap] = None
        if filling is not None:
            yield _closed(session, plan, filling, templates, tally)


def _begun(candidate: ConfigurationCandidate, plan: RunPlan, settings: Settings) -> _Filling:
    domains = {candidate.domain_name}
    state = opened(domains, candidate, plan.limits, settings.generation)
    return _Filling(state, domains, candidate.attributes)


def _refusal(
    filling: _Filling | None, candidate: ConfigurationCandidate, seeds: Sequence[str], settings: Settings
) -> str | None:
    """Return why the candidate can't be added to the job; None when it can, or when there is no job yet."""
    if filling is None:
        return None
    why = refusal(filling.state, candidate, settings.generation)
    size = filling.seed_characters + sum(map(len, seeds)) + len(seeds)
    if why is None and size > _JOB_SEED_CHARACTERS:
        return f"the job would have {size} characters of seeds, more than {_JOB_SEED_CHARACTERS}"
    return why


def _put(
    filling: _Filling,
    candidate: ConfigurationCandidate,
    seeds: Sequence[str],
    surroundings: _Surroundings,
    plan: RunPlan,
    why: str | None,
) -> None:
    place = FITS if filling.entries else f"begins the job: {why or 'it is the first of its chunk'}"
    filling.entries.append(
        JobEntry(
            candidate.configuration_id,
            candidate.domain_name,
            candidate.configuration_name,
            candidate.expected,
            both(plan.limits, candidate.limits),
            f"{place}; {candidate.why_expected}",
        )
    )
    for seed in seeds:
        if seed not in filling.seeds:
            filling.seeds[seed] = None
            filling.seed_characters += len(seed) + 1
    for alias in surroundings.aliases.get(candidate.domain_id, ()):
        filling.aliases[alias] = candidate.domain_name
    for trap in surroundings.traps.get(candidate.domain_id, ()):
        filling.traps[trap_of_domain(trap, candidate.domain_name)] = None


def _closed(
    session: Session, plan: RunPlan, filling: _Filling, templates: dict[str, JobTemplate], tally: Tally
) -> FilledJob:
    name = filling.state.template
    template = templates.get(name) or templates.setdefault(name, newest_version(session, name))
    attributes = json.loads(filling.attributes) if filling.attributes else {}
    profile = merged(template, attributes, [*plan.traps, *filling.traps], plan.max_seconds)
    tally.jobs += 1
    tally.configurations += len(filling.entries)
    tally.expected += filling.state.total
    return FilledJob(
        template.name,
        template.version,
        profile,
        list(filling.seeds),
        _job_limits(filling),
        filling.state.total,
        filling.entries,
        filling.aliases,
    )


def _job_limits(filling: _Filling) -> BudgetLimits:
    """Return the limits that no domain of the job exceeds: the widest of its configurations."""
    limits = [entry.limits for entry in filling.entries]
    return BudgetLimits(_widest(one.objects for one in limits), _widest(one.bytes for one in limits))


def _widest(limits: Iterable[int]) -> int:
    found = set(limits)
    return -1 if -1 in found else max(found)


def _usable(seeds: Sequence[str], tally: Tally) -> list[str]:
    """Return the seeds that are URLs, as they are written."""
    usable: list[str] = []
    for seed in seeds:
        try:
            canonical(seed)
        except UrlError:
            tally.bad_seeds += 1
        else:
            usable.append(seed)
    return usable


def _permitted(seeds: Sequence[str], book: PermissionBook) -> tuple[list[str], list[PermissionStanding]]:
    """Return the seeds that the harvest may fetch, and the standings of the sites of the others."""
    kept: list[str] = []
    barred: list[PermissionStanding] = []
    for seed in seeds:
        why = book.why_barred(seed)
        if why is None:
            kept.append(seed)
        else:
            barred.append(why)
    return kept, barred


def _with_surroundings(
    session: Session, plan: RunPlan, settings: Settings, chunk: Sequence[ConfigurationCandidate]
) -> Iterator[tuple[ConfigurationCandidate, _Surroundings]]:
    for page in batched(chunk, PAGE):
        domains = [candidate.domain_id for candidate in page]
        aliases = aliases_in_force(session, domains, plan.now, settings.harvests.alias_seconds)
        traps = active_domain_traps(session, domains)
        for part, lists in _parts(session, page):
            surroundings = _Surroundings(_seeds(session, lists), aliases, traps)
            for candidate in part:
                yield candidate, surroundings


def _parts(
    session: Session, page: Sequence[ConfigurationCandidate]
) -> Iterator[tuple[Sequence[ConfigurationCandidate], dict[int, list[int]]]]:
    """Yield parts of the page whose seeds fit into memory: candidates, and their seed lists' configurations."""
    table = CONFIGURATION_SEED_LISTS.c
    found = session.execute(
        select(table.configuration_id, SeedList.id, func.length(SeedList.seeds))
        .join(SeedList, SeedList.id == table.seed_list_id)
        .where(table.configuration_id.in_([candidate.configuration_id for candidate in page]))
        .order_by(table.configuration_id, SeedList.name, SeedList.id)
    )
    lists: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for configuration_id, list_id, length in found:
        lists[configuration_id].append((list_id, length))
    part: list[ConfigurationCandidate] = []
    wanted: dict[int, list[int]] = {}
    characters = 0
    for candidate in page:
        own = lists.get(candidate.configuration_id, [])
        length = sum(length for _, length in own)
        if part and characters + length > PAGE_CHARACTERS:
            yield part, wanted
            part, wanted, characters = [], {}, 0
        part.append(candidate)
        wanted[candidate.configuration_id] = [list_id for list_id, _ in own]
        characters += length
    yield part, wanted


def _seeds(session: Session, lists: Mapping[int, Sequence[int]]) -> dict[int, list[str]]:
    """Return the seeds of each configuration: lines that are neither blank nor comments."""
    ids = {list_id for own in lists.values() for list_id in own}
    texts = {
        identifier: read_lines(text)
        for identifier, text in session.execute(select(SeedList.id, SeedList.seeds).where(SeedList.id.in_(ids)))
    }
    return {
        configuration_id: list(dict.fromkeys(seed for list_id in own for seed in texts.get(list_id, ())))
        for configuration_id, own in lists.items()
    }


def read_lines(text: str) -> list[str]:
    """Return the lines of a seed list that are seeds."""
    lines = (line.strip().strip("\ufeff") for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]
