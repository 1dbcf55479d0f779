"""Time lines, hosts, distributions and the search of a log whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.admin.log_lines import SECOND, START, line

from admin.log_analysis.columns.log_blocks import LogTrouble
from admin.log_analysis.columns.readings import Reading, open_reading
from admin.log_analysis.distribution import distribution
from admin.log_analysis.error_classes import CODES, ErrorClass, class_sql
from admin.log_analysis.host_table import HostOrder, delays, hosts
from admin.log_analysis.line_search import LineQuery, search
from admin.log_analysis.timeline import MOST_POINTS, step_for, timeline

LINES = [
    line(0, "https://a.example.org/1", size=10),
    line(2, "https://a.example.org/2", 404, size=20, mime="image/png"),
    line(4, "https://a.example.org/3", -9998),
    line(10, "https://b.example.org/1", 301, size=5, annotations=("3t",)),
    line(14, "https://b.example.org/2", -4),
    line(25, "https://a.example.org/4", size=10),
]


@pytest.fixture
def folder(analysed: Callable[..., Path]) -> Path:
    return analysed(LINES)


def test_a_time_line_counts_urls_bytes_hosts_and_errors(folder: Path) -> None:
    with open_reading(folder) as reading:
        found = timeline(reading, 10)

    assert [(each.at - START) // SECOND for each in found.points] == [0, 10, 20]
    assert [(each.lines, each.urls, each.bytes) for each in found.points] == [(3, 2, 30), (2, 1, 5), (1, 1, 10)]
    assert [(each.new_hosts, each.finished_hosts) for each in found.points] == [(1, 0), (1, 1), (0, 1)]
    assert [each.errors for each in found.points] == [{"http-4xx": 1}, {"timeout": 1}, {}]


@pytest.mark.parametrize("span", [0, 1, 239, 240, 86_400, 40 * 86_400, 40 * 365 * 86_400])
def test_steps_are_few_whatever_the_length_of_a_log(span: int) -> None:
    assert span // step_for(span) + 2 <= MOST_POINTS + 1


def test_the_table_of_hosts_has_the_worst_first(folder: Path) -> None:
    with open_reading(folder) as reading:
        first = hosts(reading, limit=1)
        second = hosts(reading, limit=1, after=first.next)
        by_retries = hosts(reading, order=HostOrder.RETRIES)
        pause = delays(reading, "a.example.org")
        for wrong in ("[1", '[1,"\\ud800"]', '[1,["a"]]'):
            with pytest.raises(ValueError, match="is no place"):
                hosts(reading, after=wrong)
        assert hosts(reading, after=f'[-{"9" * 51},"a"]').hosts == ()
        assert len(hosts(reading, after=f'[{"9" * 51},"a"]').hosts) == 2

    (a,), (b,) = first.hosts, second.hosts
    assert (a.host, a.domain, a.urls, a.bytes, a.errors, a.robots) == ("a.example.org", "example.org", 3, 40, 1, 1)
    assert (a.text, a.other, a.no_response, a.delay_ms, a.fetch_ms) == (2, 1, 1, 8333, 100)
    assert (b.host, b.errors, b.redirects, b.retries) == ("b.example.org", 1, 1, 2)
    assert second.next == ""
    assert [each.host for each in by_retries.hosts] == ["b.example.org", "a.example.org"]
    assert pause is not None
    assert (pause.median_ms, pause.longest_ms) == (2000, 21_000)


def test_retries_are_counted_once_whether_a_log_has_a_line_for_each_try_or_for_the_last_one(
    analysed: Callable[..., Path],
) -> None:
    ours = [
        line(number, "https://ours.example.org/", 503, annotations=(f"{number}t",) if number > 1 else ())
        for number in range(1, 7)
    ]
    heritrix = [line(7, f"https://heritrix.example.org/{number}", annotations=("4t",)) for number in range(2)]
    with open_reading(analysed([*ours, *heritrix, line(8)])) as reading:
        found = hosts(reading, order=HostOrder.RETRIES).hosts

    assert [(each.host, each.retries) for each in found] == [
        ("heritrix.example.org", 6),
        ("ours.example.org", 5),
        ("www.example.org", 0),
    ]


def test_distributions_are_by_status_and_type(folder: Path) -> None:
    with open_reading(folder) as reading:
        found, of_b = distribution(reading), distribution(reading, "b.example.org")

    assert [(each.name, each.urls) for each in found.types] == [("text/html", 3), ("image/png", 1)]
    assert found.statuses[0].name == "OK (200)"
    assert found.statuses[0].part == pytest.approx(1 / 3)
    assert {each.name for each in of_b.statuses} == {"Moved Permanently (301)", "timed out (-4)"}


def numbers(reading: Reading, query: LineQuery) -> list[int]:
    return [each.number for each in search(reading, query).lines]


def test_lines_are_found_page_by_page(folder: Path) -> None:
    with open_reading(folder) as reading:
        assert numbers(reading, LineQuery(host="b.example.org")) == [4, 5]
        assert numbers(reading, LineQuery(host="EXAMPLE.org")) == [1, 2, 3, 4, 5, 6]
        assert numbers(reading, LineQuery(status="4xx")) == [2]
        assert numbers(reading, LineQuery(status="-4")) == [5]
        assert numbers(reading, LineQuery(status="robots")) == [3]
        assert numbers(reading, LineQuery(text="/2")) == [2, 5]
        assert numbers(reading, LineQuery(since=START + 4 * SECOND, until=START + 14 * SECOND)) == [3, 4]
        first = search(reading, LineQuery(limit=4))
        assert numbers(reading, LineQuery(limit=4, after=first.next)) == [5, 6]
        for wrong in (LineQuery(status="4x"), LineQuery(after="' OR 1")):
            with pytest.raises(ValueError, match=r"use|write"):
                search(reading, wrong)


def test_a_persons_input_reads_no_file(folder: Path) -> None:
    """DuckDB can read any file by its functions; the connection of a reading can't, and its settings are locked."""
    with open_reading(folder) as reading:
        assert numbers(reading, LineQuery(text="' OR (SELECT count(*) FROM read_text('/etc/passwd')) > 0 --")) == []
        for query in ("SELECT * FROM read_text('/etc/passwd')", "SET enable_external_access = true", "INSTALL httpfs"):
            with pytest.raises(LogTrouble, match=r"disabled|locked"):
                reading.engine.run(query)


def test_error_classes_are_the_same_in_sql(folder: Path) -> None:
    codes = [200, 302, 404, 503, 0, -1, -2, -3, -4, -5, -6, -61, -404, -3000, -4001, -5003, -9998, -12345]
    with open_reading(folder) as reading:
        found = reading.engine.run(f"SELECT code, {class_sql('code')} FROM (SELECT unnest($1) AS code)", [codes])

    expected = dict.fromkeys(codes, ErrorClass.OTHER)
    expected |= {code: name for name, known in CODES.items() for code in known if code in expected}
    expected |= {200: ErrorClass.NONE, 302: ErrorClass.NONE, 404: ErrorClass.CLIENT, 503: ErrorClass.SERVER}
    assert {code: ErrorClass(name) for code, name in found} == expected
