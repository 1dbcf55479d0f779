"""A crawl.log in, Heritrix's reports out."""

from __future__ import annotations

from pathlib import Path

import pytest

from admin.reports import JobFacts, conventional_duration, write_reports
from admin.tally import LogFollower, Tally
from archive.crawl_log import REVISIT, CrawlLog, LogLine

SEEDS = ["http://a.example/", "http://b.example/", "http://c.example/", "http://d.example/"]
LINES = [
    LogLine(0, 301, 0, "http://a.example/", mime="text/html", extra={"contentSize": 100}),
    LogLine(0, 200, 900, "http://a.example/home", "R", "http://a.example/", "text/html", extra={"contentSize": 1000}),
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


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    CrawlLog(tmp_path).append([line.text() for line in LINES])
    tally = Tally(SEEDS)
    for line in LogFollower(tmp_path / "crawl.log").lines():
        tally.add(line)
    write_reports(tmp_path, tally, JobFacts("daily-1", "Finished", 10, {"a.example": 3, "e.example": 2}))
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


def test_hosts_report_tells_new_from_known_and_what_is_left(reports: Path) -> None:
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


def test_crawl_report_adds_up(reports: Path) -> None:
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


def test_a_growing_log_is_read_once_and_a_torn_line_waits_for_its_end(tmp_path: Path) -> None:
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
