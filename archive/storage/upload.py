"""Hands finished WARC files and their sidecars to the storage, and removes local copies when their time has come.

There is no list of what was done: a file that the storage has under its final name was handed over, since it gets
that name last, and after its sidecar. So an uploader that was killed at any point goes on where it was. Files still
being written (`.open`) are not looked at. Sidecars stay in the home: the index is rebuilt from them.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from archive.dates import iso_date, now_micros
from archive.place import SIDECAR_SUFFIX, Place, closed
from archive.settings import Settings
from archive.storage import Stopped, Storage, StorageConflict, StorageError

log = logging.getLogger(__name__)

STATUS_FILE: Final = "storage.json"
"""In the home: how the handing over goes, as JSON."""
LOCK_FILE: Final = "storage.lock"
_FAILURES_IN_A_ROW: Final = 3
"""After so many a look ends: it is the storage that fails, not a file."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A closed WARC of the home and its sidecar."""

    place: Place

    @property
    def collection(self) -> str:
        """Which it belongs to."""
        return self.place.folder.name

    @property
    def warc(self) -> Path:
        """The file itself."""
        return self.place.warc

    @property
    def sidecar(self) -> Path:
        """Its index lines."""
        return self.place.sidecar

    @property
    def name(self) -> str:
        """The WARC's name in the storage."""
        return f"{self.collection}/archive/{self.place.name}"

    @property
    def sidecar_name(self) -> str:
        """The sidecar's name in the storage."""
        return f"{self.collection}/indexes/{self.place.name}{SIDECAR_SUFFIX}"


@dataclass(slots=True)
class Status:
    """How the handing over goes, since this uploader started."""

    storage: str
    looked: str = ""
    """When the home was last looked through, as a WARC-Date."""
    waiting: int = 0
    """Files that the storage does not have yet, as far as this uploader knows."""
    waiting_bytes: int = 0
    waiting_since: float = 0.0
    """When the oldest of them got its last record, in seconds since 1970; 0 when none waits."""
    copying: str = ""
    """The file that is handed over at present."""
    handed_over: int = 0
    bytes: int = 0
    removed: int = 0
    """Local copies removed, by the rule of `storage.keep_local_seconds`."""
    failures: int = 0
    """Tries that failed."""
    failing: dict[str, str] = field(default_factory=dict)
    """Files that are not handed over, and why; each is tried again."""


