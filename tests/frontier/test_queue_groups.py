"""Queue groups on a real Redis: the visits of many hosts are bounded together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from support.stores.real_frontier import Bench

from frontier.definition.job import JobError, Profile
from frontier.definition.scope import Candidate, Priority
from frontier.lease import JobFinished, Lease, Pause
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]

OK = VisitOutcome(200, bytes=100, duration_ms=1, is_document=True)


def profile(*groups: str) -> Profile:
    return Profile(scope="any", groups=groups)


def names(*hosts: str, pages: int = 1) -> list[str]:
    return [f"http://{host}/{number}" for number in range(pages) for host in hosts]


def claims(frontier: Frontier, most: int = 1000) -> Iterator[Lease]:
    """Yield leases until there is none now."""
    for number in range(most):
        answer = frontier.claim(f"w{number}")
        if not isinstance(answer, Lease):
            return
        yield answer


def members(*hosts: str) -> set[str]:
    return set(hosts)


def test_a_group_has_so_many_visits_and_other_hosts_go_on(bench: Bench, links: Links) -> None:
    frontier = bench.frontier("http://free.test/", profile=profile("shop *.shop.test parallel=2"))
    frontier.add(links(*names(*(f"h{number}.shop.test" for number in range(10)), "other.test", "third.test")))
    held = list(claims(frontier))
    shops = [lease for lease in held if lease.host.endswith(".shop.test")]
    assert len(shops) == 2
    assert {lease.host for lease in held} - {lease.host for lease in shops} == {"free.test", "other.test", "third.test"}
    answer = frontier.claim("next")
    assert isinstance(answer, Pause)
    assert answer.seconds > 0.5, "no busy loop: the end of a visit wakes the group"
    frontier.finish(shops[0], OK)
    again = list(claims(frontier))
    assert len(again) == 1
    assert again[0].host.endswith(".shop.test")


def test_hosts_of_a_group_take_turns(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test parallel=1"))
    frontier.add(links(*names("a.shop.test", "b.shop.test", "c.shop.test", "d.shop.test", pages=4)))
    order = []
    for _ in range(16):
        lease = leased(frontier)
        order.append(lease.host)
        assert isinstance(frontier.claim("other"), Pause)
        frontier.finish(lease, OK)
    assert isinstance(frontier.claim("w"), JobFinished)
    assert all(len(members(*order[at : at + 4])) == 4 for at in range(0, 16, 4)), order


def test_an_urgent_url_has_the_next_turn_of_its_group(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test parallel=1"))
    frontier.add(links(*names(*(f"h{number}.shop.test" for number in range(20)))))
    lease = leased(frontier)
    assert isinstance(frontier.claim("w2"), Pause)
    frontier.add([Candidate("http://now.shop.test/", priority=Priority.HIGH)])
    assert isinstance(frontier.claim("w2"), Pause)
    frontier.finish(lease, OK)
    assert leased(frontier).host == "now.shop.test"


def test_the_delay_of_a_group_holds_for_all_its_hosts(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test parallel=3 delay=600"))
    frontier.add(links(*names("b.shop.test", "c.shop.test", "free.test")))
    hosts = [lease.host for lease in claims(frontier)]
    assert len(hosts) == 2
    assert "free.test" in hosts
    [report] = frontier.reports.groups()
    assert (report.visits, report.visited, report.hosts, report.waiting) == (1, 1, 3, 2)
    assert 500 < report.due_seconds <= 600
    make_group_due(bench, "shop")
    assert leased(frontier, "next").host.endswith(".shop.test")


def make_group_due(bench: Bench, name: str) -> None:
    bench.client.hset(bench.key("groups"), f"d:{name}", 0)
    bench.client.zadd(bench.key("groupready"), {name: 0}, xx=True)


def test_the_group_rests_after_the_end_of_a_visit_too(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test delay=600"))
    frontier.add(links(*names("b.shop.test")))
    lease = leased(frontier)
    make_group_due(bench, "shop")
    assert isinstance(frontier.claim("w2"), Pause), "the one visit goes on"
    frontier.finish(lease, OK)
    assert isinstance(frontier.claim("w2"), Pause)
    assert frontier.reports.progress().next_due_seconds == pytest.approx(600, abs=60)


def test_a_lost_worker_leaves_its_group(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test parallel=1"))
    frontier.add(links(*names("b.shop.test")))
    lost = leased(frontier)
    bench.expire(lost)
    assert leased(frontier, "w2").host.endswith("shop.test")
    assert frontier.finish(lost, OK) is LeaseEnding.STALE
    assert frontier.reports.groups()[0].visits == 1


def test_a_lost_render_worker_leaves_its_group(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test parallel=1"))
    lease = leased(frontier)
    assert frontier.renders.add(lease, [])
    frontier.add(links(*names("b.shop.test")))
    frontier.finish(lease, OK)
    bench.client.zrem(bench.key("ready"), "b.shop.test")
    render = frontier.renders.claim("r")
    assert isinstance(render, Lease)
    bench.client.zadd(bench.key("ready"), {"b.shop.test": 1})
    assert isinstance(frontier.claim("w"), Pause), "a render is a visit of the group, too"
    bench.client.zadd(bench.key("leases", "spring=renders"), {render.id: 1})
    bench.client.zadd(bench.key("groupready"), {"shop": 1})
    assert leased(frontier).host == "b.shop.test"


def test_groups_change_while_the_job_runs(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test parallel=1"))
    other = bench.again(frontier)
    frontier.add(links(*names(*(f"h{number}.shop.test" for number in range(6)))))
    held = list(claims(other))
    assert len(held) == 1
    frontier.set_groups(["shop *.shop.test parallel=3"])
    held += list(claims(other))
    assert len(held) == 3
    frontier.set_groups(["shop *.shop.test parallel=1", "rest *.test parallel=9"])
    other.finish(held.pop(), OK)
    assert not list(claims(other)), "two visits of the group go on"
    frontier.set_groups([])
    assert len(list(claims(other))) == 4
    assert frontier.reports.groups() == []
    for lease in held:
        assert other.finish(lease, OK) is LeaseEnding.DONE
    assert bench.again(frontier).job.profile.groups == ()


def test_a_list_file_that_is_missing_keeps_the_job_from_opening(bench: Bench, tmp_path: Path) -> None:
    frontier = bench.frontier(profile=profile("one a.shop.test,list:more.txt parallel=1"), opened=False)
    with pytest.raises(JobError, match=r"groups: list:more\.txt can't be read"):
        frontier.open_job(lists=tmp_path)
    assert not bench.client.keys("*")


def test_list_files_are_read_once_and_carried_to_all_workers(bench: Bench, links: Links, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("# platform\nz.test\n\n192.0.2.0/24\n")
    frontier = bench.frontier("http://192.0.2.7/", profile=profile("one list:more.txt parallel=1"), opened=False)
    frontier.open_job(lists=tmp_path)
    other = bench.again(frontier)
    other.add(links("http://z.test/", "http://192.0.2.9:8080/", "http://free.test/"))
    hosts = [lease.host for lease in claims(other)]
    assert len(hosts) == 2
    assert "free.test" in hosts
    assert other.reports.group_of("z.test") == "one"
    assert other.reports.group_of("free.test") == ""


def test_the_addresses_of_a_host_decide_when_a_network_is_a_member(bench: Bench, links: Links) -> None:
    frontier = bench.frontier("http://localhost/", profile=profile("here 127.0.0.0/8,::1 parallel=1"))
    frontier.add(links("http://127.0.0.1/", "http://localhost:8080/", "http://free.invalid/"))
    hosts = {lease.host for lease in claims(frontier)}
    assert len(hosts) == 2
    assert "free.invalid" in hosts
    assert {frontier.reports.group_of(host) for host in ("localhost", "127.0.0.1", "localhost:8080")} == {"here"}


def test_a_job_with_groups_finishes_and_leaves_nothing(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier(
        "http://a.shop.test/0", profile=profile("shop *.shop.test parallel=2", "x *.x.test delay=0")
    )
    frontier.add(links(*names("b.shop.test", "c.x.test", "d.x.test", "e.test", pages=5)))
    for _ in range(21):
        frontier.finish(leased(frontier), OK)
    assert isinstance(frontier.claim("w"), JobFinished)
    assert [report.visits for report in frontier.reports.groups()] == [0, 0]
    assert sum(report.visited for report in frontier.reports.groups()) == 16
    frontier.forget()
    assert [key for key in bench.client.keys("*") if b"@" not in key and b"=jobs" not in key] == []


def test_the_clock_may_be_set_back(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://a.shop.test/0", profile=profile("shop *.shop.test delay=20"))
    frontier.add(links(*names("b.shop.test", "c.test")))
    while isinstance(lease := frontier.claim("w"), Lease):
        frontier.finish(lease, OK)
    bench.set_clock_back(3_600_000)
    assert isinstance(frontier.claim("w"), Pause)
    [report] = frontier.reports.groups()
    assert 0 < report.due_seconds <= 20
    due = float(bench.client.zscore(bench.key("groupready"), "shop"))
    assert bench.now() < due <= bench.now() + 20_000


def test_several_workers_keep_to_the_limits_of_groups(bench: Bench, links: Links) -> None:
    """Eight workers with connections of their own claim and finish. The claims themselves are the proof."""
    frontier = bench.frontier("http://seed.test/", profile=profile("shop *.shop.test parallel=2 delay=0.02"))
    hosts = [f"h{number}.shop.test" for number in range(40)]
    frontier.add(links(*names(*hosts, pages=3), *names("a.test", "b.test", pages=20)))
    asked_and_got: list[tuple[float, float]] = []
    going, counts, visited = set[str](), set[int](), list[str]()
    lock, own = threading.Lock(), [bench.again(frontier) for _ in range(8)]

    def work(number: int) -> None:
        while True:
            asked = time.monotonic()
            answer = own[number].claim(f"w{number}")
            got = time.monotonic()
            if isinstance(answer, JobFinished):
                return
            if not isinstance(answer, Lease):
                threading.Event().wait(0.005)
                continue
            with lock:
                visited.append(answer.url)
                if answer.host.endswith(".shop.test"):
                    going.add(answer.url)
                    counts.add(len(going))
                    asked_and_got.append((asked, got))
            threading.Event().wait(0.03)
            with lock:
                going.discard(answer.url)
            own[number].finish(answer, OK)

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, number) for number in range(8)]:
            done.result()
    assert len(visited) == len(set(visited)) == 161
    assert counts == {1, 2}
    begins = sorted(asked_and_got, key=lambda times: times[1])
    assert len(begins) == 120
    # A claim took place between its question and its answer. Redis counts whole milliseconds.
    gaps = [max(a[1], b[1]) - min(a[0], b[0]) for a, b in pairwise(begins)]
    assert min(gaps) > 0.0189
    assert frontier.reports.groups()[0].visited == 120


def test_a_large_group_keeps_neither_its_first_visit_nor_other_hosts_back(
    bench: Bench, links: Links, leased: Claim
) -> None:
    frontier = bench.frontier("http://h.shop.test/", profile=profile("shop *.shop.test parallel=1"))
    frontier.add(links(*(f"http://h{number}.shop.test/" for number in range(2000)), "http://free.test/"))
    assert leased(frontier).host.endswith(".shop.test")
    assert bench.client.hlen(bench.key("hostgroups")) <= 101, "the hosts of the first look"
    answers = [frontier.claim(f"w{number}") for number in range(30)]
    assert [answer.host for answer in answers if isinstance(answer, Lease)] == ["free.test"]
    assert bench.client.zcard(bench.key("parked")) == 2000
    before = bench.client.info("commandstats")
    assert isinstance(frontier.claim("idle"), Pause)
    after = bench.client.info("commandstats")
    calls = {name: each["calls"] - before.get(name, {"calls": 0})["calls"] for name, each in after.items()}
    assert sum(calls.values()) < 30, "a claim looks at none of the hosts that wait"
