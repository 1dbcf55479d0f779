"""dedupdb/captures/finder.py, census.py, read_only.py: bounded reads of the index, on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import Select, text
from sqlalchemy.exc import DatabaseError, InternalError
from support.archive.capture_rows import capture
from support.stores.postgres_server import PostgresServer

from archive.capture import Capture
from archive.dates import parse_date
from dedupdb.captures import census as censuses
from dedupdb.captures import finder as finders
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.census import Census, counting
from dedupdb.captures.finder import EVERYTHING, CaptureConditions, Finder, UnknownRow
from dedupdb.captures.paging import IndexScan, PageMark
from dedupdb.captures.query import KeyRange, key_ranges
from dedupdb.captures.read_only import IndexMissing, open_read_only
from dedupdb.captures.schema import reading

ROWS = 100_000


@pytest.fixture
def finder(captures: Captures, database_url: str) -> Iterator[Finder]:
    with open_read_only(database_url) as engine:
        yield Finder(engine)


def rows(count: int) -> list[Capture]:
    """Captures of several URLs, types, statuses and months, each at an offset of its own."""
    return [
        capture(
            f"http://{'www.' * (at % 2)}example.org/{at % 7}",
            f"2026{at % 12 + 1:02}{at % 28 + 1:02}000000",
            offset=at,
            mime=("text/html", "image/png", "image/jpeg")[at % 3],
            status=(200, 404, None)[at % 5 % 3],
            kind="metadata" if at % 10 == 9 else "response",
            job=f"job-{at % 2}",
        )
        for at in range(count)
    ]


def walk(
    finder: Finder, ranges: tuple[KeyRange, ...], conditions: CaptureConditions, limit: int, **more: bool
) -> list[int]:
    """The offsets of all captures of a list, page after page."""
    found: list[int] = []
    after = None
    while True:
        page = finder.find("news", ranges, conditions, after=after, limit=limit, **more)
        assert len(page.captures) <= limit
        found += [each.offset for each in page.captures]
        if page.next is None:
            return found
        after = page.next


CONDITIONS = (
    CaptureConditions(),
    CaptureConditions(mime="image/*"),
    CaptureConditions(mime="text/html", status=(400, 499)),
    CaptureConditions(since=parse_date("20260301"), until=parse_date("20260801")),
    CaptureConditions(kind="metadata"),
    CaptureConditions(job="job-1", captures_only=True),
    CaptureConditions(mime="no/such"),
)


def fits(each: Capture, wanted: CaptureConditions) -> bool:
    return (
        (wanted.since is None or each.date >= wanted.since)
        and (wanted.until is None or each.date <= wanted.until)
        and (
            wanted.mime is None or each.mime == wanted.mime or (wanted.mime == "image/*" and each.mime[:6] == "image/")
        )
        and (wanted.status is None or (each.status is not None and wanted.status[0] <= each.status <= wanted.status[1]))
        and (wanted.kind is None or each.kind == wanted.kind)
        and (wanted.job is None or each.job == wanted.job)
        and not (wanted.captures_only and each.kind == "metadata")
    )


MATCHES = ("exact", "prefix", "host", "domain", "all")


@pytest.mark.parametrize("window", [10_000, 9])
def test_pages_have_what_a_plain_list_has(
    captures: Captures, finder: Finder, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finders, "WINDOW", window)
    monkeypatch.setattr(finders, "MOST_LOOKED_AT", 2 * window)
    everything = rows(60)
    captures.add(everything)
    captures.add([capture(collection="other", offset=1)])
    for number, (match, conditions) in enumerate(product(MATCHES, CONDITIONS)):
        ranges = EVERYTHING if match == "all" else key_ranges("http://example.org/1", match)  # type: ignore[arg-type]
        wanted = sorted(
            (
                each
                for each in everything
                if fits(each, conditions)
                and any(each.key == one.low if one.high is None else one.low <= each.key < one.high for one in ranges)
            ),
            key=lambda each: (each.key, each.date, each.offset),
        )
        told = (match, conditions)
        offsets = [each.offset for each in wanted]
        assert (told, walk(finder, ranges, conditions, 7)) == (told, offsets)
        if number % 3 == 0:  # every match and every condition, but not each with each
            assert (told, walk(finder, ranges, conditions, 7, is_backward=True)) == (told, offsets[::-1])


def test_new_captures_neither_repeat_nor_hide_others_in_the_pages_that_follow(
    captures: Captures, finder: Finder
) -> None:
    before = rows(60)
    captures.add(before)
    seen, after = [], None
    while True:
        page = finder.find("news", EVERYTHING, CaptureConditions(), after=after, limit=5)
        seen += [each.offset for each in page.captures]
        captures.add([capture(f"http://example.org/{at}", offset=1000 + len(seen) * 10 + at) for at in range(7)])
        if page.next is None:
            break
        after = page.next
    assert [offset for offset in seen if offset < 1000] == [
        each.offset for each in sorted(before, key=lambda each: (each.key, each.date, each.offset))
    ]
    assert len(set(seen)) == len(seen)


def test_a_cursor_of_another_list_is_refused(captures: Captures, finder: Finder) -> None:
    captures.add([capture("http://example.org/", offset=1), capture("http://other.test/", offset=2)])
    captures.add([capture(collection="secret", offset=3)])
    for number in (0, 3, 99, 2**62):
        with pytest.raises(UnknownRow):
            finder.find("news", EVERYTHING, CaptureConditions(), after=number)
    with pytest.raises(UnknownRow):
        finder.find("news", key_ranges("http://example.org/", "host"), CaptureConditions(), after=2)


def test_years_and_days_count_captures_and_no_notes(captures: Captures, finder: Finder) -> None:
    dates = ("20240229235959", "20240301000000", "20240301120000", "20261231235959", "99991231235959")
    captures.add(capture(date=date, offset=at) for at, date in enumerate(dates))
    captures.add([capture(date="20250101", offset=50, kind="metadata"), capture("http://example.org/x", offset=51)])
    key = "org,example)/"
    years = [(each.year, each.captures) for each in finder.years("news", key)]
    assert years == [(2024, 3), (2026, 1), (9999, 1)]
    assert list(finder.days("news", key, 2024).values()) == [1, 2]
    assert list(finder.days("news", key, 9999).values()) == [1]
    assert finder.days("news", key, 2025) == {}


def test_the_index_is_opened_for_reading_alone(captures: Captures, database_url: str) -> None:
    captures.add([capture()])
    with open_read_only(database_url) as engine, reading(engine) as connection:
        with pytest.raises((DatabaseError, InternalError)):
            connection.execute(text("DELETE FROM captures"))
        connection.rollback()
    assert captures.count("news") == 1


def test_no_index_is_made_where_there_is_none(tmp_path: Path, postgres_server: PostgresServer) -> None:
    path = tmp_path / "none.db"
    for url in (f"sqlite:///{path}", postgres_server.url(f"t{uuid.uuid4().hex}")):
        with pytest.raises(IndexMissing), open_read_only(url):
            pass
    assert not path.exists()
    sqlite3.connect(path).close()
    path.touch()
    with pytest.raises(IndexMissing), open_read_only(f"sqlite:///{path}"):
        pass


def test_the_census_counts_new_rows_only_and_all_anew_when_rows_are_gone(
    captures: Captures, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(censuses, "STEP", 7)
    captures.add(rows(50))
    census = Census()
    with open_read_only(database_url) as engine:
        first = census.count(engine, 0)
        assert not first.is_complete
        assert first.collections["news"].total.captures == 7
        while not census.count(engine, 0).is_complete:
            pass
        # What was returned before does not change under the page that shows it.
        assert first.collections["news"].total.captures == sum(
            each.captures for each in first.collections["news"].types.values()
        )
        assert (first.reached, first.collections["news"].total.captures) == (7, 7)
        counts = census.count(engine, 60).collections["news"]
        assert counts.total.captures == sum(each.captures for each in counts.months.values()) == 50
        assert {name: each.captures for name, each in counts.kinds.items()} == {"response": 45, "metadata": 5}
        assert sum(each.captures for each in counts.statuses.values()) == 50
        assert counts.total.bytes == 50 * 321
        assert (counts.first, counts.last) == (parse_date("20260101"), max(each.date for each in rows(50)))
        captures.add([capture(offset=900)])
        assert census.count(engine, 60).collections["news"].total.captures == 51
        captures.prune("news", "news-20260102030405-1-0.warc.gz", range(40))
        assert census.count(engine, 60).collections["news"].total.captures == 40


def test_hostile_numbers_of_types_are_counted_together(
    captures: Captures, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(censuses, "MOST_NAMES", 3)
    captures.add(capture(offset=at, mime=f"a/{at}") for at in range(20))
    with open_read_only(database_url) as engine:
        types = Census().count(engine, 60).collections["news"].types
    assert len(types) == 4
    assert types[censuses.OTHERS].captures == 17


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An index with a hundred thousand captures of 10,000 URLs."""
    path = tmp_path_factory.mktemp("large") / "index.db"
    Captures(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO captures (collection, key, date, url, mime, status, kind, filename, offset, length,"
            " record_id, method, payload_length)"
            " SELECT 'news', 'org,example)/' || printf('%06d', i / 10), 1700000000000000 + i % 10 * 3000000000000,"
            " 'http://example.org/' || printf('%06d', i / 10),"
            " CASE i WHEN 99990 THEN 'rare/type' ELSE 'text/html' END,"
            " 200, 'response', 'f' || (i / 1000), i, 300, printf('%08x', i), 'GET', 5 FROM n",
            (ROWS - 1,),
        )
    connection.close()
    return f"sqlite:///{path}"


def plan(url: str, query: Select[tuple[object, ...]]) -> list[str]:
    """How SQLite carries the query out."""
    with open_read_only(url) as engine, reading(engine) as connection:
        sql = str(query.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True}))
        return [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}")]


