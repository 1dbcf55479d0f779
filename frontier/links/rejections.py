"""This module limits the links of a page and collects the rejected links for Redis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from archive.json_text import compact_json
from frontier.definition.scope import Accepted, Rejected, ScopeDecision

SLOW_PATTERN: Final = "slow-pattern"
"""Counts beside the reasons how often a pattern was passed over, as its search took too long."""
_NOTED_LINKS: Final = 1000
SHOWN_URL: Final = 2000
"""Characters of a URL that Redis keeps for a report."""


def limited(decisions: Sequence[ScopeDecision], most: int) -> list[ScopeDecision]:
    """Return the decisions. Candidates beyond the first `most` accepted ones are rejected as `too-many-links`.

    A candidate of which is known that it was seen was accepted by the scope.
    """
    accepted, kept = 0, list[ScopeDecision]()
    for decision in decisions:
        is_in_scope = isinstance(decision, Accepted) or decision.reason == "seen"
        accepted += is_in_scope
        too_many = is_in_scope and accepted > most
        kept.append(Rejected(decision.candidate, "too-many-links", f"max_links {most}") if too_many else decision)
    return kept


def rejection_arguments(decisions: Sequence[ScopeDecision], timeouts: int = 0) -> list[str | int]:
    """Return the arguments of reject.lua: the count for each reason, and the links. Empty when nothing was rejected.

    Links that were seen before are only counted, since they are most of a site's links. `timeouts` counts how often a
    pattern was passed over, under the reason SLOW_PATTERN, though no link was rejected for it.
    """
    rejected = [decision for decision in decisions if isinstance(decision, Rejected)]
    reasons = Counter(decision.reason for decision in rejected)
    if timeouts:
        reasons[SLOW_PATTERN] += timeouts
    links = [_line(decision) for decision in rejected if decision.reason != "seen"]
    counts = [text for reason, count in reasons.items() for text in (reason, count)]
    return [len(reasons), *counts, *links[:_NOTED_LINKS]] if reasons else []


def rejected_seeds(decisions: Sequence[ScopeDecision]) -> dict[str, str]:
    """Return reason, rule and URL of each seed that was rejected, or whose redirect was rejected."""
    rejected = [decision for decision in decisions if isinstance(decision, Rejected) and decision.reason != "seen"]
    return {
        decision.candidate.source: f"{decision.reason}\n{decision.rule}\n{decision.candidate.url[:SHOWN_URL]}"
        for decision in rejected
        if decision.candidate.is_seed and decision.candidate.source
    }


def _line(decision: Rejected) -> str:
    url, via = decision.candidate.url[:SHOWN_URL], decision.candidate.via
    return compact_json([url, via and via[:SHOWN_URL], decision.reason, decision.rule])
