"""A crawl.log in, Heritrix's reports out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from admin.jobs.crawling.watch import NOTHING_YET
from admin.jobs.progress.tally import JobTally, LogFollower
from admin.jobs.results.ending import FrontierFacts, decide_ending, ghost_lines
from admin.jobs.results.reports import JobFacts, conventional_duration, report_json, seed_rows, write_reports
from archive.crawl_log import ANNOTATES, REVISIT, CrawlLog, LogLine
from frontier.definition.job import Limits, Seed
from frontier.reports import HostReport, SeedFacts

SEEDS = ["http://a.example/", "http://b.example/", "http://c.example/", "http://d.example/"]
SEED_LIST = tuple(map(Seed.parse, SEEDS))
LINES = [
    LogLine(0, 301, 0, "http://a.example/", mime="text/html", extra={"contentSize": 100}),
    LogLine(
        0,
        200,
        900,
        "http://a.example/home",
        "R",
        "http://a.example/",
        "text/html",
        source="http://a.example/",
        extra={"contentSize": 1000},
    ),
    LogLine(0, 200, 50, "http://a.example/logo", "RE", "http://a.example/home", "image/png", annotations=(REVISIT,)),
    LogLine(0, 304, 0, "http://a.example/old", "L", "http://a.example/home"),
    LogLine(0, -9998, None, "http://a.example/private", "L", "http://a.example/home"),
    LogLine(0, -4, None, "http://b.example/"),
    LogLine(0, 404, 10, "http://c.example/", mime="text/html"),
]
HOSTS_HEADER = (
    "[#urls] [#bytes] [host] [#robots] [#remaining] [#novel-urls] [#novel-bytes] [#dup-by-hash-urls] "
    "[#dup-by-hash-bytes] [#not-modified-urls] [#not-modified-bytes]"
)


def test_lines_with_only_annotations_do_not_count_a_url_twice() -> None:
    """T7: a worker says in a line of its own what went wrong with a page that the proxy has a line of."""
    tally = JobTally()
    tally.add(LINES[1])
    tally.add(LogLine(0, 200, None, LINES[1].url, annotations=("load-timeout", "ghost:hang"), extra={ANNOTATES: True}))

    assert (tally.all.total.urls, tally.codes, tally.ghost_errors) == (1, {200: 1}, {"hang": 1})


def test_flawed_pages_are_counted_by_kind_and_named_at_the_end() -> None:
    tally = JobTally()
    for notes in (("page:waf:akamai",), ("page:waf:cloudflare", "page:blank:one-colour"), ("duplicate:digest",)):
        tally.add(LogLine(0, 200, None, LINES[1].url, annotations=notes, extra={ANNOTATES: True}))
    for number in range(100):
        tally.add(
            LogLine(0, 200, None, LINES[1].url, annotations=(f"page:{number}{'x' * 99}",), extra={ANNOTATES: True})
        )

    assert tally.page_flaws["waf"] == 2
    assert tally.page_flaws["blank"] == 1
    assert len(tally.page_flaws) <= 50, "a hostile line can't make the report grow"
    assert tally.ghost_errors == {}
    (line,) = ghost_lines(tally)
    assert line.startswith("flawed pages: 2 × waf")


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    CrawlLog(tmp_path).append([line.text() for line in LINES])
    tally = JobTally()
    for line in LogFollower(tmp_path / "crawl.log").lines():
        tally.add(line)
    write_reports(
        tmp_path, tally, JobFacts("daily-1", "Finished", 10, {"a.example": 3, "e.example": 2}, seeds=SEED_LIST)
    )
    return tmp_path


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_seeds_report_has_each_seed_with_its_code_and_where_it_led(reports: Path) -> None:
    assert _lines(reports / "seeds-report.txt") == [
        "[code] [status] [seed] [redirect]",
        "301 CRAWLED http://a.example/ http://a.example/home",
        "-4 NOTCRAWLED http://b.example/",
        "404 CRAWLED http://c.example/",
        "0 NOTCRAWLED http://d.example/",
    ]


def test_hosts_report_counts_new_duplicate_and_remaining_urls(reports: Path) -> None:
    assert _lines(reports / "hosts-report.txt") == [
        HOSTS_HEADER,
        "4 1150 a.example 1 3 2 1100 1 50 1 0",
        "1 10 c.example 0 0 1 10 0 0 0 0",
        "0 0 b.example 0 0 0 0 0 0 0 0",
        "0 0 e.example 0 2 0 0 0 0 0 0",
    ]


def test_mimetype_and_responsecode_reports_count_urls(reports: Path) -> None:
    assert _lines(reports / "mimetype-report.txt") == [
        "[#urls] [#bytes] [mime-types]",
        "3 1110 text/html",
        "1 50 image/png",
        "1 0 no-type",
    ]
    assert _lines(reports / "responsecode-report.txt") == [
        "[#urls] [rescode]", "2 200", "1 -9998", "1 -4", "1 301", "1 304", "1 404",
    ]  # fmt: skip


def test_crawl_report_has_the_totals(reports: Path) -> None:
    found = dict(line.split(": ") for line in _lines(reports / "crawl-report.txt") if line)
    assert found == {
        "crawl name": "daily-1",
        "crawl status": "Finished",
        "duration": "10s0ms",
        "seeds crawled": "2",
        "seeds uncrawled": "2",
        "hosts visited": "2",
        "URIs processed": "7",
        "URI successes": "5",
        "URI failures": "1",
        "URI disregards": "1",
        "novel URIs": "3",
        "duplicate-by-hash URIs": "1",
        "not-modified URIs": "1",
        "total crawled bytes": "1160",
        "novel crawled bytes": "1110",
        "duplicate-by-hash crawled bytes": "50",
        "not-modified crawled bytes": "0",
        "URIs/sec": "0.50",
        "KB/sec": "0",
    }


def test_reports_have_times_states_totals_and_files(tmp_path: Path) -> None:
    """T42."""
    tally = JobTally()
    kept = {"contentSize": 100, "warcFilename": "one.warc.gz"}
    tally.add(LogLine(0, 200, 90, SEEDS[0], source=SEEDS[0], extra=kept))
    tally.add(LogLine(0, 200, 90, f"{SEEDS[0]}x", "L", SEEDS[0], source=SEEDS[0], extra=kept))
    tally.add(LogLine(0, -4, None, SEEDS[1], source=SEEDS[1]))
    progress = replace(NOTHING_YET, pages=2, done=2, failed=1, codes={-4: 1})
    hosts = [HostReport("a.example", 2, 200, 0, None), HostReport("b.example", 0, 0, 4, "failing")]
    ending = decide_ending(
        FrontierFacts(progress, hosts, map(SeedFacts, SEEDS[:2])), Limits(), tally, interrupted=False
    )
    times = ("2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z")
    facts = JobFacts("daily-1", "gaps", 10, {"b.example": 4}, *times, ending, progress, SEED_LIST[:2])
    write_reports(tmp_path, tally, facts)
    found = _lines(tmp_path / "crawl-report.txt")
    assert {f"crawl started: {times[0]}", f"crawl ended: {times[1]}", "documents: 2"} <= set(found)
    assert f"missing: seed {SEEDS[1]}: timed out (-4)" in found
    frontier = _lines(tmp_path / "frontier-summary-report.txt")
    assert frontier[:2] == ["state: gaps (something is missing)", "exit code: 3"]
    assert {"failed: 1", "left: 4", "4 b.example failing too many failures in a row", "0 a.example visited -"} <= set(
        frontier
    )
    assert _lines(tmp_path / "seed-totals-report.txt")[1:] == [
        f"2 200 0 answered {SEEDS[0]}",
        f"0 0 1 unreachable {SEEDS[1]}",
    ]
    assert _lines(tmp_path / "warc-files-report.txt") == ["[#urls] [file]", "2 one.warc.gz"]
    told = json.loads(json.dumps(report_json(tally, facts)))
    assert told["files"] == {"one.warc.gz": 2}
    assert [(seed["state"], seed["urls"], seed["failed_tries"]) for seed in seed_rows(tally, ending)] == [
        ("answered", 2, 0),
        ("unreachable", 0, 1),
    ]
    assert [host["host"] for host in told["hosts"]] == ["b.example"]


def test_a_growing_log_is_read_once_and_an_incomplete_line_later(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    follower = LogFollower(path)
    assert list(follower.lines()) == []
    text = LINES[1].text()
    path.write_text(f"{text}\n{text[:40]}")
    assert [line.code for line in follower.lines()] == [200]
    with path.open("a") as file:
        file.write(f"{text[40:]}\nnonsense\n")
    assert [line.url for line in follower.lines()] == ["http://a.example/home"]
    assert follower.damaged == 1


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0ms"), (0.0015, "2ms"), (61.5, "1m1s500ms"), (90_000, "1d1h0m0s0ms")]
)
def test_durations_are_printed_as_heritrix_does(seconds: float, text: str) -> None:
    assert conventional_duration(seconds) == text