def test_pages_of_many_captures_come_from_the_index(large: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finders, "WINDOW", 1_000)
    monkeypatch.setattr(finders, "MOST_LOOKED_AT", 10_000)
    host = IndexScan("news", KeyRange("org,example)", "org,example*"))
    behind = PageMark("org,example)/005000", 1_700_000_000_000_000, 50_001)
    with open_read_only(large) as engine:
        finder = Finder(engine)
        for mark in (None, behind):
            for conditions in (CaptureConditions(), CaptureConditions(mime="rare/type")):
                steps = plan(large, finder.page(host, mark, conditions, 51))
                table = [step for step in steps if "captures" in step]
                assert len(table) == 1
                assert table[0].startswith("SEARCH captures USING INDEX captures_key (collection=? AND ")
                # Only the few rows of a window are ever sorted; a page without conditions is not sorted at all.
                assert any("TEMP B-TREE" in step for step in steps) is (conditions != CaptureConditions())
        assert plan(large, counting(10, 20)) == [
            "SEARCH captures USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            "USE TEMP B-TREE FOR GROUP BY",
        ]
        found = finder.find("news", (host.keys,), CaptureConditions(mime="rare/type"))
        assert (found.captures, found.looked_at) == ([], finders.MOST_LOOKED_AT)
        looked, calls = found, 1
        while not looked.captures:
            looked, calls = (
                finder.find("news", (host.keys,), CaptureConditions(mime="rare/type"), after=looked.next),
                calls + 1,
            )
        assert (looked.captures[0].offset, calls) == (99_990, 10)


def test_the_years_of_a_url_and_one_capture_come_from_the_index(large: str) -> None:
    asked: list[str] = []
    with open_read_only(large) as engine:
        finder = Finder(engine)
        with reading(engine) as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
        raw.set_trace_callback(asked.append)
        assert len(finder.years("news", "org,example)/000007")) > 1
        finder.days("news", "org,example)/000007", 2024)
        assert finder.at_place("news", "f50", 50_007) is not None
        assert finder.in_file("news", "f50") == 1_000
        assert finder.collections("", 10) == ["news"]
        assert finder.has("news")
        raw.set_trace_callback(None)
        for sql in (each for each in asked if each.startswith("SELECT")):
            steps = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}")]
            assert [step for step in steps if "captures" in step and not step.startswith("SEARCH")] == [], sql
        assert len([each for each in asked if each.startswith("SELECT")]) > 5
