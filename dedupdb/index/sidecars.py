"""This module adds the lines of growing CDXJ sidecars to the capture index, each line once.

The transaction that adds the rows of a sidecar also stores its inode, the offset that was read, and a checksum of the
bytes before the offset. A sidecar that was replaced or cut back is read again from its start, and rows that it no
longer has are dropped: a sidecar is sorted when its WARC is closed, and a repair rewrites it. A last line without a
line end is still being written, and is read later.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from archive.capture import Capture
from archive.names.name_rules import NAME_PATTERN
from archive.names.warc_paths import SIDECAR_SUFFIX, WarcPaths, sidecars
from archive.storage.presence import Presence, WarcFiles
from archive.warc import cdxj
from dedupdb.captures.capture_index import Captures, SourcePosition
from dedupdb.captures.validation import acceptable
from dedupdb.index.sidecar_repair import RepairedSidecar, repair_sidecars

logger = logging.getLogger(__name__)

_CHUNK: Final = 1 << 20
_CHECKED: Final = 256


@dataclass(frozen=True, slots=True)
class SidecarMark:
    """The mark says how far a sidecar was read: inode, offset behind the last line, checksum of the bytes before it."""

    inode: int = 0
    offset: int = 0
    checksum: int = 0

    def __str__(self) -> str:
        return f"{self.inode} {self.offset} {self.checksum}"

    @classmethod
    def read(cls, text: str) -> SidecarMark:
        """Return the mark that `str` wrote."""
        return cls(*map(int, text.split()))


class Sidecars:
    """Reads the sidecars of all collections of one home."""

    def __init__(self, home: Path, captures: Captures, files: WarcFiles | None = None) -> None:
        """Take `files` to skip sidecars whose WARC files are neither in the home nor in the storage."""
        self._collections = home / "collections"
        self._captures = captures
        self._files = files

    def reconcile(self, collection: str | None = None, *, anew: bool = False) -> int:
        """Read new lines of the sidecars, of one collection or of all. Return how many captures the index lacked.

        With `anew`, all lines are read.
        """
        folders = [self._collections / collection] if collection else sorted(self._collections.glob("*"))
        named = [folder for folder in folders if re.fullmatch(NAME_PATTERN, folder.name)]
        return sum(self._reconcile_folder(folder, anew=anew) for folder in named)

    def read_anew(self, collection: str, filename: str) -> int:
        """Replace the captures of a file that was written anew. Return how many it has. Raises OSError."""
        place = WarcPaths(self._collections / collection, filename)
        self._captures.drop_file(collection, filename, _source(place))
        return self._reconcile_file(place, SidecarMark())

    def repair(self, collection: str) -> Iterator[RepairedSidecar]:
        """Rewrite sidecars that are missing or incomplete, from the WARC files; yield the state of each sidecar."""
        for repaired in repair_sidecars(self._collections / collection):
            if repaired.reason:
                logger.warning("collection %s: %s", collection, repaired)
            yield repaired

    def reset(self, collection: str, among: Collection[str] | None = None) -> int:
        """Empty the index of the collection. Return how many captures it had.

        With `among`, only the captures of these files are taken out, and of files with a sidecar in this home. Another
        indexer may read a sidecar before its rows are removed and store its position after that, so only `reconcile`
        with `anew` is sure to read all again.
        """
        if among is None:
            return self._captures.drop(collection, source(collection, ""))
        names = {*among, *(place.name for place in sidecars(self._collections / collection))}
        return sum(self._captures.drop_file(collection, name, source_of(collection, name)) for name in sorted(names))

    def _reconcile_folder(self, folder: Path, *, anew: bool) -> int:
        marks = {} if anew else self._captures.positions(source(folder.name, ""))
        added = 0
        for place in self._with_files(folder, list(sidecars(folder))):
            mark = SidecarMark.read(marks.get(_source(place), "0 0 0"))
            try:
                added += self._reconcile_file(place, mark)
            except OSError as error:
                logger.warning("can't read sidecar %s: %s", place.sidecar, error)
        return added

    def _with_files(self, folder: Path, places: list[WarcPaths]) -> list[WarcPaths]:
        if self._files is None:
            return places
        found = self._files.presence_of_all(folder.name, [place.name for place in places])
        return [place for place in places if found[place.name] is not Presence.MISSING]

    def _reconcile_file(self, place: WarcPaths, mark: SidecarMark) -> int:
        with place.sidecar.open("rb") as file:
            if _continues(file, mark):
                return self._read_on(place, file, mark)
            start = SidecarMark(os.fstat(file.fileno()).st_ino)
            return (self._read_again if mark.inode else self._read_on)(place, file, start)

    def _read_on(self, place: WarcPaths, file: BinaryIO, mark: SidecarMark) -> int:
        """Add the captures of all complete lines after the mark."""
        added = 0
        for lines, reached in _chunks(file, mark):
            fresh, _ = self._sorted_out(lines, place)
            added += self._captures.add(fresh, position=SourcePosition(_source(place), str(reached)))
        return added

    def _read_again(self, place: WarcPaths, file: BinaryIO, mark: SidecarMark) -> int:
        """Add all lines of a changed sidecar, and drop captures of its WARC that it no longer has.

        The position is stored last, so that an interrupted read starts again.
        """
        added, offsets, collection = 0, set[int](), place.folder.name
        for lines, reached in _chunks(file, mark):
            fresh, known = self._sorted_out(lines, place)
            offsets |= known | {capture.offset for capture in fresh if capture.filename == place.name}
            added += self._captures.add(fresh)
            mark = reached
        if dropped := self._captures.prune(collection, place.name, offsets):
            logger.warning(
                "collection %s: dropped %d captures that are no longer in %s", collection, dropped, place.sidecar
            )
        self._captures.add((), position=SourcePosition(_source(place), str(mark)))
        return added

    def _sorted_out(self, lines: bytes, place: WarcPaths) -> tuple[list[Capture], set[int]]:
        """Return captures that the index may lack, and the offsets of the others.

        Most lines have captures that were announced before. Finding those costs a fifth of parsing the lines. A capture
        with another length gives way: its record was written anew.
        """
        collection = place.folder.name
        said = {line: cdxj.place_in(line, place.name) for line in lines.split(b"\n")}
        places = {each for each in said.values() if each is not None}
        known = self._captures.places(collection, place.name, [offset for offset, _ in places])
        fresh = list(_captures_of((line for line, each in said.items() if each not in known), place))
        offsets = {offset for offset, _ in known}
        if changed := offsets & {capture.offset for capture in fresh if capture.filename == place.name}:
            self._captures.remove(collection, place.name, changed)
        return fresh, offsets


def source(collection: str, name: str) -> str:
    """Return the name of a sidecar's position in the index; without `name`, the prefix for the collection."""
    return f"sidecar/{collection}/{name}"


