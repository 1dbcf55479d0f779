"""A writer that died leaves `.open` files. This module completes and publishes them, or removes them.

All complete record sets from the beginning of the file are kept. The bytes behind the last one are cut off and moved to
the collection's `quarantine`: a torn record, or a response without its request, because an exchange is kept whole or
not at all. A complete record that can't be read was durable: its file is left as it is. The sidecar is written again
from the WARC. Each step can be interrupted: the file stays `.open` until everything else is durable, and a second
repair does the same again.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import BinaryIO

from archive.capture import Capture
from archive.file_lock import lock, try_lock
from archive.files import is_at, make_folder, rename_new, replacement, sync_folder
from archive.names.warc_paths import WarcPaths, closed, growing
from archive.settings.load import Settings
from archive.version import SOFTWARE
from archive.warc import cdxj
from archive.warc.reading.member_reader import MemberReader, WarcError
from archive.warc.reading.reader import next_record, records

log = logging.getLogger(__name__)

_COPY_SIZE = 1 << 20
_LONGEST_WARCINFO = 1 << 20
"""Bytes of a warcinfo. A longer one is not of this program."""


class RepairOutcome(StrEnum):
    """The outcome says how a repair ended."""

    CLOSED = "closed"
    REMOVED = "removed"
    """The file had no capture."""
    INDEXED = "indexed"
    """A closed WARC without a sidecar got one."""
    MENDED = "mended"
    """Records of a file of another program ended wrongly, and were written anew."""
    LEFT = "left as it is"
    """The file is unchanged, for the given reason, and can be read."""
    FAILED = "failed"
    """The file is unchanged, for the given reason."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """This is one repaired file; `filename` is its final name."""

    filename: str
    outcome: RepairOutcome
    records: int = 0
    cut_bytes: int = 0
    quarantined: Path | None = None
    reason: str = ""
    """Why bytes were cut off, or what failed."""

    def __str__(self) -> str:
        cut = f", {self.cut_bytes} bytes to {self.quarantined}" if self.quarantined else ""
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.filename} {self.outcome}: {self.records} records{cut}{why}"


@dataclass(frozen=True, slots=True)
class WholePart:
    """The first `length` bytes of a file are complete record sets, with `records` records, of them `captures` captures.

    A file without captures is not worth keeping.
    """

    length: int
    records: int
    captures: int
    reason: str
    is_refused: bool = False
    """The record behind them is complete, but can't be read."""


def repair(settings: Settings, collection: str) -> list[Repaired]:
    """Repair every leftover file of a collection and return the outcomes. Files of live writers are not touched.

    A file that can't be repaired is reported as FAILED, and the other files are still repaired.
    """
    folder, found = settings.collection(collection), list[Repaired]()
    for place in growing(folder):
        with locked(place.growing) as file:
            if file is not None:
                found.append(_tried(place, partial(_close, place, file, collection)))
    for place in closed(folder):
        if not place.sidecar.exists():
            found.append(_tried(place, partial(_index, place, collection)))
    for each in found:
        log.log(logging.ERROR if each.outcome is RepairOutcome.FAILED else logging.WARNING, "repair: %s", each)
    return found


