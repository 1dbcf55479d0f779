"""T18: pages are documents that were navigated to; what they embed is no page and has no part in their limit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.stores.real_frontier import Bench

from frontier.definition.job import Limits, Profile
from frontier.definition.scope import Candidate, is_embedded
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier

type Claim = Callable[..., Lease]

DOCUMENT = VisitOutcome(200, is_document=True)
IMAGE = VisitOutcome(200)


def _limited(bench: Bench, **limits: int) -> Frontier:
    return bench.frontier(profile=Profile(scope="any", limits=Limits(**limits)))


def _visit(frontier: Frontier, worker: str = "w") -> list[str]:
    """Visit all that is handed out: each document links to two more and embeds two images, one of another host."""
    visited = []
    while isinstance(lease := frontier.claim(worker), Lease):
        visited.append(lease.url)
        is_document = not lease.url.endswith(".png")
        if is_document:
            name = lease.url.removesuffix("/") + "/"
            links = [lease.candidate(f"{name}{number}", "L") for number in range(2)]
            images = [
                lease.candidate(f"{name}own.png", "E"),
                lease.candidate(f"{name}x.png".replace("org", "net"), "E"),
            ]
            frontier.add([*links, *images], lease)
        frontier.finish(lease, DOCUMENT if is_document else IMAGE)
    return visited


@pytest.mark.parametrize(
    ("hop_path", "expected"),
    [
        ("", False),
        ("L", False),
        ("LE", True),
        ("ER", True),
        ("LX", False),
        ("LXE", True),
        ("LEL", False),
        ("R", False),
        ("P", True),
    ],
)
def test_what_is_embedded_follows_from_the_hops(hop_path: str, expected: bool) -> None:
    assert is_embedded(hop_path) is expected


def test_a_limit_of_pages_gives_so_many_documents_and_all_their_images(bench: Bench) -> None:
    frontier = _limited(bench, pages=3)
    visited = _visit(frontier)
    assert len([url for url in visited if not url.endswith(".png")]) == 3
    assert len([url for url in visited if url.endswith(".png")]) == 6
    assert frontier.claim("w") == JobStopped("limit-pages")
    progress = frontier.reports.progress()
    assert (progress.pages, progress.done, progress.queued) == (3, 9, 4)


def test_documents_in_flight_never_exceed_the_limit(bench: Bench, leased: Claim) -> None:
    frontier = _limited(bench, pages=2)
    frontier.add([Candidate(f"http://host{number}.example/", "L", depth=1) for number in range(5)])
    leases = [leased(frontier, f"w{number}") for number in range(2)]
    assert isinstance(frontier.claim("w9"), Pause)
    for lease in leases:
        frontier.finish(lease, DOCUMENT)
    assert frontier.claim("w9") == JobStopped("limit-pages")


def test_a_visit_that_is_no_document_makes_room_for_another(bench: Bench, leased: Claim) -> None:
    frontier = _limited(bench, pages=1)
    frontier.add([Candidate("http://a.example/", "L", depth=1), Candidate("http://b.example/", "L", depth=1)])
    frontier.finish(leased(frontier), VisitOutcome(301))
    frontier.finish(leased(frontier), DOCUMENT)
    assert frontier.claim("w") == JobStopped("limit-pages")


def test_the_limit_does_not_wait_for_documents_that_rest(bench: Bench, leased: Claim) -> None:
    from archive.settings import FrontierSettings

    settings = FrontierSettings(min_delay_seconds=500, max_delay_seconds=500)
    frontier = bench.frontier(settings=settings, profile=Profile(scope="any", limits=Limits(pages=1)))
    frontier.add([Candidate("http://a.example/", "L", depth=1), Candidate("http://example.org/more", "L", depth=1)])
    for code in (-4, 200):
        frontier.finish(leased(frontier), VisitOutcome(code, is_document=True))
    assert frontier.claim("w") == JobStopped("limit-pages")
    assert frontier.reports.progress().queued == 2


def test_a_raised_limit_goes_on_with_the_documents_that_were_left(bench: Bench) -> None:
    first = _visit(_limited(bench, pages=1))
    raised = bench.frontier(profile=Profile(scope="any", limits=Limits(pages=3)), opened=False)
    assert raised.open_job()
    more = _visit(raised)
    assert len([url for url in (*first, *more) if not url.endswith(".png")]) == 3
    assert len(set(first + more)) == len(first) + len(more)


def test_a_job_that_ends_at_its_limit_with_nothing_left_is_finished(bench: Bench, leased: Claim) -> None:
    frontier = _limited(bench, pages=1)
    frontier.finish(leased(frontier), DOCUMENT)
    assert isinstance(frontier.claim("w"), JobFinished)


def test_a_limit_of_urls_counts_all_that_was_fetched(bench: Bench, leased: Claim) -> None:
    frontier = _limited(bench, urls=5)
    frontier.add([Candidate(f"http://host{number}.example/", "L", depth=1) for number in range(5)])
    frontier.finish(leased(frontier), VisitOutcome(200, urls=4))
    frontier.finish(leased(frontier), IMAGE)
    assert frontier.claim("w") == JobStopped("limit-urls")
    progress = frontier.reports.progress()
    assert (progress.done, progress.fetched_along) == (2, 3)


def test_a_host_at_its_limit_of_pages_still_gets_the_images_of_its_pages(bench: Bench) -> None:
    frontier = _limited(bench, host_pages=2)
    visited = _visit(frontier)
    assert len([url for url in visited if "example.org" in url and not url.endswith(".png")]) == 2
    assert len([url for url in visited if "example.org" in url and url.endswith(".png")]) == 2
    assert frontier.controls.hosts_aside() == {"example.org": "limit-host-pages"}
    assert frontier.reports.progress().excluded == 3


def test_embeds_come_before_further_documents(bench: Bench) -> None:
    frontier = bench.frontier()
    visited = []
    for _ in range(4):
        lease = frontier.claim("w")
        assert isinstance(lease, Lease)
        visited.append(lease.url.removeprefix("http://example.org/"))
        if lease.hop_path == "":
            frontier.add([lease.candidate(f"http://example.org/{name}", hop) for name, hop in (("a", "L"), ("i", "E"))])
            frontier.add([lease.candidate("http://example.org/b", "L")])
        frontier.finish(lease, DOCUMENT)
    assert visited == ["", "i", "a", "b"]


def test_a_dropped_job_leaves_nothing_of_hosts_that_wait_behind_the_limit(bench: Bench) -> None:
    frontier = _limited(bench, pages=1)
    _visit(frontier)
    assert [host.host for host in frontier.reports.hosts() if host.queued] == ["example.org"]
    frontier.forget()
    assert not bench.client.keys("gf:{main}:spring*")
