"""What the store knows and costs is counted in Redis itself."""

from __future__ import annotations

import hashlib

from archive.capture import Original
from dedupdb.claims.claims import Claims, PayloadKey
from dedupdb.claims.usage import measure

ORIGINAL = Original("11112222-3333-4444-5555-666677778888", "http://example.org/a/page.html", 1_700_000_000_123_456)


def known(claims: Claims, collection: str, count: int, **further: object) -> None:
    wants = [PayloadKey(collection, hashlib.sha256(b"%d" % n).digest(), 5, **further) for n in range(count)]  # type: ignore[arg-type]
    claims.restore((want, ORIGINAL) for want in wants)


def test_each_bucket_and_algorithm_is_counted_apart(claims: Claims) -> None:
    known(claims, "news", 3000)
    known(claims, "news", 20, filled=("a:b", "c"))
    known(claims, "news", 10, algorithm="sha256")
    known(claims, "new", 1)
    claims.claim([PayloadKey("news", bytes(32), 9)])

    buckets = measure(claims.link, ("news", "none"))

    counted = {(bucket.bucket, bucket.algorithm): bucket.originals for bucket in buckets}
    assert counted == {("", "sha1"): 3000, ("", "sha256"): 10, ("a:b", "sha1"): 20, ("c", "sha1"): 20}
    assert all(bucket.collection == "news" and 50 < bucket.bytes_each < 400 for bucket in buckets)


def test_a_name_is_no_pattern(claims: Claims) -> None:
    known(claims, "news", 5)

    assert measure(claims.link, ("n*", "new[s]")) == []
