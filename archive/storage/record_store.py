"""A record wherever its file is: in the home, or, when the local copy was removed, in the storage."""

from __future__ import annotations

import threading
from pathlib import Path

from archive.reader import StoredRecord, read_record
from archive.settings import Settings
from archive.storage import Storage, StorageError

__all__ = ["Holdings", "StorageError"]


class Holdings:
    """All WARC files of the archive. Safe to share between threads; every call blocks."""

    def __init__(self, settings: Settings) -> None:
        """Connects to nothing: the storage is asked only for what is not in the home."""
        self._settings = settings
        self._storage: Storage | None = None
        self._lock = threading.Lock()

    def record(self, collection: str, filename: str, offset: int, length: int) -> StoredRecord:
        """The record at this place of the index, to be closed. Of the storage's copy only its range is read.

        Raises FileNotFoundError when the file is nowhere, WarcError when no record is there, and StorageError when the
        storage, which should have it, can't be asked; so does reading the record.
        """
        path = self._settings.archive_dir(collection) / filename
        try:
            return read_record(path, offset, length)
        except FileNotFoundError:
            if not self._settings.storage.url:
                raise
        return self._far(Path(f"{collection}/archive/{filename}"), offset, length)

    def _far(self, name: Path, offset: int, length: int) -> StoredRecord:
        with self._lock:
            if self._storage is None:
                self._storage = Storage(self._settings.storage)
        file = self._storage.open(name.as_posix(), wanted_to=offset + length)
        try:
            return StoredRecord.opened(file, Path(self._storage.place) / name, offset, length)
        except BaseException:
            file.close()
            raise
