"""This module reads a record from the home or, when the local copy was removed, from the storage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from archive.settings.load import Settings
from archive.storage.storage import Storage
from archive.warc.reading.member_reader import open_either
from archive.warc.reading.reader import StoredRecord, read_record, records_in

_UNKNOWN: Final = 65_536


class RecordStore:
    """The store reads records from all WARC files of the archive. Safe to share between threads; every call blocks."""

    def __init__(self, settings: Settings) -> None:
        """Connect to nothing: the storage is asked only for files that are not in the home."""
        self._settings = settings
        self._storage: Storage | None = None
        self._lock = threading.Lock()

    def record(self, collection: str, filename: str, offset: int, length: int | None) -> StoredRecord:
        """Return the record at this place, which the caller closes. From the storage, only its range is read.

        `length` is None for a record whose length is not known; the storage is asked for 64 KiB of it at first.

        Raises FileNotFoundError when neither has the file, WarcError when there is no record at the place, and
        StorageError when the storage can't be asked. Reading the record may raise them too.
        """
        path = self._settings.archive_dir(collection) / filename
        try:
            return read_record(path, offset, length)
        except FileNotFoundError:
            if not self._settings.storage.url:
                raise
        return self._far(Path(f"{collection}/archive/{filename}"), offset, length)

    def records(self, collection: str, filename: str) -> Iterator[StoredRecord]:
        """Yield every record of a file in order, and close the file at the end.

        Raises FileNotFoundError when neither has the file, WarcError at the first damage, and StorageError.
        """
        path = self._settings.archive_dir(collection) / filename
        try:
            file = open_either(path)
        except FileNotFoundError:
            if not self._settings.storage.url:
                raise
            path, file = self._far_file(Path(f"{collection}/archive/{filename}"), _UNKNOWN)
        with file:
            yield from records_in(file, path)

    def _far(self, name: Path, offset: int, length: int | None) -> StoredRecord:
        path, file = self._far_file(name, offset + (_UNKNOWN if length is None else length))
        try:
            return StoredRecord.opened(file, path, offset, length)
        except BaseException:
            file.close()
            raise

    def _far_file(self, name: Path, wanted_to: int) -> tuple[Path, BinaryIO]:
        with self._lock:
            if self._storage is None:
                self._storage = Storage(self._settings.storage)
        return Path(self._storage.place) / name, self._storage.open(name.as_posix(), wanted_to=wanted_to)
