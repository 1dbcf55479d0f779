"""The values of a profile are looked at together: those that contradict each other, or do nothing, are named."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from frontier.definition.job import Profile
from frontier.definition.rules.chain import file_problem, list_file_of, may_name_file, parse_rule
from frontier.definition.yaml_document import YamlPath

CONTACT: Final = re.compile(r"https?://[^\s/]+\.[^\s]+|[^\s@<(]+@[^\s@>)]+\.[^\s@>)]+", re.ASCII)
"""The address of a page or a mail address, at which webmasters reach the operator."""
_BROWSER_KEYS: Final = (
    *("behaviors", "behavior_seconds", "behavior_scripts", "second_device", "service_workers", "browser_storage"),
    *("browser_cache", "engine", "device"),
)


@dataclass(frozen=True, slots=True)
class MeaningProblem:
    """The value of a key can't be used together with others, or may not do what its author means."""

    path: YamlPath
    message: str
    is_warning: bool = False


def contact_problem(profile: Profile) -> str | None:
    """Return what is wrong with the User-Agent: a webmaster must be able to reach the operator."""
    agent = profile.user_agent
    if not agent or profile.user_agent_contact == "optional" or CONTACT.search(agent):
        return None
    return (
        f"user_agent = {agent[:200]!r} has no contact; add your page or mail address, such as"
        " (+https://…/about-our-crawls), or set user_agent_contact to optional"
    )


def meaning_problems(profile: Profile, given: Collection[str]) -> Iterator[MeaningProblem]:
    """Yield what is wrong with values that can be used one by one. `given` has the keys that the profile names."""
    if (message := contact_problem(profile)) is not None:
        yield MeaningProblem(("user_agent",), message)
    yield from _pauses(profile)
    yield from _rules(profile)
    yield from _without_effect(profile, given)


def _pauses(profile: Profile) -> Iterator[MeaningProblem]:
    polite = profile.politeness
    for low, high in (("min_delay_seconds", "max_delay_seconds"), ("retry_seconds", "max_retry_seconds")):
        least, most = getattr(polite, low), getattr(polite, high)
        if least is not None and most is not None and least > most:
            message = f"politeness.{low} = {least:g} is more than politeness.{high} = {most:g}; raise {high}"
            yield MeaningProblem(("politeness", low), message)


def _rules(profile: Profile) -> Iterator[MeaningProblem]:
    for number, line in enumerate(profile.rules):
        if may_name_file(line) and list_file_of(line) is not None and (why := file_problem(line)) is not None:
            yield MeaningProblem(("rules", number), f"rules.{number}: {why}")
    if profile.rules:
        last = parse_rule(profile.rules[-1])
        if last.kind.name == "All":
            wanted = "all URLs are taken in" if last.decision == "ACCEPT" else "nothing is crawled"
            message = f"the last of the rules decides about every URL, so that {wanted}; write it first"
            yield MeaningProblem(("rules", len(profile.rules) - 1), message, is_warning=True)


def _without_effect(profile: Profile, given: Collection[str]) -> Iterator[MeaningProblem]:
    if profile.scope == "any" and profile.include:
        yield MeaningProblem(("include",), "include has no effect with scope: any, which takes in all URLs", True)
    has_browser = any(rules.visitor != "plain" for rules in profile.page_rules().all_rules())
    for key in () if has_browser else (key for key in _BROWSER_KEYS if key in given):
        yield MeaningProblem(
            (key,), f"{key} has no effect, since no page is opened in a browser (visitor: plain)", True
        )
    if "rendered_fraction" in given and not any(rules.visitor == "mixed" for rules in profile.page_rules().all_rules()):
        yield MeaningProblem(("rendered_fraction",), "rendered_fraction has an effect with visitor: mixed alone", True)
