"""The writer of WARC files appends record sets, makes batches durable, opens new files, and undoes failed batches.

A batch is everything that is appended between two `sync` calls. It is always in one file: a file that has grown too
large is closed at the end of the batch. After any failure, the batch is complete or absent:

* When a write or the sidecar fails, the file is cut back to the last durable byte, and is used further.
* When the cut or an fsync fails, the content of the disk is unknown. The file is not touched again and stays `.open`
  for `repair`. The next batch opens another file.
* When the closing fails, for instance for lack of inodes, everything is kept. `try_again` closes the file when the
  cause is gone, and `trouble` gives the reason until then.

The writer is not safe for several threads at once: the proxy has one writer thread per process.
"""

from __future__ import annotations

import logging
import re
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from archive.capture import Capture
from archive.dates import now_micros
from archive.files import make_folder
from archive.names.file_name import warc_name
from archive.names.ids import new_id
from archive.names.name_rules import NAME_PATTERN, NAME_RULE
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings
from archive.version import SOFTWARE
from archive.warc.records.record import Record
from archive.warc.records.warcinfo import warcinfo_record
from archive.warc.writing.dictionary import frame_writer
from archive.warc.writing.members import gzip_member, zstd_frame
from archive.warc.writing.open_file import OpenFile

log = logging.getLogger(__name__)

_NAME_TRIES: Final = 5
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.]+")


class KeepError(Exception):
    """The batch could not be kept: all records since the last `sync` count as not written."""


