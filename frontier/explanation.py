"""People ask why a URL is in or out, and which values hold for it. The answers name each rule, and each sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from archive.settings import FrontierSettings
from archive.url import UrlError, canonical, canonical_or_same
from frontier.definition.job import Job, PolitenessOverrides, Profile, Seed
from frontier.definition.revisit import REVISIT_KEYS
from frontier.definition.rules.kinds import RuleNeed
from frontier.definition.rules.surts import coerced
from frontier.definition.scope import LINK_HOPS, Accepted, Candidate, Scope, ScopeStep
from frontier.definition.sheets import SHEET_KEYS, UNLIMITED
from frontier.seen import compared_form, fingerprint

HOP_LETTERS: Final = "LERXPIMS"
"""Heritrix's letters: link, embed, redirect, guess, prerequisite, inferred, manifest (sitemap), submit (form)."""
WAITING: Final[Mapping[RuleNeed, str]] = {
    "addresses": "when the host's name has been looked up",
    "answer": "when the URL has been fetched",
}
"""The time at which a rule has the facts that it needs, in words."""
_POLITE: Final = frozenset(PolitenessOverrides.model_fields)


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A key has this value for a URL, which a sheet, the profile or a setting says."""

    key: str
    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class ScopeExplanation:
    """An explanation says what a scope decides about a URL, and why."""

    url: str
    """The URL as it was asked for."""
    hop_path: str
    is_seed: bool
    decision: str
    """Either accept or reject."""
    reason: str
    """The reason of a rejection in one word."""
    rule: str
    """The rule that decided."""
    canonical: str
    """The URL as it is fetched; empty when it is none."""
    surt: str
    compared: str
    """The form of the URL that the seen test compares."""
    fingerprint: str
    steps: tuple[ScopeStep, ...]
    """All steps in order, each with its own decision."""
    awaits: tuple[RuleNeed, ...]
    """The facts that rules of the scope wait for. With them, the decision may be another one."""
    sheet_values: tuple[HeldValue, ...]
    """The values that sheets give to the URL."""


class ScopeExplainer:
    """The explainer answers for the scope of one profile and some seeds."""

    def __init__(self, profile: Profile, seeds: Iterable[str] = ()) -> None:
        """Make the scope. Raises JobError for a seed that can't be used."""
        found = tuple(dict.fromkeys(Seed.parse(text) for text in seeds))
        self._profile = profile
        self._seeds = frozenset(seed.url for seed in found)
        # A scope without seeds takes in what its patterns and rules say.
        self._scope = Scope(Job.model_construct(name="asked", collection="asked", seeds=found, profile=profile))

    def explain(self, url: str, *, hop_path: str | None = None, via: str | None = None) -> ScopeExplanation:
        """Return what the scope decides about a URL that was found over this hop path, from this page.

        Without a hop path, the URL is a seed when it is one of the seeds, and otherwise a link.
        """
        try:
            fetched = canonical(url)
        except UrlError:
            fetched = ""
        is_seed = fetched in self._seeds and not hop_path
        path = hop_path if hop_path is not None else "" if is_seed else "L"
        depth = sum(map(path.count, LINK_HOPS))
        source = next(iter(self._seeds)) if len(self._seeds) == 1 else fetched if is_seed else None
        via = via and canonical_or_same(via)
        candidate = Candidate(url, path, via=via, source=source, depth=depth, is_seed=is_seed)
        decision = self._scope.decide(candidate)
        is_in = isinstance(decision, Accepted)
        return ScopeExplanation(
            url=url,
            hop_path=path,
            is_seed=is_seed,
            decision="accept" if is_in else "reject",
            reason="" if isinstance(decision, Accepted) else decision.reason,
            rule=decision.rule,
            canonical=fetched,
            surt=coerced(fetched) if fetched else "",
            compared=compared_form(fetched, self._profile.seen) if fetched else "",
            fingerprint=fingerprint(fetched, self._profile.seen).id if fetched else "",
            steps=tuple(self._scope.steps(candidate)),
            awaits=tuple(sorted(self._scope.needs)) if is_in else (),
            sheet_values=tuple(each for each in held_values(self._profile, fetched) if _is_of_sheet(each)),
        )

    def list_problems(self) -> tuple[str, ...]:
        """Return why list files of the rules can't be used."""
        return self._scope.list_problems()


def held_values(
    profile: Profile,
    url: str,
    settings: FrontierSettings | None = None,
    *,
    addresses_of: Callable[[str], Sequence[str]] = lambda _: (),
) -> tuple[HeldValue, ...]:
    """Return the value of each key that a sheet may set, for a canonical URL, with its source.

    `settings` have the values that the profile leaves out; without them, these values are None. `addresses_of` returns
    the addresses of a host, for sheets by address; by default, only an address in the URL itself counts.
    """
    sheets = profile.page_rules()
    sheets.addresses_of = addresses_of
    given, sources = sheets.values_for(url).given(), sheets.sources(url)
    return tuple(
        HeldValue(key, "none" if given[key] == UNLIMITED else given[key], _sheet(profile, sources[key]))
        if key in given
        else _own(profile, key, settings)
        for key in SHEET_KEYS
    )


def _own(profile: Profile, key: str, settings: FrontierSettings | None) -> HeldValue:
    table: BaseModel = profile
    name = key
    if key in _POLITE:
        table, name = profile.politeness, f"politeness.{key}"
    elif key in REVISIT_KEYS:
        table, name = profile.revisit, f"revisit.{key.removeprefix('revisit_')}"
    field = name.rpartition(".")[2]
    value = getattr(table, field)
    if value is None and key != "hops":
        return HeldValue(key, getattr(settings, key, None), f"setting frontier.{key}")
    is_default = value == type(table).model_fields[field].default
    return HeldValue(key, value, f"default of {name}" if is_default else f"profile {name}")


def _sheet(profile: Profile, number: int) -> str:
    return f"sheet {number + 1}: {profile.sheets[number]}"


def _is_of_sheet(value: HeldValue) -> bool:
    return value.source.startswith("sheet ")
