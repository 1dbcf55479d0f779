"""Leases and the links found under them."""

from __future__ import annotations

import pytest

from frontier.definition.scope import Candidate, Priority
from frontier.lease import Lease, extend


def lease(**facts: object) -> Lease:
    values: dict[str, object] = {
        "id": "1",
        "token": "t",
        "worker": "w",
        "url": "http://example.org:8080/page",
        "hop_path": "L",
        "via": None,
        "source": "http://example.org/",
        "depth": 1,
        "is_seed": False,
        "priority": Priority.STANDARD,
        "attempt": 1,
        "host_failures": 0,
        "seconds": 600.0,
    }
    return Lease(**{**values, **facts})  # type: ignore[arg-type]


def test_a_link_knows_where_it_came_from() -> None:
    assert lease().candidate("http://example.org/x", "L") == Candidate(
        "http://example.org/x", "LL", "http://example.org:8080/page", "http://example.org/", depth=2
    )


@pytest.mark.parametrize(("hop", "depth"), [("L", 2), ("M", 2), ("S", 2), ("E", 1), ("R", 1), ("X", 1), ("P", 1)])
def test_only_links_go_deeper(hop: str, depth: int) -> None:
    assert lease().candidate("http://example.org/x", hop).depth == depth


def test_where_a_seed_redirects_to_is_a_seed() -> None:
    seed = lease(is_seed=True, hop_path="")
    assert seed.candidate("http://example.com/", "R").is_seed
    assert not seed.candidate("http://example.com/", "L").is_seed
    assert not lease(is_seed=True, hop_path="R" * 10).candidate("http://example.com/", "R").is_seed


def test_the_host_has_its_port() -> None:
    assert lease().host == "example.org:8080"


def test_a_long_hop_path_is_counted_in_front() -> None:
    path = ""
    for _ in range(53):
        path = extend(path, "L")
    assert path == "3+" + "L" * 50
    assert extend(path, "E") == "4+" + "L" * 49 + "E"