class Uploader:
    """The one uploader of a home: a second one fails, and tries again, until the first has ended."""

    def __init__(self, settings: Settings) -> None:
        """Raises StorageError when `storage.url` can't be used."""
        self._home = settings.home
        self._settings = settings.storage
        self._storage = Storage(settings.storage)
        self._done: set[str] = set()
        self._verified: set[str] = set()
        self._listed: set[str] = set()
        self._said: dict[str, str] = {}
        self._waiting: dict[str, os.stat_result] = {}
        """The oldest first."""
        self._is_in_trouble = False
        self.status = Status(self._storage.place)

    def run(self, stop: threading.Event) -> None:
        """Hand over what gets finished until `stop` is set; then what is finished by then, within `drain_seconds`."""
        pause, is_over = self._settings.look_seconds, self._end_after(stop)
        while not stop.is_set():
            self.look(is_over)
            pause = self._longer(pause) if self._is_in_trouble else self._settings.look_seconds
            stop.wait(pause)
        self.look(is_over)
        if self.status.waiting:
            log.warning("%d files wait for the next start, or `ghostfleet upload`", self.status.waiting)

    def look(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Look through the home once: hand over what is new, try again what failed. False when anything failed."""
        before, self._is_in_trouble = self.status.failures, False
        self._said, self.status.failing = self.status.failing, {}
        try:
            with self._alone():
                self._look(is_over)
        except Stopped:
            log.info("stopped in mid-copy; that file is handed over anew")
        except (OSError, StorageError) as error:
            self._is_in_trouble = True
            self._note_failure(str(self._home), error)
        self._report()
        return self.status.failures == before

    def _end_after(self, stop: threading.Event) -> Callable[[], bool]:
        """Whether `drain_seconds` have passed since `stop` was set, or rather since that was first seen."""
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
        for collection in {file.collection for file in files} - self._listed:
            self._take_stock(collection, files)
        waiting = [file for file in files if file.name not in self._done]
        self.status.looked = iso_date(now_micros())
        found = {file.name: file.warc.stat() for file in waiting}
        self._waiting = dict(sorted(found.items(), key=lambda item: item[1].st_mtime))
        self._count_waiting(sum(each.st_size for each in found.values()))
        in_a_row = 0
        for file in waiting:
            if is_over() or in_a_row == _FAILURES_IN_A_ROW:
                break
            in_a_row = 0 if self._tried(file, self._hand_over, is_over) else in_a_row + 1
        for file in files:
            if file.name in self._done and self._is_due(file) and not is_over():
                self._tried(file, self._remove, is_over)

    def _take_stock(self, collection: str, files: list[Finished]) -> None:
        """What was handed over before this uploader was started. Raises StorageError."""
        there = self._storage.sizes(f"{collection}/archive")
        mine = [file for file in files if file.collection == collection]
        self._done |= {file.name for file in mine if there.get(file.place.name) == file.warc.stat().st_size}
        self._listed.add(collection)

    def _tried(
        self, file: Finished, step: Callable[[Finished, Callable[[], bool]], None], is_over: Callable[[], bool]
    ) -> bool:
        """Whether it went well, as far as the storage is concerned: a conflict is a matter of this file alone."""
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

    def _hand_over(self, file: Finished, is_over: Callable[[], bool]) -> None:
        if not file.sidecar.exists():
            raise StorageConflict(f"{file.warc} has no sidecar; `ghostfleet repair` writes it")
        began, self.status.copying = time.monotonic(), file.name
        self._storage.put(file.sidecar, file.sidecar_name, is_over, replace=True)
        if self._storage.put(file.warc, file.name, is_over):
            size, seconds = file.warc.stat().st_size, time.monotonic() - began
            self._verified.add(file.name)
            self.status.handed_over += 1
            self.status.bytes += size
            log.info("%s handed to %s, %d bytes in %.1f s, verified", file.name, self._storage.place, size, seconds)
        self._done.add(file.name)
        self._count_waiting(self.status.waiting_bytes - self._waiting.pop(file.name).st_size)
        self._report()

    def _count_waiting(self, size: int) -> None:
        self.status.waiting, self.status.waiting_bytes = len(self._waiting), size
        oldest = next(iter(self._waiting.values()), None)
        self.status.waiting_since = oldest.st_mtime if oldest else 0.0

    def _is_due(self, file: Finished) -> bool:
        keep = self._settings.keep_local_seconds
        return keep >= 0 and time.time() - file.warc.stat().st_mtime >= keep

    def _remove(self, file: Finished, is_over: Callable[[], bool]) -> None:
        """Removes a local copy, of which this uploader itself has seen that the storage has the same."""
        if file.name not in self._verified and not self._storage.has_same(file.warc, file.name, is_over):
            raise StorageConflict(f"{self._storage.place} has another {file.name}; the local copy stays")
        file.warc.unlink()
        self._done.discard(file.name)
        self._verified.discard(file.name)
        self.status.removed += 1
        log.info("local copy of %s removed", file.name)

    def _note_failure(self, name: str, error: Exception) -> None:
        self.status.failures += 1
        self.status.failing[name] = str(error)
        if self._said.get(name) != str(error):
            log.error("%s is not handed over: %s", name, error)

    def _longer(self, pause: float) -> float:
        """The pause after one more failure."""
        return min(max(2 * pause, self._settings.look_seconds), self._settings.max_retry_seconds)

    def _report(self) -> None:
        """Writes the status file; a home that can't be written to is somebody else's alarm."""
        path = self._home / STATUS_FILE
        fresh = path.with_name(path.name + ".new")
        try:
            fresh.write_text(json.dumps(asdict(self.status), indent=2) + "\n", "utf-8")
            fresh.replace(path)
        except OSError as error:
            log.warning("%s can't be written: %s", path, error)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps other uploaders of this home out. Raises StorageError when there is one at work."""
        fd = os.open(self._home / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise StorageError(f"another uploader is at work in {self._home}") from error
        finally:
            os.close(fd)


def finished(home: Path) -> Iterator[Finished]:
    """The closed WARC files of all collections, oldest names first."""
    for folder in sorted((home / "collections").glob("*")):
        yield from map(Finished, closed(folder))
