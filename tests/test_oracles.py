"""The other readers that our WARC files are shown to do find what is wrong."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from support.archive.exchanges import exchange, keep, message, sha1
from support.archive.oracles import fastwarc_check, warcio_kinds, write_with_warcio
from warcio.exceptions import ArchiveLoadFailed

from archive.settings.load import Settings
from archive.warc.writing.writer import WarcWriter


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    write_with_warcio(tmp_path / "a.warc.gz")
    path = tmp_path / "a.warc"
    path.write_bytes(gzip.decompress((tmp_path / "a.warc.gz").read_bytes()))
    return path


def test_they_find_nothing_in_a_good_file(warc: Path) -> None:
    fastwarc_check(warc)
    assert warcio_kinds(warc) == ["warcinfo", "response", "request"]


@pytest.mark.parametrize("field", ["WARC-Block-Digest", "WARC-Payload-Digest"])
def test_they_find_a_wrong_digest(warc: Path, field: str) -> None:
    before, name, after = warc.read_bytes().partition(f"{field}: sha1:".encode())
    assert name
    warc.write_bytes(before + name + (b"B" if after[:1] == b"A" else b"A") + after[1:])

    with pytest.raises(ArchiveLoadFailed):
        warcio_kinds(warc)
    with pytest.raises(AssertionError, match="wrong digest"):
        fastwarc_check(warc)


def test_they_find_a_file_that_ends_too_early(warc: Path) -> None:
    warc.write_bytes(warc.read_bytes()[:-20])

    with pytest.raises((AssertionError, ArchiveLoadFailed)):
        fastwarc_check(warc)


def test_the_payload_digest_of_a_chunked_response_is_the_one_that_docs_validation_tells_of(settings: Settings) -> None:
    """T41: `warcio check` hashes the chunks; the standard and FastWARC, when it decodes them, agree with us."""
    writer = WarcWriter(settings, "news")
    answer = message("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"4\r\nmoss\r\n0\r\n\r\n")
    capture = keep(writer, exchange("/chunked", answer))
    writer.close()
    warc = settings.archive_dir("news") / capture.filename

    said = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", str(warc)], capture_output=True, text=True, check=False
    ).stdout
    assert said.count("failed") == said.count("payload digest failed") == 1

    script = (
        "import base64, hashlib, sys; from fastwarc.warc import ArchiveIterator\n"
        "for record in ArchiveIterator(open(sys.argv[1], 'rb'), parse_http=False):\n"
        "    if record.headers['WARC-Type'] == 'response':\n"
        "        record.parse_http(auto_decode='transfer')\n"
        "        print(base64.b32encode(hashlib.sha1(record.reader.read()).digest()).decode())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(warc)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{capture.digest}\n" == f"{sha1(b'moss').removeprefix('sha1:')}\n"
