"""This module finds out whether a WARC file still exists, in the home or in the storage.

The file system is asked each time, so that a removed file is noticed at once; this takes some microseconds. The storage
is slow, so its answers are cached for a while, and a call waits for it at most `_PATIENCE_SECONDS`.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from enum import Enum
from typing import Final

from archive.files import write_once
from archive.names.warc_paths import OPEN_SUFFIX
from archive.settings.load import Settings
from archive.storage.storage import Storage, StorageError

log = logging.getLogger(__name__)

HOME_NAME_FILE: Final = "home.name"
_NO_FILE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
"""Errors that say that a name has no file. Any other one, such as EIO or ESTALE, says that the file can't be seen."""
_PATIENCE_SECONDS: Final = 2.0
_REST_SECONDS: Final = 10.0
_FOUND_SECONDS: Final = 600.0
_MISSED_SECONDS: Final = 30.0
_REMEMBERED: Final = 10_000
_QUESTIONS: Final = 8

type FileName = tuple[str, str]
"""A collection and the name of a WARC file in it."""


class Presence(Enum):
    """The presence says whether a file exists, as far as known."""

    THERE = "there"
    MISSING = "missing"
    UNKNOWN = "unknown"
    """The file system or the storage, which may have the file, did not answer."""


class WarcFiles:
    """Looks for the WARC files of one home and of its storage. For one thread."""

    def __init__(self, settings: Settings) -> None:
        """Connect to the storage at the first question only."""
        self._collections = settings.home / "collections"
        self._is_growing: dict[FileName, bool] = {}
        self._far = _FarFiles(settings) if settings.storage.url else None

    def size(self, collection: str, filename: str) -> int | Presence:
        """Return the size of the file in the home, open or closed; without one, whether the file is missing or unknown.

        A file may be closed between two checks, so both names are checked, and the first one twice.
        """
        name = (collection, filename)
        path = f"{self._collections}/{collection}/archive/{filename}"
        was_growing, otherwise = self._is_growing.get(name, False), Presence.MISSING
        for is_growing in (was_growing, not was_growing, was_growing):
            try:
                size = os.stat(path + OPEN_SUFFIX if is_growing else path).st_size
            except ValueError:
                continue
            except OSError as error:
                if error.errno not in _NO_FILE:
                    otherwise = Presence.UNKNOWN
                continue
            if is_growing is not was_growing:
                self._remember(name, is_growing=is_growing)
            return size
        return otherwise

    def presence(self, places: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str, int], Presence]:
        """Return for each (collection, file name, offset) whether the file exists and reaches behind the offset."""
        found: dict[tuple[str, str, int], Presence] = {}
        sizes: dict[FileName, int | Presence] = {}
        away: list[tuple[str, str, int]] = []
        for place in places:
            name = place[:2]
            if name not in sizes:
                sizes[name] = self.size(*name)
            size = sizes[name]
            if not isinstance(size, Presence):
                found[place] = Presence.THERE if size > place[2] else Presence.MISSING
                continue
            found[place] = size
            away.append(place)
        if away and self._far is not None:
            far = self._far.presence({place[:2] for place in away})
            found |= {place: _of_both(found[place], far[place[:2]]) for place in away}
        return found

    def presence_of_all(self, collection: str, filenames: Iterable[str]) -> dict[str, Presence]:
        """Return for each of many files of a collection whether it exists. The storage is asked once, without a limit
        of time.
        """
        found: dict[str, Presence] = {}
        for name in filenames:
            size = self.size(collection, name)
            found[name] = size if isinstance(size, Presence) else Presence.THERE
        away = [name for name, here in found.items() if here is not Presence.THERE]
        if unknown := [name for name in away if found[name] is Presence.UNKNOWN]:
            log.warning("can't look for %d files of %s, such as %s", len(unknown), collection, unknown[0])
        if away and self._far is not None:
            far = self._far.stock(collection, away)
            found |= {name: _of_both(found[name], far[name]) for name in away}
        return found

    def close(self) -> None:
        """Stop asking the storage."""
        if self._far is not None:
            self._far.close()

    def _remember(self, name: FileName, *, is_growing: bool) -> None:
        if len(self._is_growing) >= _REMEMBERED:
            self._is_growing.clear()
        self._is_growing[name] = is_growing


