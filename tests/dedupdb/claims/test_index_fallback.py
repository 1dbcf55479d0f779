"""Originals that Redis has lost are found in the durable index, told to Redis again, and nothing else is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from support.archive.capture_rows import capture
from support.stores.redis_server import RedisServer

from archive.capture import Capture, Original
from archive.settings import DedupSettings
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CapturesError
from dedupdb.claims import completeness
from dedupdb.claims import index_fallback as recalls
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.index_fallback import IndexFallback
from dedupdb.index.indexer import Indexer
from dedupdb.redis_io.link import DedupUnavailable

GRANTED, HELD = ClaimVerdict.GRANTED, ClaimVerdict.HELD


@pytest.fixture
def captures(tmp_path: Path) -> Iterator[Captures]:
    with Captures(f"sqlite:///{tmp_path / 'index.db'}") as index:
        yield index


@pytest.fixture(autouse=True)
def _looks_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completeness, "_LOOK_SECONDS", 0.0)


def recall(claims: Claims, captures: Captures, **settings: Any) -> IndexFallback:
    return IndexFallback(claims, captures, DedupSettings(**settings))


def kept(number: int, **changed: Any) -> Capture:
    return capture(f"http://example.org/{number}", offset=number, sha256=f"{number:064x}", **changed)


def original(kept: Capture) -> Original:
    return Original(kept.record_id, kept.url, kept.date)


def want(number: int, *filled: str, **further: Any) -> PayloadKey:
    return PayloadKey("news", bytes.fromhex(f"{number:064x}"), 5, filled or ("",), **further)


def test_what_redis_has_lost_altogether_is_found_and_told_to_it_again(
    server: RedisServer, claims: Claims, captures: Captures
) -> None:
    remembering = recall(claims, captures)
    assert remembering.claim([want(1)]) == [GRANTED]
    remembering.settle(Settlement(kept=[(want(1), original(kept(1)))]))
    captures.add([kept(1)])
    with server.client() as client:
        client.flushall()

    assert remembering.claim([want(1), want(2)]) == [original(kept(1)), GRANTED]
    assert claims.claim([want(1), want(2)]) == [original(kept(1)), HELD], "Redis was not told"
    assert (remembering.recalled, remembering.in_doubt) == (1, 1)


def test_what_redis_evicted_is_found(own_server: RedisServer, claims: Claims, captures: Captures) -> None:
    remembering = recall(claims, captures)
    remembering.claim([want(0)])
    for number in range(1, 50):
        remembering.settle(Settlement(kept=[(want(number), original(kept(number)))]))
        captures.add([kept(number)])
    assert remembering.in_doubt == 0
    with own_server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", "1mb")
        until_evicted(client)
        client.config_set("maxmemory", "0")

    answers = remembering.claim([want(number) for number in range(1, 50)])

    assert answers == [original(kept(number)) for number in range(1, 50)]
    assert remembering.recalled > 0


def until_evicted(client: redis.Redis) -> None:
    for number in range(100_000):
        if client.info("stats")["evicted_keys"] and not client.exists(want(1).places[0][0]):
            return
        try:
            client.set(f"ballast {number}", b"x" * 1000)
        except redis.exceptions.OutOfMemoryError:
            return
    raise AssertionError("Redis evicted nothing")


def test_a_store_that_is_whole_is_believed(claims: Claims, captures: Captures) -> None:
    remembering = recall(claims, captures)
    assert remembering.claim([want(1)]) == [GRANTED]
    captures.add([kept(2)])

    assert remembering.claim([want(2)]) == [GRANTED]
    assert (remembering.recalled, remembering.in_doubt) == (0, 0)


@pytest.mark.parametrize(("mode", "answer"), [("always", original(kept(2))), ("never", GRANTED)])
def test_it_can_be_asked_always_or_never(claims: Claims, captures: Captures, mode: str, answer: object) -> None:
    captures.add([kept(2)])

    assert recall(claims, captures, recall=mode).claim([want(2)]) == [answer]


@pytest.mark.parametrize("record_id", ["", "x" * 255])
def test_a_row_whose_id_can_not_be_packed_is_no_original(claims: Claims, captures: Captures, record_id: str) -> None:
    captures.add([kept(2, record_id=record_id)])

    assert recall(claims, captures, recall="always").claim([want(2)]) == [GRANTED]


def test_a_rebuild_makes_the_store_whole(
    server: RedisServer, claims: Claims, captures: Captures, tmp_path: Path
) -> None:
    captures.add([kept(1)])
    remembering = recall(claims, captures)
    assert remembering.claim([want(2)]) == [GRANTED]
    assert remembering.in_doubt == 1

    with Indexer(server.url, captures, tmp_path) as indexer:
        assert indexer.rebuild_dedup("news", claims, DedupRules(DedupSettings())) == 1

    assert remembering.claim([want(1), want(3)]) == [original(kept(1)), GRANTED]
    assert (remembering.recalled, remembering.in_doubt) == (0, 0)


def test_a_loss_is_remembered_when_redis_is_started_again(
    own_server: RedisServer, claims: Claims, captures: Captures
) -> None:
    captures.add([kept(1)])
    with own_server.client() as client:
        client.config_resetstat()  # the servers of a cluster have served other tests, which let them evict keys
        client.set("gf:{news}:whole", "an-earlier-run 0")
        assert recall(claims, captures).claim([want(1)]) == [GRANTED], "the mark of an earlier run is not believed"
        claims.settle(Settlement(released=[want(1)]))
        completeness.declare_whole(claims.link, "news")
        run, _ = client.get("gf:{news}:whole").decode().split()
        client.set("gf:{news}:whole", f"{run} 5")  # five keys evicted since: the counts differ
        assert recall(claims, captures).claim([want(1)]) == [original(kept(1))]
        assert client.get("gf:{news}:whole") is None


def test_the_buckets_of_the_original_are_filled_and_the_claims_on_others_given_back(
    claims: Claims, captures: Captures
) -> None:
    stored = kept(1, buckets=("a", "b"))
    captures.add([stored])
    remembering = recall(claims, captures, recall="always")

    assert remembering.claim([want(1, "b", "c")]) == [original(stored)]

    assert claims.claim([want(1, "a"), want(1, "b")]) == [original(stored)] * 2
    assert claims.claim([want(1, "c")]) == [GRANTED]
    assert remembering.claim([want(1)]) == [GRANTED], "found in a bucket that was not asked for"


def test_a_database_that_fails_is_left_alone_for_a_while(
    claims: Claims, captures: Captures, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures.add([kept(1), kept(2)])
    asked: list[object] = []

    def fail(*arguments: object) -> None:
        asked.append(arguments)
        raise CapturesError("the database is not there")

    remembering = recall(claims, captures, recall="always")
    with monkeypatch.context() as broken:
        broken.setattr(captures, "with_payloads", fail)
        assert remembering.claim([want(1)]) == remembering.claim([want(3)]) == [GRANTED]
    assert len(asked) == 1
    monkeypatch.setattr(recalls, "_REST_SECONDS", 0.0)
    remembering._rests_until = 0.0
    assert remembering.claim([want(2)]) == [original(kept(2))]


def test_without_redis_nothing_is_looked_up(own_server: RedisServer, claims: Claims, captures: Captures) -> None:
    captures.add([kept(1)])
    own_server.kill()
    with pytest.raises(DedupUnavailable):
        recall(claims, captures, recall="always").claim([want(1)])
