"""The claims' contract with a real Redis: who may keep bytes, also when writers or Redis die."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
from dataclasses import replace

import pytest
import redis
from support.archive.capture_rows import capture
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until
from support.stores.redis_server import RedisServer

from archive.capture import Original
from dedupdb.captures.stream import STREAM, from_entry
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from dedupdb.redis_io.link import DedupUnavailable

GRANTED, HELD = ClaimVerdict.GRANTED, ClaimVerdict.HELD
ORIGINAL = Original("11112222-3333-4444-5555-666677778888", "http://example.org/ä?x=1", 1_700_000_000_123_456)
OTHER = Original("99992222-3333-4444-5555-666677778888", "http://example.org/other", 1_700_000_001_000_000)


def writer(server: RedisServer, *, claim_seconds: float = 60, timeout_seconds: float = 10) -> Claims:
    return Claims(server.url, claim_seconds=claim_seconds, timeout_seconds=timeout_seconds)


def want(body: bytes, collection: str = "news", bucket: str = "") -> PayloadKey:
    return PayloadKey(collection, hashlib.sha256(body).digest(), len(body), (bucket,))


def test_unknown_bytes_are_granted_to_the_first_and_held_for_the_second(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    assert one.claim([want(b"a"), want(b"b")]) == [GRANTED, GRANTED]
    assert two.claim([want(b"b"), want(b"c")]) == [HELD, GRANTED]


def test_the_second_of_two_equal_wants_is_held(writers: tuple[Claims, Claims]) -> None:
    assert writers[0].claim([want(b"a"), want(b"a")]) == [GRANTED, HELD]


def test_a_committed_original_is_everybodys_answer(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    one.claim([want(b"a")])
    one.settle(Settlement(kept=[(want(b"a"), ORIGINAL)]))
    assert one.claim([want(b"a")]) == two.claim([want(b"a")]) == [ORIGINAL]


def test_where_an_original_lies_is_known_to_all_by_its_files_name(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    placed = [replace(ORIGINAL, filename="2026/a-b.warc.gz", offset=offset) for offset in (0, 2**47)]
    one.settle(Settlement(kept=[(want(b"a"), placed[0])]))
    one.restore([(want(b"b"), placed[1]), (want(b"c"), ORIGINAL)])
    for writer_ in (one, two, two):
        found = writer_.claim([want(b"a"), want(b"b"), want(b"c")])
        assert [place_of(each) for each in found] == [("2026/a-b.warc.gz", 0), ("2026/a-b.warc.gz", 2**47), ("", 0)]


def test_an_original_whose_files_name_was_lost_is_an_original_still(
    server: RedisServer, writers: tuple[Claims, Claims]
) -> None:
    one, two = writers
    one.settle(Settlement(kept=[(want(b"a"), replace(ORIGINAL, filename="a.warc.gz", offset=5))]))
    with server.client() as redis:
        redis.delete("gf:{news}:files")
    (found,) = two.claim([want(b"a")])
    assert (found, place_of(found)) == (ORIGINAL, ("", 0))
    two.settle(Settlement(kept=[(want(b"b"), replace(OTHER, filename="a.warc.gz", offset=9))]))
    assert place_of(two.claim([want(b"a")])[0]) == ("a.warc.gz", 5)


def place_of(answer: Original | ClaimVerdict) -> tuple[str, int]:
    assert isinstance(answer, Original)
    return answer.filename, answer.offset


def test_a_released_claim_is_free_again(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    one.claim([want(b"a")])
    one.settle(Settlement(released=[want(b"a")]))
    assert two.claim([want(b"a")]) == [GRANTED]


def test_nobody_releases_anothers_claim(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    one.claim([want(b"a")])
    two.settle(Settlement(released=[want(b"a")]))
    assert two.claim([want(b"a")]) == [HELD]


def test_a_commit_without_any_claim_makes_the_original_known(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    one.settle(Settlement(kept=[(want(b"a"), ORIGINAL)]))
    assert two.claim([want(b"a")]) == [ORIGINAL]


def test_a_commit_replaces_neither_a_known_original_nor_anothers_live_claim(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    one.settle(Settlement(kept=[(want(b"known"), ORIGINAL)]))
    one.claim([want(b"claimed")])
    two.settle(Settlement(kept=[(want(b"known"), OTHER), (want(b"claimed"), OTHER)]))
    assert one.claim([want(b"known"), want(b"claimed")]) == [ORIGINAL, HELD]
    one.settle(Settlement(kept=[(want(b"claimed"), ORIGINAL)]))
    assert two.claim([want(b"claimed")]) == [ORIGINAL]


@pytest.mark.parametrize(
    "twin",
    [
        PayloadKey("sports", hashlib.sha256(b"a").digest(), 1),
        PayloadKey("news", hashlib.sha256(b"a").digest(), 1, ("pictures",)),
        PayloadKey("news", hashlib.sha256(b"a").digest(), 1, border="http://example.org/"),
        PayloadKey("news", hashlib.sha256(b"a").digest(), 2),
        PayloadKey("news", hashlib.sha256(b"b").digest(), 1),
        PayloadKey("news", hashlib.sha256(b"a").digest(), 1, algorithm="sha256"),
        PayloadKey("news", hashlib.sha256(b"a").digest(), 1, algorithm="blake3"),
    ],
    ids=["collection", "bucket", "border", "length", "digest", "algorithm", "another algorithm"],
)
def test_bytes_differ_by_collection_bucket_length_and_digest(writers: tuple[Claims, Claims], twin: PayloadKey) -> None:
    writers[0].settle(Settlement(kept=[(want(b"a"), ORIGINAL)]))
    assert writers[1].claim([want(b"a"), twin]) == [ORIGINAL, GRANTED]


def test_the_claim_of_a_writer_that_died_expires(server: RedisServer) -> None:
    key = want(b"a").places[0][1]
    with writer(server, claim_seconds=60) as dead:
        assert dead.claim([want(b"a")]) == [GRANTED]
        with writer(server) as heir:
            assert heir.claim([want(b"a")]) == [HELD]
            with server.client() as client:
                assert 1 <= client.pttl(key) <= 60_000, "the claim ends by itself"
                client.pexpire(key, 1)
            until(lambda: heir.claim([want(b"a")]) == [GRANTED], what="the claim to expire")
            dead.settle(Settlement(kept=[(want(b"a"), OTHER)]))
            assert heir.claim([want(b"a")]) == [HELD], "the late writer took over a claim that is not its own"
            heir.settle(Settlement(kept=[(want(b"a"), ORIGINAL)]))
            assert dead.claim([want(b"a")]) == [ORIGINAL]


RACER = """
import hashlib, sys
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey
with Claims(sys.argv[1], claim_seconds=60, timeout_seconds=10) as claims:
    print("ready", flush=True)
    sys.stdin.readline()
    for start in range(0, 200, 10):
        numbers = range(start, start + 10)
        keys = [PayloadKey("race", hashlib.sha256(b"%d" % number).digest(), number) for number in numbers]
        for number, verdict in zip(numbers, claims.claim(keys), strict=True):
            if verdict is ClaimVerdict.GRANTED:
                print(number)
