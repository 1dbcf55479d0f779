"""What is done with the decisions on a page's links: a cap on how many are taken, and a note of those that are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from archive.jsontext import compact_json
from frontier.scope import Accepted, Decision, Rejected

_NOTED_LINKS: Final = 1000
_SHOWN_URL: Final = 2000


def at_most(decisions: Sequence[Decision], most: int) -> list[Decision]:
    """The decisions, with what was accepted beyond the first `most` rejected as `too-many-links`."""
    accepted, kept = 0, list[Decision]()
    for decision in decisions:
        accepted += isinstance(decision, Accepted)
        too_many = isinstance(decision, Accepted) and accepted > most
        kept.append(Rejected(decision.candidate, "too-many-links", f"max_links {most}") if too_many else decision)
    return kept


def noted(decisions: Sequence[Decision]) -> list[str | int]:
    """Arguments of reject.lua: how many were rejected for each reason, and the links; empty when none were.

    Links seen already are counted only: they are most of a site's links and tell nothing.
    """
    rejected = [decision for decision in decisions if isinstance(decision, Rejected)]
    reasons = Counter(decision.reason for decision in rejected)
    links = [_line(decision) for decision in rejected if decision.reason != "seen"]
    counts = [text for reason, count in reasons.items() for text in (reason, count)]
    return [len(reasons), *counts, *links[:_NOTED_LINKS]] if reasons else []


def _line(decision: Rejected) -> str:
    url, via = decision.candidate.url[:_SHOWN_URL], decision.candidate.via
    return compact_json([url, via and via[:_SHOWN_URL], decision.reason, decision.rule])
