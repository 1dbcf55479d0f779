"""What the bench needs of a proxy: start it in an empty folder, know its port and processes, stop it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final, Protocol

from admin.bench.process import stop

_START_SECONDS: Final = 60.0


class PeerUnavailable(Exception):
    """A peer that can't be run here; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Set:
    """What a peer is set up for."""

    folder: Path
    """Empty; everything of this start goes below it."""
    processes: int
    origin_certificate: Path


@dataclass(slots=True)
class Started:
    """A running proxy. `mark` stands in the command lines of those of its processes that left the tree."""

    host: str
    port: int
    process: subprocess.Popen[bytes] | None
    warcs: Path
    mark: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def stop(self) -> None:
        """Stops it in order: afterwards everything it will ever write is on disk."""
        if self.process is not None:
            stop(self.process)


class Peer(Protocol):
    """One kind of proxy."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in the table."""

    @property
    def schemes(self) -> Sequence[str]:
        """Which of http, connect and absolute it can do."""

    @property
    def records(self) -> bool:
        """Whether it is expected to have a record of all that it acknowledged."""

    def prepare(self) -> None:
        """Installs what is needed; PeerUnavailable when that can't be done."""

    def start(self, wanted: Set) -> Started:
        """Starts it, and returns when it takes connections."""


def cache_folder(name: str) -> Path:
    """Where a peer's own installation lives between runs."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "ghostfleet-bench" / name


def install(name: str, *requirements: str) -> Path:
    """A virtual environment of the peer's own with these packages; its `bin` folder."""
    folder = cache_folder(name)
    done = folder / "installed.txt"
    wanted = "\n".join(requirements)
    if not done.is_file() or done.read_text("utf-8") != wanted:
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], name)
        _run([str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", *requirements], name)
        done.write_text(wanted, "utf-8")
    return folder / "bin"


def wait_for_port(host: str, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns once somebody answers; PeerUnavailable with the end of its log when the process ends instead."""
    deadline, pause = time.monotonic() + _START_SECONDS, Event()
    while process.poll() is None and time.monotonic() < deadline:
        with closing(socket.socket()) as probe:
            if probe.connect_ex((host, port)) == 0:
                return
        pause.wait(0.05)
    process.kill()
    process.communicate()
    raise PeerUnavailable(f"{process.args!r} does not answer on {host}:{port}: {log.read_text('utf-8')[-500:]}")


def _run(command: Sequence[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerUnavailable(f"{name} can't be installed ({' '.join(command)}): {done.stderr.strip()[-500:]}")
