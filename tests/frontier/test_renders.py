"""The queue of renders on a real Redis: once, at least once after a death, and no embed lost or fetched twice."""

from __future__ import annotations

import pytest
from support.processes.waiting import until
from support.stores.real_frontier import PATIENT, Bench

from archive.settings import FrontierSettings
from frontier.definition.job import JobError, Limits, PolitenessOverrides, Profile, Seed
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.lease_queue import LeaseQueue
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier
from frontier.reports import lag_quantile

SEED = "http://example.org/"
STYLE, PRINT = "http://example.org/a.css", "http://example.org/print.css"


def claimed(queue: LeaseQueue, worker: str = "w") -> Lease:
    """The next lease; a host that another visit held is checked again after a moment."""

    def leased() -> Lease | None:
        claim = queue.claim(worker)
        return claim if isinstance(claim, Lease) else None

    lease = until(leased, what="a lease")
    assert lease is not None
    return lease


def render_claimed(frontier: Frontier, worker: str = "render-worker-0-0") -> Lease:
    return claimed(frontier.renders, worker)


def queue_render(frontier: Frontier, *embeds: str) -> Lease:
    """Visits the next page and leaves these embeds to its render; returns the lease of the page."""
    page = claimed(frontier)
    assert frontier.renders.add(page, [page.candidate(url, "E") for url in embeds])
    frontier.finish(page, VisitOutcome(200, is_document=True))
    return page


def test_the_job_is_finished_when_the_renders_are_done(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier, STYLE)
    assert isinstance(frontier.claim("w"), Pause)
    render = render_claimed(frontier)
    assert render.url == SEED
    assert isinstance(frontier.claim("w"), Pause)
    assert isinstance(frontier.renders.claim("render-worker-0-1"), Pause)
    assert frontier.renders.finish(render, VisitOutcome(200, fetched=(STYLE,))) is LeaseEnding.DONE
    assert isinstance(frontier.renders.claim("render-worker-0-0"), JobFinished)
    assert isinstance(frontier.claim("w"), JobFinished)
    progress = frontier.reports.progress()
    assert (progress.done, progress.pages, progress.renders.done, progress.renders.depth) == (1, 1, 1, 0)


def test_a_job_with_renders_left_does_not_start_over_with_another_scope(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier, STYLE)
    changed = bench.frontier(SEED, profile=Profile(scope="host"), opened=False)
    with pytest.raises(JobError, match="is unfinished and has profile scope"):
        changed.open_job()
    assert render_claimed(frontier).url == SEED


def test_a_render_worker_waits_while_the_crawl_may_find_pages(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    assert isinstance(frontier.renders.claim("r"), Pause)
    page = claimed(frontier)
    assert isinstance(frontier.renders.claim("r"), Pause)
    frontier.finish(page, VisitOutcome(200))
    assert isinstance(frontier.renders.claim("r"), JobFinished)


def test_operators_add_no_seed_once_the_render_workers_leave(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    frontier.finish(claimed(frontier), VisitOutcome(200))
    assert isinstance(frontier.renders.claim("r"), JobFinished)
    assert frontier.add_seeds([Seed.parse("http://example.org/late")]) == []


def test_embeds_that_the_render_did_not_fetch_go_to_the_plain_crawler(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier, STYLE, PRINT)
    assert frontier.reports.progress().queued == 0
    render = render_claimed(frontier)
    frontier.renders.finish(render, VisitOutcome(200, fetched=(STYLE,)))
    rest = claimed(frontier)
    assert (rest.url, rest.hop_path, rest.via) == (PRINT, "E", SEED)
    frontier.finish(rest, VisitOutcome(200))
    assert isinstance(frontier.claim("w"), JobFinished)


def test_embeds_go_to_the_plain_crawler_when_the_render_fails_for_good(bench: Bench) -> None:
    frontier = bench.frontier(SEED, profile=Profile(scope="any", politeness=PolitenessOverrides(max_retries=1)))
    queue_render(frontier, STYLE, PRINT)
    assert frontier.renders.finish(render_claimed(frontier), VisitOutcome(-4)) is LeaseEnding.AGAIN
    assert frontier.reports.progress().queued == 0
    assert frontier.renders.finish(render_claimed(frontier), VisitOutcome(-4)) is LeaseEnding.FAILED
    assert {claimed(frontier, "a").url} <= {STYLE, PRINT}
    assert frontier.reports.progress().renders.failed == 1
    assert frontier.reports.progress().accepted == 3


def test_another_page_leaves_a_held_embed_to_the_render(bench: Bench) -> None:
    frontier = bench.frontier(SEED, "http://other.example/")
    queue_render(frontier, STYLE)
    other = claimed(frontier)
    frontier.add([other.candidate(STYLE, "E")], other)
    assert frontier.reports.progress().queued == 0


def test_an_embed_that_the_plain_crawler_has_is_not_left_to_the_render(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    page = claimed(frontier)
    frontier.add([page.candidate(STYLE, "E")], page)
    frontier.renders.add(page, [page.candidate(STYLE, "E")])
    frontier.finish(page, VisitOutcome(200))
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200))
    frontier.finish(claimed(frontier), VisitOutcome(200))
    assert isinstance(frontier.claim("w"), JobFinished)


def test_a_page_is_rendered_once_though_it_is_visited_twice(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    page = claimed(frontier, "worker-0-0")
    assert frontier.renders.add(page, [page.candidate(STYLE, "E")])
    frontier.take_back("worker-0-", counts=True)  # the worker died before it finished the page
    again = claimed(frontier)
    assert not frontier.renders.add(again, [again.candidate(STYLE, "E")])
    frontier.finish(again, VisitOutcome(200))
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200, fetched=(STYLE,)))
    assert isinstance(frontier.claim("w"), JobFinished)


