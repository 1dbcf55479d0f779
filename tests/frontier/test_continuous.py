"""Continuous crawls on a real Redis: URLs are visited again when they are due."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from support.stores.real_frontier import Bench

from frontier.definition.job import JobError, Limits, Profile, RevisitRules
from frontier.definition.revisit import VisitResult
from frontier.definition.scope import Candidate, Priority, Rejected
from frontier.lease import JobFinished, JobStopped, Lease, Pause, WaitKind
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]

HOUR_MS = 3_600_000
ADAPTIVE = RevisitRules(mode="adaptive", interval_seconds=86_400, min_seconds=60)
SEED = "http://example.org/"


def found(digest: int = 1, code: int = 200) -> VisitOutcome:
    return VisitOutcome(code, bytes=100, duration_ms=1, is_document=True, digest=f"{digest:016x}")


def continuous(bench: Bench, *seeds: str, rules: RevisitRules = ADAPTIVE, limits: Limits | None = None) -> Frontier:
    return bench.frontier(*seeds, profile=Profile(scope="any", revisit=rules, limits=limits or Limits()))


def advance(bench: Bench, seconds: float) -> None:
    """Let this time pass for the URLs that are due some time."""
    bench.client.hincrby(bench.key("state"), "dueshift", -round(1000 * seconds))


def test_a_job_with_urls_to_visit_again_does_not_start_over_with_another_scope(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found())
    changed = bench.frontier(profile=Profile(scope="host", revisit=ADAPTIVE), opened=False)
    with pytest.raises(JobError, match="is unfinished and has profile scope"):
        changed.open_job()
    assert frontier.reports.progress().revisits == 1


def test_a_url_is_visited_again_when_it_is_due(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    first = leased(frontier)
    assert first.history is None
    assert frontier.finish(first, found(1)) is LeaseEnding.DONE
    answer = frontier.claim("w")
    assert isinstance(answer, Pause)
    assert answer.why == "due"
    advance(bench, 86_000)
    assert isinstance(frontier.claim("w"), Pause)
    advance(bench, 500)
    second = leased(frontier)
    assert second.url == SEED
    assert second.history is not None
    assert second.history.digest == f"{1:016x}"
    frontier.finish(second, found(2))
    report = frontier.reports.revisit(SEED)
    assert report is not None
    assert report.history is not None
    assert report.state == "waiting"
    assert report.history.interval_seconds == round(0.8 * 86_400)
    assert report.due_seconds == pytest.approx(0.8 * 86_400, abs=60)
    assert report.history.results == (VisitResult.NEW, VisitResult.CHANGED)
    assert (report.history.visits, report.history.changes) == (2, 1)


def test_the_progress_says_what_the_job_waits_for(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found())
    progress = frontier.reports.progress()
    assert (progress.queued, progress.done, progress.revisits) == (0, 1, 1)
    [wait] = progress.waits
    assert (wait.kind, wait.what) == (WaitKind.DUE, "1 URL")
    assert wait.seconds == pytest.approx(86_400, abs=60)
    assert progress.next_due_seconds == pytest.approx(86_400, abs=60)


def test_a_job_that_does_not_visit_again_finishes(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench, rules=RevisitRules())
    frontier.finish(leased(frontier), found())
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.reports.progress().revisits == 0


def test_a_limit_or_a_stop_ends_the_job(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench, limits=Limits(urls=3))
    for _ in range(3):
        frontier.finish(leased(frontier), found())
        advance(bench, 10 * 86_400)
    assert isinstance(frontier.claim("w"), JobStopped)
    frontier.set_limits({"urls": None})
    frontier.finish(leased(frontier), found())
    frontier.controls.stop("enough")
    assert isinstance(frontier.claim("w"), JobStopped)


def test_the_limit_of_pages_ends_the_job_while_urls_wait_until_they_are_due(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench, limits=Limits(pages=1))
    frontier.finish(leased(frontier), found())
    assert frontier.claim("w") == JobStopped("limit-pages")
    frontier.set_limits({"pages": 2})
    answer = frontier.claim("w")
    assert isinstance(answer, Pause)
    assert answer.why == "due"
    advance(bench, 90_000)
    page = leased(frontier)
    assert frontier.renders.add(page, [])
    frontier.finish(page, found())
    assert isinstance(frontier.claim("w"), Pause), "a page is to be rendered"
    render = frontier.renders.claim("r")
    assert isinstance(render, Lease)
    frontier.renders.finish(render, found())
    assert frontier.renders.claim("r") == frontier.claim("w") == JobStopped("limit-pages")


def test_urls_that_fail_are_asked_for_again_later(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found(1))
    advance(bench, 90_000)
    assert frontier.finish(leased(frontier), VisitOutcome(-7)) is LeaseEnding.FAILED
    assert frontier.reports.progress().failed == 1
    advance(bench, 86_400)
    assert isinstance(frontier.claim("w"), Pause)
    advance(bench, 40_000)
    again = leased(frontier)
    assert again.history is not None
    assert again.history.recent == "nf"
    assert again.history.digest == f"{1:016x}"
    progress = frontier.reports.progress()
    assert (progress.failed, progress.leased) == (0, 1)


def test_what_an_operator_rejects_is_not_visited_again(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found(1))
    frontier.add_reject("example")
    advance(bench, 90_000)
    assert isinstance(frontier.claim("w"), JobFinished)


def test_new_urls_come_first_and_urls_that_are_due_never_wait_for_ever(
    bench: Bench, links: Links, leased: Claim
) -> None:
    frontier = continuous(bench)
    frontier.add(links(*(f"http://example.org/old{number}" for number in range(10))))
    for _ in range(11):
        frontier.finish(leased(frontier), found())
    advance(bench, 90_000)
    order = []
    for number in range(50):  # new URLs come as fast as they are visited
        frontier.add(links(f"http://example.org/new{number}a", f"http://example.org/new{number}b"))
        lease = leased(frontier)
        order.append(lease.history is not None)
        frontier.finish(lease, found())
    assert sum(order) == 10, "every fifth visit"


def test_urls_that_are_due_have_visits_beside_urgent_and_new_ones(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found())
    advance(bench, 90_000)
    kinds: Counter[str] = Counter()
    for number in range(60):
        frontier.add(links(f"http://example.org/new{number}"))
        frontier.add([Candidate(f"http://example.org/now{number}", priority=Priority.HIGH)])
        lease = leased(frontier)
        kinds[lease.url.rpartition("/")[2][:3]] += 1
        frontier.finish(lease, found())
    assert kinds[""] == 1
    assert kinds["new"] >= 8


def test_a_url_is_visited_now_while_bulk_runs(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.add(links(*(f"http://host{number % 100}.example/{number}" for number in range(2000))))
    for _ in range(50):
        frontier.finish(leased(frontier), found())
    urls = ["http://new.example/", "http://host7.example/1907", SEED, "mailto:x@example.org"]
    answers = frontier.visit_now(urls)
    assert [queued for _, queued in answers] == [1, 2, 1, 0]
    assert isinstance(answers[3][0], Rejected)
    assert {leased(frontier, f"u{number}").url for number in range(3)} == set(urls[:3])
    report = frontier.reports.revisit(SEED)
    assert report is not None
    assert report.state == "visited"
    assert frontier.visit_now([SEED])[0][1] == 0
    progress = frontier.reports.progress()
    assert progress.queued + progress.leased + progress.done == 2002 + (SEED in urls)


def test_a_page_that_is_visited_now_has_its_history(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found())
    assert frontier.visit_now([SEED])[0][1] == 1
    lease = leased(frontier)
    assert lease.history is not None
    frontier.finish(lease, found())
    assert frontier.reports.progress().revisits == 1


@pytest.mark.parametrize("ms", [5_000, HOUR_MS, 30 * 24 * HOUR_MS])
def test_a_clock_that_is_set_back_changes_no_interval(bench: Bench, leased: Claim, ms: int) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found())
    bench.set_clock_back(ms)
    assert isinstance(frontier.claim("w"), Pause)
    report = frontier.reports.revisit(SEED)
    assert report is not None
    assert report.due_seconds == pytest.approx(86_400, abs=60)
    advance(bench, 86_500)
    frontier.finish(leased(frontier), found())
    report = frontier.reports.revisit(SEED)
    assert report is not None
    assert report.due_seconds == pytest.approx(1.4 * 86_400, abs=60)


def test_history_and_due_times_survive_workers_and_a_resumed_job(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found())
    advance(bench, 90_000)
    lost = leased(frontier)
    bench.expire(lost)
    other = bench.again(frontier)
    again = leased(other, "w2")
    assert again.history == lost.history
    assert other.finish(again, found()) is LeaseEnding.DONE
    assert frontier.open_job()
    assert isinstance(frontier.claim("w"), Pause)
    report = frontier.reports.revisit(SEED)
    assert report is not None
    assert report.history is not None
    assert report.history.visits == 2


def test_a_page_is_rendered_again_at_its_next_visit(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    for _ in range(2):
        page = leased(frontier)
        assert frontier.renders.add(page, [])
        assert not frontier.renders.add(page, []), "once for each visit"
        frontier.finish(page, found())
        render = frontier.renders.claim("r")
        assert isinstance(render, Lease)
        frontier.renders.finish(render, found())
        answer = frontier.renders.claim("r")
        assert isinstance(answer, Pause)
        assert answer.why == "due"
        advance(bench, 5 * 86_400)


def test_revisits_can_be_switched_off_at_a_resume(bench: Bench, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.finish(leased(frontier), found())
    advance(bench, 90_000)
    frontier.controls.stop("enough")
    plain = bench.frontier(profile=Profile(scope="any"))
    assert isinstance(plain.claim("w"), JobFinished)
    progress = plain.reports.progress()
    assert (progress.revisits, progress.next_due_seconds, progress.waits) == (0, None, ())
    report = plain.reports.revisit(SEED)
    assert report is not None
    assert (report.state, report.due_seconds) == ("ended", None)
    plain.forget()
    assert [key for key in bench.client.keys("*") if b"@" not in key and b"=jobs" not in key] == []


def test_a_url_that_a_list_says_has_changed_is_visited_sooner(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = continuous(bench)
    frontier.add(links("http://example.org/a", "http://example.org/b", "http://example.org/c"))
    for _ in range(4):
        frontier.finish(leased(frontier), found())
    bench.client.hset(bench.key("state"), "revisit", 1)
    now = bench.now()
    for id, kept in bench.client.hgetall(bench.key("revisits")).items():
        visited, rest = kept.split(b" ", 1)  # ten minutes ago
        bench.client.hset(bench.key("revisits"), id, b"%d %s" % (int(visited) - 600_000, rest))
    changes = [
        ("http://example.org/a", now - 60_000),  # since the last visit
        ("http://example.org/b", now - 3_600_000),  # before the last visit
        ("http://example.org/c", now + 3_600_000),  # not yet
        ("http://elsewhere.example/", now - 60_000),
    ]
    assert frontier.note_changes(changes) == 1
    assert leased(frontier).url == "http://example.org/a"
    assert isinstance(frontier.claim("other"), Pause)
    assert frontier.note_changes(changes) == 0


def test_sheets_say_when_urls_are_visited_again(bench: Bench, leased: Claim) -> None:
    never, hourly, adaptive = "http://never.org/", "http://hourly.org/", "http://adaptive.org/"
    sheets = ("hourly.org recrawl-1h", "adaptive.org recrawl-adaptive revisit_min_seconds=600 revisit_max_seconds=900")
    frontier = bench.frontier(never, hourly, adaptive, profile=Profile(scope="any", sheets=sheets))
    for _ in range(3):
        frontier.finish(leased(frontier), found(1))
    bench.client.hset(bench.key("state"), "revisit", 1)
    assert [interval(frontier, url) for url in (never, hourly, adaptive)] == [None, 3_600, 900]
    now = bench.now()
    for id, kept in bench.client.hgetall(bench.key("revisits")).items():
        visited, rest = kept.split(b" ", 1)  # eleven minutes ago
        bench.client.hset(bench.key("revisits"), id, b"%d %s" % (int(visited) - 660_000, rest))
    changes = [(url, now - 60_000) for url in (never, hourly, adaptive)]
    assert frontier.note_changes(changes) == 1  # a fixed interval heeds no list
    again = leased(frontier)
    assert again.url == adaptive
    frontier.finish(again, found(2))
    assert interval(frontier, adaptive) == 720
    assert isinstance(frontier.claim("w"), Pause)


def interval(frontier: Frontier, url: str) -> int | None:
    report = frontier.reports.revisit(url)
    return report.history.interval_seconds if report is not None and report.history is not None else None


def test_a_sheet_leaves_its_urls_out_of_a_continuous_crawl(bench: Bench, leased: Claim) -> None:
    profile = Profile(scope="any", revisit=ADAPTIVE, sheets=("example.org recrawl-never",))
    frontier = bench.frontier(SEED, profile=profile)
    frontier.finish(leased(frontier), found(1))
    assert isinstance(frontier.claim("w"), JobFinished)


def test_an_edit_makes_no_job_continuous(bench: Bench) -> None:
    frontier = bench.frontier(SEED)
    with pytest.raises(JobError, match="visits no URL again"):
        frontier.edit({"sheets": ("example.org recrawl-1h",)}, by="mia")


def test_an_unknown_url_has_no_history(bench: Bench) -> None:
    assert continuous(bench).reports.revisit("http://elsewhere.example/") is None


@pytest.mark.parametrize("seed", range(2))
def test_every_url_is_in_one_place_whatever_happens(bench: Bench, links: Links, seed: int) -> None:
    """Visits, failures, lost workers, urgent URLs, hosts set aside, groups and time, in a random order."""
    chance = random.Random(seed)
    groups = ("pair a.test,b.test parallel=1",) if seed % 2 else ()
    profile = Profile(scope="any", revisit=ADAPTIVE, groups=groups)
    frontier = bench.frontier("http://a.test/seed", profile=profile)
    hosts, held = ("a.test", "b.test", "c.test"), list[Lease]()
    known = {"http://a.test/seed"}
    for number in range(300):
        match chance.randrange(9):
            case 0:
                url = f"http://{chance.choice(hosts)}/{chance.randrange(12)}"
                frontier.add(links(url))
                known.add(url)
            case 1 | 2 | 3:
                if isinstance(lease := frontier.claim(f"w{number}"), Lease):
                    held.append(lease)
            case 4 | 5:
                if held:
                    code = chance.choice((200, 200, 404, -7, -4, 503))
                    frontier.finish(held.pop(chance.randrange(len(held))), found(chance.randrange(2), code))
            case 6:
                if held and chance.random() < 0.3:
                    bench.expire(chance.choice(held))
                advance(bench, chance.choice((600, 50_000, 90_000)))
            case 7:
                url = f"http://{chance.choice(hosts)}/{chance.randrange(12)}"
                frontier.visit_now([url])
                known.add(url)
            case _:
                host = chance.choice(hosts)
                if chance.random() < 0.3:
                    frontier.controls.set_host_aside(host, "unwanted")
                else:
                    frontier.controls.wake_host(host)
        _check_places(bench, frontier, hosts, known)
    frontier.forget()
    assert [key for key in bench.client.keys("*") if b"@" not in key and b"=jobs" not in key] == []


def _check_places(bench: Bench, frontier: Frontier, hosts: Sequence[str], known: set[str]) -> None:
    client, key = bench.client, bench.key
    queued = [id for host in hosts for id in client.zrange(key(f"q:{host}"), 0, -1)]
    leases, retries, due = (client.zrange(key(name), 0, -1) for name in ("leases", "retry", "due"))
    open_urls = [*queued, *leases, *retries]
    assert len(open_urls) == len(set(open_urls))
    assert set(client.hkeys(key("u"))) == set(open_urls)
    assert not set(due) & set(open_urls)
    ended_without_visit = set(client.hkeys(key("ended"))) - set(due)
    assert len({*open_urls, *due, *ended_without_visit}) == len(known)
    progress = frontier.reports.progress()
    assert progress.queued + progress.leased + progress.excluded == len(open_urls)
    assert progress.revisits == len(due)
    assert progress.queued >= 0
    for report in frontier.reports.groups():
        assert report.visits <= report.parallel
