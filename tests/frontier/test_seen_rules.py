"""All looks into a job take URLs for the same one by the same rules: those of its profile."""

from __future__ import annotations

from support.stores.real_frontier import Bench

from frontier.definition.job import Profile, SeenRules
from frontier.definition.scope import Candidate, Rejected
from frontier.lease import Lease
from frontier.outside_queues import OutsideUrlState
from frontier.politeness import VisitOutcome

PROFILE = Profile(scope="any", seen=SeenRules(www="on", lowercase="on"))
FIRST, SAME = "http://www.example.org/A", "http://example.org/a"


def test_another_spelling_is_known_to_every_look(bench: Bench) -> None:
    frontier = bench.frontier(FIRST, profile=PROFILE)
    assert [each.reason for each in frontier.add([Candidate(SAME)]) if isinstance(each, Rejected)] == ["seen"]
    assert frontier.outside.state(SAME) is OutsideUrlState.QUEUED
    lease = frontier.claim("spring:1-0")
    assert isinstance(lease, Lease)
    held = frontier.outside.held_lease(SAME, "spring:")
    assert held is not None
    assert held.token == lease.token
    frontier.finish(lease, VisitOutcome(200))
    frontier.add([Candidate("http://example.org/b")])
    assert frontier.desk.end(["http://www.example.org/B"], "excluded", -5000) == 1
    frontier.mark_seen(["http://example.org/c"])
    answers = frontier.add([Candidate("http://www.example.org/C")])
    assert [each.reason for each in answers if isinstance(each, Rejected)] == ["seen"]
    assert frontier.desk.forget_seen("mark", ["http://www.example.org/c"]) == 1


def test_a_visit_now_of_another_spelling_queues_no_second_url(bench: Bench) -> None:
    frontier = bench.frontier(FIRST, profile=PROFILE)
    assert [answer for _, answer in frontier.visit_now([SAME])] == [2]
    assert frontier.reports.progress().queued == 1