def has_writer(path: Path) -> bool:
    """Return whether a process holds the lock on a file that is called `.open`. Raises FileNotFoundError.

    An empty file may be new and not locked yet. Trying its lock could make its writer fail, so an empty file counts as
    being written.
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return True
        return not try_lock(file.fileno(), shared=True)


def being_written(settings: Settings, collection: str) -> list[WarcPaths]:
    """Return the files of a collection that live writers have open, which no repair touches."""
    found = []
    for place in growing(settings.collection(collection)):
        with suppress(FileNotFoundError):  # its writer has just closed it
            if has_writer(place.growing):
                found.append(place)
    return found


def whole_part(path: Path) -> WholePart:
    """Read a file from its beginning to the end of its last complete record set."""
    length = records = captures = seen = seen_captures = 0
    awaited: set[str] = set()
    with path.open("rb") as file:
        try:
            source = MemberReader(file, path, is_strict=True)
            more = True
            while more and (record := next_record(source, 0)):
                end = record.finish()
                seen += 1
                awaited.discard(record.record_id)
                if record.kind in ("response", "revisit"):
                    awaited = set(record.concurrent_to)
                seen_captures += record.kind not in ("warcinfo", "request")
                if not awaited:
                    length, records, captures = end, seen, seen_captures
                more = source.next_member()
        except WarcError as error:
            if _is_complete_member(file, path, error.offset):
                reason = f"the record at {error.offset} is complete, but can't be read: {error.reason}"
                return WholePart(length, records, captures, reason, is_refused=True)
            return WholePart(length, records, captures, error.reason)
    return WholePart(length, records, captures, "the last response lacks its request" if awaited else "")


def _is_complete_member(file: BinaryIO, path: Path, offset: int) -> bool:
    """Return whether a gzip member or zstd frame begins there, has its end, and agrees with its checksum."""
    try:
        source = MemberReader(file, path, offset, is_strict=True)
        while source.is_packed and source.read():
            pass
    except WarcError:
        return False
    return source.is_packed


def is_of_another_program(path: Path) -> bool:
    """Return whether the file does not begin with a warcinfo record of this program. Raises WarcError and OSError."""
    for record in records(path):
        if record.kind != "warcinfo" or record.block_length > _LONGEST_WARCINFO:
            return True
        said = b"".join(record.block()).decode("utf-8", "replace")
        name, _, _ = SOFTWARE.partition("/")
        return f"software: {name}/" not in said.lower()
    return False


def captures_again(
    path: Path, collection: str, filename: str, buckets: Mapping[str, tuple[str, ...]]
) -> Iterator[Capture]:
    """Yield the captures of a WARC file, for a sidecar that takes the place of another one.

    `buckets` are the dedup buckets in the old lines, by record id. A record of another program does not tell whether it
    may be an original: without an old line it is none. Raises WarcError and OSError.
    """
    unknown = () if is_of_another_program(path) else None
    for capture in cdxj.captures_of(path, collection, filename):
        known = buckets.get(capture.record_id, unknown)
        yield capture if known is None or capture.kind == "revisit" else replace(capture, buckets=known)


def _tried(place: WarcPaths, step: Callable[[], Repaired]) -> Repaired:
    try:
        return step()
    except (OSError, ValueError) as error:
        return Repaired(place.name, RepairOutcome.FAILED, reason=str(error))


def _close(place: WarcPaths, file: BinaryIO, collection: str) -> Repaired:
    path = place.growing
    whole, size = whole_part(path), os.fstat(file.fileno()).st_size
    if whole.is_refused:  # no kill leaves such a record
        return Repaired(place.name, RepairOutcome.FAILED, reason=whole.reason)
    cut = size - whole.length
    tail = _quarantine(file, whole.length, place.tail) if cut else None
    if not whole.captures:
        place.sidecar.unlink(missing_ok=True)
        path.unlink()
        sync_folder(path.parent)
        return Repaired(place.name, RepairOutcome.REMOVED, whole.records, cut, tail, whole.reason)
    with _durable(path, file, whole.length):
        _write_sidecar(path, place, collection)
        rename_new(path, place.warc)
        sync_folder(path.parent)
    return Repaired(place.name, RepairOutcome.CLOSED, whole.records, cut, tail, whole.reason)


@contextmanager
def _durable(path: Path, file: BinaryIO, length: int) -> Iterator[None]:
    """Cut the file to its length and make it durable; it stays locked in the block.

    A failed fsync is reported once: a second one would succeed even if bytes are lost. So the file is copied then, and
    the copy is synced.
    """
    file.truncate(length)
    try:
        os.fsync(file.fileno())
    except OSError as error:
        log.warning("repair: can't sync %s (%s), so the file is copied", path, error)
    else:
        yield
        return
    with ExitStack() as copy_lock:
        with replacement(path) as copy:
            held = os.dup(copy.fileno())  # the lock lasts until the last descriptor of the copy is closed
            copy_lock.callback(os.close, held)
            lock(held, waits=False)
            file.seek(0)
            shutil.copyfileobj(file, copy, _COPY_SIZE)
        yield


def _index(place: WarcPaths, collection: str) -> Repaired:
    return Repaired(place.name, RepairOutcome.INDEXED, _write_sidecar(place.warc, place, collection))


def _write_sidecar(path: Path, place: WarcPaths, collection: str) -> int:
    lines = [cdxj.line(capture) for capture in captures_again(path, collection, place.name, {})]
    make_folder(place.sidecar.parent)
    cdxj.write_sorted(place.sidecar, lines)
    return len(lines)


def _quarantine(file: BinaryIO, start: int, tail: Path) -> Path:
    """Copy the bytes behind `start`, durably, before they are cut off."""
    make_folder(tail.parent)
    with replacement(tail) as copy:
        file.seek(start)
        shutil.copyfileobj(file, copy, _COPY_SIZE)
    return tail


@contextmanager
def locked(path: Path) -> Iterator[BinaryIO | None]:
    """Yield the file when its writer is dead; None when the writer is alive or has just closed the file."""
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        yield None
        return
    with file:
        # The writer may have closed the file before it was locked here.
        yield file if try_lock(file.fileno()) and is_at(file, path) else None
