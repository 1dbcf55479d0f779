"""What is left of a writer that died: its `.open` files become whole, published files, or go.

Kept is every whole record set from the file's beginning. What follows the last of them is cut off and kept aside in
the collection's `quarantine`: a torn record, and a response whose request had not been written yet, since of one
exchange there must be all or nothing. The index is told anew from the WARC. Each step can be interrupted at any
point: the file stays `.open` until everything else is durable, and a second repair does the same again.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import BinaryIO

from archive import cdxj
from archive.openfile import create_locked, make_folder, rename_new, sync_folder
from archive.place import Place, closed, growing
from archive.reader import next_record
from archive.settings import Settings
from archive.source import Source, WarcError

log = logging.getLogger(__name__)

_COPY_SIZE = 1 << 20


class Outcome(StrEnum):
    """What became of a file."""

    CLOSED = "closed"
    REMOVED = "removed"
    """It held no capture."""
    INDEXED = "indexed"
    """A published WARC without sidecar got one."""
    FAILED = "failed"
    """It is as it was, for the reason given."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """One file that was looked after; `filename` is its final name."""

    filename: str
    outcome: Outcome
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
    """How far a file can be trusted: `length` bytes with `records` records, `captures` of them worth keeping it for."""

    length: int
    records: int
    captures: int
    reason: str


def repair(settings: Settings, collection: str) -> list[Repaired]:
    """Looks after every leftover file of a collection and says what was done; files of live writers are let alone.

    A file that can't be repaired is reported as FAILED, and the others are still looked after.
    """
    folder, found = settings.collection(collection), list[Repaired]()
    for place in growing(folder):
        with _locked(place.growing) as file:
            if file is not None:
                found.append(_tried(place, partial(_close, place, file, collection)))
    for place in closed(folder):
        if not place.sidecar.exists():
            found.append(_tried(place, partial(_index, place, collection)))
    for each in found:
        log.log(logging.ERROR if each.outcome is Outcome.FAILED else logging.WARNING, "repair: %s", each)
    return found


def whole_part(path: Path) -> WholePart:
    """Reads a file from its beginning as far as its record sets are whole."""
    length = records = captures = seen = seen_captures = 0
    awaited: set[str] = set()
    with path.open("rb") as file:
        try:
            source = Source(file, path)
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
            return WholePart(length, records, captures, error.reason)
    return WholePart(length, records, captures, "the last response lacks its request" if awaited else "")


def _tried(place: Place, step: Callable[[], Repaired]) -> Repaired:
    try:
        return step()
    except (OSError, ValueError) as error:
        return Repaired(place.name, Outcome.FAILED, reason=str(error))


def _close(place: Place, file: BinaryIO, collection: str) -> Repaired:
    path = place.growing
    whole, size = whole_part(path), os.fstat(file.fileno()).st_size
    cut = size - whole.length
    tail = _quarantine(file, whole.length, place.tail) if cut else None
    if not whole.captures:
        place.sidecar.unlink(missing_ok=True)
        path.unlink()
        sync_folder(path.parent)
        return Repaired(place.name, Outcome.REMOVED, whole.records, cut, tail, whole.reason)
    with _durable(path, file, whole.length):
        _write_sidecar(path, place, collection)
        rename_new(path, place.warc)
        sync_folder(path.parent)
    return Repaired(place.name, Outcome.CLOSED, whole.records, cut, tail, whole.reason)


@contextmanager
def _durable(path: Path, file: BinaryIO, length: int) -> Iterator[None]:
    """The file cut to its length and safe on the disk, locked meanwhile.

    A failed fsync tells of some write at some time, and only once: a second one would succeed whatever the disk
    holds. So what can be read is then written anew, to be synced by itself.
    """
    file.truncate(length)
    try:
        os.fsync(file.fileno())
    except OSError as error:
        log.warning("repair: %s can't be synced (%s); it is copied", path, error)
    else:
        yield
        return
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open(create_locked(fresh), "wb") as copy:
        file.seek(0)
        shutil.copyfileobj(file, copy, _COPY_SIZE)
        copy.flush()
        os.fsync(copy.fileno())
        fresh.replace(path)
        yield


def _index(place: Place, collection: str) -> Repaired:
    return Repaired(place.name, Outcome.INDEXED, _write_sidecar(place.warc, place, collection))


def _write_sidecar(path: Path, place: Place, collection: str) -> int:
    lines = [cdxj.line(capture) for capture in cdxj.captures_of(path, collection, place.name)]
    make_folder(place.sidecar.parent)
    cdxj.write_sorted(place.sidecar, lines)
    sync_folder(place.sidecar.parent)
    return len(lines)


def _quarantine(file: BinaryIO, start: int, tail: Path) -> Path:
    """Copies what is to be cut off, durably, before it is cut off."""
    make_folder(tail.parent)
    fresh = tail.with_name(tail.name + ".new")
    with fresh.open("wb") as copy:
        file.seek(start)
        shutil.copyfileobj(file, copy, _COPY_SIZE)
        copy.flush()
        os.fsync(copy.fileno())
    fresh.replace(tail)
    sync_folder(tail.parent)
    return tail


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO | None]:
    """The file when its writer is dead; None when it lives, or has just closed it."""
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        yield None
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield file if _is_same(file, path) else None


def _is_same(file: BinaryIO, path: Path) -> bool:
    """Whether the name still means this file: its writer may have published it between opening and locking."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
