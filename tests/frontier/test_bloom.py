"""The seen test by a Bloom filter, on a real Redis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import batched
from pathlib import Path
from typing import Final

import pytest
from support.stores.real_frontier import PATIENT, Bench

from archive.settings import LogSettings
from frontier.definition.job import JobError, Profile, Seed, SeenRules
from frontier.definition.scope import Candidate, Rejected, ScopeDecision
from frontier.lease import Lease
from frontier.links.log import FILE_NAME, LinkLog
from frontier.outside_queues import OutsideUrlState
from frontier.politeness import VisitOutcome
from frontier.queues.desk import RestoredUrl, SeenBlock
from frontier.queues.lines import block_line, read_line
from frontier.seen import BLOCK_BYTES, BloomFilter, bloom_filter, fingerprint
from frontier.shards import drop_job, reports_of

RULES: Final = SeenRules(method="bloom", expected_urls=40_000, false_positives=0.01)
PROFILE: Final = Profile(scope="any", seen=RULES)
SMALL: Final = Profile(scope="any", seen=SeenRules(method="bloom", expected_urls=10_000, false_positives=1e-6))
NEW: Final = "http://example.org/new"

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]


def reasons(decisions: Sequence[ScopeDecision]) -> list[str]:
    """The reason of each rejection; empty for a URL that was queued."""
    return [decision.reason if isinstance(decision, Rejected) else "" for decision in decisions]


def is_by_chance(number: int, expected: float) -> bool:
    """Return whether so many of many rare events lie within three standard deviations of the expected number."""
    return abs(number - expected) <= 3 * math.sqrt(expected)


def overfill(bench: Bench, rules: SeenRules) -> None:
    """Set every bit of the filter, so that it takes each URL for a seen one."""
    found = bloom_filter(rules)
    assert found is not None
    for block in range(found.blocks):
        bench.client.set(bench.key(f"bloom:{block}"), b"\xff" * BLOCK_BYTES)


def test_the_false_positive_rate_is_the_one_of_the_profile(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=PROFILE)
    found = bloom_filter(RULES)
    assert found is not None
    marks = (blake2b(b"%d" % number, digest_size=8).digest() for number in range(40_000))
    filled = frontier.desk.add_seen(str(int.from_bytes(mark, signed=True)) for mark in marks)
    assert is_by_chance(40_000 - filled, found.dropped(40_000))
    bloom = frontier.reports.progress().bloom
    assert bloom is not None
    assert bloom.urls == pytest.approx(40_000, rel=0.01)
    assert 0.008 < bloom.false_positives < 0.0105
    urls = [f"http://host{number % 50}.test/page-{number}" for number in range(3_000)]
    dropped = sum(reasons(frontier.add(links(*chunk))).count("perhaps-seen") for chunk in batched(urls, 1_000))
    assert is_by_chance(dropped, found.dropped(43_000) - found.dropped(40_000))
    assert frontier.reports.progress().rejected == {"perhaps-seen": dropped}
    blocks = [bench.client.memory_usage(bench.key(f"bloom:{block}"), samples=0) for block in range(found.blocks)]
    assert 1.2 <= sum(blocks) / 40_000 <= 1.3


@pytest.mark.parametrize(("share", "bits"), [(0.01, 9.7), (0.001, 14.7), (1e-9, 51.1)])
def test_a_filter_is_as_large_as_its_rate_needs(share: float, bits: float) -> None:
    found = BloomFilter.of(10_000_000, share)
    assert found.blocks * BLOCK_BYTES * 8 / 10_000_000 == pytest.approx(bits, rel=0.02)
    assert found.rate(10_000_000) == pytest.approx(share, rel=0.02)
    assert found.dropped(10_000_000) < 10_000_000 * share / 4
    assert found.urls(0.5) == pytest.approx(found.blocks * BLOCK_BYTES * 8 * math.log(2) / found.hashes, rel=0.001)
    assert found.urls(1) > found.urls(0.999)


def test_a_hit_is_certain_while_the_queue_or_an_ending_has_the_url(bench: Bench, links: Links, leased: Claim) -> None:
    frontier = bench.frontier("http://example.org/", profile=SMALL)
    page = links("http://example.org/a", "http://example.org/b", "http://example.org/")
    assert reasons(frontier.add(page)) == ["", "", "seen"]
    assert reasons(bench.again(frontier).add(page)) == ["seen"] * 3
    for code in (200, 200, -5):
        frontier.finish(leased(frontier), VisitOutcome(code))
    frontier.desk.end(["http://example.org/b"], "excluded", -5000)
    answers = reasons(bench.again(frontier).add(page))
    assert (answers.count("perhaps-seen"), answers[2]) == (1, "seen")
    assert frontier.reports.progress().rejected["perhaps-seen"] == 1


def test_a_link_that_the_filter_drops_is_in_the_log_with_its_reason(bench: Bench, links: Links, tmp_path: Path) -> None:
    frontier = bench.frontier(profile=SMALL)
    overfill(bench, SMALL.seen)
    frontier.link_log = LinkLog(tmp_path, LogSettings())
    for _ in range(2):  # the worker remembers the link, and says the second time that it was seen
        frontier.add(links(NEW))
    lines = (tmp_path / FILE_NAME).read_text().splitlines()
    assert len(lines) == 1
    assert '"reason":"perhaps-seen","rule":"seen.method bloom"' in lines[0]
    assert frontier.reports.progress().rejected == {"perhaps-seen": 1, "seen": 1}


def test_no_seed_and_no_url_that_somebody_asks_for_is_dropped_by_a_full_filter(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=SMALL, opened=False)
    overfill(bench, SMALL.seen)
    frontier.open_job()
    seed = Candidate("http://example.org/", source="http://example.org/", is_seed=True)
    assert frontier.reports.progress().queued == 1
    assert reasons(frontier.add([seed])) == ["seen"]
    target = Candidate("https://example.org/", "R", source="http://example.org/", is_seed=True)
    assert reasons(frontier.add([target])) == [""]
    assert reasons(bench.again(frontier).add([target])) == ["seen"]
    assert reasons(frontier.add_seeds([Seed(url=NEW), Seed(url=NEW)])) == ["", "seen"]
    assert reasons(frontier.add_urls([Candidate("http://example.org/a")])) == ["perhaps-seen"]
    assert reasons(frontier.add_urls([Candidate("http://example.org/a", force=True)])) == [""]
    assert [answer for _, answer in frontier.visit_now(["http://example.org/now"])] == [1]
    assert frontier.desk.forget_seen("mark", ["http://example.org/again"]) == 1
    assert reasons(frontier.add(links("http://example.org/again", "http://example.org/again"))) == ["", "seen"]
    assert frontier.reports.progress().queued == 6


def test_a_url_that_is_due_again_is_visited_though_the_filter_is_full(bench: Bench, leased: Claim) -> None:
    revisit = {"mode": "fixed"}
    profile = Profile.model_validate({**SMALL.model_dump(), "revisit": revisit})
    frontier = bench.frontier(profile=profile)
    overfill(bench, SMALL.seen)
    frontier.finish(leased(frontier), VisitOutcome(200))
    for id in bench.client.zrange(bench.key("due"), 0, -1):
        bench.client.zadd(bench.key("due"), {id: 1})
    assert leased(frontier).url == "http://example.org/"


def test_a_page_is_rendered_though_the_filter_is_full(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(profile=SMALL)
    overfill(bench, SMALL.seen)
    page = leased(frontier)
    assert frontier.renders.add(page, [page.candidate("http://example.org/a.css", "E")])
    assert not frontier.renders.add(page, [])


def test_a_forgotten_url_is_new_once(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=SMALL)
    frontier.mark_seen([NEW])
    assert frontier.outside.state(NEW) is OutsideUrlState.SEEN
    assert frontier.desk.forget_seen("first", [NEW, "http://example.org/unknown"]) == 1
    assert frontier.outside.state(NEW) is OutsideUrlState.UNKNOWN
    assert reasons(frontier.add(links(NEW))) == [""]
    assert frontier.desk.forget_seen("second", [NEW]) == 0
    frontier.desk.delete([NEW])
    assert reasons(bench.again(frontier).add(links(NEW))) == ["seen"]


def test_urls_are_restored_once(bench: Bench) -> None:
    frontier = bench.frontier(profile=SMALL)
    urls = [RestoredUrl(Candidate("http://example.org/a")), RestoredUrl(Candidate("http://example.org/b"), "done", 200)]
    assert frontier.desk.restore(urls) == [True, True]
    assert frontier.desk.restore(urls) == [False, False]
    progress = frontier.reports.progress()
    assert (progress.queued, progress.done) == (2, 1)


def test_the_filter_is_exported_and_added_to_that_of_another_job(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=SMALL)
    frontier.mark_seen([NEW])
    lines = [read_line(block_line(block)) for block in frontier.desk.seen_blocks()]
    assert 0 < len(lines) <= 2  # those of the seed and of the URL; an empty block has no line
    other = bench.frontier(name="other", profile=SMALL)
    other.mark_seen(["http://example.org/own"])
    for line in lines:
        assert isinstance(line, SeenBlock)
        other.desk.add_seen_block(line)
    assert reasons(other.add(links(NEW, "http://example.org/own"))) == ["perhaps-seen"] * 2
    assert other.desk.add_seen([fingerprint(NEW).id, fingerprint("http://example.org/x").id]) == 1
    assert isinstance(lines[0], SeenBlock)
    for profile in (Profile(scope="any"), PROFILE):
        with pytest.raises(JobError, match=r"seen\.method = '(exact|bloom)'"):
            bench.frontier(name=f"third-{profile.seen.method}", profile=profile).desk.add_seen_block(lines[0])


@pytest.mark.parametrize(
    "line",
    [
        b'{"block": 0, "blocks": 1, "hashes": 3, "bits": "/w=="}', b'{"block": 0, "blocks": 1, "bits": "\\u00e9"}',
        b'{"block": -1, "blocks": 1, "hashes": 3, "bits": ""}', b'{"block": 1}', b'{"block": 0, "blocks": "x"}',
        b'{"block": 5, "blocks": 5, "hashes": 3, "bits": "' + b"A" * 10_880 + b'"}',
    ],
)  # fmt: skip
def test_a_block_that_is_none_is_refused_in_one_line(line: bytes) -> None:
    with pytest.raises(JobError) as raised:
        read_line(line)
    assert "\n" not in str(raised.value)


def test_a_job_keeps_its_seen_test(bench: Bench) -> None:
    frontier = bench.frontier(profile=SMALL)
    changed = Profile(scope="any", seen=SMALL.seen.model_copy(update={"expected_urls": 20_000}))
    with pytest.raises(JobError, match=r"'seen' can't be edited while a job runs"):
        frontier.edit({"seen": {"method": "exact"}})
    with pytest.raises(JobError, match=r"unfinished and has profile seen\.expected_urls = 10000, not 20000"):
        bench.frontier(profile=changed)
    with pytest.raises(JobError, match=r"unfinished and has profile seen\.method = 'bloom', not 'exact'"):
        bench.frontier()


def test_nothing_is_left_of_the_filter_of_a_finished_job(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(profile=SMALL)
    frontier.mark_seen(f"http://example.org/{number}" for number in range(100))
    assert list(bench.client.scan_iter(bench.key("bloom:*")))
    frontier.finish(leased(frontier), VisitOutcome(200))
    exact = bench.frontier("http://other.example/")
    assert not list(bench.client.scan_iter(bench.key("bloom:*")))
    assert exact.reports.progress().bloom is None
    exact.forget()
    assert not list(bench.client.scan_iter("gf:{main}:spring*"))


def test_a_filter_with_too_many_urls_says_so(bench: Bench) -> None:
    frontier = bench.frontier(profile=SMALL)
    bloom = frontier.reports.progress().bloom
    assert bloom is not None
    assert not bloom.is_overfull
    overfill(bench, SMALL.seen)
    bloom = frontier.reports.progress().bloom
    assert bloom is not None
    assert bloom.is_overfull
    assert bloom.false_positives == pytest.approx(1, rel=0.01)
    assert "of 10,000 expected URLs" in bloom.text


def test_a_job_that_is_known_by_its_name_alone_has_its_filter(bench: Bench, links: Links) -> None:
    frontier = bench.frontier(profile=PROFILE)
    frontier.add(links(NEW))
    with reports_of(bench.url, "spring", PATIENT, timeout_seconds=5) as reports:
        assert reports.progress().bloom == frontier.reports.progress().bloom is not None
    drop_job(bench.url, "spring", PATIENT, timeout_seconds=5)
    assert not list(bench.client.scan_iter("gf:{main}:spring*"))
