"""The cap on a page's links, and the note of what was rejected."""

from __future__ import annotations

import json

from frontier.definition.scope import Accepted, Candidate, Rejected, ScopeDecision
from frontier.links.rejections import limited, rejection_arguments


def test_links_beyond_the_cap_are_rejected_with_the_reason() -> None:
    decisions: list[ScopeDecision] = [Accepted(Candidate(str(number)), "any") for number in range(3)]
    decisions.insert(1, Rejected(Candidate("x"), "scope"))
    kept = limited(decisions, 2)
    assert kept[:3] == decisions[:3]
    assert kept[3] == Rejected(Candidate("2"), "too-many-links", "max_links 2")


def test_reasons_are_counted_and_links_noted_but_for_those_seen() -> None:
    note = rejection_arguments([Rejected(Candidate("u", via="v"), "hops", "hops 1"), Rejected(Candidate("s"), "seen")])
    assert note[0] == 2
    assert dict(zip(note[1:5:2], note[2:5:2], strict=True)) == {"hops": 1, "seen": 1}
    assert [json.loads(str(line)) for line in note[5:]] == [["u", "v", "hops", "hops 1"]]


def test_nothing_rejected_is_nothing_noted() -> None:
    assert rejection_arguments([Accepted(Candidate("u"), "any")]) == []