def test_a_render_whose_worker_died_is_done_again(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier, STYLE)
    lost = render_claimed(frontier)
    assert frontier.renders.take_back("render-worker-0-", counts=True) == 1
    second = render_claimed(frontier, "render-worker-1-0")
    assert (second.url, second.lost) == (SEED, 1)
    assert not frontier.renders.finish(lost, VisitOutcome(200))
    assert frontier.renders.finish(second, VisitOutcome(200)) is LeaseEnding.DONE


def test_a_render_that_loses_workers_again_and_again_keeps_its_embeds(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier, STYLE)
    for number in range(8):
        render_claimed(frontier, f"dead-{number}")
        frontier.renders.take_back(f"dead-{number}", counts=True)
    last = render_claimed(frontier)
    assert last.lost == 8
    frontier.renders.finish(last, VisitOutcome(-5))
    assert claimed(frontier).url == STYLE


def test_the_ghosts_links_are_added_under_the_lease_of_the_render(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier)
    render = render_claimed(frontier)
    (decision,) = frontier.add([render.candidate("http://example.org/script-made", "L")], render)
    assert decision.candidate.depth == 1
    frontier.renders.finish(render, VisitOutcome(200))
    assert frontier.add([render.candidate("http://example.org/too-late", "L")], render) == []
    assert claimed(frontier).url == "http://example.org/script-made"


def test_one_visit_at_a_time_holds_for_visits_and_renders_together(bench: Bench) -> None:
    frontier = bench.frontier(SEED, "http://example.org/b")
    queue_render(frontier)
    page = claimed(frontier)
    assert isinstance(frontier.renders.claim("r"), Pause)
    frontier.finish(page, VisitOutcome(200))
    render = render_claimed(frontier)
    frontier.add([Candidate("http://example.org/c")])
    assert isinstance(frontier.claim("w"), Pause)
    frontier.renders.finish(render, VisitOutcome(200))
    assert claimed(frontier).url == "http://example.org/c"


def test_the_pause_of_a_host_holds_for_its_renders(bench: Bench) -> None:
    frontier = bench.frontier(SEED, settings=FrontierSettings(min_delay_seconds=60))
    queue_render(frontier)
    waiting = frontier.renders.claim("r")
    assert isinstance(waiting, Pause)
    assert bench.host("example.org")["d"] > bench.now() + 20_000


def test_the_plain_crawler_has_the_host_for_as_long_as_the_render_took(bench: Bench) -> None:
    frontier = bench.frontier(SEED, "http://example.org/b", "http://example.org/c")
    queue_render(frontier)
    queue_render(frontier)
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200, duration_ms=600_000))
    assert isinstance(frontier.renders.claim("r"), Pause)  # the plain crawler has /c
    frontier.finish(claimed(frontier), VisitOutcome(200))
    render_claimed(frontier)


def test_pause_and_stop_hold_for_renders(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier)
    frontier.controls.pause("tea")
    assert frontier.renders.claim("r") == Pause(0.25, "paused")
    frontier.controls.go_on()
    frontier.controls.stop("by an operator")
    assert frontier.renders.claim("r") == JobStopped("by an operator")
    assert frontier.reports.progress().renders.queued == 1


def test_a_stopped_job_goes_on_with_the_renders_that_were_left(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier, STYLE)
    frontier.controls.stop("by an operator")
    again = bench.frontier(SEED)
    assert again.reports.progress().renders.queued == 1
    again.renders.finish(render_claimed(again), VisitOutcome(200, fetched=(STYLE,)))
    assert isinstance(again.claim("w"), JobFinished)


