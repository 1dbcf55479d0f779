"""A running `ghostfleet proxy` has a locked control file in its home, by which `ghostfleet restart` finds it.

`run/PID.json` has the number of restarts that were requested, and the result of the last one. A file without a lock
was left by a killed fleet; the next `restart` removes it.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Final, Self

from archive.file_lock import lock, try_lock
from archive.program_name import command

log = logging.getLogger(__name__)

_SECONDS: Final = 900.0
_PAUSE: Final = 0.05


class NoFleet(Exception):
    """No fleet runs in the home. The message names the home and the remedy."""


class RestartRefused(Exception):
    """The fleet did not restart and continues unchanged. The message names the reason."""


class ControlFile:
    """The control file of this process exists, and is locked, while the object is entered."""

    def __init__(self, home: Path) -> None:
        self._path = home / "run" / f"{os.getpid()}.json"
        self._answers = 0
        self._fd = -1

    def __enter__(self) -> Self:
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._fd = self._open()
        while not self._is_in_place():  # a restart removed the file before it was locked
            os.close(self._fd)
            self._fd = self._open()
        self._write("", [])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._fd)

    def answer(self, refusal: str, pids: list[int]) -> None:
        """Publish the result of a restart; an empty `refusal` means success.

        When the disk is full, the result is logged, and the command that asked gets no answer.
        """
        self._answers += 1
        try:
            self._write(refusal, pids)
        except OSError as error:
            log.warning("the result of a restart (%s) can't be written: %s", refusal or "success", error)

    def _open(self) -> int:
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        lock(fd)
        return fd

    def _is_in_place(self) -> bool:
        """Return whether the open file is the one that a restart finds."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        return False

    def _write(self, refusal: str, pids: list[int]) -> None:
        text = json.dumps({"answers": self._answers, "refusal": refusal, "pids": pids}).encode()
        os.pwrite(self._fd, text, 0)  # before the file is cut: a full disk leaves a short text its place
        os.ftruncate(self._fd, len(text))


def ask_to_restart(home: Path) -> Iterator[list[int]]:
    """Restart the fleets of the home, one after the other; yield the process ids of each fleet's children.

    Raises NoFleet, and RestartRefused for the first fleet that did not restart.
    """
    found = [path for path in sorted((home / "run").glob("*.json")) if _is_locked(path)]
    if not found:
        raise NoFleet(f"no `{command('proxy')}` runs in {home}; choose another home with --home")
    for path in found:
        while not (content := _read(path)) and _is_locked(path):
            Event().wait(_PAUSE)
        before = content.get("answers", 0)
        if _is_locked(path):  # the wait for an earlier fleet may have been long
            os.kill(int(path.stem), signal.SIGHUP)
        yield _wait_for_answer(path, before)


def _wait_for_answer(path: Path, before: int) -> list[int]:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and _is_locked(path):
        if (content := _read(path)).get("answers", 0) > before:
            if content["refusal"]:
                raise RestartRefused(f"not restarted, the fleet continues unchanged: {content['refusal']}")
            return list(content["pids"])
        Event().wait(_PAUSE)
    raise RestartRefused("the fleet ended before it had restarted; see logs/fleet.log in the home")


def _read(path: Path) -> dict[str, Any]:
    """Return the content of the file; empty while it is being written or after it was removed."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def _is_locked(path: Path) -> bool:
    """Return whether the process that made the file still runs. Remove the file when its process is gone.

    The file is removed while it is locked here, so a fleet that has opened the file sees this when it gets its lock.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not try_lock(fd, shared=True):
            return True
        path.unlink(missing_ok=True)
    finally:
        os.close(fd)
    return False
