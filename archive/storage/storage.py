"""The place finished files are handed to: a folder or an object store, whatever fsspec knows by its URL.

A file is copied under a temporary name, read back, and only then given its own: what has its final name in the
storage is whole. In an object store the renaming is a copy made by the store itself.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast
from urllib.parse import urlsplit

from archive.openfile import sync_folder
from archive.rangefile import RangeFile
from archive.sections import StorageSettings

PART_SUFFIX: Final = ".part"
"""What the name of a file ends with while it is copied to the storage."""
_COPY_SIZE: Final = 1 << 20
_OBJECT_STORES: Final = frozenset({"s3", "gs", "gcs", "abfs", "az"})
"""Where making a folder would make a bucket, that of a mistyped URL for instance."""


class StorageError(Exception):
    """The storage can't be used, or did not take a file; the message says which and why."""


class StorageConflict(StorageError):
    """The storage has another file under this name; nothing was overwritten."""


class Stopped(Exception):
    """A copy was broken off because it was asked to."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was read of a file."""

    size: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.size} bytes with sha256 {self.sha256}"


class Storage:
    """Files below one URL, named by their path from there, such as `news/archive/NAME.warc.gz`."""

    def __init__(self, settings: StorageSettings) -> None:
        """Connects to nothing yet. Raises StorageError for a URL that no installed library understands."""
        from fsspec.core import url_to_fs  # takes a while, and most archives hand over nothing
        from fsspec.implementations.local import LocalFileSystem

        self.place = without_password(settings.url)
        try:
            # One instance of our own that remembers no listings: others write to the storage too.
            self._fs, self._root = url_to_fs(
                settings.url, use_listings_cache=False, skip_instance_cache=True, **settings.options
            )
        except ImportError as error:
            raise StorageError(
                f"setting storage.url = {self.place!r} needs a library that is not installed ({error}); "
                "for S3 install ghostfleet[s3]"
            ) from error
        except (ValueError, TypeError) as error:
            raise StorageError(f"setting storage.url = {self.place!r} can't be used: {error}") from error
        self._is_local = isinstance(self._fs, LocalFileSystem)
        self._has_folders = _OBJECT_STORES.isdisjoint(self._protocols())

    def sizes(self, folder: str) -> dict[str, int]:
        """Names, as seen from there, and sizes of the files below a folder; nothing when it is not there.

        Raises StorageError.
        """
        path = self._path(folder)
        with self._errors("list", folder):
            try:
                found = self._fs.find(path, detail=True)
            except FileNotFoundError:
                return {}
        start = len(self._fs._strip_protocol(path)) + 1
        return {str(entry["name"])[start:]: int(entry["size"]) for entry in found.values() if entry["type"] == "file"}

    def open(self, name: str, *, wanted_to: int) -> BinaryIO:
        """A file of the storage, read in ranges up to `wanted_to` and on; to be closed.

        Raises FileNotFoundError when the storage does not have it, and StorageError when it can't be reached, which
        reading may raise too.
        """
        path = self._path(name)
        with self._errors("give back", name):
            size = self._size(path)
            if size is None and not self._fs.exists(self._root):
                raise StorageError(f"{self.place} is not there; it should have {name}")
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
        """Sees to it that the storage has this file, verified; False when it had one of that name and size before.

        Raises StorageConflict when it has a file of another size under that name, unless it may be replaced;
        StorageError when it can't be reached or gives back something else than it was given; Stopped.
        """
        final, part = self._path(name), self._path(name) + PART_SUFFIX
        with source.open("rb") as file, self._errors("take", name):
            size, there = os.fstat(file.fileno()).st_size, self._size(final)
            if there == size:
                return False
            if there is not None and not replace:
                raise StorageConflict(f"{self.place} has another {name}, of {there} bytes instead of {size}")
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

    def has_same(self, source: Path, name: str, is_over: Callable[[], bool]) -> bool:
        """Whether the storage gives back what the local file holds, byte for byte. Raises StorageError, Stopped."""
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
            Path(part).replace(final)
            sync_folder(Path(final).parent)
        else:
            self._fs.mv(part, final)

    def _remove(self, path: str) -> None:
        """Removes what is of no use; when that fails, the next copy overwrites it."""
        with suppress(OSError):
            self._fs.rm(path)

    @contextmanager
    def _errors(self, step: str, name: str) -> Iterator[None]:
        """Every library behind fsspec has exceptions of its own, and all mean that the storage did not do it."""
        try:
            yield
        except (StorageError, Stopped):
            raise
        except Exception as error:
            raise StorageError(f"{self.place} did not {step} {name}: {error or type(error).__name__}") from error


def without_password(url: str) -> str:
    """The URL without user name and password, for logs."""
    parts = urlsplit(url)
    return url if "@" not in parts.netloc else parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _measured(file: BinaryIO, is_over: Callable[[], bool], write: Callable[[bytes], Any] | None = None) -> _Measured:
    """Size and SHA-256 of what is left of a file, on the way written elsewhere when asked for. Raises Stopped."""
    size, digest = 0, hashlib.sha256()
    while piece := file.read(_COPY_SIZE):
        if is_over():
            raise Stopped
        size += len(piece)
        digest.update(piece)
        if write is not None:
            write(piece)
    return _Measured(size, digest.hexdigest())
