"""The memory of links spares work, and never hides a URL that has to be added."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from support.processes.waiting import until
from support.stores.real_frontier import PATIENT, Bench
from support.stores.redis_server import RedisServer

from frontier.definition.job import Profile
from frontier.definition.scope import Accepted, Candidate, Rejected, ScopeDecision
from frontier.lease import Lease
from frontier.links.memory import SEEN, LinkMemory
from frontier.politeness import VisitOutcome

type Links = Callable[..., list[Candidate]]
type Leased = Callable[..., Lease]
HOST = Profile(scope="host")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as server:
        yield server


@pytest.fixture
def own(server: RedisServer) -> Iterator[Bench]:
    bench = Bench(server.url)
    yield bench
    bench.close()


def reasons(decisions: Sequence[ScopeDecision]) -> list[str]:
    return ["" if isinstance(decision, Accepted) else decision.reason for decision in decisions]


def test_a_link_is_added_once_and_counted_each_time(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=HOST)
    page = links("http://example.org/a", "http://other.example/", "http://example.org/b")
    assert reasons(frontier.add(page)) == ["", "scope", ""]
    for _ in range(3):
        assert reasons(frontier.add(page)) == ["seen", "scope", "seen"]
    assert frontier.reports.progress().rejected == {"seen": 6, "scope": 4}
    assert len(bench.client.lrange(bench.key("rejected"), 0, -1)) == 4, "each page with the link is in the report"


@pytest.mark.parametrize("seed", range(5))
def test_a_worker_with_a_memory_decides_as_one_without(bench: Bench, seed: int) -> None:
    profile = Profile(scope="host", hops=2, max_links=9, exclude=("/no/",), max_path_repeats=2, embed_hops=1)
    draw = random.Random(seed)
    both = PATIENT.model_copy(update={"per_host": 2})
    ours, other = (bench.frontier(name=name, profile=profile, settings=both) for name in ("spring", "autumn"))
    first, second = ours.claim("w"), other.claim("w")
    assert isinstance(first, Lease)
    assert isinstance(second, Lease)
    hosts, paths = ("example.org", "example.com"), ("a", "b", "no/c", "d/d/d/d", "A/../a", "e?sid=0123456789abcdef0")
    for _ in range(30):
        page = [
            Candidate(
                f"http://{draw.choice(hosts)}/{draw.choice(paths)}{draw.choice(('', '1', '#x'))}",
                draw.choice(("L", "LL", "E", "LE", "LEE", "R", "E" * 25)),
                via="http://example.org/",
                depth=draw.randint(0, 3),
                force=draw.random() < 0.05,
            )
            for _ in range(draw.randint(0, 15))
        ]
        without = bench.again(other, both)  # as a process that has just begun
        assert ours.add(page, first) == without.add(page, second)
    assert ours.reports.progress().rejected == other.reports.progress().rejected
    assert ours.reports.progress().queued == other.reports.progress().queued
    lists = [bench.client.lrange(bench.key("rejected", name), 0, -1) for name in ("spring", "autumn")]
    assert lists[0] == lists[1]


def test_a_link_is_added_after_a_seed_widened_the_scope(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=HOST)
    page = links("http://elsewhere.example/a")
    assert reasons(frontier.add(page) + frontier.add(page)) == ["scope", "scope"]
    frontier.follow_seed("http://elsewhere.example/")
    assert reasons(frontier.add(page)) == [""]


def test_a_link_is_added_when_another_link_of_the_page_widens_the_scope(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=HOST)
    page = links("http://elsewhere.example/a")
    assert reasons(frontier.add(page) + frontier.add(page)) == ["scope", "scope"]
    redirect = Candidate("http://elsewhere.example/", "R", source="http://example.org/", is_seed=True)
    assert reasons(frontier.add([*page, redirect])) == ["", ""]


def test_a_link_is_added_after_another_worker_widened_the_scope(bench: Bench, links: Links, leased: Leased) -> None:
    frontier = bench.frontier("http://example.org/", "http://example.org/2", profile=HOST)
    other = bench.again(frontier)
    page = links("http://elsewhere.example/a")
    assert reasons(frontier.add(page) + frontier.add(page)) == ["scope", "scope"]
    other.follow_seed("http://elsewhere.example/")
    leased(frontier)  # a claim tells the change
    assert reasons(frontier.add(page)) == [""]


def test_a_link_is_rejected_by_the_pattern_of_an_operator(bench: Bench, links: Links, leased: Leased) -> None:
    frontier = bench.frontier(profile=HOST)
    page = links("http://example.org/calendar/1")
    assert reasons(frontier.add(page) + frontier.add(page)) == ["", "seen"]
    bench.again(frontier).add_reject("/calendar/")
    leased(frontier)
    assert reasons(frontier.add(page)) == ["excluded"]


def test_links_are_added_again_after_the_job_was_forgotten(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=HOST)
    page = links("http://example.org/a", "http://example.org/b")
    assert reasons(frontier.add(page)) == ["", ""]
    frontier.forget()
    frontier.open_job()
    assert reasons(frontier.add(page)) == ["", ""]


def test_links_are_added_after_another_process_began_the_job_anew(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=HOST)
    page = links("http://example.org/a", "http://example.org/b")
    assert reasons(frontier.add(page) + frontier.add(page)) == ["", "", "seen", "seen"]
    other, opened = bench.frontier(profile=HOST, opened=False), bench.client.hget(bench.key("state"), "opened")
    other.forget()
    until(lambda: bench.now() > int(opened), what="a later time")
    other.open_job()
    assert reasons(frontier.add(page)) == ["", ""]
    assert reasons(frontier.add(page)) == ["seen", "seen"]


def test_a_link_is_added_after_redis_was_killed_and_lost_it(
    server: RedisServer, own: Bench, links: Links, leased: Leased
) -> None:
    frontier = own.frontier()
    page, link = leased(frontier), links("http://example.org/a")
    own.client.save()
    assert reasons(frontier.add(link, page) + frontier.add(link, page)) == ["", "seen"]
    frontier.finish(page, VisitOutcome(200))
    server.kill()
    server.start()
    own.expire(page)
    again = leased(frontier)
    assert again.url == page.url
    assert reasons(frontier.add(link, again) + frontier.add(link, again)) == ["", "seen"]


def test_changes_of_the_scope_are_learned_after_redis_was_killed_and_lost_others(
    server: RedisServer, own: Bench, links: Links, leased: Leased
) -> None:
    frontier = own.frontier("http://example.org/", "http://example.com/", profile=HOST)
    page, other = leased(frontier), own.again(frontier)
    own.client.save()
    other.add_reject("/lost/")
    leased(frontier)  # a claim tells the change
    redirect = Candidate("http://elsewhere.example/", "R", source="http://example.org/", is_seed=True)
    assert reasons(frontier.add([redirect, *links("http://example.org/lost/")], page)) == ["", "excluded"]
    server.kill()
    server.start()
    for pattern in ("/a/", "/b/"):
        other.add_reject(pattern)
    assert reasons(frontier.add([redirect, *links("http://example.org/a/")], page)) == ["", "excluded"]
    further = own.again(frontier)
    assert reasons(further.add(links("http://elsewhere.example/lost/", "http://example.org/b/"))) == ["", "excluded"]


def test_a_link_is_added_after_an_operator_let_its_url_be_forgotten(bench: Bench, leased: Leased) -> None:
    frontier = bench.frontier(profile=HOST)
    link = Candidate("http://example.org/", "L", depth=1)
    assert reasons(frontier.add([link]) + frontier.add([link])) == ["seen", "seen"]
    frontier.finish(leased(frontier), VisitOutcome(200))
    assert bench.again(frontier).desk.forget_seen("mark", [link.url]) == 1
    assert reasons(frontier.add([link]) + frontier.add([link])) == ["", "seen"]


def test_a_forced_link_is_queued_again(bench: Bench, leased: Leased) -> None:
    frontier = bench.frontier(profile=HOST)
    link = Candidate("http://example.org/", "L", depth=1)
    assert reasons(frontier.add([link]) + frontier.add([link])) == ["seen", "seen"]
    lease = leased(frontier)
    frontier.finish(lease, VisitOutcome(200))
    assert reasons(frontier.add([Candidate(link.url, "L", depth=1, force=True)])) == [""]
    assert leased(frontier).url == link.url
    assert reasons(frontier.add([link])) == ["seen"]


def test_links_that_two_workers_find_are_added_once(bench: Bench, links: Links) -> None:
    one = bench.frontier(profile=HOST)
    other = bench.again(one)
    for number in range(20):
        page = links(*(f"http://example.org/{number + step}" for step in range(5)))
        found = reasons(one.add(page)), reasons(other.add(page))
        assert found[1] == ["seen"] * 5
        assert found[0] == [*["seen"] * (4 if number else 0), *[""] * (1 if number else 5)]
    assert one.reports.progress().queued == 25


def test_links_of_a_visit_whose_lease_is_over_are_not_counted(bench: Bench, links: Links, leased: Leased) -> None:
    frontier = bench.frontier(profile=HOST)
    page = links("http://example.org/a")
    lease = leased(frontier)
    frontier.add(page, lease)
    frontier.add(page, lease)
    bench.client.hdel(bench.key("lease"), lease.id)
    assert frontier.add(page, lease) == []
    assert frontier.reports.progress().rejected == {"seen": 1}


def test_links_that_are_known_count_for_the_limit_of_a_page(bench: Bench, links: Links, leased: Leased) -> None:
    frontier = bench.frontier(profile=Profile(scope="host", max_links=2))
    lease = leased(frontier)
    known = links("http://example.org/a", "http://example.org/b")
    further = links("http://example.org/c")
    for _ in range(2):
        frontier.add(known, lease)
    assert reasons(frontier.add([*known, *further], lease)) == ["seen", "seen", "too-many-links"]
    assert reasons(frontier.add([*known[:1], *further], lease)) == ["seen", ""]


def test_thirty_thousand_links_take_bounded_memory() -> None:
    memory = LinkMemory(HOST, most_links=5_000, most_characters=1_000_000)
    memory.is_of(b"1")
    tracemalloc.start()
    for number in range(30):
        page = [Candidate(f"http://example.org/{number}/{step}", "L", depth=1) for step in range(1_000)]
        keys = memory.keys_of(page)
        memory.keep(keys, [Accepted(candidate, "host") for candidate in page])
        assert [memory.answer(key) for key in keys] == [SEEN] * 1_000, "the last links are known"
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(memory) <= 10_000
    assert taken < 5_000_000
    assert memory.answer(memory.keys_of([Candidate("http://example.org/0/0", "L", depth=1)])[0]) is None


def test_long_links_take_bounded_memory() -> None:
    memory = LinkMemory(HOST, most_links=1_000_000, most_characters=100_000)
    for number in range(1_000):
        page = [Candidate(f"http://example.org/{number}/{'x' * size}", "L", depth=1) for size in (900, 1_000, 60_000)]
        memory.keep(memory.keys_of(page), [Rejected(candidate, "scope", "host") for candidate in page])
    assert len(memory) <= 2 * 111


def test_a_link_that_pages_have_all_the_time_stays_known() -> None:
    memory = LinkMemory(HOST, most_links=100)
    common = Candidate("http://example.org/", "L", depth=1)
    memory.keep(memory.keys_of([common]), [Rejected(common, "seen")])
    for number in range(2_000):
        other = Candidate(f"http://example.org/{number}", "L", depth=1)
        memory.keep(memory.keys_of([other]), [Accepted(other, "host")])
        assert memory.answer(memory.keys_of([common])[0]) == SEEN


def test_reasons_that_say_something_of_one_url_are_not_kept() -> None:
    memory = LinkMemory(HOST)
    page = [Candidate(f"http://example.org/{number}", "L") for number in range(2)]
    memory.keep(memory.keys_of(page), [Rejected(page[0], "no-url", "why"), Rejected(page[1], "too-many-links", "2")])
    assert len(memory) == 0


def test_a_pattern_that_is_switched_off_rejects_no_known_link(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=Profile(scope="host", exclude=("(x+x+)+y",)))
    known = links("http://example.org/xxy")
    assert reasons(frontier.add(known) + frontier.add(known)) == ["excluded", "excluded"]
    frontier.add(links(*(f"http://example.org/{'x' * 3_000}{number}" for number in range(3))))
    assert frontier.reports.switched_off_patterns(), "the pattern took too long"
    assert reasons(frontier.add(known)) == [""]
