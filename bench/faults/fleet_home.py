"""The tested fleet is `ghostfleet proxy` in a home of its own. This module starts and ends the fleet."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bench.process import our_command, source_environment, tree

COLLECTION: Final = "faults"
_STOP_SECONDS: Final = 120.0
_GONE_SECONDS: Final = 120.0


class FleetFailure(Exception):
    """The fleet does not do what the round needs. The message says what is missing."""


class FleetHome:
    """A fleet home starts, stops and kills the fleet of one home. `settings` are given by their dotted names."""

    def __init__(self, home: Path, log: Path, settings: Mapping[str, Any]) -> None:
        self.home = home
        self.log_dir = home / "log"
        self._log = log
        chosen = {
            "proxy.port": 0,
            "proxy.allow_private": True,
            "proxy.collection": COLLECTION,
            "proxy.log_dir": self.log_dir,
            **settings,
        }
        self._settings = {f"GHOSTFLEET_{name.upper().replace('.', '__')}": str(value) for name, value in chosen.items()}
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ("", 0)

    @property
    def runs(self) -> bool:
        """Return whether the fleet was started, and neither stopped nor killed."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Return the process id of the supervisor."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the fleet and wait until it serves. Raises FleetFailure."""
        self.home.mkdir(parents=True, exist_ok=True)
        environment = {**source_environment(), **self._settings, "GHOSTFLEET_HOME": str(self.home)}
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                our_command("proxy"), env=environment, stdout=subprocess.PIPE, stderr=log, cwd=self._log.parent
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait()
            raise FleetFailure(f"the fleet did not start: {self.log_end()}")
        self._process = process
        host, _, port = json.loads(line)["proxy"].rpartition(":")
        self.address = host, int(port)

    def stop(self) -> None:
        """Send SIGTERM and wait for the end of the fleet. Raises FleetFailure when the exit code is not 0."""
        process = self._detach()
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process = process
            self.kill()
            raise FleetFailure(f"the fleet did not end within {_STOP_SECONDS:.0f} s after SIGTERM") from None
        finally:
            _close(process)
        if code:
            raise FleetFailure(f"the fleet ended with exit code {code}: {self.log_end()}")
        wait_for(lambda: not self._remaining_redis(), "the end of the Redis of the home", _GONE_SECONDS)

    def _remaining_redis(self) -> set[int]:
        """Return the Redis servers of this home that still run."""
        home = os.fsencode(self.home)
        titles = {pid: _command_line(pid) for pid in tree(os.getpid(), str(self.home))}
        return {pid for pid, title in titles.items() if b"redis-server unixsocket" in title and home in title}

    def kill(self) -> None:
        """Kill all processes of the fleet at the same moment."""
        pids = self.pids()
        process = self._detach()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                send_signal(pid, number)
        process.wait()
        _close(process)
        wait_for(lambda: not any(map(is_alive, pids)), "the end of all processes", _GONE_SECONDS)

    def kill_supervisor(self) -> None:
        """Kill the supervisor, and wait until its children have ended by themselves."""
        pids = self.pids()
        process = self._detach()
        process.kill()
        process.wait()
        _close(process)
        wait_for(lambda: not any(map(is_alive, pids)), "the end of the children of a killed supervisor", _GONE_SECONDS)

    def pids(self) -> set[int]:
        """Return all processes, Redis and its guard included."""
        return tree(self.pid, str(self.home))

    def recording(self) -> list[int]:
        """Return the processes that record."""
        return sorted(pid for pid in self.pids() if b"ghostfleet: proxy-" in _command_line(pid))

    def redis(self) -> int:
        """Return the process id of the home's Redis."""
        return int((self.home / "redis" / "redis.pid").read_text("ascii"))

    def log_end(self) -> str:
        """Return the end of the fleet's standard error."""
        return self._log.read_text("utf-8", "replace")[-600:] if self._log.exists() else ""

    def _detach(self) -> subprocess.Popen[bytes]:
        process, self._process = self._process, None
        assert process is not None
        return process


def wait_for(condition: Callable[[], bool], what: str, seconds: float) -> float:
    """Wait for a condition and return the seconds that this took. Raises FleetFailure."""
    began, pause = time.monotonic(), threading.Event()
    while not condition():
        if time.monotonic() - began > seconds:
            raise FleetFailure(f"waited {seconds:.0f} s without success for {what}")
        pause.wait(0.02)
    return time.monotonic() - began


def send_signal(pid: int, number: int) -> None:
    """Send a signal to a process, which may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def is_alive(pid: int) -> bool:
    """Return whether a process is alive; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None:
        process.stdout.close()
