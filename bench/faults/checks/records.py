"""This module reads WARC files record by record, without the reader of the product."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import zstandard

_END: Final = b"\r\n\r\n"
_PIECE: Final = 1 << 16


class DamagedRecord(Exception):
    """A file does not consist of whole records. The message says where."""


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record with its position, its header fields by lower-case name, and its block."""

    path: Path
    offset: int
    length: int
    fields: dict[str, str]
    block: bytes

    def field(self, name: str) -> str:
        """Return a header field's last value; "" when it is not there."""
        return self.fields.get(name.lower(), "")

    @property
    def kind(self) -> str:
        """Return WARC-Type."""
        return self.field("WARC-Type")

    @property
    def id(self) -> str:
        """Return the bare UUID of WARC-Record-ID."""
        return bare(self.field("WARC-Record-ID"))

    @property
    def url(self) -> str:
        """Return WARC-Target-URI."""
        return self.field("WARC-Target-URI")

    @property
    def target(self) -> str:
        """Return the path of the URL, as in a request."""
        return "/" + self.url.split("/", 3)[3]

    @property
    def is_of_another_archive(self) -> bool:
        """Return whether the record is a revisit of an original in another archive, which can't be checked here."""
        return self.kind == "revisit" and bool(self.field("WARC-Refers-To-Container"))

    @property
    def is_truncated(self) -> bool:
        """Return whether the block is shorter than the response. A revisit does not count."""
        return bool(self.field("WARC-Truncated")) and self.kind != "revisit"


def read_file(path: Path) -> Iterator[WarcRecord]:
    """Yield every record of a file. Raises DamagedRecord."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        record, end = _member(path, data, at)
        yield _record(path, at, end - at, record)
        at = end


def read_at(path: Path, offset: int, length: int) -> WarcRecord:
    """Return the record at this position of a file.

    Raises DamagedRecord when no record has this position and length, or OSError.
    """
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    record, end = _member(path, data, 0)
    if end != length:
        raise DamagedRecord(f"{path.name} at {offset}: {end} bytes, and the index says {length}")
    return _record(path, offset, length, record)


def bare(uri: str) -> str:
    """Return `<urn:uuid:X>` without its wrapping."""
    return uri.removeprefix("<").removesuffix(">").removeprefix("urn:uuid:")


def _member(path: Path, data: bytes, at: int) -> tuple[bytes, int]:
    """Return the decompressed member that begins at `at`, and its end."""
    is_zstd = ".warc.zst" in path.name
    unpack: Any = zstandard.ZstdDecompressor().decompressobj() if is_zstd else zlib.decompressobj(wbits=31)
    found, end = bytearray(), at
    try:
        while not unpack.eof and end < len(data):
            found += unpack.decompress(data[end : end + _PIECE])
            end += len(data[end : end + _PIECE])
    except (zlib.error, zstandard.ZstdError) as error:
        raise DamagedRecord(f"{path.name} at {at}: {error}") from error
    if not unpack.eof:
        raise DamagedRecord(f"{path.name} ends within the record at {at}")
    return bytes(found), end - len(unpack.unused_data)


def _record(path: Path, offset: int, length: int, data: bytes) -> WarcRecord:
    head, found, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("utf-8", "replace").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    size = fields.get("content-length", "")
    if not found or lines[0] != "WARC/1.1" or not size.isdecimal() or rest[int(size) :] != _END:
        raise DamagedRecord(f"{path.name} at {offset}: no whole record, but {data[:40]!r}")
    return WarcRecord(path, offset, length, fields, rest[: int(size)])
