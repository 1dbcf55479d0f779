"""WARC files read with nothing of ours: member by member, to the byte, and strict about what must hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_PIECE = 1 << 16


class Torn(AssertionError):
    """A file does not end with a whole record."""


@dataclass(frozen=True)
class Stored:
    """One record: header fields in order, and the block exactly."""

    path: Path
    offset: int
    fields: tuple[tuple[str, str], ...]
    block: bytes

    def field(self, name: str) -> str | None:
        """Value of the first field of that name."""
        return next((value for found, value in self.fields if found.lower() == name.lower()), None)

    @property
    def kind(self) -> str:
        """WARC-Type."""
        return self.field("WARC-Type") or ""

    @property
    def id(self) -> str:
        """WARC-Record-ID with its brackets."""
        return self.field("WARC-Record-ID") or ""

    @property
    def url(self) -> str:
        """WARC-Target-URI."""
        return self.field("WARC-Target-URI") or ""

    @property
    def payload_digest(self) -> str:
        """WARC-Payload-Digest with its label."""
        return self.field("WARC-Payload-Digest") or ""


@dataclass(frozen=True)
class Archive:
    """All records of a collection, in the order of files and offsets."""

    records: tuple[Stored, ...]

    @classmethod
    def read(cls, folder: Path, *, growing: bool = False) -> Archive:
        """Everything in a folder, files still named `.open` too. Raises Torn, unless they are `growing` just now."""
        return cls(tuple(record for path in files(folder) for record in _up_to_the_end(path, growing)))

    def of(self, url: str, *kinds: str) -> list[Stored]:
        """The records of a URL, of these kinds only when any are named."""
        return [record for record in self._by_url.get(url, ()) if not kinds or record.kind in kinds]

    @cached_property
    def _by_url(self) -> dict[str, list[Stored]]:
        found: dict[str, list[Stored]] = {}
        for record in self.records:
            found.setdefault(record.url, []).append(record)
        return found

    def kinds(self, *kinds: str) -> list[Stored]:
        """All records of these kinds."""
        return [record for record in self.records if record.kind in kinds]

    def raw_blocks(self, url: str) -> list[bytes]:
        """The blocks of a URL's responses and revisits."""
        return [record.block for record in self.of(url, "response", "revisit")]


def files(folder: Path) -> list[Path]:
    """WARC files below a folder."""
    return sorted(path for path in folder.rglob("*.warc.gz*") if path.is_file())


def read_file(path: Path) -> Iterator[Stored]:
    """The records of a file: one gzip member each. Raises Torn when the file ends within one."""
    offset, rest = 0, b""
    with path.open("rb") as file:
        while rest := rest or file.read(_PIECE):
            member, record, packed = zlib.decompressobj(wbits=31), b"", 0
            while not member.eof:
                piece = rest or file.read(_PIECE)
                if not piece:
                    raise Torn(f"{path.name} ends within the record at {offset}")
                try:
                    record += member.decompress(piece)
                except zlib.error as error:
                    raise Torn(f"{path.name} at {offset}: {error}") from error
                packed += len(piece)
                rest = b""
            rest = member.unused_data
            yield _record(path, offset, record)
            offset += packed - len(rest)


def _up_to_the_end(path: Path, growing: bool) -> Iterator[Stored]:
    try:
        yield from read_file(path)
    except Torn:
        if not growing:
            raise


def _record(path: Path, offset: int, record: bytes) -> Stored:
    head, found, rest = record.partition(b"\r\n\r\n")
    lines = head.decode("utf-8").split("\r\n")
    assert found, f"{path.name} at {offset}: no end of the header"
    assert lines[0] == "WARC/1.1", f"{path.name} at {offset}: {lines[0]}"
    fields = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:]))
    length = int(dict(fields)["Content-Length"])
    assert rest[length:] == b"\r\n\r\n", f"{path.name} at {offset}: Content-Length {length} of {len(rest) - 4}"
    return Stored(path, offset, fields, rest[:length])