def source_of(collection: str, filename: str) -> str:
    """Return the name in the index for the position of a WARC file's sidecar."""
    return source(collection, filename + SIDECAR_SUFFIX)


def _source(place: WarcPaths) -> str:
    return source_of(place.folder.name, place.name)


def _continues(file: BinaryIO, mark: SidecarMark) -> bool:
    """Return whether this is the file of the mark, unchanged up to its offset.

    Each line has its own id, so the checksum of the last lines is enough.
    """
    status = os.fstat(file.fileno())
    if status.st_ino != mark.inode or status.st_size < mark.offset:
        return False
    file.seek(max(0, mark.offset - _CHECKED))
    return zlib.crc32(file.read(mark.offset - file.tell())) == mark.checksum


def _chunks(file: BinaryIO, mark: SidecarMark) -> Iterator[tuple[bytes, SidecarMark]]:
    """Yield complete lines after the mark, about a megabyte at a time, with the mark behind them."""
    rest, tail = b"", _tail_before(file, mark.offset)
    while data := file.read(_CHUNK):
        lines, end, rest = (rest + data).rpartition(b"\n")
        if end:
            lines += end
            tail = (tail + lines)[-_CHECKED:]
            mark = SidecarMark(mark.inode, mark.offset + len(lines), zlib.crc32(tail))
            yield lines, mark


def _tail_before(file: BinaryIO, offset: int) -> bytes:
    file.seek(max(0, offset - _CHECKED))
    return file.read(offset - file.tell())


def _captures_of(lines: Iterable[bytes], place: WarcPaths) -> Iterator[Capture]:
    for line in lines:
        if line.strip() and not line.startswith((b"!", b"#")):
            try:
                yield acceptable(cdxj.parse(line.decode(), place.folder.name))
            except (ValueError, OverflowError, RecursionError) as error:
                logger.warning("sidecar %s: a line is skipped: %s", place.sidecar, error)
