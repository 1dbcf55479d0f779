"""Patterns find what `re` finds, and one that blows up is passed over, counted and told."""

from __future__ import annotations

import logging
import re

import pytest
from support.stores.real_frontier import Bench

from frontier.definition.job import Job, Profile
from frontier.definition.rules.url_patterns import MOST_TIMEOUTS, UrlPattern, UrlPatterns, is_simple, without_edges
from frontier.definition.scope import Accepted, Candidate, Rejected, Scope
from frontier.links.rejections import SHOWN_URL, SLOW_PATTERN

URLS = (
    "http://www.example.org/",
    "http://www.example.org/calendar/2026-11/",
    "http://www.example.org/kalender/x/1999/12",
    "http://example.org/a.jpg?w=300&PHPSESSID=1",
    "https://example.com/a/b.ics",
    "http://example.org/xxxxxxxxxxxx",
)
PATTERNS = (
    *(r".*/calendar/.*", r".*[?&]PHPSESSID=.*", r"^https?://(www\.)?example\.com/a/", r".*(jpg|png)\?.*w=\d+.*"),
    *(r"\.ics$", r"a\.*", r".*?x", r".*", r"(?i)CALENDAR", r"^.*ics$", r"calendar|.*\.ics", r"\\.*", r"(x+)+$"),
    *(r"/(calendar|kalender)/.*\d{4}[-/]\d{2}", r"(\w)\1", r"(?<!www\.)example", r"(?=.*jpg)http", r"x{2,}", r"[.*]$"),
)
BLOWS_UP = "(x+x+)+y"
LONG = "http://example.org/" + "x" * 3_000


@pytest.mark.parametrize("text", PATTERNS)
def test_a_pattern_is_found_where_re_finds_it(text: str) -> None:
    assert [UrlPattern(text).found_in(url) for url in URLS] == [re.search(text, url) is not None for url in URLS]


def test_only_patterns_without_nested_repeats_are_searched_without_a_time_limit() -> None:
    simple = [text for text in PATTERNS if is_simple(without_edges(text))]
    assert ".*/calendar/.*" in simple
    assert r"/(calendar|kalender)/.*\d{4}[-/]\d{2}" in simple
    hard = (BLOWS_UP, r"(a*)*", r".*a.*b.*c", r"(a|a)*", r"(\w)\1", r"(?=.*jpg)http", r"a{1,99}b{1,99}", r"(a{9}){9}")
    assert [text for text in hard if is_simple(text)] == []


def test_a_pattern_that_takes_too_long_is_passed_over_counted_and_switched_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    patterns = UrlPatterns([BLOWS_UP, "/x"])
    with caplog.at_level(logging.WARNING):
        assert [patterns.first_found(LONG) for _ in range(MOST_TIMEOUTS + 2)] == ["/x"] * (MOST_TIMEOUTS + 2)
    assert patterns.take_timeouts() == {BLOWS_UP: MOST_TIMEOUTS + 2}
    assert patterns.take_timeouts() == {}
    assert [pattern.is_off for pattern in patterns] == [True, False]
    assert len(caplog.records) == 2, "the first URL, and that the pattern is switched off"
    assert BLOWS_UP in caplog.text
    assert patterns.first_found("http://example.org/y") is None


def test_neither_exclusion_nor_inclusion_by_a_slow_pattern_holds_up_the_scope() -> None:
    profile = Profile.model_validate({"scope": "host", "exclude": [BLOWS_UP], "include": [BLOWS_UP]})
    scope = Scope(Job.of("j", "c", ["http://example.org/"], profile))
    assert isinstance(scope.decide(Candidate(LONG, "L", depth=1)), Accepted), "it excludes nothing"
    elsewhere = LONG.replace("example.org", "example.net")
    assert isinstance(scope.decide(Candidate(elsewhere, "L", depth=1)), Rejected), "it includes nothing"
    assert scope.take_timeouts() == 3


def test_a_pattern_that_a_worker_switched_off_is_named_with_a_url_and_goes_with_the_job(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile.model_validate({"scope": "host", "exclude": [BLOWS_UP, "/y"]}))
    for number in range(MOST_TIMEOUTS):
        assert frontier.reports.switched_off_patterns() == {}
        frontier.add([Candidate(f"{LONG}{number}", "L", depth=1)])
    assert frontier.reports.switched_off_patterns() == {BLOWS_UP: f"{LONG}{MOST_TIMEOUTS - 1}"[:SHOWN_URL]}
    frontier.forget()
    assert frontier.reports.switched_off_patterns() == {}


def test_the_report_of_a_job_counts_patterns_that_were_passed_over(bench: Bench) -> None:
    profile = Profile.model_validate({"scope": "host", "exclude": [BLOWS_UP]})
    frontier = bench.frontier(profile=profile)
    frontier.add([Candidate(LONG, "L", depth=1)])
    progress = frontier.reports.progress()
    assert progress.rejected == {SLOW_PATTERN: 1}
    assert [link.reason for link in frontier.reports.rejected()] == []


def test_a_job_of_a_hundred_thousand_patterns_is_stored_and_decides() -> None:
    profile = Profile(scope="any", exclude=tuple(rf"/trap{number}/\d+$" for number in range(100_000)))
    scope = Scope(Job.model_validate_json(Job.of("j", "c", ["http://example.org/"], profile).model_dump_json()))
    links = [Candidate(f"http://example.org/trap{number}/1", "L", depth=1) for number in (7, 99_999, 100_000)]
    found = [scope.decide(link) for link in links]
    assert [decision.reason for decision in found if isinstance(decision, Rejected)] == ["excluded", "excluded"]
    assert isinstance(found[2], Accepted)


def test_long_lists_that_are_alike_have_one_index_for_as_long_as_one_is_in_use() -> None:
    texts = [f"/trap{number}/" for number in range(1_000)]
    first, again = UrlPatterns(texts), UrlPatterns(list(texts))
    assert first._many is not None
    assert again._many is not None
    assert first._many._index is again._many._index
    assert again.first_found("http://example.org/trap999/") == "/trap999/"
