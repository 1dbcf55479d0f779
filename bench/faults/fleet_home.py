"""The fleet under test: `ghostfleet proxy` in a home, as anybody runs it, and its processes one by one."""

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

from admin.bench.process import our_command, source_environment, tree

COLLECTION: Final = "faults"
_STOP_SECONDS: Final = 120.0
_GONE_SECONDS: Final = 120.0


class DidNotWork(Exception):
    """The fleet does not do what it must for the round to go on; the message says what."""


class House:
    """A home and the fleet in it; settings by their dotted names."""

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
        """Whether it was started, and neither stopped nor killed."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """The supervisor."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts it and waits until it serves. Raises DidNotWork."""
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
            raise DidNotWork(f"it did not start: {self.last_words()}")
        self._process = process
        host, _, port = json.loads(line)["proxy"].rpartition(":")
        self.address = host, int(port)

    def stop(self) -> None:
        """SIGTERM, and wait until it is gone. Raises DidNotWork when it ends with anything but 0."""
        process = self._let_go()
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process = process
            self.kill()
            raise DidNotWork(f"it did not stop within {_STOP_SECONDS:.0f} s of SIGTERM") from None
        finally:
            _close(process)
        if code:
            raise DidNotWork(f"it ended with exit code {code}: {self.last_words()}")
        wait(lambda: not self._left_behind(), "its Redis to be gone too", _GONE_SECONDS)

    def _left_behind(self) -> set[int]:
        """Redis servers of this home that run while nothing should."""
        home = os.fsencode(self.home)
        titles = {pid: _title(pid) for pid in tree(os.getpid(), str(self.home))}
        return {pid for pid, title in titles.items() if b"redis-server unixsocket" in title and home in title}

    def kill(self) -> None:
        """kill -9 of every process, all in one moment."""
        pids = self.pids()
        process = self._let_go()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                send(pid, number)
        process.wait()
        _close(process)
        wait(lambda: not any(map(lives, pids)), "all processes to be dead", _GONE_SECONDS)

    def kill_supervisor(self) -> None:
        """kill -9 of the parent; returns when the children have ended by themselves."""
        pids = self.pids()
        process = self._let_go()
        process.kill()
        process.wait()
        _close(process)
        wait(lambda: not any(map(lives, pids)), "the children of a killed parent to end", _GONE_SECONDS)

    def pids(self) -> set[int]:
        """All processes, Redis and its guard included."""
        return tree(self.pid, str(self.home))

    def recording(self) -> list[int]:
        """The processes that record."""
        return sorted(pid for pid in self.pids() if b"ghostfleet: proxy-" in _title(pid))

    def redis(self) -> int:
        """Process id of the home's Redis."""
        return int((self.home / "redis" / "redis.pid").read_text("ascii"))

    def metric(self, name: str) -> float:
        """Sum of a metric over what the process that answers counts; 0 when it is not there or nobody answers."""
        import http.client

        connection = http.client.HTTPConnection(*self.address, timeout=30)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()
        lines = [line for line in text.splitlines() if line.startswith(name)]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._log.read_text("utf-8", "replace")[-600:] if self._log.exists() else ""

    def _let_go(self) -> subprocess.Popen[bytes]:
        process, self._process = self._process, None
        assert process is not None
        return process


def wait(condition: Callable[[], bool], what: str, seconds: float) -> float:
    """Waits for a condition; how long it took, in seconds. Raises DidNotWork."""
    began, pause = time.monotonic(), threading.Event()
    while not condition():
        if time.monotonic() - began > seconds:
            raise DidNotWork(f"waited {seconds:.0f} s in vain for {what}")
        pause.wait(0.02)
    return time.monotonic() - began


def send(pid: int, number: int) -> None:
    """A signal to a process that may be gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def lives(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _title(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None:
        process.stdout.close()
