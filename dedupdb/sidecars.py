"""Takes the CDXJ sidecars beside the WARC files into the capture index, exactly once and as they grow.

Of each sidecar it notes, in the transaction that adds the rows, which file it was (inode), how far it was read, and
a checksum of the bytes just before. A sidecar that was replaced (sorted, when its WARC is closed; mended, by a
repair) or cut back is read again from its start, and rows that it no longer has are dropped. A last line without
its line end is still being written, and waits.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from archive import cdxj
from archive.capture import Capture
from archive.sections import NAME_PATTERN
from archive.source import WarcError, warc_files
from dedupdb.captures import Captures, Position
from dedupdb.trust import acceptable

logger = logging.getLogger(__name__)

_CHUNK: Final = 1 << 20
_CHECKED: Final = 256


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a sidecar was read: the file's inode, the offset after the last line, the checksum before it."""

    inode: int = 0
    offset: int = 0
    checksum: int = 0

    def __str__(self) -> str:
        return f"{self.inode} {self.offset} {self.checksum}"

    @classmethod
    def read(cls, text: str) -> Mark:
        """The mark that `str` wrote."""
        return cls(*map(int, text.split()))


class Sidecars:
    """The sidecars of all collections of one home."""

    def __init__(self, home: Path, captures: Captures) -> None:
        self._collections = home / "collections"
        self._captures = captures

    def reconcile(self, collection: str | None = None) -> int:
        """Read what is new in the sidecars, of one collection or of all. How many captures the index did not have."""
        folders = [self._collections / collection] if collection else sorted(self._collections.glob("*"))
        return sum(self._reconcile_folder(folder) for folder in folders if re.fullmatch(NAME_PATTERN, folder.name))

    def write_missing(self, collection: str) -> int:
        """Write the sidecars of closed WARC files that have none, from those files. How many were written.

        A damaged file gets none: `ghostfleet check` tells what is the matter with it.
        """
        folder, written = self._collections / collection, 0
        for path in warc_files(folder / "archive"):
            sidecar = folder / "indexes" / (path.name + cdxj.SUFFIX)
            if sidecar.exists():
                continue
            sidecar.parent.mkdir(parents=True, exist_ok=True)
            try:
                cdxj.write_sorted(sidecar, [cdxj.line(capture) for capture in cdxj.captures_of(path, collection)])
                written += 1
            except (WarcError, OSError) as error:
                logger.warning("%s gets no sidecar: %s", path, error)
        return written

    def reset(self, collection: str) -> int:
        """Empty the collection's index, so that `reconcile` reads everything again. How many captures it had."""
        return self._captures.drop(collection, source(collection, ""))

    def _reconcile_folder(self, folder: Path) -> int:
        marks = self._captures.positions(source(folder.name, ""))
        added = 0
        for path in sorted((folder / "indexes").glob(f"*{cdxj.SUFFIX}")):
            mark = Mark.read(marks.get(source(folder.name, path.name), "0 0 0"))
            try:
                added += self._reconcile_file(folder.name, path, mark)
            except OSError as error:
                logger.warning("sidecar %s can't be read now: %s", path, error)
        return added

    def _reconcile_file(self, collection: str, path: Path, mark: Mark) -> int:
        with path.open("rb") as file:
            if _continues(file, mark):
                return self._read_on(collection, path, file, mark)
            start = Mark(os.fstat(file.fileno()).st_ino)
            return (self._read_again if mark.inode else self._read_on)(collection, path, file, start)

    def _read_on(self, collection: str, path: Path, file: BinaryIO, mark: Mark) -> int:
        """Take in all whole lines after the mark."""
        added = 0
        for lines, reached in _chunks(file, mark):
            captures = _captures_of(lines, collection, path)
            added += self._captures.add(captures, position=Position(source(collection, path.name), str(reached)))
        return added

    def _read_again(self, collection: str, path: Path, file: BinaryIO, mark: Mark) -> int:
        """Take in a sidecar that is not what it was, and drop captures of its WARC that it no longer has.

        Its position comes last: whoever is stopped before finds it to be read again.
        """
        added, offsets, own = 0, set[int](), path.name.removesuffix(cdxj.SUFFIX)
        for lines, reached in _chunks(file, mark):
            captures = list(_captures_of(lines, collection, path))
            offsets |= {capture.offset for capture in captures if capture.filename == own}
            added += self._captures.add(captures)
            mark = reached
        if dropped := self._captures.prune(collection, own, offsets):
            logger.warning("collection %s: %d captures are no longer in %s; dropped", collection, dropped, path)
        self._captures.add((), position=Position(source(collection, path.name), str(mark)))
        return added


def source(collection: str, name: str) -> str:
    """Under which name the position of a sidecar is kept; for no name, the start of all the collection's."""
    return f"sidecar/{collection}/{name}"


def _continues(file: BinaryIO, mark: Mark) -> bool:
    """Whether this is the file of the mark, unchanged up to its offset. Every line has an id of its own to tell by."""
    status = os.fstat(file.fileno())
    if status.st_ino != mark.inode or status.st_size < mark.offset:
        return False
    file.seek(max(0, mark.offset - _CHECKED))
    return zlib.crc32(file.read(mark.offset - file.tell())) == mark.checksum


def _chunks(file: BinaryIO, mark: Mark) -> Iterator[tuple[bytes, Mark]]:
    """Whole lines after the mark, about a megabyte at a time, with the mark after them."""
    rest, tail = b"", _tail_before(file, mark.offset)
    while data := file.read(_CHUNK):
        lines, end, rest = (rest + data).rpartition(b"\n")
        if end:
            lines += end
            tail = (tail + lines)[-_CHECKED:]
            mark = Mark(mark.inode, mark.offset + len(lines), zlib.crc32(tail))
            yield lines, mark


def _tail_before(file: BinaryIO, offset: int) -> bytes:
    file.seek(max(0, offset - _CHECKED))
    return file.read(offset - file.tell())


def _captures_of(lines: bytes, collection: str, path: Path) -> Iterator[Capture]:
    for line in lines.split(b"\n"):
        if line.strip() and not line.startswith((b"!", b"#")):
            try:
                yield acceptable(cdxj.parse(line.decode(), collection))
            except (ValueError, OverflowError, RecursionError) as error:
                logger.warning("sidecar %s: a line is left out: %s", path, error)
