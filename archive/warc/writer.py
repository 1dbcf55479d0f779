"""The writer of WARC files: append record sets, make a batch durable, roll over, go back when something fails.

A batch is everything appended between two `sync` calls. It always lies in one file: a file that has grown too
large is closed at the end of the batch, never within. Whatever fails, the batch is all there or all gone:

* a write or the sidecar fails: the file is cut back to the last durable byte and used on;
* the cut or an fsync fails: nobody knows what the disk holds, so the file is never touched again and stays behind
  as `.open` for `repair`; the next batch opens another.

Not for use by several threads at once: the proxy has one writer thread per process.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import time
from collections.abc import Sequence
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Final

from archive.capture import Capture
from archive.dates import now_micros
from archive.dictionary import frame_writer
from archive.ids import new_id
from archive.openfile import OpenFile
from archive.place import Place
from archive.reader import read_record
from archive.record import Record
from archive.repair import Repaired, repair
from archive.sections import NAME_PATTERN
from archive.settings import Settings
from archive.warcinfo import warcinfo_record
from archive.warcname import warc_name
from archive.wrapping import gzip_member, zstd_frame

__all__ = ["KeepError", "Repaired", "WarcWriter", "free_bytes", "read_record", "repair"]

log = logging.getLogger(__name__)

_NAME_TRIES: Final = 5
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.]+")


class KeepError(Exception):
    """Records could not be kept: everything since the last `sync` counts as not written."""


class WarcWriter:
    """Writes the WARC files of one collection and prefix, one at a time."""

    def __init__(self, settings: Settings, collection: str, *, prefix: str | None = None, process: str = "0") -> None:
        """Opens nothing yet. `process` goes into file names, for people.

        Raises ValueError for a collection, prefix or process that can't be part of a file name.
        """
        self._prefix = collection if prefix is None else prefix
        for what, name in (("collection", collection), ("prefix", self._prefix), ("process", process)):
            if not re.fullmatch(NAME_PATTERN, name):
                raise ValueError(f"{what} {name!r} can't be part of a file name; allowed is {NAME_PATTERN}")
        self._settings = settings
        self._collection = collection
        self._process = process
        self._serials = count()
        self._archive = settings.archive_dir(collection)
        self._folder = settings.collection(collection)
        self._file: OpenFile | None = None
        self._new_captures: list[Capture] = []
        self._used = time.monotonic()
        self._warcinfo_id = new_id()
        self._zstd = frame_writer(settings.archive)
        self._alarm: KeepError | None = None
        self._failure: KeepError | None = None
        self._sets = 0

    @property
    def warcinfo_id(self) -> str:
        """What this batch's records are to be built with; it may change at `sync`, `close` or after a KeepError."""
        return self._warcinfo_id

    @property
    def filename(self) -> str | None:
        """Final name of the file being written, None when there is none."""
        return self._file.name if self._file else None

    def append(self, records: Sequence[Record]) -> list[Capture]:
        """Adds one record set to the batch and says where its indexed records will be found.

        They count only once `sync` has returned. Raises KeepError, and the whole batch is gone; when record sets
        were appended to it before, `append` goes on raising until `sync` has said so too. Raises ValueError for
        records built with another file's `warcinfo_id`; that changes nothing.
        """
        if self._failure is not None:
            raise KeepError(f"the batch is lost already: {self._failure}")
        self._sound_alarm()
        for record in records:
            if record.warcinfo_id != self._warcinfo_id:
                raise ValueError(f"record {record.record_id} names warcinfo {record.warcinfo_id}, not this file's")
        try:
            file = self._file or self._open()
            placed = [capture for record in records if (capture := self._write(file, record))]
        except Exception as error:
            raise self._failed("append", error) from error
        self._sets += 1
        self._new_captures += placed
        self._used = time.monotonic()
        return placed

    def sync(self) -> None:
        """Makes the batch durable, its index lines written; closes the file when it is large enough.

        Raises KeepError, after which the whole batch is gone. When only the closing failed, the batch is kept:
        then the next `append` or `close` raises.
        """
        self._sets = 0
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self._file is None:
            return
        if self._file.size > self._file.durable:
            try:
                self._file.sync(self._new_captures, fsync=self._settings.archive.fsync)
            except Exception as error:
                raise self._lost("sync", error) from error
            self._new_captures = []
        if self._file.size >= self._settings.archive.warc_max_bytes:
            try:
                self._publish(self._file)
            except KeepError as error:
                self._alarm = error

    def idle_close(self, now: float | None = None) -> bool:
        """Closes a file that got no record for `archive.warc_idle_seconds`; `now` is of time.monotonic()."""
        passed = (time.monotonic() if now is None else now) - self._used
        if self._file is None or self._new_captures or passed < self._settings.archive.warc_idle_seconds:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Makes everything durable and gives the file its final name. A later `append` opens another.

        Raises KeepError when the last batch is lost (the file is closed all the same), and when a final name could
        not be given: then everything is kept, and `repair` can finish.
        """
        try:
            self.sync()
        finally:
            if self._file is not None:
                self._publish(self._file)
        self._sound_alarm()

    def disk_is_low(self) -> bool:
        """Whether the free space is below `archive.min_free_bytes`."""
        return free_bytes(self._archive) < self._settings.archive.min_free_bytes

    def _sound_alarm(self) -> None:
        """Raises, once, what `sync` could not say without denying that its batch was kept."""
        if self._alarm is not None:
            alarm, self._alarm = self._alarm, None
            raise alarm

    def _open(self) -> OpenFile:
        self._file = file = self._create()
        record = warcinfo_record(
            file.final.name,
            self._settings,
            self._collection,
            record_id=self._warcinfo_id,
            date=now_micros(),
            hostname=_hostname(),
            software=_software(),
        )
        if self._zstd and self._zstd.start:
            file.write(self._zstd.start)
        self._write(file, record)
        log.info("opened %s", file.path)
        return file

    def _create(self) -> OpenFile:
        for _ in range(_NAME_TRIES):
            name = warc_name(
                self._settings.archive.warc_name,
                prefix=self._prefix,
                serial=next(self._serials),
                hostname=_hostname(),
                process=self._process,
                ending=".warc.zst" if self._zstd else ".warc.gz",
                folder=self._settings.archive.warc_folder,
            )
            try:
                return OpenFile(Place(self._folder, name))
            except FileExistsError as error:
                log.warning("another name is needed: %s", error)
        raise FileExistsError(f"{_NAME_TRIES} new names in {self._archive} were all taken")

    def _write(self, file: OpenFile, record: Record) -> Capture | None:
        offset, level = file.size, self._settings.archive.gzip_level
        for piece in zstd_frame(record, self._zstd) if self._zstd else gzip_member(record, level):
            file.write(piece)
        if record.line is None:
            return None
        return record.line.placed(file.name, offset, file.size - offset)

    def _lost(self, step: str, error: Exception) -> KeepError:
        """Whatever failed, a closed spool file as much as a full disk, the batch goes and the caller is told."""
        return KeepError(f"{step} failed, {self._go_back()}: {error}")

    def _failed(self, step: str, error: Exception) -> KeepError:
        """As `_lost`; remembered, for the batch that went with it, until `sync` has said so."""
        failure = self._lost(step, error)
        self._failure = failure if self._sets else None
        return failure

    def _go_back(self) -> str:
        """Undoes the batch and says how."""
        file, lost = self._file, len(self._new_captures)
        self._new_captures = []
        if file is None:
            return "no file could be opened"
        try:
            file.roll_back()
            if file.durable:
                return f"{file.path} cut back to {file.durable} bytes, {lost} captures of the batch dropped"
            file.discard()
            outcome = f"{file.path} removed, {lost} captures of the batch dropped"
        except OSError as error:
            file.abandon()
            outcome = f"{file.path} left for repair ({error}), {lost} captures of the batch dropped"
        self._forget()
        return outcome

    def _publish(self, file: OpenFile) -> None:
        self._forget()
        try:
            file.publish(fsync=self._settings.archive.fsync)
        except OSError as error:
            file.abandon()
            raise KeepError(f"{file.path} is whole, but closing it failed: {error}") from error
        log.info("closed %s, %d bytes", file.final, file.size)

    def _forget(self) -> None:
        self._file = None
        self._new_captures = []
        self._warcinfo_id = new_id()


def free_bytes(folder: Path) -> int:
    """Free space for us where `folder` is or will be made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _hostname() -> str:
    return _UNSAFE.sub("", socket.gethostname().partition(".")[0])[:40] or "localhost"


def _software() -> str:
    try:
        return f"ghostfleet/{metadata.version('ghostfleet')}"
    except metadata.PackageNotFoundError:
        return "ghostfleet"
