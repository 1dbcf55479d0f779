"""What Redis keeps of a collection is dropped, moved or forgotten file by file, in one server and in a cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from archive.capture import Original
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from dedupdb.claims.collection_keys import drop_collection, move_collection
from dedupdb.claims.forgetting import forget, forget_files

ORIGINAL = Original(
    "11112222-3333-4444-5555-666677778888", "http://example.org/", 1_700_000_000_123_456, "a.warc.gz", 9
)
OTHER = replace(ORIGINAL, record_id="99992222-3333-4444-5555-666677778888", filename="b.warc.gz")


@pytest.fixture(params=["server", "cluster"])
def store(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def claims(store: Any) -> Iterator[Claims]:
    with Claims(store.url, claim_seconds=60, timeout_seconds=10) as writer:
        for name in ("news", "papers", "new-name"):
            drop_collection(writer.link, name)
        yield writer


def want(body: bytes, collection: str = "news", **further: Any) -> PayloadKey:
    return PayloadKey(collection, hashlib.sha256(body).digest(), len(body), **further)


def know(claims: Claims, *known: tuple[PayloadKey, Original]) -> None:
    claims.settle(Settlement(kept=known, tallies={(one.collection, "job"): {"new": 1} for one, _ in known}))


def test_all_of_one_collection_is_dropped_and_nothing_of_another(claims: Claims) -> None:
    know(claims, (want(b"a"), ORIGINAL), (want(b"b", filled=("x",)), OTHER), (want(b"a", "papers"), ORIGINAL))
    claims.claim([want(b"claimed")])

    assert drop_collection(claims.link, "news") == 5

    assert claims.claim([want(b"claimed"), want(b"a")]) == [ClaimVerdict.GRANTED] * 2
    assert claims.claim([want(b"a", "papers")]) == [ORIGINAL]
    assert (claims.tally("news", "job"), claims.tally("papers", "job")) == ({}, {"new": 1})


def test_all_of_one_collection_is_moved_and_moving_it_twice_does_no_harm(claims: Claims, store: Any) -> None:
    know(claims, (want(b"a"), ORIGINAL), (want(b"b", filled=("x",)), OTHER))

    assert move_collection(claims.link, "news", "new-name") == 4
    assert move_collection(claims.link, "news", "new-name") == 0

    with Claims(store.url, claim_seconds=60, timeout_seconds=10) as other:
        found = other.claim([want(b"a", "new-name"), want(b"b", "new-name", filled=("x",)), want(b"a")])
    assert found == [ORIGINAL, OTHER, ClaimVerdict.GRANTED]
    assert isinstance(found[0], Original)
    assert (found[0].filename, found[0].offset) == ("a.warc.gz", 9)
    assert claims.tally("new-name", "job") == {"new": 1}


def test_an_original_is_forgotten_only_where_it_is_still_the_one(claims: Claims) -> None:
    know(claims, (want(b"a"), ORIGINAL), (want(b"b"), OTHER), (want(b"a", "papers"), ORIGINAL))

    gone = [(want(b"a"), replace(ORIGINAL, filename="")), (want(b"b"), ORIGINAL), (want(b"a", "papers"), ORIGINAL)]
    assert forget(claims.link, gone) == 2

    assert claims.claim([want(b"a"), want(b"b"), want(b"a", "papers")]) == [
        ClaimVerdict.GRANTED,
        OTHER,
        ClaimVerdict.GRANTED,
    ]


def test_all_originals_of_removed_files_are_forgotten_in_every_bucket(claims: Claims) -> None:
    numbered = [(want(b"%d" % number, filled=("", "x")), ORIGINAL) for number in range(300)]
    know(claims, *numbered, (want(b"stays"), OTHER), (want(b"0", "papers"), ORIGINAL))

    assert forget_files(claims.link, "news", ["a.warc.gz", "never.warc.gz"]) == 600

    assert claims.claim([want(b"7"), want(b"7", filled=("x",)), want(b"stays")]) == [
        *(ClaimVerdict.GRANTED, ClaimVerdict.GRANTED, OTHER)
    ]
    assert claims.claim([want(b"0", "papers")]) == [ORIGINAL]
