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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from archive import cdxj
from archive.capture import Capture
from archive.openfile import make_folder
from archive.place import SIDECAR_SUFFIX, Place, closed, sidecars
from archive.sections import NAME_PATTERN
from archive.source import WarcError
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
        written = 0
        for place in closed(self._collections / collection):
            if place.sidecar.exists():
                continue
            make_folder(place.sidecar.parent)
            try:
                captures = cdxj.captures_of(place.warc, collection, place.name)
                cdxj.write_sorted(place.sidecar, [cdxj.line(capture) for capture in captures])
                written += 1
            except (WarcError, OSError) as error:
                logger.warning("%s gets no sidecar: %s", place.warc, error)
        return written

    def reset(self, collection: str) -> int:
        """Empty the collection's index, so that `reconcile` reads everything again. How many captures it had."""
        return self._captures.drop(collection, source(collection, ""))

    def _reconcile_folder(self, folder: Path) -> int:
        marks = self._captures.positions(source(folder.name, ""))
        added = 0
        for place in sidecars(folder):
            mark = Mark.read(marks.get(_source(place), "0 0 0"))
            try:
                added += self._reconcile_file(place, mark)
            except OSError as error:
                logger.warning("sidecar %s can't be read now: %s", place.sidecar, error)
        return added

    def _reconcile_file(self, place: Place, mark: Mark) -> int:
        with place.sidecar.open("rb") as file:
            if _continues(file, mark):
                return self._read_on(place, file, mark)
            start = Mark(os.fstat(file.fileno()).st_ino)
            return (self._read_again if mark.inode else self._read_on)(place, file, start)

    def _read_on(self, place: Place, file: BinaryIO, mark: Mark) -> int:
        """Take in all whole lines after the mark."""
        added = 0
        for lines, reached in _chunks(file, mark):
            fresh, _ = self._sorted_out(lines, place)
            added += self._captures.add(fresh, position=Position(_source(place), str(reached)))
        return added

    def _read_again(self, place: Place, file: BinaryIO, mark: Mark) -> int:
        """Take in a sidecar that is not what it was, and drop captures of its WARC that it no longer has.

        Its position comes last: whoever is stopped before finds it to be read again.
        """
        added, offsets, collection = 0, set[int](), place.folder.name
        for lines, reached in _chunks(file, mark):
            fresh, known = self._sorted_out(lines, place)
            offsets |= known | {capture.offset for capture in fresh if capture.filename == place.name}
            added += self._captures.add(fresh)
            mark = reached
        if dropped := self._captures.prune(collection, place.name, offsets):
            logger.warning(
                "collection %s: %d captures are no longer in %s; dropped", collection, dropped, place.sidecar
            )
        self._captures.add((), position=Position(_source(place), str(mark)))
        return added

    def _sorted_out(self, lines: bytes, place: Place) -> tuple[list[Capture], set[int]]:
        """The captures of those lines that the index may lack, and the offsets of the others.

        Nearly all lines tell of captures that were announced; to find which costs a fifth of what reading them does.
        """
        said = {line: cdxj.offset_in(line, place.name) for line in lines.split(b"\n")}
        asked = {offset for offset in said.values() if offset is not None}
        known = self._captures.offsets(place.folder.name, place.name, asked)
        return list(_captures_of((line for line, offset in said.items() if offset not in known), place)), known


def source(collection: str, name: str) -> str:
    """Under which name the position of a sidecar is kept; for no name, the start of all the collection's."""
    return f"sidecar/{collection}/{name}"


def _source(place: Place) -> str:
    return source(place.folder.name, place.name + SIDECAR_SUFFIX)


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


def _captures_of(lines: Iterable[bytes], place: Place) -> Iterator[Capture]:
    for line in lines:
        if line.strip() and not line.startswith((b"!", b"#")):
            try:
                yield acceptable(cdxj.parse(line.decode(), place.folder.name))
            except (ValueError, OverflowError, RecursionError) as error:
                logger.warning("sidecar %s: a line is left out: %s", place.sidecar, error)
