"""A package of more than 2 GiB has ZIP64 fields, and is read again."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from archive.wacz.package import PackageTitle, PackageWriter
from archive.wacz.reader import ForeignPackage

LARGE = (1 << 32) + (1 << 20)
"""Bytes of the large member. Its own size and the places behind it do not fit into 32 bits."""
PIECE = bytes(1 << 20)
WARC = gzip.compress(b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n")
ZIP64 = 1


class SparseFile(io.FileIO):
    """The file has holes in the place of zeros, so that it takes no room on the disk."""

    def write(self, data: Any, /) -> int:
        if data == PIECE:
            self.truncate(self.seek(len(data), io.SEEK_CUR))
            return len(data)
        return super().write(data)


def zeros(size: int) -> Iterator[bytes]:
    for _ in range(size // len(PIECE)):
        yield PIECE


def extra_kinds(extra: bytes) -> set[int]:
    """Return the kinds of the extra fields of a ZIP header."""
    kinds, at = set(), 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        kinds.add(kind)
        at += 4 + size
    return kinds


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_package_of_more_than_four_gibibytes_is_written_and_read(tmp_path: Path) -> None:
    """Two checksums over 4 GiB of zeros, twice, take most of the time. The file is sparse."""
    path = tmp_path / "large.wacz"
    with SparseFile(path, "w+") as file:
        package = PackageWriter(cast(BinaryIO, file))
        package.add("archive/small.warc.gz", (WARC,), len(WARC))
        package.add("archive/large.warc", zeros(LARGE), LARGE)
        package.add("archive/behind.warc.gz", (WARC,), len(WARC))
        package.finish(PackageTitle("Large"))

    assert path.stat().st_size > LARGE
    assert path.stat().st_blocks * 512 < LARGE // 100
    with zipfile.ZipFile(path) as opened:
        large, behind = opened.getinfo("archive/large.warc"), opened.getinfo("archive/behind.warc.gz")
        assert (large.file_size, large.compress_type) == (LARGE, zipfile.ZIP_STORED)
        assert ZIP64 in extra_kinds(large.extra)
        assert behind.header_offset > LARGE
        assert ZIP64 in extra_kinds(behind.extra)
        assert opened.read(behind) == WARC
    with ForeignPackage(path) as foreign:
        found = {each.member: each for each in foreign.warcs()}
        assert [each.size for each in found.values()] == [len(WARC), LARGE, len(WARC)]
        assert found["archive/behind.warc.gz"].sha256 == hashlib.sha256(WARC).hexdigest()
        with foreign.open("archive/large.warc") as member:
            digest = hashlib.sha256()
            while piece := member.read(1 << 20):
                digest.update(piece)
    assert digest.hexdigest() == found["archive/large.warc"].sha256


@pytest.mark.parametrize(("size", "has_fields"), [((1 << 31) - 1, False), (1 << 31, True)])
def test_the_local_header_has_the_fields_from_two_gibibytes_on(tmp_path: Path, size: int, has_fields: bool) -> None:
    """The list at the end has them from the same size on, and players take the local header for equal to it."""
    path = tmp_path / "some.wacz"
    with path.open("w+b") as file:
        PackageWriter(file).add("archive/some.warc", (b"x",), size)
    head = path.read_bytes()
    length, extra = struct.unpack_from("<HH", head, 26)
    assert (ZIP64 in extra_kinds(head[30 + length : 30 + length + extra])) is has_fields
