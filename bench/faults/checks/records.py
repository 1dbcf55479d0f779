"""WARC files read member by member, to the byte, without the reader of the product that wrote them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import zstandard

_END: Final = b"\r\n\r\n"
_PIECE: Final = 1 << 16


class Torn(Exception):
    """A file that is not made of whole records; the message says where."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One record: where it lies, its header fields by lower-case name, its block."""

    path: Path
    offset: int
    length: int
    fields: dict[str, str]
    block: bytes

    def field(self, name: str) -> str:
        """A header field's last value; "" when it is not there."""
        return self.fields.get(name.lower(), "")

    @property
    def kind(self) -> str:
        """WARC-Type."""
        return self.field("WARC-Type")

    @property
    def id(self) -> str:
        """The bare UUID of WARC-Record-ID."""
        return bare(self.field("WARC-Record-ID"))

    @property
    def url(self) -> str:
        """WARC-Target-URI."""
        return self.field("WARC-Target-URI")

    @property
    def target(self) -> str:
        """The path of the URL, as a request has it."""
        return "/" + self.url.split("/", 3)[3]

    @property
    def is_of_another_archive(self) -> bool:
        """Whether it is a revisit of an original elsewhere, which can't be looked for here."""
        return self.kind == "revisit" and bool(self.field("WARC-Refers-To-Container"))

    @property
    def is_truncated(self) -> bool:
        """Whether the block is shorter than what was sent; a revisit always is."""
        return bool(self.field("WARC-Truncated")) and self.kind != "revisit"


def read_file(path: Path) -> Iterator[Stored]:
    """Every record of a file. Raises Torn."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        record, end = _member(path, data, at)
        yield _record(path, at, end - at, record)
        at = end


def read_at(path: Path, offset: int, length: int) -> Stored:
    """The record of which an index says that it lies there. Raises Torn when it is not exactly there, or OSError."""
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    record, end = _member(path, data, 0)
    if end != length:
        raise Torn(f"{path.name} at {offset}: {end} bytes, and the index says {length}")
    return _record(path, offset, length, record)


def bare(uri: str) -> str:
    """`<urn:uuid:X>` without its wrapping."""
    return uri.removeprefix("<").removesuffix(">").removeprefix("urn:uuid:")


def _member(path: Path, data: bytes, at: int) -> tuple[bytes, int]:
    """What is packed from there on, and where it ends."""
    is_zstd = ".warc.zst" in path.name
    unpack: Any = zstandard.ZstdDecompressor().decompressobj() if is_zstd else zlib.decompressobj(wbits=31)
    found, end = bytearray(), at
    try:
        while not unpack.eof and end < len(data):
            found += unpack.decompress(data[end : end + _PIECE])
            end += len(data[end : end + _PIECE])
    except (zlib.error, zstandard.ZstdError) as error:
        raise Torn(f"{path.name} at {at}: {error}") from error
    if not unpack.eof:
        raise Torn(f"{path.name} ends within the record at {at}")
    return bytes(found), end - len(unpack.unused_data)


def _record(path: Path, offset: int, length: int, data: bytes) -> Stored:
    head, found, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("utf-8", "replace").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    size = fields.get("content-length", "")
    if not found or lines[0] != "WARC/1.1" or not size.isdecimal() or rest[int(size) :] != _END:
        raise Torn(f"{path.name} at {offset}: no whole record, but {data[:40]!r}")
    return Stored(path, offset, length, fields, rest[: int(size)])
