"""The capture index answers as a plain list would, keeps each capture once, and is shared by processes."""

from __future__ import annotations

import os
import random
import re
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, text
from support.archive.capture_rows import capture
from support.processes.python_code import PLACES, code_command
from support.stores.postgres_server import PostgresServer

from archive.capture import Capture, Original
from archive.dates import parse_date
from archive.warc.records.request_query import asked_key, asked_query
from dedupdb.captures import query as queries
from dedupdb.captures.capture_index import Captures, SearchTimeout, SourcePosition
from dedupdb.captures.paging import IndexScan
from dedupdb.captures.query import KeyRange
from dedupdb.captures.schema import CapturesError, open_engine
from dedupdb.captures.validation import acceptable

ORIGINAL = Original("11112222-3333-4444-5555-666677778888", "http://example.org/ä", 1_700_000_000_123_456)


def ask(captures: Captures, filters: tuple[str, ...] = (), **given_: str) -> list[Capture]:
    given_ = {name.rstrip("_"): value for name, value in given_.items()}
    return list(captures.search(queries.parse("news", given_, filters)))


def test_a_capture_comes_back_as_it_was(captures: Captures) -> None:
    full = capture(
        *("http://example.org/ä", "20260102030405"),
        **{"kind": "revisit", "refers_to": ORIGINAL, "job": "daily", "page_id": "p1", "method": "POST"},
        **{"truncated": "length", "offset": 2**40, "payload_length": 2**41},
    )
    bare = capture(status=None, digest=None, sha256=None)
    assert captures.add([full, bare]) == 2
    assert captures.by_record("news", full.record_id) == full
    assert captures.by_record("news", bare.record_id) == bare
    assert captures.by_record("sports", bare.record_id) is None


def test_the_longest_texts_that_are_accepted_can_be_added(captures: Captures) -> None:
    letters = [chr(number) for number in range(0x20000, 0x2A6D0)]
    filename, record_id, digest = ("".join(random.choices(letters, k=600)) for _ in range(3))
    made = acceptable(capture(collection="n" * 64, filename=filename, record_id=record_id, digest=digest))
    assert captures.add([made]) == 1
    assert captures.by_record(made.collection, record_id) == made


def test_a_posted_nul_is_in_the_index(captures: Captures) -> None:
    query = asked_query("POST", "application/x-www-form-urlencoded", [b"a=%00"])
    made = acceptable(capture(method="POST", request_body=query))
    assert captures.add([made]) == 1
    assert captures.by_record(made.collection, made.record_id) == made


def test_adding_twice_adds_once(captures: Captures) -> None:
    some = [capture(offset=offset) for offset in range(2500)]
    assert captures.add(some) == 2500
    assert captures.add([*some, capture(offset=9999)]) == 1
    assert captures.count("news") == 2501


def test_rows_and_position_are_one_transaction(captures: Captures) -> None:
    spoilt = (capture(offset=1, sha256=value) for value in ("00" * 32, "no hexadecimal"))
    with pytest.raises(ValueError, match="hexadecimal"):
        captures.add(spoilt, position=SourcePosition("here", "2"))
    assert (captures.count("news"), captures.positions("here")) == (0, {})
    captures.add([capture()], position=SourcePosition("here", "1"))
    captures.add([], position=SourcePosition("here", "2"))
    assert (captures.count("news"), captures.positions("he")) == (1, {"here": "2"})


def test_collections_are_apart(captures: Captures) -> None:
    captures.add([capture(collection=name) for name in ("b", "a", "a.b", "Z")])
    assert captures.collections() == ["Z", "a", "a.b", "b"]
    assert (captures.has("a"), captures.has("c")) == (True, False)
    assert captures.drop("a", "sidecar/a/") == 1
    assert captures.collections() == ["Z", "a.b", "b"]


