"""archive/crawl_log.py: Heritrix's columns, one line per URL whatever is in it."""

from __future__ import annotations

import base64
import hashlib
import json
import multiprocessing
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.archive.capture_rows import capture
from support.archive.exchanges import DATE, HTML, exchange

from archive import crawl_log
from archive.capture import Context, Original
from archive.crawl_log import CrawlLog, LogLine, line, parse

CONTEXT = Context("news", hop_path="LE", via="http://example.org/", source="http://example.org/")


def test_line_has_heritrix_columns() -> None:
    exchanged = exchange("/a", context=CONTEXT)
    assert exchanged.response
    text = line(exchanged, capture=capture(filename="a.warc.gz", offset=77), thread=4)
    columns = text.split(None, 12)
    assert columns[:12] == [
        "2026-11-21T08:15:00.012Z",
        "200",
        str(len(HTML)),
        "http://example.org/a",
        "LE",
        "http://example.org/",
        "text/html",
        "#004",
        "20261121081500000+12",
        f"sha1:{base64.b32encode(hashlib.sha1(HTML).digest()).decode()}",
        "http://example.org/",
        "-",
    ]
    assert json.loads(columns[12]) == {
        "contentSize": exchanged.response.length,
        "warcFilename": "a.warc.gz",
        "warcFileOffset": 77,
    }


def test_failed_fetch_has_its_code_and_nothing_else() -> None:
    failed = exchange("/a", outcome=crawl_log.CONNECT, response=None, digests=None, mime=None, context=Context("news"))
    text = line(failed, annotations=["3t", "a,b c"])
    assert text.startswith("2026-11-21T08:15:00.012Z    -2          - http://example.org/a - - - #000 ")
    assert text.endswith(" 20261121081500000+12 - - 3t,a%2Cb%20c")


def test_code_can_be_replaced() -> None:
    assert parse(line(exchange(), code=crawl_log.RUNTIME)).code == -5


def test_line_that_never_reached_the_proxy() -> None:
    excluded = LogLine(DATE, crawl_log.ROBOTS, None, "http://example.org/private", "L", "http://example.org/")
    assert excluded.text().split() == [
        "2026-11-21T08:15:00.000Z", "-9998", "-", "http://example.org/private", "L", "http://example.org/", "-", "#000",
        "-", "-", "-", "-",
    ]  # fmt: skip


def test_line_of_heritrix_is_understood() -> None:
    found = parse(
        "2026-11-21T08:15:00.345Z     1         53 dns:example.org LP http://example.org/ text/dns #047 "
        "20261121081500100+224 sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ234567 - 1t,content-size:53 "
        '{"contentSize":53,"warcFilename":"a b.warc.gz"}'
    )
    assert (found.code, found.size, found.url, found.thread) == (1, 53, "dns:example.org", 47)
    assert (found.duration_ms, found.annotations) == (224, ("1t", "content-size:53"))
    assert found.extra["warcFilename"] == "a b.warc.gz"


def test_where_an_original_lies_is_told_as_deduplicator_tells_it() -> None:
    """NetarchiveSuite makes CDX lines from what `duplicate:"(.*),(.*)",(.*)` finds in the log."""
    place = Original("id", "http://a/", 1, "8-1-20261121081500-00008-host.warc.gz", 22962264)
    notes = ("3t", *crawl_log.revisit_notes(place, 9969))
    text = LogLine(DATE, 200, 9, "http://a/", annotations=notes).text()
    found = re.search(r'duplicate:"(.*),(.*)",(.*)', text)
    assert found is not None
    assert found.groups() == ("8-1-20261121081500-00008-host.warc.gz", "22962264", "content-size:9969")
    assert parse(text).annotations == notes
    assert crawl_log.revisit_notes(Original("id", "http://a/", 1), 9969) == ("duplicate:digest",)


@pytest.mark.parametrize("text", ["", "a b c", "x " * 12, "2026-11-21T08:15:00Z 200 - u - - - #0 - - - - {bad"])
def test_what_is_no_line_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"crawl\.log line"):
        parse(text)


TEXT = st.text(max_size=20)


NOTES = TEXT.filter(bool) | TEXT.map('duplicate:"{}"'.format)


@given(url=TEXT, via=TEXT, mime=TEXT, source=TEXT, notes=st.lists(NOTES).map(tuple))
def test_nothing_breaks_out_of_its_column(url: str, via: str, mime: str, source: str, notes: tuple[str, ...]) -> None:
    text = LogLine(DATE, 200, 1, url or "u", "L", via, mime, 0, DATE, 1, "", source, notes, {"a": 1}).text()
    assert len(text.split()) == 13
    assert len(text.splitlines()) == 1
    assert text.isprintable()
    assert len(parse(text).annotations) == len(notes)


def test_ordinary_line_survives_being_written_and_read() -> None:
    made = LogLine(
        DATE // 1000 * 1000, 200, 7, "http://a/", "L", "http://b/", "text/html", 3, DATE // 1000 * 1000, 9, "sha1:X",
        "http://b/", ("a", "b"), {"contentSize": 9},
    )  # fmt: skip
    assert parse(made.text()) == made


def test_log_grows_by_whole_lines(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path / "job")
    log.append([])
    assert not log.path.exists()
    log.append(["one", "two"])
    log.append(["three"])
    assert log.path.read_text() == "one\ntwo\nthree\n"


def test_line_after_a_failed_write_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "crawl.log").symlink_to("/dev/full")
    log = CrawlLog(tmp_path / "job")
    with pytest.raises(OSError, match="No space left"):
        log.append(["one"])
    (tmp_path / "job" / "crawl.log").unlink()
    (tmp_path / "job" / "crawl.log").write_text("on")
    log.append(["two"])
    log.append(["three"])
    assert log.path.read_text() == "on\ntwo\nthree\n"


def _write_many(folder: Path, name: str) -> None:
    log = CrawlLog(folder)
    for number in range(200):
        log.append([f"{name}-{number}-{'x' * 500}"] * 3)


def test_line_after_one_that_the_power_was_cut_off_from_stands_alone(tmp_path: Path) -> None:
    CrawlLog(tmp_path).append(["whole"])
    with (tmp_path / "crawl.log").open("ab") as file:
        file.write(b"2026-11-21 torn\0\0\0")
    after = CrawlLog(tmp_path)
    after.append(["next"])
    after.append(["last"])
    assert (tmp_path / "crawl.log").read_bytes() == b"whole\n2026-11-21 torn\0\0\0\nnext\nlast\n"


def test_processes_do_not_write_into_each_others_lines(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=_write_many, args=(tmp_path, name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = (tmp_path / "crawl.log").read_text().splitlines()
    assert len(lines) == 3 * 200 * 3
    assert all(line[0] in "abc" and line.endswith("x" * 500) and len(line) < 510 for line in lines)
