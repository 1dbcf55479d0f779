"""What a batch adds to the counters of jobs and buckets."""

from __future__ import annotations

from dataclasses import replace

from support.archive.capture_rows import capture
from support.archive.exchanges import exchange

from archive.capture import Body, Context, Original
from dedupdb.fleet.quotas import tally_name
from proxy.recording.plan import DerivedRecord, Plan
from proxy.recording.tallies import tallies_of


def plan(*stats: str, original: Original | None = None, archived: bool = True, failure: str = "") -> Plan:
    """An exchange that counts in these buckets."""
    plain = exchange()
    item = replace(plain, context=replace(plain.context, stats=stats, archived=archived))
    return Plan(item, original=original, capture=capture() if archived else None, failure=failure)


def test_named_buckets_and_those_of_everything() -> None:
    response = exchange().response
    assert response is not None
    size = response.length
    seen = Original("id", "http://a.test/", 1)

    found = tallies_of([plan("a", "b"), plan("a", original=seen), plan(), plan(archived=False), plan(failure="disk")])

    buckets = {name: found["news", tally_name(name)] for name in ("a", "b", "__all__", "__unspecified__")}
    assert buckets["a"] == {
        **{"total/urls": 2, "total/wire_bytes": 2 * size, "new/urls": 1, "new/wire_bytes": size},
        **{"revisit/urls": 1, "revisit/wire_bytes": size},
    }
    only = {"total/urls": 1, "total/wire_bytes": size, "new/urls": 1, "new/wire_bytes": size}
    assert buckets["b"] == only
    assert buckets["__all__"]["total/urls"] == 4
    assert buckets["__unspecified__"] == {name: 2 * count for name, count in only.items()}
    assert found["news", "daily"]["unkept_urls"] == 1
    assert found["news", "daily"]["failed_urls"] == 1


def test_what_waits_is_counted_later() -> None:
    waiting = plan("a")
    waiting.later = True

    assert tallies_of([waiting]) == {}


def test_a_record_that_a_client_handed_in_and_that_is_lost_is_counted_as_an_exchange_that_is_lost() -> None:
    """A client asks again until its record is kept, and its limits count what is new."""
    shot = DerivedRecord(
        Context("news", job="daily", stats=("a",)), "resource", "urn:view:1", "image/png", Body((b"png",), None, 3), 1
    )

    assert Plan(shot, capture=capture()).tally()["derived"] == 1
    assert Plan(shot, failure="disk").tally() == plan(failure="disk").tally() == {"failed_urls": 1, "code:-5": 1}
    assert tally_name("a") not in {name for _, name in tallies_of([Plan(shot, failure="disk")])}


def test_a_record_of_our_own_that_is_lost_counts_no_url() -> None:
    note = DerivedRecord(Context("news"), "resource", "dns:a.test", "text/dns", Body((b"a",), None, 1), 1, is_ours=True)
    assert not any(Plan(note, failure="disk").tally().values())
