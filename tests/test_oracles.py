"""The other readers that our WARC files are shown to do find what is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from oracles import fastwarc_check, warcio_kinds, write_with_warcio
from warcio.exceptions import ArchiveLoadFailed


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
