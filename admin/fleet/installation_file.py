"""A running `ghostfleet up` keeps its home to itself, and a file there says which parts it runs and where they listen.

`run/up.lock` is locked while it runs. `run/up.parts` has its addresses and the health of its parts as JSON; the admin
site shows it, and pages find the replay proxy there.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from archive.file_lock import is_locked, try_lock
from archive.files import replacement
from archive.program_name import command

_MOST_BYTES: Final = 1_000_000
_LOCK_SECONDS: Final = 0.5


class PartState(StrEnum):
    """A part of an installation is in one of these states."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    """The process of the part has died, and a new one starts soon."""
    FAILED = "failed"
    """The process of the part died again and again, or refused to work."""
    ENDING = "ending"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an installation reports here how it does."""

    name: str
    state: PartState
    pid: int
    """The id of its process; 0 when there is none."""
    restarts: int
    since: int
    """When its process started, in microseconds since 1970."""
    why: str = ""
    """How its last process ended that was not asked to."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation is what the file says about a running `ghostfleet up`."""

    pid: int
    addresses: Mapping[str, str]
    """HOST:PORT of `admin`, `proxy`, `replay`, `replay_control`, `view` and `cdx`."""
    parts: tuple[Part, ...]


class AlreadyUp(Exception):
    """Another `ghostfleet up` runs in the home. The message is one line with the remedy."""


class InstallationFile:
    """The home is locked, and the file can be written, while the object is entered."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._fd = -1
        self._written = ""

    def __enter__(self) -> Self:
        """Lock the home. Raises AlreadyUp, and OSError when the home can't be written to."""
        lock = _lock_path(self._home)
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(self._fd):
            os.close(self._fd)
            found = read_installation(self._home)
            who = f", process {found.pid}, with its site at http://{found.addresses.get('admin', '')}/" if found else ""
            raise AlreadyUp(
                f"`{command('up')}` runs in {self._home} already{who}; end it first, or choose another home with --home"
            )
        _parts_path(self._home).unlink(missing_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _parts_path(self._home).unlink(missing_ok=True)
        os.close(self._fd)

    def write(self, addresses: Mapping[str, str], parts: Sequence[Part]) -> None:
        """Publish addresses and health; nothing is written when they are as before."""
        text = json.dumps({"pid": os.getpid(), "addresses": dict(addresses), "parts": [asdict(part) for part in parts]})
        if text != self._written:
            with suppress(OSError), replacement(_parts_path(self._home), durable=False, mode=0o600) as file:
                file.write(text.encode())
                self._written = text


def read_installation(home: Path) -> Installation | None:
    """Return what runs in the home; None when no `ghostfleet up` does, or when it is only starting."""
    if not is_locked(_lock_path(home)):
        return None
    try:
        with _parts_path(home).open("rb") as file:
            found: dict[str, Any] = json.loads(file.read(_MOST_BYTES))
        parts = tuple(Part(**{**part, "state": PartState(part["state"])}) for part in found["parts"])
        return Installation(int(found["pid"]), {str(name): str(at) for name, at in found["addresses"].items()}, parts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _lock(fd: int) -> bool:
    """Lock the file. Return False when another process keeps it locked: a reader does so for a moment only."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        if try_lock(fd):
            return True
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)


def _lock_path(home: Path) -> Path:
    return home / "run" / "up.lock"


def _parts_path(home: Path) -> Path:
    return home / "run" / "up.parts"
