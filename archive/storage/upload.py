"""Hands finished WARC files and their sidecars to the storage, and removes local copies when their time has come.

There is no list of what was done: a file that the storage has under its final name was handed over, since it gets
that name last, and after its sidecar. So an uploader that was killed at any point goes on where it was. Files still
being written (`.open`) are not looked at. Sidecars stay in the home: the index is rebuilt from them.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Self

from archive.dates import iso_date, now_micros
from archive.file_lock import lock_or_not
from archive.files import replacement
from archive.names.warc_paths import SIDECAR_SUFFIX, WarcPaths, closed
from archive.program_name import command
from archive.settings.load import Settings
from archive.storage.storage import CopyStopped, Storage, StorageConflict, StorageError

log = logging.getLogger(__name__)

STATUS_FILE: Final = "storage.json"
"""File in the home with the state of the uploads, as JSON."""
LOCK_FILE: Final = "storage.lock"
_MAX_RETRY_SECONDS: Final = 600.0
"""Longest pause after a failed upload. The pause begins at `storage.look_seconds` and doubles."""
_FAILURES_IN_A_ROW: Final = 3
"""Failures in a row that end a search: the storage fails, not a single file."""


@dataclass(frozen=True, slots=True)
class FinishedFile:
    """A closed WARC of the home and its sidecar make one finished file."""

    place: WarcPaths

    @property
    def collection(self) -> str:
        """Return the name of the collection."""
        return self.place.folder.name

    @property
    def warc(self) -> Path:
        """Return the path of the WARC."""
        return self.place.warc

    @property
    def sidecar(self) -> Path:
        """Return the path of the sidecar."""
        return self.place.sidecar

    @property
    def name(self) -> str:
        """Return the name of the WARC in the storage."""
        return f"{self.collection}/archive/{self.place.name}"

    @property
    def sidecar_name(self) -> str:
        """Return the name of the sidecar in the storage."""
        return f"{self.collection}/indexes/{self.place.name}{SIDECAR_SUFFIX}"


@dataclass(frozen=True, slots=True)
class _FileIdentity:
    """A later file with the same name has another identity."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Self:
        return cls(seen.st_ino, seen.st_size, seen.st_mtime_ns)


@dataclass(slots=True)
class UploadStatus:
    """The status counts uploads since the start of this uploader."""

    storage: str
    looked: str = ""
    """Time of the last search of the home, as a WARC-Date."""
    waiting: int = 0
    """Files that the storage does not have yet, as far as this uploader knows."""
    waiting_bytes: int = 0
    waiting_since: float = 0.0
    """Time of the last record in the oldest of them, in seconds since 1970; 0 when none waits."""
    copying: str = ""
    """The file that is being uploaded."""
    handed_over: int = 0
    bytes: int = 0
    removed: int = 0
    """Local copies that were removed after `storage.keep_local_seconds`."""
    failures: int = 0
    """Number of failed tries."""
    failing: dict[str, str] = field(default_factory=dict)
    """Reasons by files that failed; each file is tried again."""


