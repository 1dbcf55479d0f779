"""The storage gets finished files. It is a folder or an object store with a URL that fsspec knows.

A file is copied under a temporary name, read back, and then renamed. So a file with its final name is complete. In an
object store, renaming is a copy that the store itself makes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from archive.files import replace_durably
from archive.settings import StorageSettings
from archive.settings.values.extra_libraries import missing_library
from archive.settings.values.redacted import without_secrets
from archive.storage.range_file import RangeFile

PART_SUFFIX: Final = ".part"
"""The end of the name of a file that is being copied to the storage."""
_COPY_SIZE: Final = 1 << 20
_OBJECT_STORES: Final = frozenset({"s3", "gs", "gcs", "abfs", "az"})
"""Schemes for which creating a folder would create a bucket, for instance the bucket of a mistyped URL."""


class StorageError(Exception):
    """The storage can't be used or did not take a file. The message names both and the reason."""


class StorageConflict(StorageError):
    """The storage has another file with this name, which was not overwritten."""


class CopyStopped(Exception):
    """A copy was stopped on request."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """A pass over a file has measured size and digest."""

    size: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.size} bytes with sha256 {self.sha256}"


class Storage:
    """A storage holds files below one URL, named by their path from there, such as `news/archive/NAME.warc.gz`."""

    def __init__(self, settings: StorageSettings) -> None:
        """Connect later. Raises StorageError for a URL that no installed library understands."""
        from fsspec.core import url_to_fs  # slow to load, and most archives have no storage
        from fsspec.implementations.local import LocalFileSystem

        self.place = without_secrets(settings.url)
        try:
            # An instance of our own without cached listings, since others write to the storage too.
            self._fs, self._root = url_to_fs(
                settings.url, use_listings_cache=False, skip_instance_cache=True, **settings.options
            )
        except ImportError as error:
            raise StorageError(missing_library("storage.url", settings.url, error)) from error
        except (ValueError, TypeError) as error:
            raise StorageError(f"setting storage.url = {self.place!r} can't be used: {error}") from error
        self._is_local = isinstance(self._fs, LocalFileSystem)
        self._has_folders = _OBJECT_STORES.isdisjoint(self._protocols())

    def sizes(self, folder: str) -> dict[str, int]:
        """Return sizes of the files below a folder, by their paths from it; empty when the folder does not exist.

        Raises StorageError.
        """
        path = self._path(folder)
        with self._errors("list", folder):
            try:
                found = self._fs.find(path, detail=True)
            except FileNotFoundError:
                return {}
        start = len(path) + 1  # the root is, as `url_to_fs` gave it, in the form in which `find` names files
        return {str(entry["name"])[start:]: int(entry["size"]) for entry in found.values() if entry["type"] == "file"}

    def is_there(self) -> bool:
        """Return whether the storage exists; its folder may not be mounted. Raises StorageError."""
        with self._errors("show", self._root):
            return bool(self._fs.exists(self._root))

    def open(self, name: str, *, wanted_to: int) -> BinaryIO:
        """Return a file of the storage, read in ranges up to `wanted_to` and on; to be closed.

        Raises FileNotFoundError when the storage does not have it, and StorageError when it can't be reached, which
        reading may raise too.
        """
        path = self._path(name)
        with self._errors("give back", name):
            size = self._size(path)
            if size is None and not self._fs.exists(self._root):
                raise StorageError(f"{self.place} does not exist, and should have {name}")
        if size is None:
            raise FileNotFoundError(f"{name} is neither in the home nor in {self.place}")

        def fetch(start: int, end: int) -> bytes:
            with self._errors("give back", name):
                data = bytes(self._fs.cat_file(path, start=start, end=end))
                if len(data) != end - start:
                    raise StorageError(f"{self.place} gave {len(data)} bytes of {name} from {start} to {end}")
                return data

        return cast(BinaryIO, RangeFile(fetch, size, wanted_to))

    def put(self, source: Path, name: str, is_over: Callable[[], bool], *, replace: bool = False) -> bool:
        """Copy the file to the storage and verify it. Return False when the storage has a file of this name and size.

        Raises StorageConflict when the storage has a file of another size with this name, unless `replace` is set.
        Raises StorageError when the storage can't be reached or returns other bytes. Raises CopyStopped.
        """
        final, part = self._path(name), self._path(name) + PART_SUFFIX
        with source.open("rb") as file, self._errors("take", name):
            size = os.fstat(file.fileno()).st_size
            if self._size(final) == size if replace else self._has(name, size):
                return False
            if self._has_folders:
                self._fs.makedirs(final.rpartition("/")[0], exist_ok=True)
            sent = self._copy(file, part, is_over)
            back = self._measure(part, is_over)
            if back != sent:
                self._remove(part)
                raise StorageError(f"{self.place} gave back another {name}: {back}, where {sent} were sent")
            self._rename(part, final)
            if (there := self._size(final)) != size:
                raise StorageError(f"{self.place} renamed {name}, and has {there} bytes of it instead of {size}")
        return True

    def has(self, source: Path, name: str) -> bool:
        """Return whether the storage has a file of this name and of the size of the local file.

        Raises StorageConflict when the storage has a file of another size with this name. Raises StorageError.
        """
        size = source.stat().st_size
        with self._errors("show", name):
            return self._has(name, size)

    def has_same(self, source: Path, name: str, is_over: Callable[[], bool]) -> bool:
        """Return whether the storage has the same bytes as the local file. Raises StorageError and CopyStopped."""
        with source.open("rb") as file, self._errors("give back", name):
            final = self._path(name)
            if self._size(final) != os.fstat(file.fileno()).st_size:
                return False
            return _measured(file, is_over) == self._measure(final, is_over)

    def _protocols(self) -> tuple[str, ...]:
        named = self._fs.protocol
        return (named,) if isinstance(named, str) else tuple(named)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _size(self, path: str) -> int | None:
        try:
            return int(self._fs.info(path)["size"])
        except FileNotFoundError:
            return None

    def _has(self, name: str, size: int) -> bool:
        there = self._size(self._path(name))
        if there not in (None, size):
            raise StorageConflict(f"{self.place} has another {name}, of {there} bytes instead of {size}")
        return there == size

    def _copy(self, file: BinaryIO, path: str, is_over: Callable[[], bool]) -> _Measured:
        with self._fs.open(path, "wb") as copy:
            measured = _measured(file, is_over, copy.write)
            if self._is_local:
                copy.flush()
                os.fsync(copy.fileno())
        return measured

    def _measure(self, path: str, is_over: Callable[[], bool]) -> _Measured:
        with self._fs.open(path, "rb") as file:
            return _measured(file, is_over)

    def _rename(self, part: str, final: str) -> None:
        if self._is_local:  # in one step, where fsspec would copy when in doubt; and durable
            replace_durably(Path(part), Path(final))
        else:
            self._fs.mv(part, final)

    def _remove(self, path: str) -> None:
        """Remove a useless file. When this fails, the next copy overwrites the file."""
        with suppress(OSError):
            self._fs.rm(path)

    @contextmanager
    def _errors(self, step: str, name: str) -> Iterator[None]:
        """Turn every exception into StorageError, since each library behind fsspec has its own exceptions."""
        try:
            yield
        except (StorageError, CopyStopped):
            raise
        except Exception as error:
            raise StorageError(f"{self.place} did not {step} {name}: {error or type(error).__name__}") from error


def _measured(file: BinaryIO, is_over: Callable[[], bool], write: Callable[[bytes], Any] | None = None) -> _Measured:
    """Return size and SHA-256 of the rest of a file, and pass its bytes to `write`. Raises CopyStopped."""
    size, digest = 0, hashlib.sha256()
    while piece := file.read(_COPY_SIZE):
        if is_over():
            raise CopyStopped
        size += len(piece)
        digest.update(piece)
        if write is not None:
            write(piece)
    return _Measured(size, digest.hexdigest())
