"""How a job ended: a table of what the frontier and the log say, and the final states that follow."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admin.jobs.crawling.watch import NOTHING_YET
from admin.jobs.progress.tally import JobTally
from admin.jobs.results.ending import FrontierFacts, decide_ending
from admin.jobs.states import EXIT_CODES, HostState, JobState, SeedState
from archive.crawl_log import LogLine
from frontier.definition.job import Limits
from frontier.lease import BloomProgress, RenderProgress
from frontier.reports import HostReport, RejectedSeed, SeedFacts, SeedReport

SEED = "http://example.org/"
OTHER = "http://other.example/"


def _tally(code: int, *lines: LogLine) -> JobTally:
    tally = JobTally()
    tally.add(LogLine(0, code, None, SEED))
    for line in lines:
        tally.add(line)
    return tally


def _facts(counts: dict[str, Any] | None = None, **facts: Any) -> FrontierFacts:
    return FrontierFacts(replace(NOTHING_YET, **(counts or {})), **{"seeds": [SeedFacts(SEED)], **facts})


def _host(name: str, queued: int, aside: str | None) -> HostReport:
    return HostReport(name, 1, 0, queued, aside)


@pytest.mark.parametrize(
    ("counts", "limits", "interrupted", "expected"),
    [
        ({"done": 5}, Limits(), False, (JobState.FINISHED, "")),
        ({"done": 5}, Limits(), True, (JobState.FINISHED, "")),
        ({"done": 9, "pages": 5}, Limits(pages=5), False, (JobState.FINISHED, "")),
        ({"done": 5, "queued": 2}, Limits(), True, (JobState.INTERRUPTED, "")),
        ({"done": 5, "pages": 5, "leased": 1}, Limits(pages=5), True, (JobState.INTERRUPTED, "")),
        ({"done": 9, "pages": 5, "queued": 2}, Limits(pages=5), False, (JobState.LIMIT, "5 pages")),
        ({"done": 5, "fetched_along": 4, "queued": 2}, Limits(urls=9), False, (JobState.LIMIT, "9 URLs")),
        ({"pages": 5, "queued": 2, "bytes": 900}, Limits(pages=9, bytes=800), False, (JobState.LIMIT, "800 bytes")),
        ({"done": 5, "queued": 2}, Limits(seconds=60), False, (JobState.LIMIT, "60 seconds")),
        ({"done": 5, "queued": 2, "stopped": "by J."}, Limits(pages=9), False, (JobState.STOPPED, "by J.")),
        ({"done": 5, "renders": RenderProgress(done=5)}, Limits(), False, (JobState.FINISHED, "")),
        ({"done": 5, "renders": RenderProgress(queued=2)}, Limits(), True, (JobState.INTERRUPTED, "")),
        (
            {"done": 5, "renders": RenderProgress(leased=1), "stopped": "by J."},
            Limits(),
            False,
            (JobState.STOPPED, "by J."),
        ),
        ({"done": 5, "renders": RenderProgress(failed=2)}, Limits(), False, (JobState.GAPS, "something is missing")),
        ({"done": 5, "failed": 2, "codes": {-4: 2}}, Limits(), False, (JobState.GAPS, "something is missing")),
    ],
)
def test_the_ending_depends_on_the_urls_that_are_left(
    counts: dict[str, Any], limits: Limits, interrupted: bool, expected: tuple[JobState, str]
) -> None:
    found = decide_ending(_facts(counts), limits, _tally(200), interrupted=interrupted)
    assert (found.state, found.reason) == expected
    assert bool(found.missing) == (found.state is not JobState.FINISHED)
    assert found.exit_code == EXIT_CODES[found.state]


@pytest.mark.parametrize(
    ("stopped", "limits", "interrupted", "expected"),
    [
        (None, Limits(), True, (JobState.INTERRUPTED, "")),
        ("by J.", Limits(), False, (JobState.STOPPED, "by J.")),
        (None, Limits(urls=5), False, (JobState.LIMIT, "5 URLs")),
    ],
)
def test_a_job_that_would_visit_its_urls_again_is_not_finished_and_misses_nothing(
    stopped: str | None, limits: Limits, interrupted: bool, expected: tuple[JobState, str]
) -> None:
    facts = _facts({"done": 5, "revisits": 4, "stopped": stopped})
    found = decide_ending(facts, limits, _tally(200), interrupted=interrupted)
    assert (found.state, found.reason, found.left, found.missing) == (*expected, 0, ())


def test_only_a_job_that_finished_has_exit_code_0_and_no_two_cases_share_a_code() -> None:
    assert [state for state, code in EXIT_CODES.items() if code == 0] == [JobState.FINISHED]
    codes = [code for state, code in EXIT_CODES.items() if state is not JobState.RUNNING]
    assert len(codes) == len(set(codes))
    assert 2 not in codes, "bad input"


def test_a_job_none_of_whose_seeds_answered_has_failed() -> None:
    found = decide_ending(_facts({"failed": 1, "codes": {-2: 1}}), Limits(), _tally(-2), interrupted=False)
    assert (found.state, found.reason) == (JobState.FAILED, "no seed could be captured: no connection (-2)")


def test_a_seed_that_answers_404_fails_the_job() -> None:
    found = decide_ending(_facts({"done": 1}), Limits(), _tally(404), interrupted=False)
    assert (found.state, found.reason) == (JobState.FAILED, "no seed could be captured: Not Found (404)")
    assert found.missing == (f"seed {SEED} answered Not Found (404)",)


@pytest.mark.parametrize(
    ("code", "report", "astray", "state", "line"),
    [
        (200, None, None, SeedState.ANSWERED, None),
        (304, None, None, SeedState.ANSWERED, None),
        (500, None, None, SeedState.HTTP_ERROR, "answered Internal Server Error (500)"),
        (-6, None, None, SeedState.UNREACHABLE, ": name not found (-6)"),
        (-9998, None, None, SeedState.FORBIDDEN, ": robots.txt forbids it (-9998)"),
        (-5003, None, None, SeedState.QUOTA, ": quota reached (-5003)"),
        (-5002, None, None, SeedState.REFUSED, ": blocked by a rule (-5002)"),
        (
            0,
            None,
            RejectedSeed(OTHER, "excluded", "exclude x"),
            SeedState.REJECTED,
            "was rejected: excluded (exclude x)",
        ),
        (
            *(301, None, RejectedSeed("http://x.example/", "excluded", "exclude x"), SeedState.REDIRECTED_OUT),
            "redirects to http://x.example/, which is out of scope: excluded (exclude x)",
        ),
        (
            *(-5000, None, RejectedSeed("http://x.example/", "excluded", "exclude x"), SeedState.REDIRECTED_OUT),
            "redirects to http://x.example/, which is out of scope: excluded (exclude x)",
        ),
        (
            *(-5000, None, RejectedSeed(OTHER, "excluded", "exclude x"), SeedState.REJECTED),
            "was rejected: excluded (exclude x)",
        ),
        (0, SeedReport(OTHER, "queued", 0, None), None, SeedState.ASIDE, "was not fetched, its host was set aside"),
    ],
)
def test_each_seed_has_a_state_of_its_own(
    code: int, report: SeedReport | None, astray: RejectedSeed | None, state: SeedState, line: str | None
) -> None:
    tally = _tally(200)
    if code:
        tally.add(LogLine(0, code, None, OTHER))
    facts = _facts(
        hosts=[_host("other.example", 1, "failing")] if state is SeedState.ASIDE else [],
        seeds=[SeedFacts(SEED), SeedFacts(OTHER, report, astray)],
    )
    found = decide_ending(facts, Limits(), tally, interrupted=False)
    assert found.seeds[1].state is state
    assert found.state is (JobState.FINISHED if state is SeedState.ANSWERED else JobState.GAPS)
    told = [each for each in found.missing if each.startswith(f"seed {OTHER}")]
    assert told == ([] if line is None else [f"seed {OTHER}{line}" if line[0] == ":" else f"seed {OTHER} {line}"])


def test_a_seed_is_judged_by_where_its_redirects_end() -> None:
    steps = [
        LogLine(0, 302, 0, f"{SEED}a", "R", SEED, source=SEED),
        LogLine(0, 404, 0, f"{SEED}b", "RR", f"{SEED}a", source=SEED),
    ]
    assert decide_ending(_facts(), Limits(), _tally(301, *steps), interrupted=False).seeds[0].code == 404
    steps[1] = LogLine(0, 200, 0, f"{SEED}b", "RR", f"{SEED}a", source=SEED)
    assert decide_ending(_facts(), Limits(), _tally(301, *steps), interrupted=False).state is JobState.FINISHED


def test_hosts_that_were_set_aside_are_named_with_their_remaining_urls() -> None:
    hosts = [_host("a.example", 66, "failing"), _host("b.example", 1, "by J."), _host("c.example", 0, None)]
    found = decide_ending(_facts({"excluded": 67}, hosts=hosts), Limits(), _tally(200), interrupted=False)
    assert (found.state, found.left) == (JobState.GAPS, 67)
    assert [host.state for host in found.hosts] == [HostState.FAILING, HostState.ASIDE, HostState.VISITED]
    assert found.missing == (
        "host a.example was set aside (too many failures in a row): 66 URLs left",
        "host b.example was set aside (by J.): 1 URL left",
    )


def test_a_host_at_its_limit_ends_the_job_at_a_limit() -> None:
    hosts = [_host("a.example", 66, "limit-host-pages")]
    found = decide_ending(_facts(hosts=hosts), Limits(host_pages=20), _tally(200), interrupted=False)
    assert (found.state, found.reason) == (JobState.LIMIT, "20 pages of a host, on 1 host")
    assert found.missing == ("host a.example was set aside (limits.host_pages reached): 66 URLs left",)


def test_hosts_beyond_the_first_ten_are_only_counted() -> None:
    hosts = [_host(f"h{number}.example", 2, "failing") for number in range(30)]
    found = decide_ending(_facts(hosts=hosts), Limits(), _tally(200), interrupted=False)
    assert len(found.missing) == 11
    assert found.missing[-1] == "20 more hosts set aside: 40 URLs left; hosts-report.txt names them"


def test_failed_urls_and_links_that_were_not_followed_are_counted() -> None:
    counts = {"failed": 4, "codes": {-4: 3, 503: 1, 404: 9, -5003: 2}, "rejected": {"too-many-links": 7, "seen": 9}}
    assert decide_ending(_facts(counts), Limits(), _tally(200), interrupted=False).missing == (
        "4 URLs failed after all tries: 3 × timed out (-4), 1 × Service Unavailable (503)",
        "2 URLs not fetched: quota reached (-5003)",
        "7 links not followed: their pages have more links than max_links allows",
    )


def test_failed_browser_visits_are_counted_and_are_no_gap() -> None:
    """T7: a later try of the same page may have gone well."""
    notes = [("ghost:hang",), ("ghost:timeout", "other"), ("ghost:hang",)]
    lines = [LogLine(0, 200, 1, f"{SEED}{n}", "L", SEED, annotations=note) for n, note in enumerate(notes)]
    found = decide_ending(_facts({"done": 4}), Limits(), _tally(200, *lines), interrupted=False)
    assert found.state is JobState.FINISHED
    assert found.missing == ("failed browser visits: 2 × hang, 1 × timeout",)


def test_urls_that_a_bloom_filter_hides_are_named_and_are_no_gap() -> None:
    bloom = BloomProgress(1_500_000, 1_000_000, 0.004, 812.4)
    found = decide_ending(_facts({"done": 4, "bloom": bloom}), Limits(), _tally(200), interrupted=False)
    assert found.state is JobState.FINISHED
    assert found.missing == (
        "about 812 URLs not visited: the Bloom filter of the seen test took them for seen ones,"
        " with about 1,500,000 of 1,000,000 expected URLs",
    )
    few = replace(bloom, urls=900, dropped=0.01)
    assert not decide_ending(_facts({"done": 4, "bloom": few}), Limits(), _tally(200), interrupted=False).missing


def test_the_page_on_endings_has_every_state_and_exit_code() -> None:
    text = (Path(__file__).parents[4] / "docs" / "reference" / "endings.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", text, re.MULTILINE))
    assert rows == {state: str(code) for state, code in EXIT_CODES.items() if state is not JobState.RUNNING}
    for state in (*HostState, *SeedState):
        assert f"| `{state}` |" in text


def test_renders_that_are_left_or_failed_are_counted_apart_from_urls() -> None:
    renders = RenderProgress(queued=3, leased=1, failed=2, excluded=5)
    facts = _facts({"done": 5, "queued": 2, "stopped": "by J.", "renders": renders})

    found = decide_ending(facts, Limits(), _tally(200), interrupted=False)

    assert found.left == 2
    assert found.missing == (
        "2 URLs not visited: the job was stopped (by J.)",
        "4 pages not rendered: the job was stopped (by J.)",
        "2 pages not rendered after all tries; the plain crawler has fetched them",
        "5 pages not rendered: robots.txt, an operator or a failing host forbids it",
    )