@pytest.mark.parametrize("others", [0, 200], ids=["few", "many"])
def test_the_nearest_has_the_same_url_first_then_the_shortest_distance(captures: Captures, others: int) -> None:
    dates = ["20260101", "20260110", "20260120", "20260201"]
    places = iter(range(1000))
    captures.add(
        capture("http://example.org:80/", f"2019{1 + n // 20:02d}01", offset=next(places)) for n in range(others)
    )
    for scheme in ("http", "https"):
        captures.add(capture(f"{scheme}://example.org/", date, offset=next(places)) for date in dates)

    def nearest(date: str | None, **kwargs: Any) -> list[str]:
        moment = parse_date(date) if date else None
        found = captures.nearest("news", "https://example.org/", moment, **kwargs)
        return [f"{each.url[:5]} {each.timestamp[4:8]}" for each in found]

    assert nearest("20260112")[:5] == ["https 0110", "https 0120", "https 0101", "https 0201", "http: 0110"]
    assert nearest(None, limit=5) == ["https 0201", "https 0120", "https 0110", "https 0101", "http: 0201"]
    assert nearest("20260115", limit=1) == ["https 0110"], "of two equally near, the earlier one"
    assert nearest("2030", methods=("POST",)) == []
    assert len(nearest("2030", methods=())) == min(20, 8 + others)


def test_the_nearest_answer_to_a_form_has_its_body(captures: Captures) -> None:
    """Bodies that differ in case alone share a key; captures of older releases have the method beside their key."""
    url = "http://example.org/"
    for offset, (date, body) in enumerate([("2026", "q=Moss"), ("2027", "q=moss"), ("2028", "q=fern")]):
        key = asked_key(url, "POST", body)
        captures.add([capture(url, date, method="POST", request_body=body, key=key, offset=offset)])
    captures.add([capture(url, "2020", method="POST", offset=8), capture(url, "2029", offset=9)])

    def nearest(body: str | None) -> list[str]:
        found = captures.nearest("news", url, None, methods=("POST",), body=body)
        return [f"{each.timestamp[:4]} {each.request_body}" for each in found]

    assert nearest("q=Moss") == ["2026 q=Moss", "2027 q=moss", "2020 None"]
    assert nearest("q=fern") == ["2028 q=fern", "2020 None"]
    assert nearest(None) == nearest("q=none") == ["2020 None"]
    assert [each.timestamp[:4] for each in captures.nearest("news", url, None)] == ["2029"]


def test_very_long_keys_are_kept_and_found(captures: Captures) -> None:
    """PostgreSQL's index takes no key of more than 2,704 bytes."""
    random_text = random.Random(3)
    tails = ["".join(random_text.choices("abcdefghij0123456789", k=6000)) for _ in range(3)]
    made = [capture(f"http://example.org/{'x' * 100}?{tail}", offset=n) for n, tail in enumerate(tails)]

    assert captures.add(made) == 3
    assert captures.add(made) == 0
    for each in made:
        assert captures.nearest("news", each.url, None) == [each]
        assert ask(captures, url=each.url) == [each]
    found = ask(captures, url="http://example.org/*")
    assert sorted(found, key=lambda each: each.offset) == made


def test_only_responses_and_revisits_are_near_unless_other_kinds_are_asked_for(captures: Captures) -> None:
    kinds = ["response", "revisit", "resource", "metadata"]
    captures.add(capture(kind=kind, offset=offset) for offset, kind in enumerate(kinds))
    found = captures.nearest("news", "http://example.org/", None)
    assert sorted(each.kind for each in found) == ["response", "revisit"]
    assert [each.kind for each in captures.nearest("news", "http://example.org/", None, kinds=["resource"])] == [
        "resource"
    ]


def test_pruning_drops_what_is_not_at_the_offsets(captures: Captures) -> None:
    captures.add(capture(offset=offset) for offset in range(5))
    captures.add([capture(offset=7, filename="other.warc.gz")])
    assert captures.prune("news", capture().filename, {1, 3, 4}) == 2
    assert sorted(each.offset for each in ask(captures, url="example.org")) == [1, 3, 4, 7]


URLS = st.sampled_from(
    [
        f"{scheme}://{host}{path}"
        for scheme in ("http", "https")
        for host in ("example.org", "www.example.org", "example.org:8080", "example-b.org", "exa.org")
        for path in ("/", "/a", "/a/b?c=d")
    ]
)
DATES = st.sampled_from(["20240229120000", "20250101000000", "20250630120000", "20251231235959", "20260101000000"])
QUESTIONS = st.fixed_dictionaries(
    {"url": URLS},
    optional={
        "matchType": st.sampled_from(["exact", "prefix", "host", "domain"]),
        "from": st.sampled_from(["2024", "202501", "20250102"]),
        "to": st.sampled_from(["2025", "202506", "20260101"]),
        "limit": st.sampled_from(["0", "1", "7", "1000", "-1", "-7", "-1000"]),
        "sort": st.sampled_from(["default", "reverse"]),
    },
)
FILTERS = st.lists(st.sampled_from(["=status:200", "!=status:404", "url:a", "~mime:text/.*"]), max_size=2)


