"""Quotas of jobs, domains, hosts and seeds on a real Redis: reached, named, raised, counted once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from support.stores.real_frontier import PATIENT, Bench
from support.stores.redis_outage import outage

from archive import crawl_log
from frontier.definition.job import Job, JobError, Profile
from frontier.definition.quotas import check_quota_line, reached_text, read_quotas
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.shards import frontier_for, frontier_of
from frontier.store import FrontierUnavailable

type Links = Callable[..., list[Candidate]]

OK = VisitOutcome(200, bytes=100, duration_ms=2_000, is_document=True)


def quota(bench: Bench, *lines: str, seeds: tuple[str, ...] = ("http://free.test/",)) -> Frontier:
    return bench.frontier(*seeds, profile=Profile(scope="any", quotas=lines))


def names(host: str, pages: int) -> list[str]:
    return [f"http://{host}/{number}" for number in range(pages)]


def visits(frontier: Frontier, outcome: VisitOutcome = OK, most: int = 500) -> Iterator[Lease]:
    """Visit all URLs that are handed out."""
    for _ in range(most):
        answer = frontier.claim("w")
        if isinstance(answer, Pause):
            continue
        if not isinstance(answer, Lease):
            return
        frontier.finish(answer, outcome)
        yield answer


def test_lines_are_read_and_mistakes_are_refused_with_the_remedy() -> None:
    assert read_quotas(["host urls=5 bytes=10", "seed errors=1", "host urls=7"]) == {
        "host": {"urls": 7, "bytes": 10}, "seed": {"errors": 1},
    }  # fmt: skip
    for line in ("", "hosts urls=5", "host", "host urls=0", "host urls=x", "host pages=5", "host urls=" + "9" * 40):
        with pytest.raises(ValueError, match="write for example"):
            check_quota_line(line)
    assert reached_text("limit-seed-new_bytes") == "quotas: seed new_bytes"
    assert reached_text("limit-host-pages") == "limits.host_pages"
    assert reached_text("limit-of-domain a.test") == reached_text("failing") == ""


@pytest.mark.parametrize(
    ("bound", "outcome", "most"),
    [
        ("urls=3", OK, 3),
        ("bytes=250", OK, 3),
        ("seconds=5", OK, 3),
        ("errors=2", VisitOutcome(404, bytes=9, is_document=True), 2),
    ],
)
def test_a_host_at_its_quota_is_set_aside_and_goes_on_when_the_quota_is_raised(
    bench: Bench, links: Links, bound: str, outcome: VisitOutcome, most: int
) -> None:
    frontier = quota(bench, f"host {bound}")
    kind, _, value = bound.partition("=")
    frontier.add(links(*names("shop.test", 8), "http://other.test/"))
    found = Counter(lease.host for lease in visits(frontier, outcome))
    assert found == {"free.test": 1, "other.test": 1, "shop.test": most}
    assert frontier.controls.hosts_aside() == {"shop.test": f"limit-host-{kind}"}
    assert frontier.reports.reached_quota("host", "shop.test") == f"quotas: host {kind}"
    assert frontier.reports.progress().excluded == 8 - most
    operator = bench.again(frontier)
    operator.edit({"quotas": [f"host {kind}={2 * int(value)}"]}, by="mia")
    again = Counter(lease.host for lease in visits(frontier, outcome))
    assert 0 < again["shop.test"] <= most, "what was used before counts"
    operator.edit({"quotas": []}, by="mia")
    rest = Counter(lease.host for lease in visits(frontier, outcome))
    assert again["shop.test"] + rest["shop.test"] == 8 - most
    assert frontier.controls.hosts_aside() == {}
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.reports.progress().excluded == 0


@pytest.mark.parametrize("code", [crawl_log.ROBOTS, crawl_log.OUT_OF_SCOPE, crawl_log.SERIOUS])
def test_urls_that_were_never_fetched_count_for_no_quota_of_urls(bench: Bench, links: Links, code: int) -> None:
    frontier = quota(bench, "host urls=3")
    frontier.add(links(*names("shop.test", 8)))
    never = Counter(lease.host for lease in visits(frontier, VisitOutcome(code), most=6))
    assert never["shop.test"] >= 3
    fetched = Counter(lease.host for lease in visits(frontier))
    assert fetched["shop.test"] == min(8 - never["shop.test"], 3)


def test_all_hosts_of_a_domain_are_set_aside_together(bench: Bench, links: Links) -> None:
    frontier = quota(bench, "domain urls=4")
    frontier.add(links(*names("a.shop.co.uk", 3), *names("b.shop.co.uk:8080", 3), *names("a.other.co.uk", 3)))
    found = Counter(lease.host for lease in visits(frontier))
    assert found["a.shop.co.uk"] + found["b.shop.co.uk:8080"] == 4
    assert found["a.other.co.uk"] == 3, "the public suffix co.uk is no domain"
    assert {*frontier.controls.hosts_aside().values()} == {"limit-domain-urls"}
    frontier.edit({"quotas": ["domain urls=5"]})
    assert len(list(visits(frontier))) == 1


def test_urls_of_a_seed_at_its_quota_are_ended_and_come_back(bench: Bench) -> None:
    frontier = quota(bench, "seed urls=2", seeds=("http://a.test/", "http://b.test/"))
    first = frontier.claim("w")
    assert isinstance(first, Lease)
    found = [Candidate(url, "L", source=first.url) for url in (*names("one.test", 3), *names("two.test", 3))]
    frontier.add([*found, Candidate("http://one.test/of-b", "L", source="http://b.test/")], first)
    frontier.finish(first, OK)
    asked = {lease.url for lease in visits(frontier)}
    of_a = {each.url for each in found}
    assert len(asked & of_a) == 1
    assert {"http://b.test/", "http://one.test/of-b"} <= asked | {first.url}
    assert frontier.reports.progress().codes[-5003] == 5
    assert isinstance(frontier.claim("w"), JobFinished)
    bench.again(frontier).edit({"quotas": ["seed urls=4"]})
    assert len({lease.url for lease in visits(frontier)} & of_a) == 2
    frontier.edit({"quotas": []})
    list(visits(frontier))
    progress = frontier.reports.progress()
    assert (progress.excluded, progress.queued, progress.codes.get(-5003, 0)) == (0, 0, 0)
    assert progress.done == 9


def test_renders_at_a_quota_come_back_when_the_quota_is_raised(bench: Bench) -> None:
    frontier = quota(bench, "host urls=1")
    page = frontier.claim("w")
    assert isinstance(page, Lease)
    assert frontier.renders.add(page, [])
    frontier.finish(page, OK)
    assert isinstance(frontier.renders.claim("r"), JobFinished)
    assert frontier.reports.progress().renders.excluded == 1
    frontier.edit({"quotas": ["host urls=9"]})
    assert isinstance(frontier.renders.claim("r"), Lease)


@pytest.mark.parametrize("is_answer_lost", [False, True], ids=["command-lost", "answer-lost"])
@pytest.mark.parametrize("shards", [1, 2])
def test_hosts_and_urls_come_back_at_whichever_command_of_the_edit_redis_was_away(
    bench: Bench, links: Links, monkeypatch: pytest.MonkeyPatch, shards: int, is_answer_lost: bool
) -> None:
    """The next worker does what an interrupted edit left undone, before the job can end. No operator edits again."""
    settings = PATIENT.model_copy(update={"shards": shards})
    for place in itertools.count(1):
        profile = Profile(scope="any", quotas=("host urls=2", "domain urls=3"))
        job = Job.of(f"job{place}", "garden", ["http://free.test/"], profile)
        frontier = frontier_for(bench.url, job, settings)
        bench.keep(frontier)
        frontier.open_job()
        frontier.add(links(*names("shop.test", 4), *names("a.shop.test", 4), *names("other.test", 4)))
        before = len(list(visits(frontier)))
        assert len(frontier.controls.hosts_aside()) == 3
        with outage(monkeypatch, place, is_answer_lost=is_answer_lost) as begun, suppress(FrontierUnavailable):
            frontier.edit({"quotas": ["host urls=9"]})
        if frontier.stored_job().profile.quotas != profile.quotas:
            worker = frontier_of(bench.url, job.name, settings)
            bench.keep(worker)
            worker.share_counts()
            assert before + len(list(visits(worker))) == 13, f"command {place}"
            assert isinstance(worker.claim("w"), JobFinished)
            assert worker.controls.hosts_aside() == {}
        if not begun.has_begun:
            assert place > 3, "an outage began at each of the commands"
            return


def test_a_url_of_a_spent_seed_that_is_visited_all_the_same_is_not_left_out(bench: Bench) -> None:
    frontier = quota(bench, "seed urls=1", seeds=("http://a.test/",))
    first = frontier.claim("w")
    assert isinstance(first, Lease)
    frontier.add([Candidate("http://a.test/1", "L", source=first.url)], first)
    frontier.finish(first, OK)
    assert not list(visits(frontier))
    assert frontier.reports.progress().codes[-5003] == 1
    bench.client.hdel(bench.key("state"), "finished")
    frontier.add_urls([Candidate("http://a.test/1", source="http://b.test/", force=True)])
    assert len(list(visits(frontier))) == 1
    progress = frontier.reports.progress()
    assert (progress.done, progress.excluded, progress.codes.get(-5003, 0)) == (2, 0, 0)
    frontier.edit({"quotas": []})
    assert not list(visits(frontier)), "the URL does not come back"


def test_a_job_ends_at_its_quota_of_errors(bench: Bench, links: Links) -> None:
    frontier = quota(bench, "job errors=3")
    frontier.add(links(*names("shop.test", 9)))
    assert len(list(visits(frontier, VisitOutcome(500)))) == 3
    assert frontier.claim("w") == JobStopped("limit-job-errors")
    assert frontier.reports.reached_quota() == "quotas: job errors"
    frontier.edit({"quotas": ["job errors=100"]})
    assert len(list(visits(frontier, VisitOutcome(500)))) == 7


def test_new_bytes_are_told_by_the_command_and_set_queues_aside(bench: Bench, links: Links) -> None:
    frontier = quota(bench, "host new_bytes=500", "seed new_bytes=900")
    frontier.add(links(*names("shop.test", 4)))
    frontier.note_new_bytes({("host", "shop.test"): 499, ("seed", "http://free.test/"): 10})
    assert isinstance(frontier.claim("w"), Lease)
    frontier.note_new_bytes({("host", "shop.test"): 500})
    frontier.note_new_bytes({("host", "shop.test"): 500})
    list(visits(frontier))
    assert frontier.controls.hosts_aside() == {"shop.test": "limit-host-new_bytes"}
    frontier.edit({"quotas": ["host new_bytes=501"]})
    assert frontier.controls.hosts_aside() == {}


def test_quotas_survive_a_restart_and_count_on(bench: Bench, links: Links) -> None:
    frontier = quota(bench, "host urls=2")
    frontier.add(links(*names("shop.test", 6)))
    list(visits(frontier))
    again = quota(bench, "host urls=2")
    assert list(visits(again)) == []
    assert again.controls.hosts_aside() == {"shop.test": "limit-host-urls"}
    raised = quota(bench, "host urls=3")
    assert len(list(visits(raised))) == 1


def test_a_job_without_quotas_counts_nothing_for_them(bench: Bench, links: Links) -> None:
    frontier = quota(bench)
    frontier.add(links(*names("shop.test", 3)))
    assert len(list(visits(frontier))) == 4
    assert not bench.client.exists(bench.key("used"), bench.key("spent"), bench.key("retired"))


def test_a_quota_that_can_not_be_used_changes_nothing(bench: Bench) -> None:
    frontier = quota(bench, "host urls=2")
    with pytest.raises(JobError, match="quotas"):
        frontier.edit({"quotas": ["host urls=many"]})
    assert frontier.stored_job().profile.quotas == ("host urls=2",)
    frontier.forget()
    assert not bench.client.exists(bench.key("used"), bench.key("spent"), bench.key("edits"))
