"""WARC files read with nothing of ours: member by member, to the byte, and strict about what must hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_PIECE = 1 << 16
_LISTINGS = 10


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
        return ArchiveReader().read(folder, growing=growing)

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


class ArchiveReader:
    """A reader that reads again only what a file has gained since, as tests ask for the same files again and again."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[int, int, list[Stored]]] = {}
        """Each file has its inode, the end of its last whole record, and its records."""

    def read(self, folder: Path, *, growing: bool = False) -> Archive:
        """Everything in a folder, files still named `.open` too. Raises Torn, unless they are `growing` just now.

        A growing file may get its final name meanwhile, and then the folder is listed again.
        """
        for _ in range(_LISTINGS if growing else 0):
            with suppress(FileNotFoundError):
                return self._read(folder, growing)
        return self._read(folder, growing)

    def _read(self, folder: Path, growing: bool) -> Archive:
        return Archive(tuple(record for path in files(folder) for record in self._records(path, growing)))

    def _records(self, path: Path, growing: bool) -> list[Stored]:
        status = path.stat()
        inode, end, records = self._known.get(path, (0, 0, []))
        if inode != status.st_ino or end > status.st_size:
            end, records = 0, []
        try:
            for record, next_offset in _records_from(path, end):
                records.append(record)
                end = next_offset
        except Torn:
            if not growing:
                raise
        finally:
            self._known[path] = status.st_ino, end, records
        return records


def files(folder: Path) -> list[Path]:
    """WARC files below a folder."""
    return sorted(path for path in folder.rglob("*.warc.gz*") if path.is_file())


def read_file(path: Path) -> Iterator[Stored]:
    """The records of a file: one gzip member each. Raises Torn when the file ends within one."""
    return (record for record, _ in _records_from(path, 0))


def _records_from(path: Path, offset: int) -> Iterator[tuple[Stored, int]]:
    """The records from an offset on, each with the offset behind it."""
    rest = b""
    with path.open("rb") as file:
        file.seek(offset)
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
            stored = _record(path, offset, record)
            offset += packed - len(rest)
            yield stored, offset


def _record(path: Path, offset: int, record: bytes) -> Stored:
    head, found, rest = record.partition(b"\r\n\r\n")
    lines = head.decode("utf-8").split("\r\n")
    assert found, f"{path.name} at {offset}: no end of the header"
    assert lines[0] == "WARC/1.1", f"{path.name} at {offset}: {lines[0]}"
    fields = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:]))
    length = int(dict(fields)["Content-Length"])
    assert rest[length:] == b"\r\n\r\n", f"{path.name} at {offset}: Content-Length {length} of {len(rest) - 4}"
    return Stored(path, offset, fields, rest[:length])
