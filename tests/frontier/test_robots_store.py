"""Robots.txt files: kept for all workers, as long as they are believed."""

from __future__ import annotations

from support.stores.real_frontier import Bench

from frontier.robots.rules import MAX_BYTES

RULES = b"User-agent: *\nDisallow: /x\n"


def test_a_robots_txt_must_be_fetched_first_and_is_then_known_to_all(bench: Bench) -> None:
    frontier = bench.frontier()
    assert frontier.robots("http://example.org/page") is None
    frontier.set_robots("http://example.org/page", 200, RULES)
    other = bench.again(frontier)
    for process in (frontier, other, other):
        robots = process.robots("http://example.org/another")
        assert robots is not None
        assert not robots.allows("http://example.org/x", "ghostfleet")


def test_each_scheme_and_port_has_its_own(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.set_robots("http://example.org/", 200, RULES)
    assert frontier.robots("https://example.org/") is None
    assert frontier.robots("http://example.org:8080/") is None


def test_one_that_is_believed_no_longer_is_asked_for_again(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.set_robots("http://example.org/", 503)
    other = bench.again(frontier)
    stored = bench.client.hget(bench.key("robots"), "http://example.org/robots.txt")
    times, rest = stored.split(b"\n", 1)
    since, until = map(int, times.split(b":"))
    assert until - since == 20_000
    bench.client.hset(bench.key("robots"), "http://example.org/robots.txt", b"1:1\n" + rest)
    assert other.robots("http://example.org/") is None


def test_an_endless_one_is_kept_up_to_its_limit(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.set_robots("http://example.org/", 200, RULES + b"#" * (3 * MAX_BYTES))
    robots = bench.again(frontier).robots("http://example.org/")
    assert robots is not None
    assert len(robots.body) == MAX_BYTES + 1
    assert not robots.allows("http://example.org/x", "ghostfleet")