def test_the_limit_of_pages_lets_the_renders_of_these_pages_end(bench: Bench) -> None:
    frontier = bench.frontier(SEED, "http://other.example/", profile=Profile(scope="any", limits=Limits(pages=1)))
    queue_render(frontier, STYLE)
    assert isinstance(frontier.claim("w"), Pause)
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200, fetched=(STYLE,)))
    assert frontier.renders.claim("r") == JobStopped("limit-pages")
    assert frontier.claim("w") == JobStopped("limit-pages")
    again = bench.frontier(SEED, "http://other.example/", profile=Profile(scope="any", limits=Limits(pages=2)))
    assert claimed(again).url == "http://other.example/", "the job was not finished, and goes on"


@pytest.mark.parametrize(("limits", "reason"), [(Limits(bytes=1000), "limit-bytes"), (Limits(urls=3), "limit-urls")])
def test_what_renders_fetch_counts_for_the_limits(bench: Bench, limits: Limits, reason: str) -> None:
    frontier = bench.frontier(SEED, "http://other.example/", profile=Profile(scope="any", limits=limits))
    queue_render(frontier)
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200, bytes=1000, urls=3))
    assert frontier.claim("w") == JobStopped(reason)
    assert frontier.renders.claim("r") == JobStopped(reason)


def test_a_host_that_an_operator_sets_aside_has_no_renders(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier)
    frontier.controls.set_host_aside("example.org", "asked")
    progress = frontier.reports.progress().renders
    assert (progress.queued, progress.excluded, progress.oldest_seconds) == (0, 1, None)
    assert isinstance(frontier.claim("w"), JobFinished)
    frontier.controls.wake_host("example.org")
    assert frontier.reports.progress().renders.queued == 1


@pytest.mark.parametrize("is_edit", [False, True])
def test_a_rejected_page_is_not_rendered(bench: Bench, *, is_edit: bool) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier)
    if is_edit:
        frontier.edit({"rules+": "REJECT OnDomains example.org"})
    else:
        frontier.add_reject("example")
    assert isinstance(frontier.renders.claim("r"), JobFinished)
    assert frontier.reports.progress().renders.excluded == 1


def test_a_seed_that_is_added_again_is_rendered_again(bench: Bench) -> None:
    frontier = bench.frontier(SEED, "http://other.example/")
    queue_render(frontier)
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200))
    frontier.add_seeds([Seed.parse(SEED)], again=True)
    seen = set()
    for _ in range(2):
        page = claimed(frontier)
        seen.add((page.url, frontier.renders.add(page, [])))
        frontier.finish(page, VisitOutcome(200))
    assert (SEED, True) in seen


def test_a_page_that_is_visited_now_is_rendered_again(bench: Bench) -> None:
    frontier = bench.frontier(SEED, "http://other.example/")
    queue_render(frontier, STYLE)
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200, fetched=(STYLE,)))
    frontier.visit_now([SEED])
    assert queue_render(frontier, PRINT).url == SEED
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200))
    urls = set()
    for _ in range(2):
        lease = claimed(frontier)
        urls.add(lease.url)
        frontier.finish(lease, VisitOutcome(200))
    assert urls == {"http://other.example/", PRINT}


def test_the_lag_is_measured_from_the_queueing_to_the_end(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    assert frontier.reports.progress().renders.oldest_seconds is None
    page = queue_render(frontier)
    bench.client.zadd(bench.key("since").replace("spring", "spring=renders"), {page.id: bench.now() - 90_000})
    assert 90 <= (frontier.reports.progress().renders.oldest_seconds or 0) < 900
    frontier.renders.finish(render_claimed(frontier), VisitOutcome(200))
    progress = frontier.reports.progress().renders
    assert progress.oldest_seconds is None
    assert 90 <= (progress.p95_seconds or 0) < 900
    assert 90 <= progress.lag_seconds < 900


def test_the_quantile_is_at_most_a_tenth_too_high() -> None:
    assert lag_quantile({}, 0.95) is None
    assert lag_quantile({8 * 10: 95, 8 * 20: 5}, 0.95) == pytest.approx(1.024, rel=0.1)
    assert lag_quantile({8 * 10: 94, 8 * 20: 6}, 0.95) == pytest.approx(1048.576, rel=0.1)


def test_a_forgotten_job_leaves_no_key_of_its_renders(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    queue_render(frontier, STYLE)
    render_claimed(frontier)
    frontier.forget()
    assert list(bench.client.keys("*spring*")) == []
    assert bench.host("example.org")["n"] == 0


def test_render_workers_can_be_asked_for(bench: Bench) -> None:
    frontier = bench.frontier(SEED, settings=PATIENT)
    assert frontier.reports.progress().renders.workers is None
    frontier.renders.set_workers(5)
    assert frontier.reports.progress().renders.workers == 5