def _of_both(here: Presence, far: Presence) -> Presence:
    """Return whether a file exists that is not seen in the home, by the answers of the home and of the storage."""
    return here if far is Presence.MISSING else far


class _FarFiles:
    """Asks the storage in threads which files it has."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.storage
        self._storage: Storage | None = None
        self._pool = ThreadPoolExecutor(_QUESTIONS, thread_name_prefix="storage-look")
        self._known: dict[FileName, tuple[Presence, float]] = {}
        self._questions: dict[FileName, Future[bool]] = {}
        self._rests_until = 0.0

    def presence(self, names: Iterable[FileName]) -> dict[FileName, Presence]:
        """Return the answers of the storage for these files, or its recent answers."""
        now = time.monotonic()
        known = {name: self._remembered(name, now) for name in names}
        asked = [name for name, answer in known.items() if answer is None]
        if asked and now >= self._rests_until:
            self._ask(asked)
        return {name: answer or self._remembered(name, now) or Presence.UNKNOWN for name, answer in known.items()}

    def stock(self, collection: str, filenames: Iterable[str]) -> dict[str, Presence]:
        """Return which files a listing of the storage has; when recent answers had all of them, return those."""
        now = time.monotonic()
        known = {name: self._remembered((collection, name), now) for name in filenames}
        if all(answer is Presence.THERE for answer in known.values()):
            return dict.fromkeys(known, Presence.THERE)
        try:
            there = self._connected().sizes(f"{collection}/archive").keys()
            if not there and not self._connected().is_there():
                raise StorageError(f"{self._connected().place} does not exist")
        except StorageError as error:
            log.warning("can't ask the storage for files of %s: %s", collection, error)
            return dict.fromkeys(known, Presence.UNKNOWN)
        if len(self._known) + len(known) > _REMEMBERED:
            self._known.clear()
        self._known |= {(collection, name): (Presence.THERE, now + _FOUND_SECONDS) for name in known if name in there}
        return {name: Presence.THERE if name in there else Presence.MISSING for name in known}

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _remembered(self, name: FileName, now: float) -> Presence | None:
        answer, until = self._known.get(name, (Presence.UNKNOWN, 0.0))
        return answer if now < until else None

    def _ask(self, names: Iterable[FileName]) -> None:
        for name in names:
            if name not in self._questions:
                self._questions[name] = self._pool.submit(self._look, name)
        mine = [self._questions[name] for name in names]
        if wait(mine, _PATIENCE_SECONDS).not_done:
            self._rest("no answer in time")
        for name in [name for name, question in self._questions.items() if question.done()]:
            self._learn(name, self._questions.pop(name))

    def _learn(self, name: FileName, question: Future[bool]) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        try:
            is_there = question.result()
        except StorageError as error:
            self._rest(str(error))
            return
        answer = (Presence.THERE, _FOUND_SECONDS) if is_there else (Presence.MISSING, _MISSED_SECONDS)
        self._known[name] = answer[0], time.monotonic() + answer[1]

    def _rest(self, why: str) -> None:
        log.warning("the storage is not asked for files for %.0f s: %s", _REST_SECONDS, why)
        self._rests_until = time.monotonic() + _REST_SECONDS

    def _connected(self) -> Storage:
        if self._storage is None:
            self._storage = Storage(self._settings)
        return self._storage

    def _look(self, name: FileName) -> bool:
        collection, filename = name
        try:
            self._connected().open(f"{collection}/archive/{filename}", wanted_to=1).close()
        except FileNotFoundError:
            return False
        return True


def home_name(settings: Settings) -> str:
    """Return the name of this home among all that share a Redis: the names of its machine and folder at the first use.

    The name is stored in a file, so that the home keeps it when the machine gets another name. Raises OSError.
    """
    path = settings.home / HOME_NAME_FILE
    settings.home.mkdir(parents=True, exist_ok=True)
    write_once(path, f"{os.uname().nodename}:{settings.home}\n".encode(), mode=0o644)
    return path.read_text("utf-8").strip()


def is_alone(settings: Settings) -> bool:
    """Return whether no other home shares the dedup store and the index with this one."""
    return not settings.redis.url and not settings.database.url
