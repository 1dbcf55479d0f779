"""The search for what was acknowledged."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bench.traffic.corpus import Corpus
from bench.traffic.warc_check import missing, read

NAME = "http-1"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def url(index: int) -> str:
    return f"http://127.0.1.1:80/{NAME}/{index}"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(20)


def record(kind: str, target: str, block: bytes, *fields: str) -> bytes:
    lines = ["WARC/1.1", f"WARC-Type: {kind}", f"WARC-Target-URI: {target}", "Content-Type: application/http", *fields]
    return gzip.compress("\r\n".join([*lines, f"Content-Length: {len(block)}", "", ""]).encode() + block + b"\r\n\r\n")


def write(folder: Path, *payloads: tuple[str, bytes], revisits: tuple[tuple[str, str], ...] = ()) -> None:
    records = [record("response", target, HEAD + payload) for target, payload in payloads]
    records += [record("revisit", url, HEAD, f"WARC-Refers-To-Target-URI: {original}") for url, original in revisits]
    (folder / "a.warc.gz").write_bytes(b"".join(records))


def test_kept_responses_are_found(tmp_path: Path, corpus: Corpus) -> None:
    write(tmp_path, *((url(index), corpus.content(NAME, index)) for index in range(3)))

    kept = read(tmp_path)

    assert missing(kept, corpus, NAME, [(index, url(index)) for index in range(3)]) == []
    assert kept.warc_bytes > 0


def test_absent_and_changed_responses_are_missing(tmp_path: Path, corpus: Corpus) -> None:
    write(tmp_path, (url(0), corpus.content(NAME, 0)), (url(1), corpus.content(NAME, 1)[:-1]))

    told = [(index, url(index)) for index in range(3)]

    assert missing(read(tmp_path), corpus, NAME, told) == [url(1), url(2)]


def test_a_revisit_counts_only_with_its_original(tmp_path: Path, corpus: Corpus) -> None:
    copy = "http://127.0.1.1:80/copy"
    write(tmp_path, (copy, corpus.content(NAME, 1)), revisits=((url(1), copy), (url(2), url(9))))

    told = [(index, url(index)) for index in (1, 2)]

    assert missing(read(tmp_path), corpus, NAME, told) == [url(2)]


def test_a_file_that_is_not_a_warc_counts_as_damage(tmp_path: Path, corpus: Corpus) -> None:
    write(tmp_path, (url(0), corpus.content(NAME, 0)))
    (tmp_path / "b.warc").write_bytes(b"what is this\r\n\r\n")

    assert [text.partition(":")[0] for text in read(tmp_path).damage] == ["b.warc"]


def test_a_revisit_of_another_file_counts_as_missing(tmp_path: Path, corpus: Corpus) -> None:
    write(tmp_path, (url(0), corpus.content(NAME, 0)), revisits=((url(1), url(0)),))
    assert missing(read(tmp_path), corpus, NAME, [(0, url(0)), (1, url(1))]) == [url(1)]