"""


def test_of_two_racing_processes_exactly_one_is_granted_each_digest(server: RedisServer) -> None:
    command = code_command(RACER, server.url)
    pipes = {"env": {**os.environ, **PLACES}, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as one, subprocess.Popen(command, **pipes) as two:
        for racer in (one, two):
            assert racer.stdout.readline() == "ready\n"
        for racer in (one, two):
            racer.stdin.write("go\n")
            racer.stdin.flush()
        granted = [int(line) for racer in (one, two) for line in racer.communicate()[0].split()]
    assert sorted(granted) == list(range(200))


def test_captures_are_announced_as_they_are(server: RedisServer, writers: tuple[Claims, Claims]) -> None:
    announced = [capture(offset=0), capture(offset=900, kind="revisit", refers_to=ORIGINAL, job="daily", status=None)]
    writers[0].settle(Settlement(captures=announced))
    with server.client() as client:
        assert [each for _, entry in client.xrange(STREAM) for each in from_entry(entry)] == announced


def test_tallies_add_up_over_writers(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    one.settle(
        Settlement(tallies={("news", "daily"): {"novel_urls": 2, "novel_bytes": 10}, ("news", ""): {"novel_urls": 1}})
    )
    two.settle(Settlement(tallies={("news", "daily"): {"novel_urls": 3}}))
    assert one.tally("news", "daily") == {"novel_urls": 5, "novel_bytes": 10}
    assert one.tally("news", "") == {"novel_urls": 1}
    assert one.tally("news", "unheard of") == {}


def test_scripts_that_redis_forgot_are_sent_again(server: RedisServer, writers: tuple[Claims, Claims]) -> None:
    one, _ = writers
    one.claim([want(b"a")])
    with server.client() as client:
        client.script_flush()
        assert one.claim([want(b"b")]) == [GRANTED]
        client.script_flush()
        one.settle(
            Settlement(
                kept=[(want(b"a"), ORIGINAL)],
                released=[want(b"b")],
                captures=[capture()],
                tallies={("news", "daily"): {"novel_urls": 1}},
            )
        )
        assert client.xlen(STREAM) == 1
    assert one.claim([want(b"a"), want(b"b")]) == [ORIGINAL, GRANTED]
    assert one.tally("news", "daily") == {"novel_urls": 1}


def test_a_dead_redis_is_named_in_one_line_and_comes_back_by_itself(own_server: RedisServer) -> None:
    with writer(own_server) as claims:
        claims.settle(Settlement(kept=[(want(b"a"), ORIGINAL)]))
        own_server.kill()
        for _ in range(50):
            with pytest.raises(DedupUnavailable, match=r"^Redis at \S+.*$") as caught:
                claims.claim([want(b"b")])
            assert "\n" not in str(caught.value)
        own_server.start()
        assert until(lambda: answered(claims, want(b"b")), what="the link to recover") == [GRANTED]


def test_redis_restarted_between_two_calls_is_not_even_noticed(own_server: RedisServer) -> None:
    with writer(own_server) as claims:
        claims.claim([want(b"a")])
        own_server.stop()
        own_server.start()
        assert claims.claim([want(b"a")]) == [GRANTED]


def test_a_silent_redis_is_given_up_after_the_timeout_and_then_left_alone(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writer(own_server, timeout_seconds=0.4) as claims:
        until(lambda: answered(claims, want(b"a")), what="a first answer")
        own_server.pause()
        with monkeypatch.context() as long_pause:
            long_pause.setattr("dedupdb.redis_io.link._PAUSE_SECONDS", 3600.0)
            with pytest.raises(DedupUnavailable, match="Timeout"):
                claims.claim([want(b"b")])
            with pytest.raises(DedupUnavailable, match="failed a moment ago; the next try is in"):
                claims.claim([want(b"b")])
        claims.link._open_until = 0.0  # the long pause is over
        own_server.resume()
        # Redis may carry out a claim whose answer comes too late, and then the next claim on the same bytes is held.
        bodies = (b"c%d" % number for number in itertools.count())
        assert until(lambda: answered(claims, want(next(bodies))), what="the link to recover") == [GRANTED]


def test_tallies_of_an_outage_are_counted_once_when_redis_is_back(own_server: RedisServer) -> None:
    with writer(own_server, timeout_seconds=0.4) as claims, writer(own_server, timeout_seconds=60) as reader:
        # Each try adds to the tally of a job that is not looked at.
        until(lambda: settled(claims, "hourly"), what="a first answer")
        own_server.pause()
        # Sent, and perhaps carried out later: the writer can't know.
        with pytest.raises(DedupUnavailable):
            claims.settle(Settlement(tallies={("news", "daily"): {"novel_urls": 10}}))
        with pytest.raises(DedupUnavailable):
            claims.settle(
                Settlement(tallies={("news", "daily"): {"novel_urls": 100}, ("news", "weekly"): {"novel_urls": 1}})
            )
        own_server.resume()
        until(lambda: settled(claims), what="the link to recover")
        assert reader.tally("news", "daily") == {"novel_urls": 110}
        assert reader.tally("news", "weekly") == {"novel_urls": 1}


@pytest.mark.parametrize(("setting", "value"), [("maxmemory", "1"), ("min-replicas-to-write", "3")])
def test_a_redis_that_refuses_to_write_is_unavailable(own_server: RedisServer, setting: str, value: str) -> None:
    with own_server.alone().client() as client, writer(own_server) as claims:
        client.config_set(setting, value)
        with pytest.raises(DedupUnavailable, match="Redis at"):
            claims.claim([want(b"a")])


def test_a_read_only_replica_is_unavailable(own_server: RedisServer) -> None:
    with own_server.alone().client() as client, writer(own_server) as claims:
        client.replicaof("127.0.0.1", "1")
        with pytest.raises(DedupUnavailable, match=r"ReadOnly|read only"):
            claims.claim([want(b"a")])


def test_wrong_type_of_one_key_fails_the_call_and_not_the_process(server: RedisServer) -> None:
    with server.client() as client, writer(server) as claims:
        client.set(want(b"a").places[0][0], "x")
        with pytest.raises(DedupUnavailable, match="WRONGTYPE"):
            claims.claim([want(b"a")])


def test_any_batch_is_one_round_trip(own_server: RedisServer) -> None:
    with own_server.alone().client() as client, writer(own_server) as claims:
        claims.claim([want(b"makes the scripts known")])
        claims.settle(Settlement(kept=[(want(b"these"), ORIGINAL)], released=[want(b"too")]))
        before = calls(client)
        wants = [want(b"%d" % number, collection=f"c{number % 3}") for number in range(30)]
        claims.claim(wants)
        claims.settle(Settlement(kept=[(one, ORIGINAL) for one in wants[:15]], released=wants[15:]))
        after = calls(client)
    assert after["evalsha"] - before["evalsha"] == 3 + 3 + 3
    assert after["read"] - before["read"] <= 4, "requests were not sent together"


def test_forgetting_a_collection_leaves_the_others(writers: tuple[Claims, Claims]) -> None:
    one, _ = writers
    mine, others = want(b"a"), want(b"a", collection="newspaper")
    one.settle(Settlement(kept=[(mine, ORIGINAL), (others, OTHER)], tallies={("news", "daily"): {"novel_urls": 1}}))
    assert one.forget("news") == 1
    assert one.claim([mine, others]) == [GRANTED, OTHER]
    assert one.tally("news", "daily") == {"novel_urls": 1}


def test_restoring_keeps_the_first_of_equal_originals(writers: tuple[Claims, Claims]) -> None:
    one, _ = writers
    assert one.restore([(want(b"a"), ORIGINAL), (want(b"a"), OTHER), (want(b"b"), OTHER)]) == 2
    assert one.claim([want(b"a"), want(b"b")]) == [ORIGINAL, OTHER]


def test_nothing_asked_is_nothing_sent() -> None:
    with Claims("unix:///nowhere/at/all", claim_seconds=1, timeout_seconds=1) as claims:
        assert claims.claim([]) == []
        claims.settle(Settlement())


def answered(claims: Claims, asked: PayloadKey) -> list[Original | ClaimVerdict] | None:
    try:
        return claims.claim([asked])
    except DedupUnavailable:
        return None


def settled(claims: Claims, job: str = "") -> bool:
    try:
        claims.settle(Settlement(tallies={("news", job): {"novel_urls": 1}} if job else {}))
    except DedupUnavailable:
        return False
    return True


def calls(client: redis.Redis) -> dict[str, int]:
    stats = client.info("commandstats")
    return {
        "evalsha": stats["cmdstat_evalsha"]["calls"],
        "read": client.info("stats")["total_reads_processed"],
    }
