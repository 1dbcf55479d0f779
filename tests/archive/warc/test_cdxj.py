"""archive/warc/cdxj.py: a line holds the whole capture; other tools' lines are understood."""

from __future__ import annotations

import json
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.archive.capture_rows import capture
from support.archive.exchanges import exchange, keep

from archive.capture import Original
from archive.settings.load import Settings
from archive.url import key
from archive.warc import cdxj
from archive.warc.writing.writer import WarcWriter

TEXT = st.text(max_size=20)
DATES = st.integers(min_value=0, max_value=4_000_000_000_000_000)
ORIGINALS = st.builds(Original, TEXT, TEXT, DATES)
FACTS = st.fixed_dictionaries(
    {
        "url": TEXT,
        "mime": TEXT,
        "status": st.none() | st.integers(100, 999),
        "digest": st.none() | st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=32, max_size=32),
        "kind": st.sampled_from(["response", "resource", "metadata", "conversion"]),
        "filename": TEXT,
        "offset": st.integers(0, 1 << 50),
        "length": st.integers(0, 1 << 50),
        "record_id": TEXT,
        "method": st.sampled_from(["GET", "POST", "HEAD", "PROPFIND"]),
        "request_body": st.none() | st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text),
        "job": st.none() | TEXT,
        "page_id": st.none() | TEXT,
        "payload_length": st.integers(0, 1 << 50),
        "sha256": st.none() | TEXT,
        "truncated": st.sampled_from([None, "length", "time", "disconnect", "unspecified"]),
        "buckets": st.just(("",)) | st.lists(TEXT, max_size=3).map(tuple),
    }
)


@given(facts=FACTS, date=DATES, original=st.none() | ORIGINALS)
def test_capture_survives_being_a_line(facts: dict[str, Any], date: int, original: Original | None) -> None:
    if original:
        facts |= {"kind": "revisit", "refers_to": original}
    if facts["method"] == "GET":
        facts |= {"request_body": None}
    made = replace(capture(**facts, key=key(facts["url"]) or "-"), date=date)
    line = cdxj.line(made)
    assert line.isascii()
    assert len(line.splitlines()) == 1
    assert cdxj.parse(line, "news") == made
    assert cdxj.place_in(line.encode(), made.filename) == (made.offset, made.length)
    assert cdxj.place_in(line.encode(), made.filename + "x") is None


def test_url_that_ends_with_a_bracket_is_the_same_when_it_is_read_from_the_warc(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    first = keep(writer, exchange("/?a=<b>"))
    second = keep(writer, exchange("/?c=<d>"), Original.of(first))
    writer.close()
    found = list(cdxj.captures_of(settings.archive_dir("news") / first.filename, "news"))
    assert found == [first, second]


@pytest.mark.parametrize("filename", [b"a\xff.warc", b"a\\x.warc"])
def test_a_damaged_line_has_no_place(filename: bytes) -> None:
    line = b'org,example)/ 20261121081500 {"url":"x","length":"9","offset":"5","filename":"' + filename + b'"}'
    assert cdxj.place_in(line, "a.warc") is None


def test_line_has_pywbs_names() -> None:
    key, timestamp, rest = cdxj.line(capture("http://example.org/a")).split(" ", 2)
    said = json.loads(rest)
    assert (key, timestamp) == ("org,example)/a", "20260102030405")
    assert {name: said[name] for name in ("url", "mime", "status", "digest", "length", "offset", "filename")} == {
        "url": "http://example.org/a",
        "mime": "text/html",
        "status": "200",
        "digest": "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A",
        "length": "321",
        "offset": "0",
        "filename": "news-20260102030405-1-0.warc.gz",
    }


def test_revisit_is_warc_revisit_in_the_line() -> None:
    made = capture(kind="revisit", refers_to=Original("id", "http://example.org/", 1), sha256=None)
    said = json.loads(cdxj.line(made).split(" ", 2)[2])
    assert said["mime"] == "warc/revisit"
    assert said["refers_to_date"] == "1970-01-01T00:00:00.000001Z"


def test_original_whose_id_is_not_known_has_none_in_the_line() -> None:
    made = capture(kind="revisit", refers_to=Original("", "http://example.org/", 1_000_000), sha256=None)
    assert '"refers_to":' not in cdxj.line(made)
    assert cdxj.parse(cdxj.line(made), made.collection) == made


def test_line_of_pywb_is_understood() -> None:
    found = cdxj.parse(
        'org,example)/ 20200101000000 {"url": "http://example.org/", "mime": "text/html", "status": "200", '
        '"digest": "sha1:ABC", "length": "10", "offset": "5", "filename": "x.warc.gz", "other": 1}\n',
        "old",
    )
    assert (found.collection, found.digest, found.offset, found.length) == ("old", "ABC", 5, 10)
    assert (found.timestamp, found.kind, found.record_id) == ("20200101000000", "response", "")


def test_nul_in_a_query_is_escaped() -> None:
    made = capture(method="POST", request_body="a=%00b")
    said = cdxj.line(made).replace("a=%00b", r"a=\u0000b")
    assert cdxj.parse(said, made.collection) == made


def test_line_without_status_or_filename_is_understood() -> None:
    line = 'org,example)/ 20200101000000 {"url": "http://example.org/", "status": "-", "offset": "5"}'
    found = cdxj.parse(line, "old", "x.warc.gz")
    assert (found.status, found.filename, found.mime) == (None, "x.warc.gz", "unk")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "org,example)/ 20200101000000",
        "org,example)/ 20200101000000 {",
        "org,example)/ 20200101000000 []",
        'org,example)/ 20200101000000 {"url": "x"}',
        'org,example)/ yesterday {"url": "x", "offset": "1", "filename": "f"}',
    ],
)
def test_what_is_no_line_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="not a CDXJ line"):
        cdxj.parse(text, "news")


def test_line_still_being_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.cdxj"
    one, two = cdxj.line(capture(offset=1)), cdxj.line(capture(offset=2))
    path.write_text(f"!header\n{one}\n\n{two[:-5]}")
    assert [found.offset for found in cdxj.read(path, "news")] == [1]


def test_damaged_line_is_named_with_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "a.cdxj"
    path.write_text(f"{cdxj.line(capture())}\ndamaged\n")
    with pytest.raises(ValueError, match=r"a\.cdxj:2: not a CDXJ line"):
        list(cdxj.read(path, "news"))


@pytest.mark.parametrize("count", [0, 1, 5_000, 5_001, 32_000])
def test_however_many_lines_are_sorted_as_a_whole_and_in_little_memory(tmp_path: Path, count: int) -> None:
    path, dice = tmp_path / "x.cdxj", random.Random(count)
    lines = [f"{dice.getrandbits(20):x} ü {'x' * 400} {number}" for number in range(count)]
    path.write_text("old\n", "utf-8")
    tracemalloc.start()
    try:
        cdxj.write_sorted(path, iter(lines))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.read_text("utf-8").splitlines() == sorted(lines)
    assert peak < 12_000_000
    assert list(tmp_path.iterdir()) == [path]


def test_sidecar_is_replaced_whole_and_sorted(tmp_path: Path) -> None:
    path = tmp_path / "a.cdxj"
    path.write_text("old\n")
    cdxj.write_sorted(path, ["b", "a", "B"])
    assert path.read_text() == "B\na\nb\n"
    assert list(tmp_path.iterdir()) == [path]