@given(
    kept=st.lists(st.tuples(URLS, DATES, st.sampled_from([200, 404])), max_size=300),
    question=QUESTIONS,
    filters=FILTERS,
)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_search_answers_as_a_plain_list_would(
    captures: Captures, kept: list[tuple[str, str, int]], question: dict[str, str], filters: list[str]
) -> None:
    captures.drop("news", "")
    rows = [capture(url, date, status=status, offset=number) for number, (url, date, status) in enumerate(kept)]
    captures.add(rows)
    query = queries.parse("news", question, filters)
    rows = [row for row in rows if any(matches(row.key, keys) for keys in query.ranges) and query.accepts(row)]
    rows.sort(key=lambda row: (row.key, row.date, row.offset), reverse=query.sort == "reverse")
    limit = query.limit
    expected = rows if limit is None else rows[:limit] if limit >= 0 else rows[limit:]
    assert list(captures.search(query)) == expected


def matches(key: str, keys: KeyRange) -> bool:
    return key == keys.low if keys.high is None else keys.low <= key < keys.high


@given(dates=st.lists(DATES, max_size=200), closest=DATES, since=st.sampled_from(["", "2025"]))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_closest_goes_by_distance(captures: Captures, dates: list[str], closest: str, since: str) -> None:
    captures.drop("news", "")
    captures.add(capture(date=date, offset=number) for number, date in enumerate(dates))
    found = ask(captures, url="example.org", sort="closest", closest=closest, **{"from": since})
    distances = [abs(each.date - parse_date(closest)) for each in found]
    assert distances == sorted(distances)
    assert sorted(each.timestamp for each in found) == sorted(date for date in dates if date >= since)


def test_a_long_answer_is_read_page_by_page(captures: Captures) -> None:
    captures.add(capture(f"http://example.org/{number:05d}", offset=number) for number in range(5000))
    found = captures.search(queries.parse("news", {"url": "example.org/*"}))
    assert [each.offset for each in islice(found, 3)] == [0, 1, 2]
    captures.add([capture("http://example.org/04000a", offset=5001)])
    assert 5001 in [each.offset for each in found], "a page was read before it was needed"


def test_a_search_that_finds_nothing_ends_in_time(captures: Captures) -> None:
    captures.add(capture(offset=number) for number in range(100))
    query = queries.parse("news", {"url": "*.org"}, ["=status:999"])
    with pytest.raises(SearchTimeout, match="ask for fewer URLs"):
        list(captures.search(query, seconds=0))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("keys", [KeyRange("org,example)/"), KeyRange("org,", "org-")])
def test_every_page_is_read_along_the_index(
    database_url: str, captures: Captures, keys: KeyRange, backward: bool
) -> None:
    captures.add(capture(offset=number) for number in range(100))
    scan = IndexScan("news", keys, since=1, until=2**60, backward=backward)
    engine = open_engine(database_url)
    with closing_engine(engine), engine.connect() as connection:
        first = connection.execute(scan.page(None, 1)).one()
        for after in (None, first):
            page = scan.page(after, 50).compile(connection, compile_kwargs={"literal_binds": True})
            plan = planned(connection, str(page))
            assert re.search("SEARCH captures USING INDEX captures_key|Index Scan.* using captures_key", plan)
            assert not re.search(r"TEMP B-TREE|(?<!Incremental )Sort  ", plan)


@contextmanager
def closing_engine(engine: Engine) -> Iterator[None]:
    try:
        yield
    finally:
        engine.dispose()


def planned(connection: Connection, statement: str) -> str:
    """How the database would go about it, were the table too large to be read whole."""
    if connection.dialect.name == "sqlite":
        statement = f"EXPLAIN QUERY PLAN {statement}"
    else:
        for step in ("seqscan", "bitmapscan", "sort"):
            connection.execute(text(f"SET enable_{step} = off"))
        statement = f"EXPLAIN {statement}"
    return " ".join(str(row[-1]) for row in connection.execute(text(statement)))


