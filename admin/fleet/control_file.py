"""How a running `ghostfleet proxy` is found and asked to restart: a file in the home that it holds locked.

`run/PID.json` says how many times the fleet was asked, and what came of the last time. The lock tells a fleet that
lives from a file that a killed one left; whoever finds such a file removes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Final, Self

_SECONDS: Final = 900.0
_PAUSE: Final = 0.05


class NoFleet(Exception):
    """No fleet runs in the home; the message says what to do."""


class Refusal(Exception):
    """The fleet did not restart, and goes on as it was; the message says why."""


class Callsign:
    """While entered, this process can be found by `ask_to_restart`."""

    def __init__(self, home: Path) -> None:
        self._path = home / "run" / f"{os.getpid()}.json"
        self._answers = 0
        self._fd = -1

    def __enter__(self) -> Self:
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        self._write("", [])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._fd)

    def answer(self, refusal: str, pids: list[int]) -> None:
        """Tell who asked what came of it; no refusal is a success."""
        self._answers += 1
        self._write(refusal, pids)

    def _write(self, refusal: str, pids: list[int]) -> None:
        text = json.dumps({"answers": self._answers, "refusal": refusal, "pids": pids}).encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text, 0)


def ask_to_restart(home: Path) -> Iterator[list[int]]:
    """Ask every fleet of the home; for each, once it has restarted, the process ids of its children.

    Raises NoFleet, and Refusal for the first that did not.
    """
    found = [path for path in sorted((home / "run").glob("*.json")) if _is_held(path)]
    if not found:
        raise NoFleet(f"no `ghostfleet proxy` runs in {home}; choose another home with --home")
    for path in found:
        while not (said := _read(path)) and _is_held(path):
            Event().wait(_PAUSE)
        before = said.get("answers", 0)
        os.kill(int(path.stem), signal.SIGHUP)
        yield _answer(path, before)


def _answer(path: Path, before: int) -> list[int]:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and _is_held(path):
        if (said := _read(path)).get("answers", 0) > before:
            if said["refusal"]:
                raise Refusal(f"not restarted, the fleet goes on as it was: {said['refusal']}")
            return list(said["pids"])
        Event().wait(_PAUSE)
    raise Refusal("the fleet ended before it had restarted; see logs/fleet.log in the home")


def _read(path: Path) -> dict[str, Any]:
    """What it says; empty while it is being written, or gone."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def _is_held(path: Path) -> bool:
    """Whether the process that made it lives. A file that nobody holds is removed."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        path.unlink(missing_ok=True)
        return False
    finally:
        os.close(fd)
