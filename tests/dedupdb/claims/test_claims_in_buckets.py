"""Claims on payloads with buckets of their own: searched in all of them, granted in all that they fill or in none."""

from __future__ import annotations

import hashlib
import threading

from support.stores.redis_server import RedisServer

from archive.capture import Original
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement

GRANTED, HELD = ClaimVerdict.GRANTED, ClaimVerdict.HELD
ORIGINAL = Original("11112222-3333-4444-5555-666677778888", "http://example.org/", 1_700_000_000_123_456)
OTHER = Original("99992222-3333-4444-5555-666677778888", "http://example.org/other", 1_700_000_001_000_000)


def writer(server: RedisServer) -> Claims:
    return Claims(server.url, claim_seconds=60, timeout_seconds=10)


def want(filled: str = "", searched: str = "", body: bytes = b"a") -> PayloadKey:
    return PayloadKey("news", hashlib.sha256(body).digest(), len(body), tuple(filled.split()), tuple(searched.split()))


OWN = PayloadKey("news", hashlib.sha256(b"a").digest(), 1)


def test_an_original_is_known_in_every_bucket_that_it_fills(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    assert one.claim([want("x y")]) == [GRANTED]
    one.settle(Settlement(kept=[(want("x y"), ORIGINAL)]))
    assert two.claim([want("x"), want("y"), want("z y"), want("", "x")]) == [ORIGINAL] * 4
    assert two.claim([OWN, want("z")]) == [GRANTED, GRANTED]


def test_a_bucket_that_is_only_searched_is_never_filled(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    assert one.claim([want("x", "seeds"), want("", "seeds")]) == [GRANTED, GRANTED]
    one.settle(Settlement(kept=[(want("x", "seeds"), ORIGINAL), (want("", "seeds"), OTHER)]))
    assert two.claim([want("seeds")]) == [GRANTED]
    assert two.claim([want("x")]) == [ORIGINAL]


def test_a_copy_found_in_a_searched_bucket_does_not_fill_the_others(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    one.settle(Settlement(kept=[(want("seeds"), ORIGINAL)]))
    assert one.claim([want("x", "seeds")]) == [ORIGINAL]
    assert two.claim([want("x")]) == [GRANTED]


def test_one_live_claim_in_any_bucket_to_fill_holds_them_all(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    assert one.claim([want("y")]) == [GRANTED]
    assert two.claim([want("x y")]) == [HELD]
    assert two.claim([want("x")]) == [GRANTED], "a claim on x stayed behind when y was held"


def test_releasing_gives_all_of_them_back(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    assert one.claim([want("x y")]) == [GRANTED]
    one.settle(Settlement(released=[want("x y"), want("", "seeds")]))
    assert two.claim([want("y"), want("x")]) == [GRANTED, GRANTED]


def test_plain_and_other_wants_of_one_batch_get_their_own_answers(writers: tuple[Claims, Claims]) -> None:
    one, _ = writers
    one.settle(Settlement(kept=[(want("x", body=b"known"), ORIGINAL)]))
    asked = [OWN, want("x y", body=b"known"), want("x y"), OWN, want("y", "x"), want("", "", b"b")]
    assert one.claim(asked) == [GRANTED, ORIGINAL, GRANTED, HELD, HELD, GRANTED]


def test_restoring_fills_all_buckets(writers: tuple[Claims, Claims]) -> None:
    one, two = writers
    assert one.restore([(want("x y"), ORIGINAL), (want("y z"), OTHER)]) == 3
    assert two.claim([want("x"), want("y"), want("z")]) == [ORIGINAL, ORIGINAL, OTHER]


def test_twins_with_crossing_buckets_never_both_get_one(server: RedisServer) -> None:
    names = ["a b", "b a", "b c", "c a", "a b c"]
    granted: list[str] = []

    def race(mine: str) -> None:
        with writer(server) as claims:
            for number in range(40):
                (answer,) = claims.claim([want(mine, body=b"%d" % number)])
                if answer is GRANTED:
                    granted.extend(f"{number}{bucket}" for bucket in mine.split())

    racers = [threading.Thread(target=race, args=(mine,)) for mine in names]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()

    assert len(granted) == len(set(granted)), "two writers were granted the same bytes in one bucket"
    assert {int(each[:-1]) for each in granted} == set(range(40))