def test_threads_share_an_index(captures: Captures) -> None:
    def work(number: int) -> int:
        captures.add(capture(offset=number * 100 + each) for each in range(100))
        return len(ask(captures, url="example.org"))

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(16))) == 1600


STARTER = """
import sys
import threading
import uuid
from support.archive.capture_rows import capture
from dedupdb.captures.capture_index import Captures
print("ready", flush=True)
sys.stdin.readline()
with Captures(sys.argv[1]) as captures:
    captures.add([capture(offset=int(sys.argv[2])), capture(offset=99)])
"""


def test_processes_that_start_at_once_make_one_index(database_url: str) -> None:
    starters = [
        subprocess.Popen(
            code_command(STARTER, database_url, str(number)),
            **{
                "env": {**os.environ, **PLACES},
                "stdin": subprocess.PIPE,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.STDOUT,
                "text": True,
            },
        )
        for number in range(3)
    ]
    for starter in starters:
        assert starter.stdout.readline() == "ready\n"
    for starter in starters:
        starter.stdin.write("go\n")
        starter.stdin.flush()
    assert [(starter.communicate()[0], starter.returncode) for starter in starters] == [("", 0)] * 3
    with Captures(database_url) as captures:
        assert captures.count("news") == 4


def test_many_that_open_one_new_file_at_once_all_can(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for round_number in range(25):
            url, together = f"sqlite:///{tmp_path}/{round_number}.db", threading.Barrier(8)

            def opened(_: int, url: str = url, together: threading.Barrier = together) -> None:
                together.wait()
                Captures(url).close()

            assert list(pool.map(opened, range(8))) == [None] * 8


@pytest.mark.parametrize(
    "url", ["sqlite:////no/such/folder/index.db", "sqlite:////dev/null", "nonsense", "mysterysql://x/y"]
)
def test_a_database_that_can_not_be_opened_is_named_in_one_line(url: str) -> None:
    with pytest.raises(CapturesError, match="capture index at") as caught:
        Captures(url)
    assert "\n" not in str(caught.value)


def test_positions_are_told_apart_by_case(captures: Captures) -> None:
    for source in ("sidecar/news/a", "sidecar/News/a", "sidecar/newspaper/a", "sidecar/news_/a"):
        captures.add([], position=SourcePosition(source, "1"))
    assert list(captures.positions("sidecar/news/")) == ["sidecar/news/a"]
    captures.drop("news", "sidecar/news/")
    assert len(captures.positions("sidecar/")) == 3


def test_a_password_is_in_no_message() -> None:
    with pytest.raises(CapturesError) as caught:
        Captures("mysterysql://archivist:secret@db.example.org/index?password=secret")
    assert "secret" not in str(caught.value)
    assert "db.example.org" in str(caught.value)


def test_a_damaged_database_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "index.db").write_bytes(b"SQLite format 3\0" + b"rubbish" * 1000)
    with pytest.raises(CapturesError, match=r"^the capture index at \S+index.db"):
        Captures(f"sqlite:///{tmp_path / 'index.db'}")


def test_a_driver_that_is_missing_is_named_with_its_remedy() -> None:
    blocked = "import sys; sys.modules['psycopg'] = None; from dedupdb.captures.capture_index import Captures; "
    done = subprocess.run(
        code_command(blocked + "Captures('postgresql://me:secret@db.example/index')"),
        env={**os.environ, **PLACES}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = done.stderr.splitlines()[-1]
    assert "setting database.url = 'postgresql://" in last
    assert "db.example/index' needs a Python library" in last
    assert "requirements/extras.txt" in last
    assert "secret" not in last


def test_a_postgresql_that_does_not_answer_is_named_in_one_line(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.url("index").replace("/index?", "/other?")
    with pytest.raises(CapturesError, match=r"^the capture index at [^\n]+other.*does not exist[^\n]*$"):
        Captures(url)
    with pytest.raises(CapturesError, match=r"^the capture index at [^\n]+index[^\n]+$"):
        Captures(f"postgresql://me@/index?host={tmp_path}")  # a folder in which no server has its socket
