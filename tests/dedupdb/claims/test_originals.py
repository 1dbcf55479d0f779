"""Originals told from the index are those that writers told Redis, bucket by bucket, and earliest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text
from support.archive.capture_rows import capture

from archive.capture import Capture, Original
from archive.settings import DedupSettings
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import open_engine
from dedupdb.claims.claims import PayloadKey
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.originals import Originals

ONE, TWO = "11" * 32, "22" * 32
EARLIER = Original("11112222-3333-4444-5555-666677778888", "http://example.org/ä", 1_700_000_000_123_456)
PLACES = count()


@pytest.fixture
def captures(tmp_path: Path) -> Iterator[Captures]:
    with Captures(f"sqlite:///{tmp_path / 'index.db'}") as index:
        yield index


def kept(url: str, date: str, **changed: Any) -> Capture:
    return capture(url, date, offset=next(PLACES), **{"sha256": ONE, **changed})


def as_original(kept: Capture) -> Original:
    return Original(kept.record_id, kept.url, kept.date)


def originals(captures: Captures, **settings: Any) -> Originals:
    return Originals(captures, DedupRules(DedupSettings(**settings)))


def want(*filled: str, sha256: str = ONE, length: int = 5, **further: Any) -> PayloadKey:
    return PayloadKey("news", bytes.fromhex(sha256), length, filled or ("",), **further)


def test_they_are_the_earliest_complete_success_of_each_payload(captures: Captures) -> None:
    first = kept("http://example.org/first", "20260105")
    short = kept("http://example.org/short", "20260105", payload_length=4)
    other = kept("http://example.org/other", "20260103", sha256=TWO, status=203)
    captures.add(
        [
            kept("http://example.org/later", "20260106"),
            kept("http://example.org/cut", "20260101", truncated="time"),
            kept("http://example.org/error", "20260101", status=404),
            kept("http://example.org/part", "20260101", status=206),
            kept("http://example.org/again", "20260101", kind="revisit", refers_to=EARLIER),
            kept("http://example.org/dom", "20260101", kind="resource"),
            kept("http://example.org/unknown", "20260101", sha256=None),
            kept("http://example.org/declined", "20260101", buckets=()),
            kept("http://example.org/elsewhere", "20260101", collection="sports"),
            *(first, short, other),
        ]
    )

    found = list(originals(captures).of("news"))

    assert found == [
        (want(length=4), as_original(short)),
        (want(), as_original(first)),
        (want(sha256=TWO), as_original(other)),
    ]


@pytest.mark.parametrize(
    "changed", [{"record_id": ""}, {"record_id": "x" * 255}, {"record_id": "a b"}, {"url": "http://example.org/\x85"}]
)
def test_a_record_that_no_revisit_can_name_is_none(captures: Captures, changed: dict[str, str]) -> None:
    captures.add([replace(kept("http://example.org/first", "20260105"), **changed)])
    later = kept("http://example.org/later", "20260106", record_id="urn:sha1:ABC")
    captures.add([later])
    assert [original for _, original in originals(captures).of("news")] == [as_original(later)]


def test_each_digest_algorithm_has_its_own(captures: Captures) -> None:
    digests = ["SHA1", f"sha256:{ONE}", "SHA1", f"sha256:{ONE}", "blake3:0"]
    found = [kept("http://example.org/", f"2026010{day}", digest=digest) for day, digest in enumerate(digests, 1)]
    captures.add(found)

    assert [original.record_id for _, original in originals(captures).of("news")] == [
        found[place].record_id for place in (0, 1, 4)
    ]
    asked = want(algorithm="sha256")
    assert originals(captures).find([asked]) == {asked: (asked, as_original(found[1]))}


def test_they_are_told_over_many_pages(captures: Captures) -> None:
    captures.add(capture(offset=number, sha256=f"{number % 700:064x}") for number in range(2100))

    assert [int(want.sha256.hex(), 16) for want, _ in originals(captures).of("news")] == list(range(700))


def test_each_bucket_has_its_own(captures: Captures) -> None:
    own = kept("http://example.org/own", "20260104")
    both = kept("http://example.org/both", "20260102", buckets=("a", "b"))
    late = kept("http://example.org/late", "20260103", buckets=("b", "c"))
    captures.add([own, both, late])

    assert list(originals(captures).of("news")) == [
        (want("a", "b"), as_original(both)),
        (want("c"), as_original(late)),
        (want(), as_original(own)),
    ]
    assert [kept for _, kept in originals(captures, only_with_bucket=True).of("news")] == [
        as_original(both),
        as_original(late),
    ]


def test_each_url_has_its_own_where_dedup_goes_by_url(captures: Captures) -> None:
    urls = ("http://example.org/a", "http://example.org/b", "https://example.org/a", "http://example.org/a")
    stored = [kept(url, f"202601{day:02}") for day, url in enumerate(urls, 1)]
    captures.add(stored)

    by_url = [found.url for _, found in originals(captures, match="url").of("news")]
    by_key = [found.url for _, found in originals(captures, match="equivalent").of("news")]

    assert by_url == [*urls[:3]]
    assert by_key == [*urls[:2]]


def test_a_batch_of_payloads_is_found_with_the_buckets_they_fill(captures: Captures) -> None:
    stored = [
        kept("http://example.org/own", "20260104"),
        kept("http://example.org/seeds", "20260102", buckets=("seeds",)),
        kept("http://example.org/later", "20260105"),
        kept("http://example.org/error", "20260101", sha256=TWO, status=500),
    ]
    captures.add(stored)
    asked = [want(), want("job"), want("job", searched=("seeds",)), want(sha256=TWO), want(length=6)]

    found = originals(captures).find(asked)

    assert found == {
        asked[0]: (want(), as_original(stored[0])),
        asked[2]: (want("seeds"), as_original(stored[1])),
    }


def test_a_thousand_payloads_are_found_at_once(captures: Captures) -> None:
    captures.add(capture(offset=number, sha256=f"{number:064x}") for number in range(0, 1000, 2))
    asked = [want(sha256=f"{number:064x}") for number in range(1000)]

    assert set(originals(captures).find(asked)) == set(asked[::2])


def test_buckets_are_in_the_index_as_they_were(captures: Captures) -> None:
    stored = [kept("http://example.org/", "20260104", buckets=buckets) for buckets in (("",), (), ("ä b", 'c",'))]
    captures.add(stored)

    assert [captures.by_record("news", each.record_id) for each in stored] == stored


def test_a_row_leads_from_hash_url_and_record_to_type_file_and_offset(captures: Captures) -> None:
    """Row J15: the dedup record's key and value."""
    stored = replace(kept("http://example.org/", "20260104"), record_id="11112222-3333-4444-5555-666677778888")
    captures.add([stored])
    engine = open_engine(str(captures._engine.url))
    columns = {column["name"] for column in inspect(engine).get_columns("captures")}
    indexed = {tuple(index["column_names"]) for index in inspect(engine).get_indexes("captures")}

    with engine.connect() as connection:
        row = connection.execute(
            text(
                "SELECT kind, filename, offset FROM captures WHERE sha256 = :sha256 AND key = :key AND record_id = :id"
            ),
            {"sha256": bytes.fromhex(ONE), "key": stored.key, "id": stored.record_id},
        ).one()
    engine.dispose()

    assert tuple(row) == ("response", stored.filename, stored.offset)
    assert {"sha256", "key", "record_id", "kind", "filename", "offset", "length"} <= columns
    assert ("collection", "sha256", "payload_length", "date") in indexed
    assert ("collection", "record_id") in indexed


def test_an_index_of_an_older_release_gets_the_column_and_keeps_its_rows(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'old.db'}"
    stored = kept("http://example.org/", "20260104")
    with Captures(url) as index:
        index.add([stored])
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE captures DROP COLUMN buckets"))
    engine.dispose()

    with Captures(url) as index:
        index.add([kept("http://example.org/b", "20260105", buckets=("b",))])
        assert index.by_record("news", stored.record_id) == stored
        assert index.count("news") == 2
