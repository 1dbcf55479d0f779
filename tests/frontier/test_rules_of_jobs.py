"""Rules and sheets in a job's queue on a real Redis: what is queued, what is kept of rejected links, how hosts rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.stores.real_frontier import Bench

from archive.settings import FrontierSettings
from frontier.definition.job import Job, JobError, Profile, SeenRules
from frontier.definition.scope import Accepted, Candidate, Rejected
from frontier.lease import Lease
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier

type Claim = Callable[..., Lease]


def test_the_rule_that_rejected_a_link_is_kept_with_the_link(
    bench: Bench, links: Callable[..., list[Candidate]]
) -> None:
    rules = ("REJECT MatchesRegex .*/print/.*", "ACCEPT OnDomains example.com")
    frontier = bench.frontier(profile=Profile(scope="host", rules=rules))

    decisions = frontier.add(links("http://example.org/print/x", "http://a.example.com/", "http://example.net/"))

    assert [isinstance(decision, Accepted) for decision in decisions] == [False, True, False]
    kept = {link.url: (link.reason, link.rule) for link in frontier.reports.rejected()}
    assert kept == {
        "http://example.org/print/x": ("regex", "rule 1: REJECT MatchesRegex .*/print/.*"),
        "http://example.net/": ("scope", "host"),
    }
    assert frontier.reports.progress().rejected == {"regex": 1, "scope": 1}


def test_a_seed_that_a_rule_rejects_is_out(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile(rules=("REJECT OnHosts example.org",)))
    assert frontier.reports.progress().queued == 0


def test_a_job_does_not_start_with_a_list_that_can_not_be_read(bench: Bench, tmp_path: Path) -> None:
    profile = Profile(rules=(f"REJECT SurtListFile {tmp_path}/nowhere.txt",))
    with pytest.raises(JobError, match=r"job spring: the list .*nowhere\.txt can't be read"):
        bench.frontier(profile=profile)


def test_a_job_whose_list_is_gone_can_still_be_steered(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "traps.txt"
    file.write_text("example.com\n")
    frontier = bench.frontier(profile=Profile(scope="any", rules=(f"REJECT SurtListFile {file}",)))
    file.unlink()
    other = bench.again(frontier)
    assert other.reports.progress().queued == 1
    with pytest.raises(JobError, match="can't be read"):
        other.load_lists()


def test_the_rules_of_an_unfinished_job_can_not_change(bench: Bench) -> None:
    frontier = bench.frontier()
    job = Job.of(frontier.job.name, "garden", ["http://example.org/"], Profile(scope="any", rules=("REJECT All",)))
    with pytest.raises(JobError, match="profile rules = "):
        Frontier(bench.url, job, FrontierSettings()).open_job()


def test_a_sheet_gives_the_host_of_its_urls_a_longer_pause(bench: Bench, leased: Claim) -> None:
    settings = FrontierSettings(min_delay_seconds=0, delay_factor=0)
    profile = Profile(scope="any", sheets=("slow.org min_delay_seconds=900",))
    frontier = bench.frontier("http://slow.org/", "http://fast.org/", settings=settings, profile=profile)

    for _ in range(2):
        assert frontier.finish(leased(frontier), VisitOutcome(200)) is LeaseEnding.DONE

    rests = {name: bench.host(name).get("d", 0) - bench.now() for name in ("slow.org", "fast.org")}
    assert rests["slow.org"] > 800_000
    assert rests["fast.org"] < 10_000


def test_a_sheet_says_how_often_its_urls_are_tried_again(bench: Bench, leased: Claim) -> None:
    profile = Profile(scope="any", sheets=("regex:.*/once max_retries=0",))
    frontier = bench.frontier("http://example.org/once", "http://example.com/often", profile=profile)

    endings: dict[str, LeaseEnding] = {}
    while len(endings) < 2:
        lease = leased(frontier)
        endings.setdefault(lease.url, frontier.finish(lease, VisitOutcome(502)))

    assert endings == {
        "http://example.org/once": LeaseEnding.FAILED,
        "http://example.com/often": LeaseEnding.AGAIN,
    }


def test_a_sheet_says_how_many_links_of_its_pages_are_taken(
    bench: Bench, leased: Claim, links: Callable[..., list[Candidate]]
) -> None:
    profile = Profile(scope="any", max_links=3, sheets=("example.org max_links=1",))
    frontier = bench.frontier("http://example.org/", "http://example.com/", profile=profile)
    for _ in range(2):
        lease = leased(frontier)
        found = links(*(f"{lease.url}{number}" for number in range(5)))
        decisions = frontier.add(found, lease)
        taken = sum(isinstance(decision, Accepted) for decision in decisions)
        assert taken == (1 if lease.url == "http://example.org/" else 3)
        assert isinstance(decisions[-1], Rejected)


def test_the_profile_says_which_urls_are_visited_once(bench: Bench, links: Callable[..., list[Candidate]]) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", seen=SeenRules(www="on", lowercase="on")))
    decisions = frontier.add(links("http://www.example.org/A", "http://example.org/a", "http://example.org/b"))
    assert [getattr(decision, "reason", "in") for decision in decisions] == ["in", "seen", "in"]
    frontier.mark_seen(["http://www.example.org/C"])
    (again,) = frontier.add(links("http://example.org/c"))
    assert isinstance(again, Rejected)
