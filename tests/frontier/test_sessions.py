"""A host stays in front of the hosts that wait for as many visits as its session budget has."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from support.stores.real_frontier import PATIENT, Bench

from archive.settings import FrontierSettings
from frontier.definition.job import PolitenessOverrides, Profile
from frontier.definition.scope import Candidate, Priority
from frontier.lease import Lease
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.shards import frontier_for, shard_of

OK = VisitOutcome(200, bytes=1, is_document=True)
SLOW = PATIENT.model_copy(update={"min_delay_seconds": 600.0, "max_delay_seconds": 600.0})

type Claim = Callable[..., Lease]


def budget(visits: int, **keys: object) -> Profile:
    return Profile(scope="any", politeness=PolitenessOverrides(session_budget=visits), **keys)  # type: ignore[arg-type]


def links(*hosts: str, pages: int) -> list[Candidate]:
    return [Candidate(f"http://{host}/{page}", "L", depth=1) for page in range(pages) for host in hosts]


def visited(frontier: Frontier, most: int = 1_000) -> list[str]:
    """The hosts of the next visits, in order. Hosts of one millisecond have no order, so each visit has its own."""
    hosts: list[str] = []
    while len(hosts) < most and isinstance(lease := frontier.claim("w"), Lease):
        hosts.append(lease.host)
        frontier.finish(lease, OK)
        ended = frontier._store.now_ms()
        while frontier._store.now_ms() == ended:
            pass
    return hosts


def runs(hosts: list[str]) -> list[str]:
    """How often each host came in a row."""
    return [f"{host[0]}{len(list(visits))}" for host, visits in groupby(hosts)]


def test_a_host_stays_in_front_until_its_budget_is_spent_and_goes_behind_the_others_then(bench: Bench) -> None:
    frontier = bench.frontier("http://a.test/", "http://b.test/", "http://c.test/", profile=budget(3))
    frontier.add(links("a.test", "b.test", pages=6))
    assert runs(visited(frontier)) == ["a3", "b3", "c1", "a3", "b3", "a1", "b1"]


def test_a_host_in_front_comes_back_when_its_delay_is_over_and_before_those_that_wait(
    bench: Bench, leased: Claim
) -> None:
    frontier = bench.frontier(*(f"http://{name}.test/" for name in "abcde"), settings=SLOW, profile=budget(2))
    frontier.add(links("a.test", pages=3))
    assert visited(frontier, 2) == ["a.test", "b.test"], "the host in front rests"
    bench.make_due("a.test")
    bench.client.zadd(bench.key("ready"), {"a.test": bench.now()})
    lease = leased(frontier)
    assert lease.host == "a.test"
    assert frontier.reports.host_queue("a.test").session_visits == 1
    frontier.finish(lease, OK)
    bench.make_due("a.test")
    bench.client.zadd(bench.key("ready"), {"a.test": bench.now()})
    assert visited(frontier) == [*("c.test", "d.test", "e.test"), "a.test"], "the session is over"


def test_endless_hosts_in_front_keep_no_other_host_waiting_for_ever(bench: Bench) -> None:
    patient = [f"p{number}.test" for number in range(6)]
    frontier = bench.frontier("http://trap1.test/", "http://trap2.test/", profile=budget(4))
    frontier.add(links(*patient, pages=1))
    waiting, workers, found = set(patient), ["v", "w"], 0
    ended: list[tuple[Lease, VisitOutcome]] = []
    for visits in range(100):
        claims = [claim for claim in frontier.exchange(ended, workers).claims if isinstance(claim, Lease)]
        for number, lease in enumerate(claims):
            waiting.discard(lease.host)
            if lease.host.startswith("trap"):  # each page has two new links
                path = f"http://{lease.host}/{visits}-{number}"
                frontier.add([lease.candidate(f"{path}a", "L"), lease.candidate(f"{path}b", "L")], lease)
        ended = [(lease, OK) for lease in claims]
        found += len(claims)
        if not waiting:
            break
    assert not waiting
    assert found <= 2 * 4 + len(patient) + len(workers)


def test_an_urgent_url_goes_before_the_hosts_in_front(bench: Bench) -> None:
    frontier = bench.frontier("http://a.test/", profile=budget(9))
    frontier.add(links("a.test", "b.test", pages=4))
    assert visited(frontier, 2) == ["a.test", "a.test"]
    frontier.add([Candidate("http://now.test/", priority=Priority.HIGH)])
    assert runs(visited(frontier)) == ["n1", "a3", "b4"]


def test_urgent_urls_of_a_host_that_is_busy_come_before_other_hosts(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier("http://a.test/", profile=budget(1))
    frontier.add(links("b.test", "c.test", "d.test", pages=2))
    busy = leased(frontier, "w")
    frontier.visit_now(["http://a.test/1", "http://a.test/2"])
    other = leased(frontier, "v")
    assert [busy.host, other.host] == ["a.test", "b.test"]
    frontier.finish(busy, OK)
    for number in (1, 2):
        bench.client.zadd(bench.key("front"), {"a.test": 0}, xx=True)
        urgent = leased(frontier, "w")
        assert urgent.url == f"http://a.test/{number}"
        frontier.finish(urgent, OK)
    frontier.finish(other, OK)
    assert "a.test" not in visited(frontier)


def test_sessions_go_on_in_another_process_and_leave_nothing(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier("http://a.test/", "http://b.test/", profile=budget(3))
    frontier.add(links("a.test", "b.test", pages=4))
    assert visited(frontier, 1) == ["a.test"]
    lost = leased(frontier, "lost")
    other = bench.again(frontier)
    other.open_job()
    assert lost.host == "a.test"
    assert other.take_back("lost", counts=True) == 1
    assert runs(visited(other)) == ["b3", "a2", "b2", "a2"], "the session that a worker was lost in goes on"
    assert not bench.client.exists(bench.key("front"), bench.key("sessions"))
    frontier.forget()
    assert not list(bench.client.scan_iter(bench.key("*")))


def test_sheets_and_edits_change_the_budget_of_a_running_job(bench: Bench) -> None:
    profile = budget(1, sheets=("b.test session_budget=3",))
    frontier = bench.frontier("http://a.test/", "http://b.test/", profile=profile)
    frontier.add(links("a.test", "b.test", pages=20))
    assert runs(visited(frontier, 8)) == ["a1", "b3", "a1", "b3"]
    frontier.edit({"politeness": {"session_budget": 4}, "sheets": ()}, by="mia")
    assert runs(visited(frontier, 8)) == ["a4", "b4"]
    frontier.edit({"politeness": {"session_budget": None}})
    assert runs(visited(frontier, 4)) == ["a1", "b1", "a1", "b1"]


def test_a_host_in_front_gives_way_to_those_that_wait_for_its_group(bench: Bench, leased: Claim) -> None:
    groups = ("farm a.test,b.test parallel=1",)
    frontier = bench.frontier("http://a.test/", "http://b.test/", profile=budget(5, groups=groups))
    frontier.add(links("a.test", "b.test", pages=2))
    order = []
    for _ in range(6):
        lease = leased(frontier)
        order.append(lease.host)
        frontier.claim("another")  # the other host waits for the group now
        frontier.finish(lease, OK)
    assert runs(order) == ["a1", "b1", "a1", "b1", "a1", "b1"]


def test_hosts_of_several_slots_have_sessions_in_each_slot(bench: Bench) -> None:
    settings = FrontierSettings.model_validate({**PATIENT.model_dump(), "shards": 3, "session_budget": 4})
    hosts = [f"{letter}.test" for letter in "abcdefghijkl"]
    chosen = [host for shard in range(3) for host in [name for name in hosts if shard_of(name, 3) == shard][:2]]
    job = bench.frontier(*(f"http://{host}/" for host in chosen), opened=False, profile=Profile(scope="any")).job
    frontier = frontier_for(bench.url, job, settings)
    bench.keep(frontier)
    frontier.open_job()
    frontier.add(links(*chosen, pages=7))
    order = visited(frontier)
    assert len(order) == 48
    for shard in range(3):
        own = [host for host in order if shard_of(host, 3) == shard]
        assert [run[1:] for run in runs(own)] == ["4"] * 4
