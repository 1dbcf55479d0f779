"""This module reads a record from the home or, when the local copy was removed, from the storage."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from archive.settings.load import Settings
from archive.storage.storage import Storage
from archive.warc.reader import StoredRecord, read_record

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

    def _far(self, name: Path, offset: int, length: int | None) -> StoredRecord:
        with self._lock:
            if self._storage is None:
                self._storage = Storage(self._settings.storage)
        file = self._storage.open(name.as_posix(), wanted_to=offset + (_UNKNOWN if length is None else length))
        try:
            return StoredRecord.opened(file, Path(self._storage.place) / name, offset, length)
        except BaseException:
            file.close()
            raise