class Uploader:
    """A home has one uploader at a time. A second one fails, and tries again until the first has ended."""

    def __init__(self, settings: Settings) -> None:
        """Raise StorageError when `storage.url` can't be used."""
        self._home = settings.home
        self._settings = settings.storage
        self._storage = Storage(settings.storage)
        self._done: dict[str, _FileIdentity] = {}
        self._verified: set[str] = set()
        """Names of the done files whose bytes this uploader has read back."""
        self._listed: set[str] = set()
        self._said: dict[str, str] = {}
        self._waiting: dict[str, os.stat_result] = {}
        """Files that wait, the oldest first."""
        self._is_in_trouble = False
        self.status = UploadStatus(self._storage.place)

    def run(self, stop: threading.Event) -> None:
        """Upload finished files until `stop` is set, then the rest within `drain_seconds`."""
        pause, is_over = self._settings.look_seconds, self._end_after(stop)
        while not stop.is_set():
            self.look(is_over)
            pause = self._longer(pause) if self._is_in_trouble else self._settings.look_seconds
            stop.wait(pause)
        self.look(is_over)
        if self.status.waiting:
            log.warning("%d files wait for the next start, or `%s`", self.status.waiting, command("upload"))

    def look(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Search the home once, upload new files and retry failed ones. Return False when anything failed."""
        before, self._is_in_trouble = self.status.failures, False
        self._said, self.status.failing = self.status.failing, {}
        try:
            with self._alone():
                self._look(is_over)
        except CopyStopped:
            log.info("stopped during a copy; the file will be uploaded again")
        except (OSError, StorageError) as error:
            self._is_in_trouble = True
            self._note_failure(str(self._home), error)
        self._report()
        return self.status.failures == before

    def hand_over(self, names: Collection[str], is_over: Callable[[], bool] = lambda: False) -> dict[str, str]:
        """Hand over these files of the home now, named as in the storage. Return those that failed, and why.

        A file that fails does not keep the others back. Raises StorageError when another uploader is at work here,
        CopyStopped when `is_over` says True in mid-copy.
        """
        failed = dict[str, str]()
        with self._alone():
            mine = {file.name: file for file in finished(self._home) if file.name in names}
            for name in sorted(names):
                try:
                    if name in mine:
                        self._hand_over_now(mine[name], is_over)
                    elif not self._is_there(name):
                        failed[name] = "the file is neither in the home nor in the storage"
                except (OSError, StorageError) as error:
                    failed[name] = str(error)
                    self._note_failure(name, error)
        return failed

    def _hand_over_now(self, file: FinishedFile, is_over: Callable[[], bool]) -> None:
        self._waiting[file.name] = file.warc.stat()
        self._count_waiting(self.status.waiting_bytes + self._waiting[file.name].st_size)
        try:
            self._hand_over(file, is_over)
        finally:
            if (left := self._waiting.pop(file.name, None)) is not None:
                self._count_waiting(self.status.waiting_bytes - left.st_size)

    def _is_there(self, name: str) -> bool:
        folder, _, rest = name.partition("/archive/")
        return rest in self._storage.sizes(f"{folder}/archive")

    def _end_after(self, stop: threading.Event) -> Callable[[], bool]:
        """Return a function that says whether `drain_seconds` have passed since it first saw `stop` set."""
        end: float | None = None

        def is_over() -> bool:
            nonlocal end
            if not stop.is_set():
                return False
            end = end or time.monotonic() + self._settings.drain_seconds
            return time.monotonic() >= end

        return is_over

    def _look(self, is_over: Callable[[], bool]) -> None:
        files = list(finished(self._home))
        found = {file.name: seen for file in files if (seen := self._seen(file))}
        self._forget_replaced(found)
        for collection in {file.collection for file in files} - self._listed:
            self._take_stock(collection, [file for file in files if file.name in found], found)
        waiting = [file for file in files if file.name in found and file.name not in self._done]
        self.status.looked = iso_date(now_micros())
        self._waiting = dict(
            sorted(((file.name, found[file.name]) for file in waiting), key=lambda item: item[1].st_mtime)
        )
        self._count_waiting(sum(each.st_size for each in self._waiting.values()))
        in_a_row = 0
        for file in waiting:
            if is_over() or in_a_row == _FAILURES_IN_A_ROW:
                break
            in_a_row = 0 if self._tried(file, self._hand_over, is_over) else in_a_row + 1
        for file in files:
            if file.name in self._done and self._is_due(file) and not is_over():
                self._tried(file, self._remove, is_over)

    def _seen(self, file: FinishedFile) -> os.stat_result | None:
        """Return the facts of a file. A file that can't be read, such as a link that leads nowhere, fails alone."""
        try:
            return file.warc.stat()
        except OSError as error:
            self._note_failure(file.name, error)
            return None

    def _forget_replaced(self, found: Mapping[str, os.stat_result]) -> None:
        """Forget files that have gone or were replaced, since the storage may not have a new file of the same name."""
        for name, known in list(self._done.items()):
            if name not in found or _FileIdentity.of(found[name]) != known:
                del self._done[name]
                self._verified.discard(name)
                self._listed.discard(name.partition("/")[0])

    def _take_stock(self, collection: str, files: list[FinishedFile], found: Mapping[str, os.stat_result]) -> None:
        """Read which files the storage has already. Raises StorageError."""
        there = self._storage.sizes(f"{collection}/archive")
        for file in files:
            seen = found[file.name]
            if file.collection == collection and there.get(file.place.name) == seen.st_size:
                self._done[file.name] = _FileIdentity.of(seen)
        self._listed.add(collection)

    def _tried(
        self, file: FinishedFile, step: Callable[[FinishedFile, Callable[[], bool]], None], is_over: Callable[[], bool]
    ) -> bool:
        """Return whether the storage works. A conflict concerns this file alone, and counts as working."""
        try:
            step(file, is_over)
        except StorageConflict as error:
            self._note_failure(file.name, error)
        except (OSError, StorageError) as error:
            self._is_in_trouble = True
            self._note_failure(file.name, error)
            return False
        finally:
            self.status.copying = ""
        return True

    def _hand_over(self, file: FinishedFile, is_over: Callable[[], bool]) -> None:
        if not file.sidecar.exists():
            raise StorageConflict(f"{file.warc} has no sidecar; `{command('repair')}` writes it")
        began, self.status.copying = time.monotonic(), file.name
        if not self._storage.has(file.warc, file.name):  # otherwise the stored sidecar is the one of the stored WARC
            self._storage.put(file.sidecar, file.sidecar_name, is_over, replace=True)
        if self._storage.put(file.warc, file.name, is_over):
            size, seconds = file.warc.stat().st_size, time.monotonic() - began
            self._verified.add(file.name)
            self.status.handed_over += 1
            self.status.bytes += size
            log.info(
                "uploaded %s to %s and verified it, %d bytes in %.1f s", file.name, self._storage.place, size, seconds
            )
        before = self._waiting.pop(file.name)
        self._done[file.name] = _FileIdentity.of(before)
        self._count_waiting(self.status.waiting_bytes - before.st_size)
        self._report()

    def _count_waiting(self, size: int) -> None:
        self.status.waiting, self.status.waiting_bytes = len(self._waiting), size
        oldest = next(iter(self._waiting.values()), None)
        self.status.waiting_since = oldest.st_mtime if oldest else 0.0

    def _is_due(self, file: FinishedFile) -> bool:
        keep = self._settings.keep_local_seconds
        return keep >= 0 and (seen := self._seen(file)) is not None and time.time() - seen.st_mtime >= keep

    def _remove(self, file: FinishedFile, is_over: Callable[[], bool]) -> None:
        """Remove a local copy after this uploader has verified the file in the storage.

        A file that was replaced since this search began stays; the next search handles the new one.
        """
        if file.name not in self._verified and not self._storage.has_same(file.warc, file.name, is_over):
            raise StorageConflict(f"{self._storage.place} has another {file.name}; the local copy stays")
        if _FileIdentity.of(file.warc.stat()) != self._done[file.name]:
            return
        file.warc.unlink()
        del self._done[file.name]
        self._verified.discard(file.name)
        self.status.removed += 1
        log.info("removed the local copy of %s", file.name)

    def _note_failure(self, name: str, error: Exception) -> None:
        self.status.failures += 1
        self.status.failing[name] = str(error)
        if self._said.get(name) != str(error):
            log.error("can't upload %s: %s", name, error)

    def _longer(self, pause: float) -> float:
        """Return the pause after one more failure."""
        return min(max(2 * pause, self._settings.look_seconds), _MAX_RETRY_SECONDS)

    def _report(self) -> None:
        """Write the status file. A failure is only logged: a full disk is reported elsewhere."""
        path = self._home / STATUS_FILE
        try:
            with replacement(path, durable=False) as file:
                file.write(json.dumps(asdict(self.status), indent=2).encode() + b"\n")
        except OSError as error:
            log.warning("can't write %s: %s", path, error)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out other uploaders of this home. Raises StorageError when another uploader is at work."""
        with lock_or_not(self._home / LOCK_FILE) as is_held:
            if not is_held:
                raise StorageError(f"another uploader is at work in {self._home}")
            yield


def finished(home: Path) -> Iterator[FinishedFile]:
    """Yield the closed WARC files of all collections, oldest names first."""
    for folder in sorted((home / "collections").glob("[!.]*")):  # a collection that is being deleted has a dot
        yield from map(FinishedFile, closed(folder))
