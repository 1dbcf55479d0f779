"""Hosts spread over proxies: evenly, the same everywhere, and with little moving when one comes or goes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browsers.proxying.rendezvous import ranked

HOSTS = [f"host{number}.example" for number in range(2000)]
NODES = [f"127.0.0.1:{port}" for port in range(41000, 41016)]


def homes(nodes: list[str]) -> dict[str, str]:
    return {host: ranked(host, nodes)[0] for host in HOSTS}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16])
def test_every_node_gets_about_its_share(count: int) -> None:
    shares = Counter(homes(NODES[:count]).values())

    assert len(shares) == count
    assert all(0.7 < share * count / len(HOSTS) < 1.3 for share in shares.values())


@pytest.mark.parametrize("count", [2, 3, 5, 8, 16])
def test_taking_one_of_n_away_moves_about_one_nth_of_the_hosts_and_no_other(count: int) -> None:
    """Requirement J12. Read from right to left, it is about adding one."""
    before, after = homes(NODES[:count]), homes(NODES[: count - 1])

    moved = [host for host in HOSTS if before[host] != after[host]]

    assert {before[host] for host in moved} == {NODES[count - 1]}, "only what the one that left had"
    assert 0.7 < len(moved) * count / len(HOSTS) < 1.3
    heirs = Counter(after[host] for host in moved)
    assert len(heirs) == count - 1, "all others share what it leaves"


@given(key=st.text(), nodes=st.lists(st.text(max_size=8), max_size=6), seed=st.randoms())
def test_the_order_of_the_nodes_means_nothing(key: str, nodes: list[str], seed: object) -> None:
    shuffled = [*nodes]
    seed.shuffle(shuffled)  # type: ignore[attr-defined]

    found = ranked(key, nodes)

    assert found == ranked(key, shuffled)
    assert sorted(found) == sorted(set(nodes))


@given(key=st.text(), nodes=st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True), gone=st.integers(0, 5))
def test_when_a_node_is_gone_the_others_keep_their_order(key: str, nodes: list[str], gone: int) -> None:
    left = [node for place, node in enumerate(nodes) if place != gone]

    assert ranked(key, left) == [node for node in ranked(key, nodes) if node in left]
