"""Everything of dedup in a real Redis Cluster, whose slots move and whose servers die."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from support.archive.capture_rows import capture
from support.processes.waiting import until
from support.stores.redis_cluster import RedisCluster

from archive.capture import Original
from archive.settings.load import load
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from dedupdb.claims.completeness import Completeness, declare_whole
from dedupdb.claims.usage import measure
from dedupdb.fleet.host_turns import HostTurns
from dedupdb.fleet.quotas import Limit, Quotas
from dedupdb.fleet.registry import Member, Registry
from dedupdb.index.indexer import Indexer
from dedupdb.redis_io.link import DedupUnavailable

GRANTED, HELD = ClaimVerdict.GRANTED, ClaimVerdict.HELD
ORIGINAL = Original("11112222-3333-4444-5555-666677778888", "http://example.org/", 1_700_000_000_123_456)
COLLECTIONS = [f"c{number}" for number in range(12)]
"""Enough for every server to have some."""


def writer(cluster: RedisCluster, *, timeout_seconds: float = 10) -> Claims:
    return Claims(cluster.url, claim_seconds=60, timeout_seconds=timeout_seconds)


def want(body: bytes, collection: str) -> PayloadKey:
    return PayloadKey(collection, hashlib.sha256(body).digest(), len(body))


def wanted(body: bytes) -> list[PayloadKey]:
    return [want(body, collection) for collection in COLLECTIONS]


def test_one_batch_has_collections_of_all_servers(cluster: RedisCluster) -> None:
    assert {cluster.owner(f"{{{collection}}}") for collection in COLLECTIONS} == {0, 1, 2}
    wants = wanted(b"one batch")
    with writer(cluster) as one, writer(cluster) as two:
        assert one.claim(wants) == [GRANTED] * 12
        assert two.claim(wants) == [HELD] * 12
        tallies = {(name, "j"): {"new": 2} for name in COLLECTIONS}
        one.settle(Settlement(kept=[(each, ORIGINAL) for each in wants[1:]], released=wants[:1], tallies=tallies))
        assert two.claim(wants) == [GRANTED, *[ORIGINAL] * 11]
        assert [two.tally(name, "j") for name in COLLECTIONS] == [{"new": 2}] * 12


def test_what_was_announced_is_in_the_index(cluster: RedisCluster, tmp_path: Path) -> None:
    announced = [capture(collection=name, offset=number) for number, name in enumerate(COLLECTIONS)]
    with writer(cluster) as claims:
        claims.settle(Settlement(captures=announced))
    with Captures(database(tmp_path)) as captures:
        with Indexer(cluster.url, captures, tmp_path, timeout_seconds=10) as indexer:
            assert indexer.take(wait=True) == 12
        assert [captures.count(name) for name in COLLECTIONS] == [1] * 12


def test_a_collection_is_counted_forgotten_and_made_again(cluster: RedisCluster) -> None:
    known = [(want(b"%d" % number, "counted"), ORIGINAL) for number in range(700)]
    with writer(cluster) as claims:
        assert claims.restore(known) == 700
        assert [shelf.originals for shelf in measure(claims.link, ("counted", "none"))] == [700]
        assert claims.forget("counted") > 0
        assert measure(claims.link, ("counted",)) == []
        assert claims.restore(known) == 700


def test_whether_a_collection_is_whole_its_own_server_says(cluster: RedisCluster, tmp_path: Path) -> None:
    with writer(cluster) as claims, Captures(database(tmp_path)) as captures:
        for name in ("whole-1", "whole-2", "whole-3", "whole-4"):
            declare_whole(claims.link, name)
            assert Completeness(claims.link, captures).is_whole(name)
            owner = cluster.servers[cluster.owner(f"{{{name}}}")].client
            mark = owner.get(f"gf:{{{name}}}:whole")
            assert isinstance(mark, bytes)
            assert mark.decode().split() == [owner.info()["run_id"], "0"]


def test_limits_turns_and_the_registry_work_alike(cluster: RedisCluster) -> None:
    limits = [Limit("a", "a", "total/urls", 1), Limit("b", "b", "new/wire_bytes", 10)]
    quotas = Quotas(cluster.url, hold_seconds=60, timeout_seconds=10)
    turns = HostTurns(cluster.url, longest_seconds=60, timeout_seconds=10)
    with Registry(cluster.url, timeout_seconds=10) as registry:
        assert quotas.admit("limited", limits, "1") is None
        reached = quotas.admit("limited", limits, "2")
        assert reached is not None
        assert reached.limit == limits[0]
        for host in ("a.example", "b.example", "c.example", "d.example"):
            assert turns.take(host, 30) == 0
            assert 0 < turns.take(host, 30) <= 30
        members = [Member("h:1", "h:2", since=float(number), pid=number, host="h") for number in (1, 2)]
        for member in members:
            registry.put(member, seconds=60)
        assert registry.members() == members
        registry.remove(members[0])
        assert registry.members() == members[1:]
    quotas.close()
    turns.close()


def test_a_slot_that_moves_takes_its_originals_along(cluster: RedisCluster) -> None:
    body, key = want(b"moves", "moving"), "{moving}"
    target = (cluster.owner(key) + 1) % 3
    with writer(cluster) as early, writer(cluster) as other:
        early.claim([body])
        early.settle(Settlement(kept=[(body, ORIGINAL)], tallies={("moving", "j"): {"new": 1}}))
        cluster.begin_move(key, target)
        assert other.tally("moving", "j") == {"new": 1}
        with pytest.raises(DedupUnavailable, match="TryAgainError: Multiple keys request during rehashing of slot"):
            other.claim([body])
        cluster.end_move(key, target)
        assert cluster.owner(key) == target
        until(lambda: answers(other, [body]) == [ORIGINAL], what="the slot to have moved", within=90)
        assert early.claim([want(b"new", "moving"), body, *wanted(b"y")]) == [GRANTED, ORIGINAL, *[GRANTED] * 12]
        assert other.claim([want(b"new", "moving"), body]) == [HELD, ORIGINAL]


def test_servers_that_forgot_the_scripts_are_told_again(cluster: RedisCluster) -> None:
    with writer(cluster) as claims:
        assert claims.claim(wanted(b"scripts")) == [GRANTED] * 12
        for server in cluster.servers:
            server.client.script_flush()
        assert claims.claim(wanted(b"scripts again")) == [GRANTED] * 12


@pytest.mark.timeout(600)
def test_a_dead_server_is_one_line_and_a_replica_takes_the_place_of_the_server_that_the_setting_names(
    tmp_path: Path,
) -> None:
    # A killed server refuses at once. The timeouts are out of reach, so that no server that is slow is taken for dead.
    with (
        RedisCluster(tmp_path, replicas=1, node_timeout_ms=60_000) as cluster,
        writer(cluster, timeout_seconds=60) as claims,
    ):
        wants = wanted(b"dead")
        claims.claim(wants)
        claims.settle(Settlement(kept=[(each, ORIGINAL) for each in wants]))
        named, without_replica, replica = cluster.servers[0], cluster.servers[1], cluster.servers[3]
        others = [each for each in wants if cluster.owner(f"{{{each.collection}}}") != 1]
        without_replica.kill()
        with pytest.raises(DedupUnavailable, match=rf"^Redis at cluster://127.0.0.1:{named.port}: "):
            claims.claim(wants)
        for server in (named, cluster.servers[2]):
            server.client.script_flush()
        until(lambda: answers(claims, others) == [ORIGINAL] * len(others), what="the other servers", within=90)
        without_replica.start()
        until(lambda: answers(claims, wants) == [ORIGINAL] * 12, what="the cluster to be complete again", within=90)

        until(
            lambda: replica.client.info()["slave_repl_offset"] == named.client.info()["master_repl_offset"],
            what="the copy",
            within=90,
        )
        cluster.set_node_timeout(1500)
        named.kill()
        until(lambda: answers(claims, wants) == [ORIGINAL] * 12, what="the replica to take over", within=90)
        with Claims(f"{cluster.url},127.0.0.1:{replica.port}", claim_seconds=60, timeout_seconds=60) as later:
            # A server that was silent for a moment may count as dead once more on a busy machine.
            until(lambda: answers(later, wants) == [ORIGINAL] * 12, what="a process that starts now", within=90)


def test_a_cluster_that_is_not_there_is_one_line() -> None:
    claims = Claims("cluster://127.0.0.1:1", claim_seconds=60, timeout_seconds=2)
    with pytest.raises(DedupUnavailable, match=r"cluster://127\.0\.0\.1:1: ConnectionError"):
        claims.claim(wanted(b"nobody"))
    claims.close()


def answers(claims: Claims, wants: list[PayloadKey]) -> object:
    try:
        return claims.claim(wants)
    except DedupUnavailable:
        return None


def database(home: Path) -> str:
    return load({"home": str(home)}, environment={}).database_url
