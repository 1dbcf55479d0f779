"""Each peer can be started in an empty folder, has a port and a process, and can be stopped."""

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

from archive.file_lock import locked_folder
from bench.process import stop

_START_SECONDS: Final = 60.0


class PeerUnavailable(Exception):
    """A peer can't be run here. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class PeerSetup:
    """A peer is started with these parameters."""

    folder: Path
    """An empty folder for all files of the peer."""
    processes: int
    origin_certificate: Path


@dataclass(slots=True)
class RunningPeer:
    """A running peer is a proxy under measurement. `mark` is in the command lines of its processes that left the
    process tree.
    """

    host: str
    port: int
    process: subprocess.Popen[bytes] | None
    warcs: Path
    mark: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def stop(self) -> None:
        """Stop the proxy in order. Afterwards all its data is on disk."""
        if self.process is not None:
            stop(self.process)


class Peer(Protocol):
    """A peer is one kind of proxy."""

    @property
    def name(self) -> str:
        """Return the name of the peer on the command line and in the table."""

    @property
    def schemes(self) -> Sequence[str]:
        """Return the supported schemes among http, connect and absolute."""

    @property
    def records(self) -> bool:
        """Return whether the peer must have a record of each acknowledged response."""

    def prepare(self) -> None:
        """Install the peer. Raises PeerUnavailable."""

    def start(self, wanted: PeerSetup) -> RunningPeer:
        """Start the peer, and return when it accepts connections."""


def cache_folder(name: str) -> Path:
    """Return the folder in which a peer's installation is kept between runs."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "ghostfleet-bench" / name


def install(name: str, *requirements: str) -> Path:
    """Install these packages into a virtual environment of the peer, and return its `bin` folder.

    A second process that wants the same peer waits until the first has installed it. Raises PeerUnavailable.
    """
    folder = cache_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed.txt"
    wanted = "\n".join(requirements)
    with locked_folder(folder):
        if not done.is_file() or done.read_text("utf-8") != wanted:
            _run([sys.executable, "-m", "venv", "--clear", str(folder)], name)
            _run([str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", *requirements], name)
            done.write_text(wanted, "utf-8")
    return folder / "bin"


def wait_for_port(host: str, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the port accepts connections. Raises PeerUnavailable, with the end of the log, when it does not."""
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
