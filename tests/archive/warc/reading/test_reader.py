"""archive/warc/reading/reader.py and source.py: our files, other people's, and damaged ones."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from support.archive.exchanges import HTML, exchange, keep, message, response
from support.archive.oracles import write_with_warcio

from archive.capture import Capture, Message
from archive.settings.load import Settings, SettingsError, load
from archive.warc.cdxj import captures_of
from archive.warc.reading.member_reader import READ_SIZE, WarcError
from archive.warc.reading.reader import read_record, records
from archive.warc.writing.writer import WarcWriter

ONE = b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
PLAIN = ONE + b"WARC-Target-URI: <http://a/>\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    return path


def kept(settings: Settings, *answers: bytes) -> tuple[Path, list[Capture]]:
    writer = WarcWriter(settings, "news")
    captures = [keep(writer, exchange(f"/{i}", response(body))) for i, body in enumerate(answers)]
    writer.close()
    return settings.archive_dir("news") / captures[0].filename, captures


def test_record_is_read_by_its_offset(settings: Settings) -> None:
    path, (_, second) = kept(settings, b"one", b"two")
    with read_record(path, second.offset, second.length) as record:
        assert (record.kind, record.url, record.date) == ("response", second.url, second.date)
        assert record.version == "WARC/1.1"
        assert record.http.status == 200
        assert record.http_head.endswith(b"\r\n\r\n")
        assert b"".join(record.payload()) == b"two"


def test_block_is_head_and_payload_to_the_byte(settings: Settings) -> None:
    path, (first,) = kept(settings, HTML)
    answer = response(HTML)
    with read_record(path, first.offset) as record:
        assert b"".join(record.block()) == answer.head + HTML
    with read_record(path, first.offset) as record:
        assert record.http_head == answer.head
        assert b"".join(record.block()) == HTML, "what was read is not given twice"


def test_chunked_payload_is_given_with_and_without_chunks(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    coded = b"3\r\nabc\r\n0\r\n\r\n"
    capture = keep(writer, exchange("/", message("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=coded)))
    writer.close()
    path = settings.archive_dir("news") / capture.filename
    with read_record(path, capture.offset) as record:
        assert b"".join(record.payload()) == b"abc"
    with read_record(path, capture.offset) as record:
        assert b"".join(record.payload(dechunked=False)) == coded


def test_file_is_found_under_either_of_its_names(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    capture = keep(writer, exchange())
    writer.sync()
    final = settings.archive_dir("news") / capture.filename
    while_open = final.with_name(final.name + ".open")
    for path in (final, while_open):
        with read_record(path, capture.offset) as record:
            assert record.url == capture.url
    writer.close()
    for path in (final, while_open):
        with read_record(path, capture.offset) as record:
            assert record.url == capture.url


def test_file_that_is_nowhere_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path / "none.warc.gz", 0)


def test_records_come_in_order_with_their_offsets(settings: Settings) -> None:
    path, captures = kept(settings, b"a" * 10, os.urandom(300_000), b"")
    found = [(record.kind, record.offset) for record in records(path)]
    assert [kind for kind, _ in found] == ["warcinfo", *["response", "request"] * 3]
    assert [offset for kind, offset in found if kind == "response"] == [capture.offset for capture in captures]


def test_plain_file_is_read_too(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN * 3)
    found = [(record.offset, record.url, b"".join(record.block()), record.finish()) for record in records(path)]
    assert found == [(i * len(PLAIN), "http://a/", b"hello", (i + 1) * len(PLAIN)) for i in range(3)]
    with read_record(path, len(PLAIN), len(PLAIN)) as record:
        assert b"".join(record.payload()) == b"hello"
        assert not record.is_http


def test_file_packed_as_one_member_is_read_and_shows(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(PLAIN * 3) + gzip.compress(PLAIN))
    assert [(record.in_member, b"".join(record.block())) for record in records(path)] == [
        (0, b"hello"), (1, b"hello"), (2, b"hello"), (0, b"hello")
    ]  # fmt: skip


def test_files_of_warcio_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    write_with_warcio(path)
    assert [record.kind for record in records(path)] == ["warcinfo", "response", "request"]


def test_header_with_bare_line_feeds_and_folded_lines_is_read(tmp_path: Path) -> None:
    header = b"WARC/1.0\nWARC-Type: resource\nContent-Type: text/plain;\n charset=utf-8\nContent-Length: 2\n\n"
    (record,) = records(write(tmp_path, header + b"hi\r\n\r\n"))
    assert record.fields.get("Content-Type") == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("data", "offset", "reason"),
    [
        (b"<html>", 0, "not the beginning of a WARC record"),
        (bytes(100), 0, "not the beginning of a WARC record"),
        (gzip.compress(b"<html>"), 0, "not the beginning of a WARC record"),
        (PLAIN[:30], 0, "not the beginning of a WARC record"),
        (PLAIN[:-6], 0, "lacks 2 of 5 bytes"),
        (PLAIN[:-2] + b"Z", 0, "instead of two empty lines"),
        (PLAIN + b"junk", len(PLAIN), "not the beginning of a WARC record"),
        (gzip.compress(PLAIN)[:-1], 0, "cut off"),
        (gzip.compress(PLAIN)[:40], 0, "cut off"),
        (gzip.compress(PLAIN)[:-8] + bytes(8), 0, "damaged"),
        (
            gzip.compress(PLAIN, mtime=0) + b"junk",
            len(gzip.compress(PLAIN, mtime=0)),
            "not the beginning of a gzip member",
        ),
        (PLAIN.replace(b"Length: 5", b"Length: -5"), 0, "Content-Length '-5' is not a length"),
        (PLAIN.replace(b"Length: 5", b"Length: \xb2"), 0, "is not a length"),
        (PLAIN.replace(b"Length: 5", b"Length: " + b"0" * 5000 + b"5"), 0, "is not a length"),
        (PLAIN.replace(b"Content-Length: 5\r\n", b""), 0, "Content-Length '' is not a length"),
        (gzip.compress(ONE + b"A: " + b"x" * 17_000_000), 0, "the head has more than"),
        (gzip.compress(ONE + b"A: x\n" * 20_000 + b"\n"), 0, "the header has more than 16384 lines"),
    ],
)
def test_damage_is_named_with_file_and_offset(tmp_path: Path, data: bytes, offset: int, reason: str) -> None:
    path = write(tmp_path, data)
    with pytest.raises(WarcError, match=reason) as caught:
        list(records(path))
    assert (caught.value.path, caught.value.offset) == (path, offset)
    assert str(path) in str(caught.value)


def test_record_without_date_says_so_when_asked(tmp_path: Path) -> None:
    (record,) = records(write(tmp_path, PLAIN.replace(b"2020-01-01T00:00:00Z", b"yesterday")))
    with pytest.raises(WarcError, match="WARC-Date can't be read"):
        _ = record.date


def test_empty_file_has_no_records(tmp_path: Path) -> None:
    assert list(records(write(tmp_path, b""))) == []


def test_http_head_without_end_is_all_head(tmp_path: Path) -> None:
    block = b"HTTP/1.1 200 OK\r\nA: b"
    header = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\n"
    data = header + b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (len(block), block)
    with read_record(write(tmp_path, data), 0) as record:
        assert record.http_head == block
        assert b"".join(record.payload()) == b""


def test_the_largest_heads_that_the_proxy_takes_can_be_read_again(tmp_path: Path) -> None:
    """A head is judged when a piece of it has come, so it may be a piece longer than `proxy.max_head_bytes`."""
    most, piece = 8_000_000, 1 << 18
    with pytest.raises(SettingsError, match=r"proxy\.max_head_bytes"):
        load({"home": str(tmp_path), "proxy.max_head_bytes": most + 1}, environment={})
    settings = load({"home": str(tmp_path), "proxy.max_head_bytes": most}, environment={})
    writer = WarcWriter(settings, "news")
    long = exchange("/", response(HTML, "A: " + "x" * (most + piece)))
    capture = keep(writer, replace(long, request=Message(b"GET /" + b"x" * (most + piece) + b" HTTP/1.1\r\n\r\n")))
    writer.close()
    assert list(captures_of(settings.archive_dir("news") / capture.filename, "news")) == [capture]


def test_memory_does_not_grow_with_the_record(tmp_path: Path) -> None:
    size = 64_000_000
    header = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: %d\r\n\r\n" % size
    path = write(tmp_path, gzip.compress(header + bytes(size) + b"\r\n\r\n"))
    tracemalloc.start()
    try:
        assert sum(len(piece) for record in records(path) for piece in record.block()) == size
        assert tracemalloc.get_traced_memory()[1] < 20 * READ_SIZE
    finally:
        tracemalloc.stop()


def test_record_closes_the_file_it_opened(settings: Settings) -> None:
    path, (first,) = kept(settings, os.urandom(300_000))
    record = read_record(path, first.offset)
    record.close()
    with pytest.raises(ValueError, match="closed file"):
        list(record.block())
