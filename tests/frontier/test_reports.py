"""Progress and reports."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.stores.real_frontier import Bench

from archive.settings import FrontierSettings
from frontier.definition.job import Profile
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, Lease
from frontier.politeness import VisitOutcome
from frontier.reports import HostReport, RejectedSeed, SeedReport

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]


def test_progress_tells_where_the_job_stands(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://a.example/", "http://b.example/", "http://c.example/", "http://c.example/"))
    for code in (200, 404, -7):
        frontier.finish(leased(frontier), VisitOutcome(code, bytes=10))
    leased(frontier)
    progress = frontier.reports.progress()
    assert (progress.queued, progress.leased, progress.done, progress.failed) == (0, 1, 2, 1)
    assert (progress.accepted, progress.bytes) == (4, 30)
    assert progress.codes == {200: 1, 404: 1, -7: 1}
    assert progress.errors == {404: 1, -7: 1}
    assert progress.rejected == {"seen": 1}
    assert (progress.hosts, progress.next_due_seconds) == (0, None)


def test_urls_are_told_by_state(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://a.example/", "http://b.example/", "http://c.example/"))
    frontier.controls.set_host_aside("c.example", "unwanted")
    failed = leased(frontier)
    frontier.finish(failed, VisitOutcome(-7))
    held = leased(frontier)
    left = {"http://example.org/", "http://a.example/", "http://b.example/"} - {failed.url, held.url}
    found = {
        state: [report.candidate.url for report in frontier.reports.urls(state) if report.candidate]
        for state in ("queued", "leased", "failed", "excluded")
    }
    assert found == {
        "queued": [*left],
        "leased": [held.url],
        "failed": [failed.url],
        "excluded": ["http://c.example/"],
    }


def test_a_url_that_rests_is_queued(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=FrontierSettings())
    frontier.finish(leased(frontier), VisitOutcome(-4))
    frontier.controls.set_host_aside("example.org", "unwanted")
    assert [report.state for report in frontier.reports.urls("queued")] == ["queued"]
    assert list(frontier.reports.urls("excluded")) == []
    assert frontier.reports.progress().queued == 1


def test_there_is_no_report_of_urls_that_are_done(bench: Bench) -> None:
    with pytest.raises(ValueError, match="state = 'done' has no report"):
        next(bench.frontier().reports.urls("done"))  # type: ignore[arg-type]


def test_each_seed_has_its_state(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(*(f"http://{name}.example/" for name in "abcd"))
    outcomes = {
        "a.example": VisitOutcome(200),
        "b.example": VisitOutcome(302, redirect="http://other.example/"),
        "c.example": VisitOutcome(503),
    }
    frontier.controls.block_host("d.example", 60)
    for _ in outcomes:
        lease = leased(frontier)
        frontier.finish(lease, outcomes[lease.host])
    assert sorted(frontier.reports.seeds(), key=lambda seed: seed.url) == [
        SeedReport("http://a.example/", "done", 200, None),
        SeedReport("http://b.example/", "done", 302, "http://other.example/"),
        SeedReport("http://c.example/", "again", 503, None),
        SeedReport("http://d.example/", "queued", 0, None),
    ]


def test_each_host_has_its_pages_and_bytes(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://example.org/a", "http://b.example/", "http://b.example/x"))
    frontier.controls.set_host_aside("b.example", "unwanted")
    frontier.finish(leased(frontier), VisitOutcome(200, bytes=70, is_document=True))
    assert sorted(frontier.reports.hosts(), key=lambda report: report.host) == [
        HostReport("b.example", 0, 0, 2, "unwanted"),
        HostReport("example.org", 1, 70, 1, None),
    ]


def test_rejected_links_are_told_newest_first_and_not_without_end(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    for chunk in range(11):
        frontier.add(links(*(f"mailto:{chunk}.{number}@example.org" for number in range(1000))))
    noted = list(frontier.reports.rejected())
    assert len(noted) == 10_000
    assert noted[0].url.startswith("mailto:10.")
    assert (noted[0].reason, noted[0].via) == ("scheme", "http://example.org/")
    assert frontier.reports.progress().rejected == {"scheme": 11_000}


def test_seeds_that_are_rejected_or_lead_astray_are_told_with_the_rule(bench: Bench, leased: Claim) -> None:
    """T6: a seed that redirected out of scope was taken for visited."""
    profile = Profile(exclude=("forbidden",))
    frontier = bench.frontier("http://example.org/", "http://example.org/forbidden", profile=profile)
    seed = leased(frontier)
    frontier.add([seed.candidate("http://other.example/forbidden/x", "R")], seed)
    frontier.finish(seed, VisitOutcome(301, redirect="http://other.example/forbidden/x"))
    seeds = ["http://example.org/", "http://example.org/forbidden", "http://unknown.example/"]
    assert {each.url: each.astray for each in frontier.reports.facts_of_seeds(seeds) if each.astray} == {
        "http://example.org/": RejectedSeed("http://other.example/forbidden/x", "excluded", "exclude forbidden"),
        "http://example.org/forbidden": RejectedSeed("http://example.org/forbidden", "excluded", "exclude forbidden"),
    }


def test_a_seed_whose_redirect_an_edit_rejects_is_told_with_the_rule(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier("http://example.org/")
    seed = leased(frontier)
    frontier.add([seed.candidate("http://moved.example/x", "R")], seed)
    frontier.finish(seed, VisitOutcome(301, redirect="http://moved.example/x"))
    rule = "REJECT SurtPrefixed http://(example,moved,"
    bench.again(frontier).edit({"rules+": [rule]})
    assert isinstance(frontier.claim("w"), JobFinished)
    (facts,) = frontier.reports.facts_of_seeds(["http://example.org/"])
    assert facts.astray is not None
    assert (facts.astray.url, facts.astray.rule) == ("http://moved.example/x", f"rule 1: {rule}")
    assert frontier.reports.progress().codes[-5000] == 1


def test_hosts_that_only_wait_are_told_too(bench: Bench, links: Links) -> None:
    frontier = bench.frontier()
    frontier.add(links("http://b.example/", "http://b.example/x"))
    assert {report.host: report.queued for report in frontier.reports.hosts()} == {"example.org": 1, "b.example": 2}