class WarcWriter:
    """Writes the WARC files of one collection and prefix, one at a time."""

    def __init__(self, settings: Settings, collection: str, *, prefix: str | None = None, process: str = "0") -> None:
        """Open no file yet. `process` is a part of file names.

        Raises ValueError for a collection, prefix or process that can't be part of a file name.
        """
        self._prefix = collection if prefix is None else prefix
        for what, name in (("collection", collection), ("prefix", self._prefix), ("process", process)):
            if not re.fullmatch(NAME_PATTERN, name):
                raise ValueError(f"{what} {name!r} can't be part of a file name; {NAME_RULE}")
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
        self._unclosed: dict[OpenFile, str] = {}
        self._unopened: WarcPaths | None = None
        self._why_unopened = ""
        self.left_open: list[str] = []
        """Reasons why files were left for `repair`: their names are taken, or their sidecars are gone."""

    @property
    def warcinfo_id(self) -> str:
        """Return the warcinfo id for the records of this batch. It may change at `sync`, `close` and a KeepError."""
        return self._warcinfo_id

    @property
    def filename(self) -> str | None:
        """Return the final name of the file that is being written, None when there is none."""
        return self._file.name if self._file else None

    def leave_removed(self) -> None:
        """Abandon a file that was removed, so that another one is opened. Call this before a batch."""
        if self._file is not None and not self._sets and self._file.is_removed:
            log.warning("%s was removed while it was being written; another file is opened", self._file.path)
            self._file.abandon()
            self._forget()

    @property
    def trouble(self) -> str:
        """Return why a file can't be closed or opened at present; empty without a failure."""
        return next(iter(self._unclosed.values()), self._why_unopened)

    def try_again(self) -> None:
        """Close the files whose closing failed, and find out whether a file can be opened where that failed."""
        for file in list(self._unclosed):
            with suppress(KeepError):
                self._publish(file)
                if not self._unclosed and not self.left_open:
                    self._alarm = None  # so that the next batch does not fail for a cause that is gone
        if self._unopened is not None:
            try:
                _prove_usable(self._unopened)
                self._unopened, self._why_unopened = None, ""
            except OSError as error:
                self._why_unopened = f"can't open a file in {self._archive}: {error}"

    def append(self, records: Sequence[Record]) -> list[Capture]:
        """Add one record set to the batch. Return its captures with their places in the file.

        The captures count only when `sync` has returned. Raises KeepError when the whole batch is lost; when the batch
        had record sets before, `append` raises until `sync` has raised too. Raises ValueError, without any effect, for
        records with the `warcinfo_id` of another file.
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
        """Make the batch durable, write its index lines, and close the file when it is large enough.

        Raises KeepError when the whole batch is lost. When only the closing failed, the batch is kept, and the next
        `append` or `close` raises.
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
                if self._file.is_removed:
                    raise FileNotFoundError(f"{self._file.path} was removed while it was being written")
            except Exception as error:
                raise self._lost("sync", error) from error
            self._new_captures = []
        if self._file.size >= self._settings.archive.warc_max_bytes:
            try:
                self._forget_and_publish(self._file)
            except KeepError as error:
                self._alarm = error

    def undo(self) -> None:
        """Drop the record sets of the batch. Without any, this has no effect."""
        self._sets, self._failure = 0, None
        self._go_back()

    def idle_close(self, now: float | None = None) -> bool:
        """Close a file without a record for `archive.warc_idle_seconds`; `now` is a time of `time.monotonic`."""
        passed = (time.monotonic() if now is None else now) - self._used
        if self._file is None or self._new_captures or passed < self._settings.archive.warc_idle_seconds:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Make everything durable and give the file its final name. A later `append` opens another file.

        Raises KeepError when the last batch is lost; the file is closed nevertheless. Raises KeepError when the file
        can't get its final name; then everything is kept, and `try_again` or `repair` can finish.
        """
        self.leave_removed()
        try:
            self.sync()
        finally:
            if self._file is not None:
                self._forget_and_publish(self._file)
        for file in list(self._unclosed):
            self._publish(file)
        self._sound_alarm()

    def _sound_alarm(self) -> None:
        """Raise, once, the error that `sync` held back because its batch was kept."""
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
            software=SOFTWARE,
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
            place = WarcPaths(self._folder, name)
            try:
                file = OpenFile(place)
            except FileExistsError as error:
                log.warning("trying another name: %s", error)
            except OSError as error:
                self._unopened, self._why_unopened = place, f"can't open a file in {self._archive}: {error}"
                raise
            else:
                self._unopened, self._why_unopened = None, ""
                return file
        raise FileExistsError(f"{_NAME_TRIES} new names in {self._archive} were all taken")

    def _write(self, file: OpenFile, record: Record) -> Capture | None:
        offset, level = file.size, self._settings.archive.gzip_level
        for piece in zstd_frame(record, self._zstd) if self._zstd else gzip_member(record, level):
            file.write(piece)
        if record.line is None:
            return None
        return record.line.placed(file.name, offset, file.size - offset)

    def _lost(self, step: str, error: Exception) -> KeepError:
        """Undo the batch after any failure, from a closed spool file to a full disk, and return the error to raise."""
        return KeepError(f"{step} failed, {self._go_back()}: {error}")

    def _failed(self, step: str, error: Exception) -> KeepError:
        """Undo the batch as `_lost` does, and remember the error of a batch with record sets until `sync` raises it."""
        failure = self._lost(step, error)
        self._failure = failure if self._sets else None
        return failure

    def _go_back(self) -> str:
        """Undo the batch, and return how."""
        file, lost = self._file, len(self._new_captures)
        self._new_captures = []
        if file is None:
            return "no file could be opened"
        if file.is_removed:
            file.abandon()
            self._forget()
            return f"{file.path} was removed, {lost} captures of the batch dropped"
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

    def _forget_and_publish(self, file: OpenFile) -> None:
        self._forget()
        self._publish(file)

    def _publish(self, file: OpenFile) -> None:
        """Close a file. Raises KeepError, and keeps the file for `try_again` unless a later try can't succeed."""
        self._unclosed.pop(file, None)
        try:
            file.publish(fsync=self._settings.archive.fsync)
        except OSError as error:
            if not (file.path.exists() or file.final.exists()):
                log.warning("%s was removed while it was being written", file.path)
                file.abandon()
                return
            failure = KeepError(f"{file.path} is complete, but can't be closed: {error}")
            if isinstance(error, FileExistsError):
                file.abandon()
                self.left_open.append(str(failure))
            else:
                self._unclosed[file] = str(failure)
            raise failure from error
        log.info("closed %s, %d bytes", file.final, file.size)

    def _forget(self) -> None:
        self._file = None
        self._new_captures = []
        self._warcinfo_id = new_id()


def _prove_usable(place: WarcPaths) -> None:
    """Raise OSError unless a WARC and its sidecar can be created there now."""
    for folder in (place.growing.parent, place.sidecar.parent):
        make_folder(folder)
    with tempfile.TemporaryFile(dir=place.growing.parent), tempfile.TemporaryFile(dir=place.sidecar.parent):
        pass


def _hostname() -> str:
    return _UNSAFE.sub("", socket.gethostname().partition(".")[0])[:40] or "localhost"
