"""What the lines of a crawl.log come to for each domain of a job, and why each domain stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from admin.harvester.running.domain_tally import (
    DomainCount,
    DomainLimits,
    DomainTally,
    ReachedLimit,
    domain_results,
    hosts_to_set_aside,
    limits_of,
)
from admin.harvests.dispatch.queue import ClaimedDomain, ClaimedJob
from admin.jobs.results.ending import SeedEnd
from admin.jobs.states import SeedState
from admin.models.job_tables import StopReason
from archive import crawl_log
from archive.crawl_log import LogLine

SEED = "http://www.example.org/"
HERITRIX = (
    "2026-11-21T08:15:00.000Z   200       1000 http://www.example.org/a LL http://www.example.org/ text/html #012"
    " 20261121081459000+100 sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ http://www.example.org/"
    ' content-size:1300,deduplicate:"1-1-20261101.warc.gz,77" -'
)


def line(url: str, size: int = 100, *, code: int = 200, source: str = SEED, notes: Sequence[str] = ()) -> LogLine:
    extra = {"contentSize": size} if code > 0 else {}
    return LogLine(time=1, code=code, size=size, url=url, source=source, annotations=tuple(notes), extra=extra)


def tally(*lines: LogLine, disregard_seed_url: bool = False, **limits: DomainLimits) -> DomainTally:
    named = {name.replace("_", "."): each for name, each in limits.items()} or {"example.org": DomainLimits()}
    found = DomainTally(named, disregard_seed_url)
    for each in lines:
        found.add(each)
    return found


def reason(
    *lines: LogLine,
    limits: DomainLimits,
    default: StopReason = StopReason.COMPLETE,
    left: dict[str, int] | None = None,
) -> StopReason:
    (result,) = domain_results(tally(*lines, example_org=limits), default, left)
    return result.stop_reason


def test_objects_and_bytes_agree_with_the_log_to_the_byte() -> None:
    found = tally(
        line(SEED, 1000),
        line("http://www.example.org/image.png", 2345),
        line("http://www.example.org/missing", 17, code=404),
        line("http://www.example.org/robots.txt", 5, code=crawl_log.ROBOTS),
        line("http://www.example.org/lost", 0, code=crawl_log.TIMEOUT),
        replace(line(SEED, 999), extra={crawl_log.ANNOTATES: True}),
    )
    (result,) = domain_results(found, StopReason.COMPLETE, {})
    assert (result.objects, result.bytes, result.new_bytes) == (3, 3362, 3362)
    assert (found.total.objects, found.total.bytes) == (3, 3362)


def test_what_was_known_before_counts_as_bytes_and_not_as_new_bytes() -> None:
    found = tally(
        line(SEED, 1000),
        line(f"{SEED}a", 500, notes=[crawl_log.REVISIT, "content-size:500"]),
        line(f"{SEED}b", 30, code=304),
    )
    (result,) = domain_results(found, StopReason.COMPLETE, {})
    assert (result.objects, result.bytes, result.new_bytes) == (3, 1530, 1000)


def test_an_embed_from_another_site_counts_for_the_domain_of_its_seed() -> None:
    cdn = line("http://cdn.example.net/image.png", 700)
    found = tally(line(SEED, 100), cdn, example_org=DomainLimits(), example_net=DomainLimits())
    assert {
        each.domain_name: (each.objects, each.bytes) for each in domain_results(found, StopReason.COMPLETE, {})
    } == {
        "example.org": (2, 800),
        "example.net": (0, 0),
    }
    by_url = tally(cdn, disregard_seed_url=True, example_org=DomainLimits(), example_net=DomainLimits())
    assert by_url.counts["example.net"].bytes == 700


def test_without_a_known_seed_the_objects_own_domain_counts() -> None:
    assert tally(line("http://other.example.org/", 10, source="")).counts["example.org"].objects == 1


def test_only_domains_of_the_job_are_counted_and_the_total_has_everything() -> None:
    found = tally(line(SEED, 100), line("http://added.example/", 50, source="http://added.example/"))
    assert [each.domain_name for each in domain_results(found, StopReason.COMPLETE, {})] == ["example.org"]
    assert (found.total.objects, found.total.bytes) == (2, 150)


def test_a_domain_takes_in_its_hosts_with_any_port_and_no_look_alikes() -> None:
    found = tally()
    assert found.domain_of_host("a.b.example.org:8080") == "example.org"
    assert found.domain_of_host("example.org") == "example.org"
    assert found.domain_of_host("notexample.org") is None
    assert found.domain_of_host("example.org.evil.test") is None
    assert found.domain_of_host("") is None


def test_the_longest_domain_of_the_job_wins() -> None:
    found = tally(example_org=DomainLimits(), shop_example_org=DomainLimits())
    assert found.domain_of_host("www.shop.example.org") == "shop.example.org"
    assert found.domain_of_host("www.example.org") == "example.org"


@pytest.mark.parametrize("name", ["bücher.example", "xn--bcher-kva.example", "BÜCHER.example"])
def test_an_international_name_is_one_domain_in_both_spellings_and_keeps_the_jobs(name: str) -> None:
    found = DomainTally({name: DomainLimits()})
    seed = "http://www.xn--bcher-kva.example/"
    found.add(line(seed, 10, source=seed))
    (result,) = domain_results(found, StopReason.COMPLETE, {})
    assert (result.domain_name, result.objects) == (name, 1)


def test_addresses_and_odd_hosts_are_domains_of_their_own() -> None:
    found = DomainTally({"127.0.0.1": DomainLimits(), "[::1]": DomainLimits()})
    assert found.domain_of_host("127.0.0.1:8000") == "127.0.0.1"
    assert found.domain_of_host("[::1]:8000") == "[::1]"
    assert found.domain_of_host("\x00" * 300) is None


def test_lines_of_heritrix_are_counted_by_their_content_size() -> None:
    found = tally(crawl_log.parse(HERITRIX.removesuffix(" -")))
    assert found.counts["example.org"].bytes == 1300


HARVEST = DomainLimits(max_bytes=250, max_objects=3, harvest_max_bytes=250, harvest_max_objects=3)
THREE = [line(f"{SEED}{number}", 100) for number in range(3)]


@pytest.mark.parametrize(
    ("expected", "lines", "limits", "default"),
    [
        (StopReason.COMPLETE, THREE, DomainLimits(), StopReason.COMPLETE),
        (StopReason.OBJECT_LIMIT, THREE, DomainLimits(max_objects=3, harvest_max_objects=3), StopReason.COMPLETE),
        (StopReason.SIZE_LIMIT, THREE, DomainLimits(max_bytes=250, harvest_max_bytes=250), StopReason.COMPLETE),
        (StopReason.CONFIGURATION_OBJECT_LIMIT, THREE, DomainLimits(max_objects=3), StopReason.COMPLETE),
        (
            StopReason.CONFIGURATION_SIZE_LIMIT,
            THREE,
            DomainLimits(max_bytes=250, harvest_max_bytes=9000),
            StopReason.COMPLETE,
        ),
        (StopReason.TIME_LIMIT, THREE, DomainLimits(max_objects=4), StopReason.TIME_LIMIT),
        (StopReason.UNFINISHED, THREE, DomainLimits(max_bytes=301), StopReason.UNFINISHED),
    ],
    ids=lambda value: value if isinstance(value, StopReason) else "",
)
def test_each_of_the_seven_stop_reasons(
    expected: StopReason, lines: list[LogLine], limits: DomainLimits, default: StopReason
) -> None:
    assert reason(*lines, limits=limits, default=default) is expected


def test_a_limit_that_was_reached_says_more_than_the_end_of_the_job() -> None:
    assert reason(*THREE, limits=HARVEST, default=StopReason.UNFINISHED) is StopReason.SIZE_LIMIT


@pytest.mark.parametrize(("size", "expected"), [(100, ReachedLimit.BYTES), (50, ReachedLimit.OBJECTS)])
def test_of_two_limits_the_one_that_was_reached_first_counts(size: int, expected: ReachedLimit) -> None:
    lines = [line(f"{SEED}{number}", size) for number in range(6)]
    found = tally(*lines, example_org=replace(HARVEST, max_bytes=200))
    assert found.counts["example.org"].reached is expected


@pytest.mark.parametrize(("objects", "reached"), [(2, False), (3, True)])
def test_a_limit_is_reached_with_its_last_object(objects: int, reached: bool) -> None:
    found = tally(*THREE[:objects], example_org=DomainLimits(max_objects=3))
    assert (found.at_limit == {"example.org"}) is reached


def test_a_domain_is_watched_close_to_its_limit_only() -> None:
    limits = DomainLimits(1_000_000_000, 10_000, -1, -1)
    count = DomainCount()
    assert not count.is_close(limits)
    for _ in range(4_000):
        count.add(10, novel=True)
    assert count.is_close(limits)  # 6,000 are left, and the last look was 4,000 objects ago
    count.note_look()
    assert not count.is_close(limits)
    assert DomainCount().is_close(DomainLimits(100_000, 10, -1, -1))
    assert not DomainCount().is_close(DomainLimits(-1, -1, -1, -1))


def test_a_domain_without_a_budget_is_at_its_limit_from_the_start() -> None:
    found = tally(example_org=DomainLimits(max_bytes=0))
    assert hosts_to_set_aside(found, ["www.example.org"]) == {"www.example.org": "example.org"}
    assert reason(limits=DomainLimits(max_bytes=0)) is StopReason.CONFIGURATION_SIZE_LIMIT


def test_a_domain_that_reached_its_limit_with_its_last_url_is_complete() -> None:
    limits = DomainLimits(max_objects=3)
    assert reason(*THREE, limits=limits, left={}) is StopReason.COMPLETE
    assert reason(*THREE, limits=limits, left={"www.example.org": 1}) is StopReason.CONFIGURATION_OBJECT_LIMIT
    assert (
        reason(*THREE, limits=limits, default=StopReason.UNFINISHED, left={}) is StopReason.CONFIGURATION_OBJECT_LIMIT
    )


def test_a_domain_without_a_good_answer_is_never_complete() -> None:
    def found(*seeds: SeedEnd, lines: Sequence[LogLine] = THREE, default: StopReason = StopReason.COMPLETE) -> str:
        (result,) = domain_results(tally(*lines, example_org=DomainLimits()), default, {"www.example.org": 2}, seeds)
        return result.stop_reason

    dead, good = SeedEnd(SEED, SeedState.HTTP_ERROR, 503), SeedEnd(f"{SEED}2", SeedState.ANSWERED, 200)
    waiting = SeedEnd(f"{SEED}3", SeedState.WAITING)
    assert found(dead) == "no-good-answer"
    assert found(dead, default=StopReason.TIME_LIMIT) == "no-good-answer"
    assert found(dead, good) == "unfinished"
    assert found(dead, waiting, default=StopReason.TIME_LIMIT) == "time-limit"
    assert found(SeedEnd("http://other.example/", SeedState.ANSWERED, 200), lines=()) == "no-good-answer"
    limits = DomainLimits(max_objects=3)
    (at_limit,) = domain_results(tally(*THREE, example_org=limits), StopReason.COMPLETE, {}, [dead])
    assert at_limit.stop_reason is StopReason.NO_GOOD_ANSWER, "nothing is left beyond the limit"


def test_a_finished_job_leaves_a_domain_unfinished_whose_host_was_given_up() -> None:
    assert reason(*THREE, limits=DomainLimits(), left={"www.example.org": 7}) is StopReason.UNFINISHED
    assert reason(*THREE, limits=DomainLimits(), left={"elsewhere.example": 7}) is StopReason.COMPLETE


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("Q:groupMaxAllKb", StopReason.CONFIGURATION_SIZE_LIMIT),
        ("Q:groupMaxFetchSuccesses", StopReason.CONFIGURATION_OBJECT_LIMIT),
        ("Q:something", StopReason.COMPLETE),
    ],
)
def test_heritrixs_own_notes_of_quotas_are_understood(note: str, expected: StopReason) -> None:
    refused = line(f"{SEED}late", code=crawl_log.QUOTA, notes=[note])
    assert reason(*THREE, refused, limits=DomainLimits()) is expected


def test_hosts_are_set_aside_for_their_domain_and_others_only_when_no_other_domain_leads_there() -> None:
    found = tally(
        line(SEED, 100),
        line("http://cdn.example.net/1", 100),
        line("http://shared.example.net/1", 100),
        line("http://shared.example.net/2", 100, source="http://example.com/"),
        example_org=DomainLimits(max_objects=2),
        example_com=DomainLimits(),
    )
    waiting = [
        "www.example.org",
        "new.example.org",
        "cdn.example.net",
        "shared.example.net",
        "www.example.com",
        "x.test",
    ]
    assert hosts_to_set_aside(found, waiting) == dict.fromkeys(
        ["www.example.org", "new.example.org", "cdn.example.net"], "example.org"
    )


def test_a_domain_goes_on_when_its_limit_is_raised_and_stops_when_it_is_lowered() -> None:
    planned = DomainLimits(max_objects=2, harvest_max_objects=2)
    found = tally(*[line(SEED)] * 3, example_org=planned)
    assert found.at_limit == {"example.org"}
    assert found.change_limits("example.org", {"objects": 4}).in_force() == {"bytes": -1, "objects": 4}
    assert found.at_limit == set()
    found.add(line(SEED))
    assert found.at_limit == {"example.org"}
    (result,) = domain_results(found, StopReason.UNFINISHED, None)
    assert result.stop_reason is StopReason.CONFIGURATION_OBJECT_LIMIT, "the limit is not the harvest's any more"
    found.change_limits("example.org", {"objects": -1})
    assert found.at_limit == set()
    found.change_limits("example.org", {"bytes": 400})
    assert found.at_limit == {"example.org"}
    with pytest.raises(KeyError):
        found.change_limits("example.net", {"bytes": 400})


def test_the_lower_limit_of_job_and_configuration_holds() -> None:
    def domain(name: str, size: int, objects: int) -> ClaimedDomain:
        return ClaimedDomain(name, "default", size, objects, 10)

    job = ClaimedJob(
        id=1, token="t", harvest_id=1, harvest_name="h", run_number=0, channel="c", collection="news",
        template_name="t", template_version=1, profile={}, seeds=(), max_bytes=1000, max_objects=-1, max_seconds=0,
        harvest_max_bytes=1000, harvest_max_objects=-1,
        domains=(domain("a.test", -1, 5), domain("b.test", 10, -1), domain("c.test", 2000, -1)), aliases={},
        duplicate_reduction_jobs=(), facts={}, created=0,
    )  # fmt: skip
    assert {name: (each.max_bytes, each.max_objects) for name, each in limits_of(job).items()} == {
        "a.test": (1000, 5),
        "b.test": (10, -1),
        "c.test": (1000, -1),
    }
    changes = {"a.test": {"objects": -1}, "c.test": {"bytes": 5000, "objects": 7}}
    assert {name: tuple(each.in_force().values()) for name, each in limits_of(job, changes).items()} == {
        "a.test": (1000, -1),
        "b.test": (10, -1),
        "c.test": (5000, 7),
    }


def test_a_tally_of_many_hosts_holds_one_owner_for_each() -> None:
    found = tally()
    for number in range(20_000):
        found.add(line(f"http://h{number % 100}.example.net/{number}", 1))
    assert len(found._owners) == 100
    assert found.total.objects == 20_000
