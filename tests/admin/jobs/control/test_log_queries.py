"""admin/jobs/control/log_queries.py: the attempts and link decisions of a job are found from the newest on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.archive.capture_rows import capture
from support.processes.memory import growth

from admin.jobs.control.log_queries import (
    AttemptQuery,
    LinkQuery,
    UrlChoice,
    attempts,
    link_decisions,
    needs_place,
    read_codes,
    with_places,
)
from archive import crawl_log
from archive.crawl_log import CrawlLog, LogLine
from archive.dates import Micros, now_micros
from archive.rotated_log import removed_parts, renamed_parts
from archive.settings import LogSettings
from dedupdb.captures.capture_index import Captures
from frontier.definition.scope import Accepted, Candidate, Rejected
from frontier.links.log import LinkLog

NOW: Micros = 1_800_000_000_000_000
SECOND = 1_000_000


def _line(number: int, url: str, code: int = 200, **given: object) -> str:
    return LogLine(NOW + number * SECOND, code, None if code < 0 else 10, url, **given).text()  # type: ignore[arg-type]


def _log(folder: Path, rotate_bytes: int = 0) -> Path:
    log = CrawlLog(folder, rotate_bytes=rotate_bytes)
    place = {"warcFilename": "a.warc.gz", "warcFileOffset": 77}
    log.append([_line(0, "http://example.org/", extra=place, source="http://example.org/")])
    log.append([_line(1, "https://www.example.org/a/b", crawl_log.DNS, annotations=("2t",), via="http://example.org/")])
    log.append([_line(2, "http://sub.example.org/a", 404, extra=place)])
    log.append([_line(3, "http://example.organic/a", 503)])
    log.append([_line(4, "http://other.example.net/?u=http://example.org/", crawl_log.ROBOTS)])
    return log.path


@pytest.mark.parametrize("rotate_bytes", [0, 1, 300])
def test_newest_attempts_come_first_with_place_reason_and_try(tmp_path: Path, rotate_bytes: int) -> None:
    found = attempts(_log(tmp_path, rotate_bytes), AttemptQuery())
    assert [row.code for row in found.rows] == [crawl_log.ROBOTS, 503, 404, crawl_log.DNS, 200]
    assert [(row.file, row.offset) for row in found.rows[2:]] == [("a.warc.gz", 77), ("", None), ("a.warc.gz", 77)]
    failure = found.rows[3]
    assert (failure.reason, failure.tries, failure.via) == ("name not found", 2, "http://example.org/")
    assert found.next is None


def test_answer_goes_on_at_its_place(tmp_path: Path) -> None:
    log, codes, place = _log(tmp_path, 300), list[int](), None
    while True:
        found = attempts(log, AttemptQuery(limit=2, before=place))
        codes += [row.code for row in found.rows]
        CrawlLog(tmp_path, rotate_bytes=300).append([_line(9, "http://new.example/", 201)] * 2)  # the crawl goes on
        if (place := found.next) is None:
            break
    assert codes == [crawl_log.ROBOTS, 503, 404, crawl_log.DNS, 200]


@pytest.mark.parametrize(
    ("choice", "codes"),
    [
        ({"host": "example.org"}, [crawl_log.DNS, 200]),
        ({"prefix": "org,example"}, [404, crawl_log.DNS, 200]),
        ({"prefix": "org,example)/a"}, [crawl_log.DNS]),
        ({"prefix": "http://example.org/a"}, [crawl_log.DNS]),
        ({"prefix": "http://(org,example,sub,"}, [404]),
        ({"prefix": "net,example"}, [crawl_log.ROBOTS]),
        ({"url": "http://example.org/a/b"}, [crawl_log.DNS]),
        ({"url": "http://example.org/a"}, []),
        ({}, [crawl_log.ROBOTS, 503, 404, crawl_log.DNS, 200]),
    ],
)
def test_urls_are_chosen_by_host_surt_and_url(tmp_path: Path, choice: dict[str, str], codes: list[int]) -> None:
    found = attempts(_log(tmp_path), AttemptQuery(UrlChoice.of(**choice)))
    assert [row.code for row in found.rows] == codes


@pytest.mark.parametrize(
    ("texts", "codes"),
    [(["-6,404"], [404, crawl_log.DNS]), (["5xx", "200"], [503, 200]), ([], [-9998, 503, 404, crawl_log.DNS, 200])],
)
def test_codes_are_chosen(tmp_path: Path, texts: list[str], codes: list[int]) -> None:
    found = attempts(_log(tmp_path), AttemptQuery(codes=read_codes(texts)))
    assert [row.code for row in found.rows] == codes


def test_failures_are_chosen_and_time_is_bounded(tmp_path: Path) -> None:
    log = _log(tmp_path)
    assert [row.code for row in attempts(log, AttemptQuery(only_failed=True)).rows] == [crawl_log.DNS]
    found = attempts(log, AttemptQuery(since=NOW + 2 * SECOND, until=NOW + 4 * SECOND))
    assert [row.code for row in found.rows] == [503, 404]


def test_input_that_cannot_be_used_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="--code '4o4' is no code; write for example"):
        read_codes(["4o4"])
    with pytest.raises(ValueError, match="exclude each other"):
        UrlChoice.of(host="example.org", url="http://example.org/")
    with pytest.raises(ValueError, match="is an exception"):
        UrlChoice.of(prefix="-org,example")


def test_long_log_is_read_only_as_far_as_needed_in_flat_memory(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, rotate_bytes=20_000_000)
    for start in range(0, 200_000, 10_000):
        log.append([_line(n, f"http://host{n % 999}.example/{'p' * 200}") for n in range(start, start + 10_000)])
    with growth() as memory:
        assert len(attempts(log.path, AttemptQuery(limit=5)).rows) == 5
        found = attempts(log.path, AttemptQuery(UrlChoice.of(host="host998.example"), limit=10_000))
    assert len(found.rows) == 200
    assert memory.bytes < 30_000_000
    ended = attempts(log.path, AttemptQuery(UrlChoice.of(host="not.there.example"), seconds=0))
    assert (ended.rows, ended.damaged) == ([], 0)
    assert ended.next is not None


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    log = _log(tmp_path)
    with log.open("ab") as file:
        file.write(b"\x00\xff garbage\n")
    found = attempts(log, AttemptQuery())
    assert (len(found.rows), found.damaged) == (5, 1)


def test_rejected_links_are_written_and_found(tmp_path: Path) -> None:
    log = LinkLog(tmp_path, LogSettings(links="on"))
    page = "http://example.org/"
    log.note(
        [
            Rejected(Candidate("http://other.example/a", "L", page), "scope", "host"),
            Rejected(Candidate("http://example.org/old", "L", page), "seen"),
            Accepted(Candidate("http://example.org/new", "L", page), "host"),
            Rejected(Candidate("mailto:a@example.org\nx", "LL", page), "scheme", "mailto"),
        ]
    )
    path = tmp_path / "links.log"
    found = link_decisions(path, LinkQuery()).rows
    assert [(row.url, row.via, row.hop_path, row.reason, row.rule) for row in found] == [
        ("mailto:a@example.org\nx", page, "LL", "scheme", "mailto"),
        ("http://other.example/a", page, "L", "scope", "host"),
    ]
    assert abs(found[0].time - now_micros()) < 60 * SECOND
    chosen = link_decisions(path, LinkQuery(UrlChoice.of(prefix="example,other"))).rows
    assert [row.reason for row in chosen] == ["scope"]
    assert [row.reason for row in link_decisions(path, LinkQuery(reasons=("scheme",))).rows] == ["scheme"]


def test_links_log_is_bounded_and_tells_what_was_removed(tmp_path: Path) -> None:
    log = LinkLog(tmp_path, LogSettings(links="on", links_bytes=10_000, links_files=2))
    for number in range(500):
        log.note([Rejected(Candidate(f"http://e.example/{number}/{'x' * 9_000}", "L"), "scope", "host")] * 2)
    path = tmp_path / "links.log"
    assert len(renamed_parts(path)) == 2
    assert max(part.stat().st_size for part in tmp_path.iterdir()) < 100_000
    kept = len(link_decisions(path, LinkQuery(limit=10_000)).rows)
    assert kept + sum(part.lines for part in removed_parts(path)) == 1_000


def test_place_of_a_line_without_one_comes_from_the_capture_index(tmp_path: Path) -> None:
    started = NOW - SECOND
    indexed = replace(capture("http://example.org/b", filename="b.warc.gz", offset=99), date=started + 345)
    log = CrawlLog(tmp_path)
    log.append([_line(0, "http://example.org/b", started=started), _line(1, "http://example.org/c", started=started)])
    log.append([_line(2, "http://example.org/d", crawl_log.DNS, started=started)])
    rows = attempts(log.path, AttemptQuery()).rows
    assert [needs_place(row) for row in rows] == [False, True, True]
    with Captures(f"sqlite:///{tmp_path / 'index.db'}") as captures:
        captures.add([indexed])
        found = list(with_places(rows, captures, indexed.collection))
    assert [(row.url[-1], row.file, row.offset) for row in found] == [
        ("d", "", None),
        ("c", "", None),
        ("b", "b.warc.gz", 99),
    ]


def test_full_disk_costs_lines_and_no_visit(tmp_path: Path) -> None:
    (tmp_path / "links.log").symlink_to("/dev/full")
    log = LinkLog(tmp_path, LogSettings(links="on"))
    log.note([Rejected(Candidate("http://e.example/", "L"), "scope", "host")])
