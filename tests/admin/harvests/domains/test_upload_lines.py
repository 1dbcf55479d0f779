"""admin/harvests/domains/upload_lines.py: any file gives lines or a reason, with bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.each_value import each_value

from admin.harvests.domains.upload_lines import LONGEST_LINE, lines_of_bytes, lines_of_text, pieces_of_file
from admin.models.errors import InvalidInput


@each_value(
    "data",
    [
        b"a.org\nb.org\nc.org",
        b"a.org\r\nb.org\r\nc.org\r\n",
        b"a.org\rb.org\rc.org\r",
        b"\xef\xbb\xbfa.org\nb.org\nc.org\n",
        "\ufeffa.org\r\nb.org\r\nc.org\r\n".encode("utf-16-le"),
        "\ufeffa.org\nb.org\nc.org".encode("utf-16-be"),
    ],
)
@each_value("size", [1, 2, 3, 5, 1000])
def test_encodings_and_line_ends_of_other_programs_are_read(data: bytes, size: int) -> None:
    chunks = [data[begin : begin + size] for begin in range(0, len(data), size)]
    assert [(line.number, line.text) for line in lines_of_bytes(chunks)] == [(1, "a.org"), (2, "b.org"), (3, "c.org")]


def test_blank_lines_and_comments_count_as_lines() -> None:
    lines = list(lines_of_bytes([b"\n# note\n \na.org\n"]))
    assert [line.number for line in lines if not line.is_blank] == [4]


def test_bytes_that_are_no_text_stay_in_their_line() -> None:
    lines = list(lines_of_bytes([b"a.org\nb\xff\xfe.org\nc\0.org\n"]))
    assert [line.text for line in lines] == ["a.org", "b\ufffd\ufffd.org", "c\0.org"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\n\n <!DOCTYPE html><html>", "a web page"),
        (b"<html><body>a.org</body>", "a web page"),
        (b"PK\x03\x04\x14\x00", "a ZIP file or a table"),
        (b"\xd0\xcf\x11\xe0", "a table or text program"),
        (b"%PDF-1.7\n", "a PDF file"),
        (b"\x1f\x8b\x08\x00", "a gzip file"),
    ],
)
def test_what_is_no_list_is_refused_at_once(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        list(lines_of_bytes([data]))


@pytest.mark.parametrize("data", [b"", b"a", b"\xef\xbb\xbf", b"\n"])
def test_short_files_are_read(data: bytes) -> None:
    assert "".join(line.text for line in lines_of_bytes([data])) in ("", "a")


def test_a_line_without_end_takes_no_memory() -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield b"x" * 1_000_000
        yield b"\nb.org\n"

    tracemalloc.start()
    try:
        lines = list(lines_of_bytes(endless()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [(len(line.text), line.is_too_long) for line in lines] == [(LONGEST_LINE, True), (5, False)]
    assert peak < 10_000_000


def test_a_file_without_line_ends_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "one-line"
    with path.open("wb") as file:
        file.truncate(300_000_000)
    tracemalloc.start()
    try:
        with path.open("rb") as file:
            [line] = lines_of_bytes(pieces_of_file(file))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert line.is_too_long
    assert peak < 10_000_000


@given(st.text(alphabet="ab\r\n", max_size=40), st.integers(1, 5))
def test_pieces_give_the_same_lines_as_the_whole(text: str, size: int) -> None:
    pieces = [text[begin : begin + size] for begin in range(0, len(text), size)]
    expected = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while expected and not expected[-1]:
        expected.pop()
    found = [line.text for line in lines_of_text(pieces)]
    while found and not found[-1]:
        found.pop()
    assert found == expected
